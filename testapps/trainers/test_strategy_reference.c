/*
 * Checks the weights that a distributed run has learned against plain C in double precision, which computes
 * one micro-batch after the other and knows of the strategies only which weights a micro-batch sees:
 *
 *   sync       all micro-batches of a batch see the same weights, and one update follows
 *   otherwise  PipeDream's rule, stage by stage
 *
 * PipeDream: in a stage with R replicas the updates are counted by rounds of R micro-batches. Up to D
 * micro-batches per replica are under way, D the number of processes from this stage on, divided by R and
 * rounded up, so micro-batch m sees the weights of update m / R - (D - 1), or the first ones. A rule that
 * begins with an = is the layer-wise one: no replicas, and D twice the number of processes from the stage on,
 * less 1.
 *
 * Usage: test_strategy_reference NET DATA BATCH MICRO_BATCHES ITERATIONS RATE MOMENTUM RULE INITIAL FINAL
 * NET: mlp or cnn, as test_strategy.sh trains them. RULE: sync, or for each stage FIRST_LAYER:REPLICAS, with
 * commas. INITIAL, FINAL: files of --save. Prints the largest difference relative to the largest weight of a
 * layer.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "data.h"
#include "nn.h"
#include "plain.h"

enum { MAX_STAGES = 16 };

struct run {
	int batch, micro_batches, iterations, is_sync, is_layerwise;
	double rate, momentum;
	int stage_count, first[MAX_STAGES + 1], replicas[MAX_STAGES];
};

/* Of a layer: all versions that there ever were, the sum of gradients since the last, and the momentum. */
struct history {
	double **version;
	int newest;
	double *sum, *velocity;
};

static void build(struct nn *nn, const char *net)
{
	if (!strcmp(net, "cnn")) {
		nn_conv(nn, 3, 5, 1, 0, NN_TANH);
		nn_pool(nn, 2);
		nn_conv(nn, 8, 5, 1, 0, NN_TANH);
		nn_pool(nn, 2);
		nn_dense(nn, 120, NN_TANH);
		nn_dense(nn, 84, NN_TANH);
	} else {
		nn_dense(nn, 24, NN_TANH);
		nn_dense(nn, 20, NN_TANH);
		nn_dense(nn, 16, NN_TANH);
		nn_dense(nn, 12, NN_TANH);
	}
	nn_dense(nn, 10, NN_LINEAR);
	nn_softmax(nn);
}

static void parse_rule(struct run *run, const char *text)
{
	run->is_sync = !strcmp(text, "sync");
	run->is_layerwise = *text == '=';
	text += run->is_layerwise;
	for (; !run->is_sync && *text; run->stage_count++) {
		int used = 0;

		if (run->stage_count == MAX_STAGES || sscanf(text, "%d:%d%n", &run->first[run->stage_count],
							      &run->replicas[run->stage_count], &used) != 2)
			errx(2, "%s: FIRST_LAYER:REPLICAS expected", text);
		text += used;
		text += *text == ',';
	}
}

static void read_layer(FILE *file, const char *path, const struct nn_layer *l, double *param)
{
	float *numbers = xcalloc(l->param_count, sizeof(float));

	if (fread(numbers, sizeof(float), l->weight_count, file) != l->weight_count ||
		fread(numbers + l->bias_at, sizeof(float), l->bias_count, file) != l->bias_count)
		errx(1, "%s: too short", path);
	for (size_t k = 0; k < l->param_count; k++)
		param[k] = (double)numbers[k];
	free(numbers);
}

static double *copy(const double *from, size_t count)
{
	double *to = xcalloc(count, sizeof(double));

	memcpy(to, from, count * sizeof(double));
	return to;
}

static void begin(
	struct history *h, const struct nn *nn, const struct plain *p, int versions, const char *path)
{
	FILE *file = fopen(path, "rb");

	if (!file)
		err(1, "%s", path);
	for (int i = 0; i < nn->layer_count; i++) {
		const struct nn_layer *l = &nn->layer[i];

		if (!l->param_count)
			continue;
		read_layer(file, path, l, p->param[i]);
		h[i].version = xcalloc((size_t)versions, sizeof(*h[i].version));
		h[i].version[0] = copy(p->param[i], l->param_count);
		h[i].sum = xcalloc(l->param_count, sizeof(double));
		h[i].velocity = xcalloc(l->param_count, sizeof(double));
	}
	fclose(file);
}

static void load(struct plain *p, struct data *data, int first)
{
	const struct nn *nn = p->nn;
	int count = nn->in.n;
	size_t pixel_count = nn_numel(nn->in), label_count = nn_numel(nn->layer[nn->layer_count - 1].out);
	uint8_t *raw = xcalloc(data_raw_size(data, count), 1);
	float *pixels = xcalloc(pixel_count, sizeof(float)), *labels = xcalloc(label_count, sizeof(float));

	if (data_read(data, first, count, raw) || data_decode(data, first, count, raw, pixels, labels))
		errx(1, "%s", data->error);
	for (size_t i = 0; i < pixel_count; i++)
		p->input[i] = (double)pixels[i];
	for (size_t i = 0; i < label_count; i++)
		p->target[i] = (double)labels[i];
	free(raw);
	free(pixels);
	free(labels);
}

