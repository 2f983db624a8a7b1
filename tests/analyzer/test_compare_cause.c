/* Checks how much must differ between two made-up runs to be called a difference, and its cause. */
#include "analyses/compare/compare.h"
#include "check.h"
#include "model_read.h"

#include <string.h>

/* The run as it is, and with layers that are slower. */
struct pair {
	struct model models[2];
	struct run runs[2];
	struct run *places[2];
	struct compare_side sides[2];
	struct compare compare;
};

static void open_pair(struct pair *pair, int iterations, const char *slow_layers)
{
	static const char *const names[] = {"A", "B"};

	memset(pair, 0, sizeof(*pair));
	for (size_t i = 0; i < 2; i++) {
		const struct model_options options = {.net = MODEL_LENET,
			.iterations = iterations,
			.batch = 16,
			.processes = 1,
			.gpus = 1,
			.seed = 1 + i,
			.slow = i ? 3 : 1,
			.slow_layer = slow_layers};

		model_make(&pair->models[i], &options);
		model_read(&pair->models[i], 1, &pair->runs[i].analysis);
		pair->runs[i].label = names[i];
		pair->places[i] = &pair->runs[i];
		pair->sides[i] = (struct compare_side){names[i], &pair->places[i], 1};
	}
}

static void compare_pair(struct pair *pair)
{
	const struct compare_options how = {.margin = COMPARE_MARGIN, .seed = COMPARE_SEED};

	compare_init(&pair->compare, pair->sides, 2, &how);
}

static void close_pair(struct pair *pair)
{
	compare_free(&pair->compare);
	for (size_t i = 0; i < 2; i++) {
		analysis_free(&pair->runs[i].analysis);
		model_free(&pair->models[i]);
	}
}

static const struct compare_row *layer_row(const struct compare_pair *pair, const char *title)
{
	for (size_t i = 0; i < pair->row_count; i++)
		if (pair->rows[i].kind == COMPARE_LAYER && strcmp(pair->rows[i].title, title) == 0)
			return &pair->rows[i];
	CHECK(false, "no layer %s", title);
	return &pair->rows[0];
}

/* Four iterations against four: all of one side are longer by chance in 2 of 70 cases, which is little for
 * the one question whether the runs differ, and not for each of nine layers. */
static void check_level(void)
{
	const struct compare_row *row;
	struct pair pair;

	open_pair(&pair, 5, "conv1 conv2 fc1");
	compare_pair(&pair);
	row = compare_find(&pair.compare.pairs[0], COMPARE_WHOLE, "t_iter");
	CHECK(row->word == COMPARE_SLOWER, "the iteration, p %g: %s", row->p, compare_word_text(row));
	row = layer_row(&pair.compare.pairs[0], "conv1");
	CHECK(row->word == COMPARE_UNDECIDED, "a layer, p %g: %s", row->p, compare_word_text(row));
	close_pair(&pair);
}

/* conv2 is slower, and the iteration by more than that, so that the layer has this share of the difference.
 * Is it the cause? */
static bool is_cause(double share)
{
	struct analysis_worker *worker;
	struct pair pair;
	const char *cause;
	double layer_ns;
	bool found;

	open_pair(&pair, 30, "conv2");
	worker = pair.runs[1].analysis.workers;
	layer_ns = analysis_layer(worker, 1, "conv2", PHASE_LAYER_FORWARD).mean * 2 / 3 +
		   analysis_layer(worker, 1, "conv2", PHASE_LAYER_BACKWARD).mean * 2 / 3;
	for (size_t i = 0; i < worker->iterations.count; i++)
		worker->phases.times[i].iteration_ns += (int64_t)(layer_ns * (1 / share - 1));
	compare_pair(&pair);
	cause = compare_cause(&pair.compare, &pair.compare.pairs[0]);
	found = cause && strstr(cause, "layer conv2");
	CHECK(!cause == !found, "%s", cause ? cause : "");
	close_pair(&pair);
	return found;
}

int main(void)
{
	check_level();
	CHECK(is_cause(0.4), "a layer that makes 40%% of the difference is its cause");
	CHECK(!is_cause(0.2), "a layer that makes 20%% of the difference is not its cause");
	return check_end();
}
