/* The pace of a long run of which not all was read: which of its steps are slow, and what is read of those
 * asked for. */
#include "check.h"
#include "reconstruct/run_job.h"

#include <inttypes.h>

#define STEPS 20
#define USUAL_NS 100

/* So many steps, of which the last `slow` take `slow_ns`. False: there are too few to tell. */
static bool find_steps(size_t count, size_t slow, int64_t slow_ns, struct pace_steps *steps)
{
	const struct timeline_process process = {.rank = 0};
	int64_t begin_ns[STEPS + 1] = {0};
	const struct pace pace = {.begin_ns = begin_ns, .count = count + 1};

	for (size_t i = 0; i < count; i++)
		begin_ns[i + 1] = begin_ns[i] + (i + slow >= count ? slow_ns : USUAL_NS);
	return pace_steps(&pace, &process, steps);
}

static void check_slow(void)
{
	static const struct {
		const char *what;
		size_t slow;
		int64_t slow_ns;
		size_t found;
	} cases[] = {
		{"steps that take twice as long are slow", 2, 2 * USUAL_NS, 2},
		{"steps that take a fifth longer are not", 2, 6 * USUAL_NS / 5, 0},
		{"a fifth of the steps may be exceptions", STEPS / 5, 4 * USUAL_NS, STEPS / 5},
		{"two fifths are none", 2 * STEPS / 5, 4 * USUAL_NS, SIZE_MAX},
	};
	struct pace_steps steps;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		CHECK(find_steps(STEPS, cases[i].slow, cases[i].slow_ns, &steps) &&
				steps.slow == cases[i].found,
			"%s: %zu", cases[i].what, steps.slow);
	CHECK(!find_steps(4, 0, 0, &steps), "four steps have a median");
	CHECK(find_steps(8, 0, 0, &steps), "eight steps have none");
}

/* Where parts of a run are read, the first and the last step of each are cut: steps around them are read too.
 */
static void check_stretches(void)
{
	struct timeline_process process = {.window_count = 1};
	struct timeline_window window = {.end_ns = USUAL_NS};
	const struct worker worker = {.process = 0};
	int64_t begin_ns[STEPS];
	struct analysis_worker item = {.worker = &worker, .pace = {.begin_ns = begin_ns, .count = STEPS}};
	const struct run run = {
		.analysis = {.timeline = {.processes = &process, .process_count = 1, .windows = &window},
			.workers = &item,
			.worker_count = 1}};
	struct timeline_stretches found;

	for (int64_t i = 0; i < STEPS; i++)
		begin_ns[i] = i * USUAL_NS;
	CHECK(run_stretches(&run, 8, 9, &found) && found.count == 2,
		"steps 8 and 9 are in no stretch of their own");
	CHECK(found.items[1].begin_ns == 6 * USUAL_NS && found.items[1].end_ns == 12 * USUAL_NS,
		"two steps are not read on either side: %" PRId64 " to %" PRId64 " ns",
		found.items[1].begin_ns, found.items[1].end_ns);
}

int main(void)
{
	check_slow();
	check_stretches();
	return check_end();
}