/* The processes of a layer's stage and of all later ones. */
static int stage_of(const struct run *run, int layer, int *processes)
{
	int stage = 0;

	while (stage + 1 < run->stage_count && layer >= run->first[stage + 1])
		stage++;
	*processes = 0;
	for (int s = stage; s < run->stage_count; s++)
		*processes += run->replicas[s];
	return stage;
}

/* How many micro-batches make an update of the layer, and which version micro-batch m sees. */
static int round_of(const struct run *run, int layer, int m, int *seen)
{
	int processes = 0, stage = 0, replicas = 0, version = 0;

	if (run->is_sync) {
		*seen = m / run->micro_batches;
		return run->micro_batches;
	}
	stage = stage_of(run, layer, &processes);
	replicas = run->replicas[stage];
	version = m / replicas -
		  (run->is_layerwise ? 2 * (processes - 1) : (processes + replicas - 1) / replicas - 1);
	*seen = version > 0 ? version : 0;
	return replicas;
}

static void add_gradient(
	const struct run *run, struct history *h, const struct nn_layer *l, const double *grad, int ends)
{
	const double *from = h->version[h->newest];
	double *next = NULL;

	for (size_t k = 0; k < l->param_count; k++)
		h->sum[k] += grad[k];
	if (!ends)
		return;
	next = xcalloc(l->param_count, sizeof(double));
	for (size_t k = 0; k < l->param_count; k++) {
		h->velocity[k] = run->momentum * h->velocity[k] + h->sum[k];
		next[k] = from[k] - run->rate * h->velocity[k];
		h->sum[k] = 0;
	}
	h->version[++h->newest] = next;
}

static void simulate(const struct run *run, struct plain *p, struct history *h, struct data *data)
{
	const struct nn *nn = p->nn;

	for (int m = 0; m < run->iterations * run->micro_batches; m++) {
		int seen = 0;

		load(p, data, m * nn->in.n);
		for (int i = 0; i < nn->layer_count; i++)
			if (nn->layer[i].param_count) {
				round_of(run, i, m, &seen);
				memcpy(p->param[i], h[i].version[seen],
					nn->layer[i].param_count * sizeof(double));
			}
		plain_forward(p);
		plain_backward(p);
		for (int i = 0; i < nn->layer_count; i++) {
			int round = round_of(run, i, m, &seen);

			if (nn->layer[i].param_count)
				add_gradient(run, &h[i], &nn->layer[i], p->grad[i], m % round == round - 1);
		}
	}
}

static double compare(const struct nn *nn, const struct history *h, const char *path)
{
	FILE *file = fopen(path, "rb");
	double worst = 0;

	if (!file)
		err(1, "%s", path);
	for (int i = 0; i < nn->layer_count; i++) {
		const struct nn_layer *l = &nn->layer[i];
		double *learned = xcalloc(l->param_count, sizeof(double)), largest = 0, difference = 0;

		if (l->param_count)
			read_layer(file, path, l, learned);
		for (size_t k = 0; k < l->param_count; k++) {
			largest = fmax(largest, fabs(h[i].version[h[i].newest][k]));
			difference = fmax(difference, fabs(h[i].version[h[i].newest][k] - learned[k]));
		}
		if (l->param_count && difference / largest > worst)
			worst = difference / largest;
		free(learned);
	}
	if (fgetc(file) != EOF)
		errx(1, "%s: too long", path);
	fclose(file);
	return worst;
}

int main(int argc, char **argv)
{
	struct run run = {0};
	struct data data;
	struct nn *nn = xcalloc(1, sizeof(*nn));
	struct history *h = xcalloc(NN_MAX_LAYERS, sizeof(*h));
	struct plain p;
	int updates = 0, samples = 0;

	if (argc != 11)
		errx(2, "the usage is in the source");
	run.batch = atoi(argv[3]);
	run.micro_batches = atoi(argv[4]);
	run.iterations = atoi(argv[5]);
	run.rate = atof(argv[6]);
	run.momentum = atof(argv[7]);
	parse_rule(&run, argv[8]);
	samples = run.batch / run.micro_batches;
	updates = run.iterations * run.micro_batches;
	if (data_open(&data, DATA_MNIST, argv[2], 0))
		errx(1, "%s", data.error);
	nn_init(nn, run.is_sync ? run.batch : samples, samples, data.channels, 1, data.height, data.width);
	build(nn, argv[1]);
	plain_init(&p, nn);
	begin(h, nn, &p, updates + 1, argv[9]);
	simulate(&run, &p, h, &data);
	printf("%.3e\n", compare(nn, h, argv[10]));
	for (int i = 0; i < nn->layer_count; i++) {
		for (int v = 0; h[i].version && v <= h[i].newest; v++)
			free(h[i].version[v]);
		free(h[i].version);
		free(h[i].sum);
		free(h[i].velocity);
	}
	plain_free(&p);
	data_close(&data);
	free(h);
	free(nn);
	return 0;
}
