/*
 * Checks stages, cuts, schedules and buckets without a GPU: sentences for what cannot be, the best cut
 * against trying all, and schedules by playing them with sends that end only when they are received: no
 * process waits for ever, each micro-batch passes every stage in order, and no more are under way than there
 * is room for.
 */
#include "strategy.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "check.h"
#include "fusion.h"
#include "strategy_schedule.h"

enum { ITERATIONS = 3, MAX_RANKS = 16, MAX_MICRO = 64 };

static int failures;

__attribute__((format(printf, 1, 2))) static void fail(const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vprintf(format, values);
	va_end(values);
	putchar('\n');
	failures++;
}

/* A small residual network: conv1, conv2, add1, conv3, fc1, fc2, loss; no cut before add1, nor before conv2.
 */
static void build(struct nn *nn)
{
	nn_init(nn, 8, 8, 1, 1, 12, 12);
	nn_conv(nn, 4, 3, 1, 1, NN_RELU);
	nn_conv(nn, 4, 3, 1, 1, NN_LINEAR);
	nn_add(nn, 0, NN_RELU);
	nn_conv(nn, 8, 3, 1, 1, NN_RELU);
	nn_dense(nn, 20, NN_RELU);
	nn_dense(nn, 10, NN_LINEAR);
	nn_softmax(nn);
}

static const struct {
	struct strategy_options options;
	int world;
	const char *text; /* in the sentence; NULL: none */
} sentences[] = {
	{{STRATEGY_GPIPE, NULL, NULL, 32, 4, 0}, 3, NULL},
	{{STRATEGY_MODEL, NULL, NULL, 31, 0, 0}, 3, NULL},
	{{STRATEGY_MODEL, NULL, NULL, 32, 2, 0}, 2, "--strategy model does not divide batches"},
	{{STRATEGY_GPIPE, NULL, NULL, 30, 0, 0}, 2, "a batch of 30 samples is not divisible"},
	{{STRATEGY_GPIPE, "2-1", NULL, 32, 4, 0}, 3, "has one replica of each stage"},
	{{STRATEGY_HYBRID, NULL, NULL, 32, 4, 0}, 4, "--stages must set"},
	{{STRATEGY_HYBRID, "2-2", NULL, 32, 4, 0}, 3, "4 processes required, but 3 are running"},
	{{STRATEGY_HYBRID, "3-1", NULL, 32, 4, 0}, 4, "replicas of stage 1 (3)"},
	{{STRATEGY_PIPEDREAM, "2-x", NULL, 32, 4, 0}, 2, "numbers of replicas separated by -"},
	{{STRATEGY_PIPEDREAM, "2-", NULL, 32, 4, 0}, 2, "numbers of replicas separated by -"},
	{{STRATEGY_PIPEDREAM, "", NULL, 32, 4, 0}, 2, "numbers of replicas separated by -"},
	{{STRATEGY_PIPEDREAM, "0-2", NULL, 32, 4, 0}, 2, "numbers of replicas separated by -"},
	{{STRATEGY_PIPEDREAM, "1-1", "2", 32, 4, 0}, 2, "cannot cut before layer 2 (add1)"},
	{{STRATEGY_PIPEDREAM, "1-1", "9", 32, 4, 0}, 2, "the network's last layer is 6"},
	{{STRATEGY_PIPEDREAM, "1-1", "3,4", 32, 4, 0}, 2, "2 stages have 1 cuts"},
	{{STRATEGY_PIPEDREAM, "1-1-1", "4,4", 32, 4, 0}, 3, "the numbers must rise"},
	{{STRATEGY_PIPEDREAM, "1-1", "3;4", 32, 4, 0}, 2, "auto, or layer numbers"},
	{{STRATEGY_PIPEDREAM, "1-1", "4", 32, 4, 0}, 2, NULL},
	{{STRATEGY_LAYERWISE, "2-1", NULL, 32, 1, 0}, 3, "layerwise has one replica of each stage"},
	{{STRATEGY_LAYERWISE, NULL, NULL, 32, 4, 0}, 2, "layerwise does not divide batches"},
	{{STRATEGY_GPIPE, NULL, "auto", 32, 4, 0}, 6, NULL},
	{{STRATEGY_GPIPE, NULL, "auto", 32, 4, 0}, 7, "7 stages: this network can be cut into at most 6"},
};

