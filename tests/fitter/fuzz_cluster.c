/* Fuzz target: what a strategy is made from, clusters and a network's layers. */
#include "strategy/strategy.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file(data, size);
	static struct strategy_cluster cluster;
	struct strategy_net net;

	strategy_cluster_read(&cluster, path);
	strategy_cluster_free(&cluster);
	strategy_net_read(&net, &path, 1);
	strategy_net_free(&net);
	return 0;
}
