/* Findings of a job of labelled phases: what uneven work costs, by the replay of slowdown.h. */
#include "finding_make.h"

#include <math.h>

static const char *const advice[SLOWDOWN_EFFECTS] = {
	[SLOWDOWN_STAGES] = "move layers from the slow stage to the others",
	[SLOWDOWN_WORKERS] = "check that worker's machine: clocks, temperature, other processes",
	[SLOWDOWN_BATCHES] = "balance the work of micro-batches (sequence lengths), and check for pauses",
	[SLOWDOWN_COMMUNICATION] = "check the network between the workers",
	[SLOWDOWN_COLLECTION] = "run garbage collection on all workers at the same time, and rarely",
	[SLOWDOWN_UPDATE] = "check how the optimizer state is sharded",
};

/* Mean over ranks of what no label covers and of communication: where a worker waits for others. */
static double waiting_ns(const struct finding_list *list)
{
	const struct analysis *analysis = list->analysis;
	double ns = 0;

	for (size_t w = 0; w < analysis->worker_count; w++) {
		for (int phase = PHASE_IDLE_LAUNCH; phase < PHASE_COUNT; phase++)
			ns += finding_phase(list, w, (enum phase)phase);
		ns += finding_phase(list, w, PHASE_COMMUNICATION);
	}
	return ns / (double)analysis->worker_count;
}

void finding_job(struct finding_list *list)
{
	const struct slowdown *slowdown = &list->job->slowdown;
	double lost_ns = waiting_ns(list);
	bool trusted = fabs(slowdown->launch_slowdown - 1) <= 0.1;

	for (int effect = 0; effect < SLOWDOWN_EFFECTS; effect++) {
		/* no effect alone gains more than all that is uneven */
		double gain_ns = fmin(slowdown->replayed_ns - slowdown->effect_ns[effect],
			slowdown->replayed_ns - slowdown->ideal_ns);
		bool first = effect == slowdown->cause;

		finding_add(list,
			(struct finding){.kind = FINDING_IMBALANCE,
				.strength = !trusted || slowdown->step_count < 3 ? FINDING_WEAK
					    : slowdown->step_count < 5           ? FINDING_LIKELY
										 : FINDING_STRONG,
				.cause = slowdown_effect_key(effect),
				.subject = slowdown_effect_name(effect),
				.title = arena_format(
					&list->arena, "Imbalance: %s", slowdown_effect_name(effect)),
				.text = first ? slowdown->cause_words
					      : "Replayed with this alone balanced, a step is shorter by the "
						"gain",
				.basis = arena_format(&list->arena,
					"replay of %zu steps of %zu workers, %.1f%% of the measured time",
					slowdown->step_count, list->job->job.worker_count,
					100 / slowdown->launch_slowdown),
				.advice = advice[effect],
				.worker = SIZE_MAX,
				.gain_ns = fmin(gain_ns, lost_ns),
				.lost_ns = lost_ns});
	}
}