static void check_sentences(struct nn *nn)
{
	struct strategy s;

	for (size_t i = 0; i < sizeof(sentences) / sizeof(*sentences); i++) {
		const char *text = sentences[i].text;
		int failed = strategy_init(&s, &sentences[i].options, sentences[i].world) ||
			     strategy_cut(&s, nn, sentences[i].options.partition);

		if (failed != (text != NULL) || (text && !strstr(s.error, text)))
			fail("sentence %zu: \"%s\" and not \"%s\"", i, failed ? s.error : "",
				text ? text : "");
	}
}

/* The slowest stage of a cut into three, by the definition. */
static double slowest(const struct nn *nn, const int *cut, const int *replicas, int stages)
{
	double most = 0;

	for (int s = 0; s < stages; s++) {
		double cost = 0;

		for (int i = cut[s]; i < cut[s + 1]; i++) {
			const struct nn_layer *l = &nn->layer[i];
			double moved = (double)(nn_numel(l->in) + nn_numel(l->out) + l->param_count);

			cost += fmax(nn_flops(nn, i), 70 * moved);
		}
		most = fmax(most, cost / replicas[s]);
	}
	return most;
}

static void check_cuts(struct nn *nn, const char *stages, int world)
{
	struct strategy_options options = {STRATEGY_PIPEDREAM, stages, NULL, 40, 10, 0};
	struct strategy s;
	double best = 1e300;

	if (strategy_init(&s, &options, world) || strategy_cut(&s, nn, NULL))
		errx(1, "%s", s.error);
	for (int a = 1; a < nn->layer_count; a++)
		for (int b = a + 1; b < nn->layer_count; b++) {
			int cut[] = {0, a, b, nn->layer_count};

			if (nn_cut_ok(nn, a) && nn_cut_ok(nn, b))
				best = fmin(best, slowest(nn, cut, s.replicas, 3));
		}
	if (fabs(slowest(nn, s.cut, s.replicas, 3) - best) > 1e-9 * best)
		fail("stages %s: cuts %d and %d are not the best", stages, s.cut[1], s.cut[2]);
}

/* A process of the game: its current step, and where the step is. */
struct player {
	struct strategy_schedule schedule;
	struct strategy_step step;
	int received, begun;
	int sends[2][MAX_MICRO * ITERATIONS], send_count[2], sent[2]; /* forward, backward: in order */
	int updates, iterations, under_way, seen;
};

static struct player players[MAX_RANKS];

static int is_ready(const struct strategy *s, struct player *p, int stage, int self)
{
	int direction = p->step.work == STRATEGY_BACKWARD;
	int from_stage = direction ? stage + 1 : stage - 1;
	struct player *from = NULL;

	if (p->step.work > STRATEGY_BACKWARD || from_stage < 0 || from_stage == s->stage_count)
		return 1;
	from = &players[strategy_rank(s, from_stage, p->step.micro_batch)];
	if (from->sent[direction] == from->send_count[direction] ||
		from->sends[direction][from->sent[direction]] != p->step.micro_batch)
		return 0;
	if (strategy_rank(s, stage, p->step.micro_batch) != self)
		fail("micro-batch %d is not rank %d's", p->step.micro_batch, self);
	from->sent[direction]++;
	return 1;
}

/*
 * Gradients leave from one buffer: the next backward pass needs it empty. Activations leave from as many as
 * may be under way.
 */
static int has_room(const struct strategy *s, const struct player *p, int stage)
{
	if (p->step.work == STRATEGY_BACKWARD && stage > 0)
		return p->sent[1] == p->send_count[1];
	if (p->step.work == STRATEGY_FORWARD && stage + 1 < s->stage_count)
		return p->send_count[0] - p->sent[0] < strategy_depth(s, stage);
	return 1;
}

/* All replicas of a stage update together. */
static int all_update(const struct strategy *s, int stage, int updates)
{
	for (int r = s->first_rank[stage]; r < s->first_rank[stage + 1]; r++)
		if (players[r].updates < updates ||
			(players[r].updates == updates && players[r].step.work != STRATEGY_UPDATE))
			return 0;
	return 1;
}

