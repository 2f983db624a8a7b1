/* Networks and clusters for tests of strategies: see chain.h. */
#include "chain.h"

#include <math.h>
#include <string.h>

void chain_init(struct chain *chain, size_t count)
{
	memset(chain, 0, sizeof(*chain));
	chain->batch = 1;
	chain->net.layers = chain->layers;
	chain->net.layer_count = count;
	chain->net.batch_count = 1;
	chain->net.batches = &chain->batch;
	for (size_t i = 0; i < count; i++) {
		struct strategy_layer *layer = &chain->layers[i];

		layer->forward = &chain->times[3 * i];
		layer->backward = layer->forward + 1;
		layer->update = layer->forward + 2;
		layer->may_cut = i > 0;
		layer->input_bytes = 1;
	}
}

void cluster_init(struct strategy_cluster *cluster, size_t workers, double latency, double bandwidth)
{
	memset(cluster, 0, sizeof(*cluster));
	cluster->workers = workers;
	cluster->workers_per_node = STRATEGY_MAX_WORKERS;
	cluster->inside = cluster->between = (struct strategy_link){latency, bandwidth};
	for (size_t i = 0; i < STRATEGY_MAX_WORKERS; i++)
		cluster->slow[i] = 1;
}

int near(double x, double y)
{
	return fabs(x - y) <= 1e-9 * (fabs(x) + fabs(y));
}
