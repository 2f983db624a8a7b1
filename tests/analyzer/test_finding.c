/* Checks what the title of jitter says of stragglers, in every combination of findings: "other" only where
 * one is listed above it. And from what size on something is a finding, and how sure it is. */
#include "check.h"
#include "analyses/finding/finding_make.h"

#include <stdlib.h>
#include <string.h>

enum straggler {
	NOT_FOUND,
	UNLISTED, /* it costs too little, or a slow link is its cause */
	BELOW,
	ABOVE,
	STRAGGLERS,
};

static const char *const titles[STRAGGLERS] = {
	[NOT_FOUND] = "Jitter: no persistent straggler",
	[UNLISTED] = "Jitter: changing stragglers",
	[BELOW] = "Jitter: changing stragglers",
	[ABOVE] = "Jitter: no other persistent straggler",
};

static void add(struct finding_list *list, enum finding_kind kind, double gain_ns)
{
	finding_add(list,
		(struct finding){.kind = kind, .subject = "", .basis = "", .title = "", .gain_ns = gain_ns});
}

/* `kind`: of a finding beside, which says nothing of stragglers; `gain_ns`: its gain. */
static void check_title(enum straggler straggler, bool whole, enum finding_kind kind, double gain_ns)
{
	struct finding_list list = {
		.step = {.mean_ns = 100, .whole = whole}, .causes = {.count = straggler != NOT_FOUND}};
	const char *title = NULL, *expected = whole ? "Ranks wait for each other" : titles[straggler];

	if (straggler == BELOW || straggler == ABOVE)
		add(&list, FINDING_STRAGGLER, straggler == ABOVE ? 30 : 10);
	add(&list, FINDING_WAITING, 20);
	add(&list, kind, gain_ns);
	finding_order(&list);
	for (size_t i = 0; i < list.count; i++)
		if (list.items[i].kind == FINDING_WAITING)
			title = list.items[i].title;
	CHECK(title && strcmp(title, expected) == 0, "straggler %d, beside it %s of %g: %s, not %s",
		(int)straggler, finding_key(kind), gain_ns, title ? title : "(none)", expected);
	free(list.items);
}

/* ---- From what size on ---- */

enum { MOST_USED = 40 };

/* One rank, whose steps are all alike and take 100 us; the device has no work during half of each, while the
 * host is in a call. */
struct job {
	struct phase_times times;
	struct iteration iteration;
	uint32_t used[MOST_USED];
	bool outlier[MOST_USED];
	struct analysis_worker worker;
	struct analysis analysis;
	struct host_call call;
	struct host_calls calls;
	struct finding_list list;
};

static void begin(struct job *job, size_t used)
{
	*job = (struct job){.times = {.iteration_ns = 100000},
		.call = {.name = "cudaFree", .kind = PM_KIND_ALLOC, .count = 1, .typical_ns = 50000},
		.calls = {.items = &job->call, .count = 1}};
	job->worker = (struct analysis_worker){.used = job->used,
		.used_count = used,
		.iterations = {.items = &job->iteration, .count = 1},
		.phases = {.times = &job->times}};
	job->analysis = (struct analysis){.workers = &job->worker, .worker_count = 1};
	job->list = (struct finding_list){.analysis = &job->analysis,
		.calls = &job->calls,
		.step = {.mean_ns = 100000,
			.outlier = job->outlier,
			.used = used,
			.count = used,
			.ranks = 1,
			.confidence = 1}};
}

static void end(struct job *job)
{
	free(job->list.items);
	arena_free(&job->list.arena);
}

static const struct finding *finding_of(const struct job *job, enum finding_kind kind)
{
	for (size_t i = 0; i < job->list.count; i++)
		if (job->list.items[i].kind == kind)
			return &job->list.items[i];
	return NULL;
}

/* Is a finding listed that gains so much of a step? */
static bool listed(double percent)
{
	struct finding_list list = {.step = {.mean_ns = 100}};
	bool is_listed;

	add(&list, FINDING_LAUNCH, percent);
	is_listed = list.count == 1;
	free(list.items);
	return is_listed;
}

static enum finding_strength strength_of(size_t used, double confidence)
{
	struct finding_list list = {.step = {.used = used, .confidence = confidence}};

	return finding_measured(&list);
}

/* Is computing named, of which a step has so much? */
static bool computing_named(int64_t percent)
{
	struct job job;
	bool named;

	begin(&job, 10);
	job.times.compute_ns = 1000 * percent;
	finding_idle(&job.list);
	named = finding_of(&job, FINDING_COMPUTING) != NULL;
	end(&job);
	return named;
}

/* A call that blocks the host, made so often in so many steps: how sure is the finding, and does its text
 * have the words? */
static void check_call(double calls, size_t steps, enum finding_strength strength, const char *words)
{
	const struct finding *finding;
	struct job job;

	begin(&job, steps);
	job.call.count = calls / (double)steps;
	finding_idle(&job.list);
	finding = finding_of(&job, FINDING_CALL);
	CHECK(finding && finding->strength == strength && strstr(finding->text, words),
		"%g calls in %zu steps: %s, %s", calls, steps,
		finding ? finding_strength_text(finding->strength) : "(none)", finding ? finding->text : "");
	end(&job);
}

static void check_sizes(void)
{
	CHECK(!listed(0.7) && listed(1.5), "a gain of 0.7 and of 1.5%% of a step");
	CHECK(!computing_named(35) && computing_named(65), "computing for 35 and for 65%% of a step");
	CHECK(strength_of(4, 1) == FINDING_LIKELY && strength_of(7, 1) == FINDING_STRONG,
		"in 4 steps and in 7");
	CHECK(strength_of(7, 0.8) == FINDING_WEAK && strength_of(7, 0.95) == FINDING_STRONG,
		"80 and 95%% of the work is in usual iterations");
	check_call(2, 30, FINDING_WEAK, "2 calls in 30 steps");
	check_call(4, 30, FINDING_STRONG, "4 calls in 30 steps");
	check_call(9, 30, FINDING_STRONG, "9 calls in 30 steps");
	check_call(21, 30, FINDING_STRONG, "0.7 calls a step");
}

int main(void)
{
	static const double gains_ns[] = {5, 15, 25, 35, 0.0 / 0.0};

	for (int straggler = 0; straggler < STRAGGLERS; straggler++)
		for (int kind = FINDING_WAITING + 1; kind < FINDING_COUNT; kind++)
			for (size_t i = 0; i < sizeof(gains_ns) / sizeof(*gains_ns); i++)
				for (int whole = 0; whole < 2; whole++)
					check_title((enum straggler)straggler, whole, (enum finding_kind)kind,
						gains_ns[i]);
	check_sizes();
	return check_end();
}