static int play(const struct strategy *s, int rank)
{
	struct player *p = &players[rank];
	int replica = 0, stage = strategy_stage(s, rank, &replica), m = p->step.micro_batch;

	if (p->step.work == STRATEGY_DONE || !has_room(s, p, stage))
		return 0;
	if (p->step.work == STRATEGY_UPDATE && !all_update(s, stage, p->updates))
		return 0;
	if (!is_ready(s, p, stage, rank))
		return 0;
	p->under_way += p->step.work == STRATEGY_FORWARD;
	p->under_way -= p->step.work == STRATEGY_BACKWARD;
	p->updates += p->step.work == STRATEGY_UPDATE;
	p->iterations += p->step.work == STRATEGY_ITERATION;
	if (p->under_way > p->seen)
		p->seen = p->under_way;
	if (p->step.work == STRATEGY_FORWARD && stage + 1 < s->stage_count)
		p->sends[0][p->send_count[0]++] = m;
	if (p->step.work == STRATEGY_BACKWARD && stage > 0)
		p->sends[1][p->send_count[1]++] = m;
	p->step = strategy_next(&p->schedule);
	return 1;
}

static void check_player(const struct strategy *s, const char *name, int rank)
{
	const struct player *p = &players[rank];
	int replica = 0, stage = strategy_stage(s, rank, &replica);
	int turns = ITERATIONS * s->micro_batches / s->replicas[stage];
	int updates = strategy_follows(s) ? turns : ITERATIONS;

	if (p->step.work != STRATEGY_DONE)
		fail("%s: rank %d waits for ever in a step %d of micro-batch %d", name, rank, p->step.work,
			p->step.micro_batch);
	if (p->updates != updates || p->iterations != ITERATIONS)
		fail("%s: rank %d did %d updates in %d iterations", name, rank, p->updates, p->iterations);
	if (p->seen > strategy_depth(s, stage) || p->schedule.forwards != turns || p->under_way)
		fail("%s: rank %d had %d micro-batches under way, of %d", name, rank, p->seen,
			p->schedule.forwards);
}

static void check_schedule(enum strategy_kind kind, const char *stages, int world, int micro_batches)
{
	struct strategy_options options = {kind, stages, NULL, micro_batches, micro_batches, 0};
	struct strategy s;
	char name[64];

	snprintf(name, sizeof(name), "%s %s x %d",
		kind == STRATEGY_PIPEDREAM   ? "pipedream"
		: kind == STRATEGY_LAYERWISE ? "layerwise"
					     : "gpipe",
		stages ? stages : "1-1...", micro_batches);
	if (strategy_init(&s, &options, world)) {
		fail("%s: %s", name, s.error);
		return;
	}
	memset(players, 0, sizeof(players));
	for (int r = 0; r < world; r++) {
		strategy_begin(&players[r].schedule, &s, r, ITERATIONS);
		players[r].step = strategy_next(&players[r].schedule);
	}
	for (int moved = 1; moved;) {
		moved = 0;
		for (int r = 0; r < world; r++)
			moved += play(&s, r);
	}
	for (int r = 0; r < world; r++)
		check_player(&s, name, r);
}

/* The order that the published figures show: the first of three stages, and the last. */
static void check_order(enum strategy_kind kind, int rank, const char *expected)
{
	const int is_whole = kind == STRATEGY_LAYERWISE;
	struct strategy_options options = {kind, NULL, NULL, 12, is_whole ? 1 : 4, 0};
	struct strategy_schedule schedule;
	struct strategy_step step = {0};
	struct strategy s;
	char text[256] = "";
	size_t at = 0;

	if (strategy_init(&s, &options, 3))
		errx(1, "%s", s.error);
	strategy_begin(&schedule, &s, rank, is_whole ? 6 : 1);
	while (step.work != STRATEGY_DONE) {
		step = strategy_next(&schedule);
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%c", "fbui."[step.work]);
		if (step.work <= STRATEGY_BACKWARD)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%d", step.micro_batch);
	}
	if (strcmp(text, expected) != 0)
		fail("strategy %d, rank %d: %s and not %s", kind, rank, text, expected);
}

/* By hand. Parameters, with what fills them up: conv1 64 + 4, conv2 192 + 4, conv3 320 + 8, fc1 23040 + 20,
 * fc2 256 + 10. */
static void check_buckets(struct nn *nn)
{
	const double ready_us[] = {1900, 1800, 1700, 1100, 900, 500, 100};
	int closes[NN_MAX_LAYERS];
	static const struct {
		size_t threshold_bytes;
		double cycle_us;
		int is_measured;
		const char *closed; /* by layer: conv1 conv2 add1 conv3 fc1 fc2 loss */
	} cases[] = {
		{1 << 20, 1000, 0, "1000000"},
		{1 << 20, 1000, 1, "1000100"},
		{1 << 20, 600, 1, "1001010"},
		{1 << 20, 0, 0, "1101110"},
		{0, 1000, 0, "1101110"},
		{4 * (266 + 23060), 1000, 0, "1000100"},
		{4 * (266 + 23060) - 1, 1000, 0, "1000110"},
		{4 * 600, 1000, 1, "1000110"},
		{4 * 590, 1000, 1, "1100110"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[8] = "";

		fusion_plan(nn, cases[i].threshold_bytes, cases[i].cycle_us,
			cases[i].is_measured ? ready_us : NULL, closes);
		for (int k = 0; k < 7; k++)
			text[k] = (char)('0' + closes[k]);
		if (strcmp(text, cases[i].closed) != 0)
			fail("buckets %zu: %s and not %s", i, text, cases[i].closed);
	}
	fusion_plan(nn, 1 << 20, 1000, ready_us, closes);
	if (strcmp(fusion_name(nn, closes, 0), "conv3+conv2+conv1") != 0 ||
		strcmp(fusion_name(nn, closes, 4), "fc2+fc1") != 0 || fusion_first(nn, closes, 0) != 3 ||
		fusion_count(nn, closes, 4) != 266 + 23060)
		fail("buckets: %s, %s", fusion_name(nn, closes, 0), fusion_name(nn, closes, 4));
}

int main(void)
{
	static const char *const stages[] = {
		"2-1-1", "1-2", "2-2", "1-3-2", "4-2-1", "1-1-4", "3-1-1-3", "1-2-4-8"};
	static const int ranks[] = {4, 3, 4, 6, 7, 6, 8, 15};
	struct nn *nn = xcalloc(1, sizeof(*nn));

	build(nn);
	check_sentences(nn);
	check_cuts(nn, "1-1-1", 3);
	check_cuts(nn, "2-1-1", 4);
	check_cuts(nn, "1-1-5", 7);
	for (int world = 1; world <= MAX_RANKS; world++)
		for (int m = 1; m <= 12; m++) {
			check_schedule(STRATEGY_GPIPE, NULL, world, m);
			check_schedule(STRATEGY_PIPEDREAM, NULL, world, m);
		}
	for (int world = 1; world <= MAX_RANKS; world++)
		check_schedule(STRATEGY_LAYERWISE, NULL, world, 1);
	for (size_t i = 0; i < sizeof(stages) / sizeof(*stages); i++)
		for (int m = 24; m <= 48; m += 24) {
			check_schedule(STRATEGY_HYBRID, stages[i], ranks[i], m);
			check_schedule(STRATEGY_PIPEDREAM, stages[i], ranks[i], m);
		}
	check_order(STRATEGY_GPIPE, 0, "f0f1f2f3b3b2b1b0ui.");
	check_order(STRATEGY_PIPEDREAM, 0, "f0f1f2b0uf3b1ub2ub3ui.");
	check_order(STRATEGY_PIPEDREAM, 2, "f0b0uf1b1uf2b2uf3b3ui.");
	check_order(STRATEGY_LAYERWISE, 0, "f0f1f2f3f4b0uif5b1uib2uib3uib4uib5ui.");
	check_order(STRATEGY_LAYERWISE, 2, "f0b0uif1b1uif2b2uif3b3uif4b4uif5b5ui.");
	check_buckets(nn);
	free(nn);
	return failures ? 1 : 0;
}
