/*
 * Checks from when on a job hangs: made-up traces of ranks that stop somewhere, looked at sooner and later.
 * Who is late, who is named, and what is final depends on how long ago that was.
 */
#include "analyses/hang/hang_private.h"
#include "check.h"
#include "trace_builder.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define S 1000000000LL
#define MS 1000000LL
#define PATIENCE_NS (10 * S)

enum { MOST = 4 };

/* Ranks while their traces are made, then what is read of them. Times are those since the job began. */
struct job {
	char folder[32];
	int count;
	struct builder builders[MOST];
	uint32_t launch[MOST], reduce[MOST], barrier[MOST];
	struct hang hang;
};

static uint32_t operation(struct builder *builder, const char *function, uint64_t value)
{
	return builder_operation(
		builder, builder_function(builder, function), 0, (const uint64_t[]){value, 1});
}

/* `met`: they have made a communicator of all. */
static void begin(struct job *job, int count, int world, bool met)
{
	memset(job, 0, sizeof(*job));
	strcpy(job->folder, "/tmp/test_hang.XXXXXX");
	if (!mkdtemp(job->folder))
		err(1, "%s", job->folder);
	job->count = count;
	for (int r = 0; r < count; r++) {
		struct builder *builder = &job->builders[r];

		builder_init(builder);
		builder->killed = true;
		builder->header.rank = r;
		builder->header.world = world;
		builder->header.pid = (uint32_t)getpid();
		strcpy(builder->header.host, "elsewhere");
		builder_queue(builder, 0, 0);
		if (met)
			builder_communicator(builder, r, count, 0, 7);
		job->launch[r] = operation(builder, "cudart LAUNCH cudaLaunchKernel int:grid", 1);
		job->reduce[r] =
			operation(builder, "nccl COMM ncclAllReduce int:count communicator:comm", 64);
		job->barrier[r] =
			operation(builder, "nccl COMM ncclBroadcast int:count communicator:comm", 1);
	}
}

static void call(struct job *job, int rank, uint32_t op, int64_t at_ns)
{
	struct builder *builder = &job->builders[rank];
	const uint64_t begin_ns = builder->header.monotonic_ns + (uint64_t)at_ns;

	builder_call(builder, 1, begin_ns, begin_ns + 1000, op, 1, 0, 0, 0);
}

static void reduce(struct job *job, int rank, int64_t at_ns)
{
	call(job, rank, job->reduce[rank], at_ns);
}

static void launch(struct job *job, int rank, int64_t at_ns)
{
	call(job, rank, job->launch[rank], at_ns);
}

static void read_back(struct job *job)
{
	char *folder = job->folder, path[64];

	for (int r = 0; r < job->count; r++) {
		builder_finish(&job->builders[r]);
		snprintf(path, sizeof(path), "%s/job.%d.pmtrace", folder, r);
		builder_save(&job->builders[r], path);
		builder_free(&job->builders[r]);
	}
	hang_read(&job->hang, &folder, 1);
	for (int r = 0; r < job->count; r++) {
		snprintf(path, sizeof(path), "%s/job.%d.pmtrace", folder, r);
		unlink(path);
	}
	rmdir(folder);
}

/* What is said of the job so long after it began, of which `over` says that no process runs any more. */
static enum hang_class class_at(struct job *job, int64_t at_ns, bool over)
{
	const int64_t now_ns = (int64_t)job->hang.ranks[0]->trace.header.real_ns + at_ns;

	job->hang.now_ns = job->hang.read_ns = now_ns;
	job->hang.over = over;
	job->hang.culprit_count = 0;
	hang_find(&job->hang, PATIENCE_NS);
	return job->hang.class;
}

static void expect(struct job *job, int64_t at_ns, enum hang_class class, const char *what)
{
	const enum hang_class found = class_at(job, at_ns, false);

	CHECK(found == class, "%s: %s, expected %s: %s", what, hang_class_key(found), hang_class_key(class),
		job->hang.headline);
}

/* Two ranks that meet every `pause_ns`, three times; rank 1 does not come the fourth time. */
static void begin_behind(struct job *job, int64_t pause_ns)
{
	begin(job, 2, 2, true);
	for (int64_t i = 0; i < 3; i++)
		for (int r = 0; r < 2; r++)
			reduce(job, r, i * pause_ns);
	reduce(job, 0, 3 * pause_ns);
}

/* Of a job that paused for a minute before, a rank that is behind for two is late; for four it hangs. */
static void check_usual(void)
{
	struct job job;

	begin_behind(&job, 60 * S);
	read_back(&job);
	expect(&job, 180 * S + 120 * S, HANG_IS_LATE, "twice the longest pause");
	expect(&job, 180 * S + 240 * S, HANG_IS_OUTSIDE, "four times the longest pause");
	hang_free(&job.hang);
}

/* A rank that goes on to launch kernels, as in an evaluation, is waited for longer than one that does not. */
static void check_evaluation(void)
{
	struct job job;

	begin_behind(&job, S);
	for (int64_t at = 4; at < 34; at++)
		launch(&job, 1, at * S);
	read_back(&job);
	job.hang.ranks[1]->process = HANG_RUNS;
	expect(&job, 3 * S + 25 * S, HANG_IS_LATE, "it evaluates for 25 s of 10 s");
	expect(&job, 3 * S + 35 * S, HANG_IS_OUTSIDE, "it evaluates for 35 s of 10 s");
	hang_free(&job.hang);
}

/* Ranks that have not communicated yet import and compile for minutes. */
static void check_start(void)
{
	struct job job;

	begin(&job, 2, 2, false);
	for (int r = 0; r < 2; r++)
		launch(&job, r, 0);
	read_back(&job);
	expect(&job, 240 * S, HANG_IS_NONE, "4 minutes at the start, of 10 s");
	expect(&job, 360 * S, HANG_IS_OUTSIDE, "6 minutes at the start, of 10 s");
	hang_free(&job.hang);
}

/* One of three ranks has left no trace so far. */
static void check_absent(void)
{
	struct job job;

	begin(&job, 2, 3, false);
	for (int r = 0; r < 2; r++)
		launch(&job, r, 0);
	read_back(&job);
	expect(&job, 25 * S, HANG_IS_LATE, "it may be started 25 s later, of 10 s");
	expect(&job, 35 * S, HANG_IS_ABSENT, "it is not there after 35 s, of 10 s");
	hang_free(&job.hang);
}

/* Ranks of a job that is over: the first made its last call `gap_ns` before the others. */
static enum hang_class class_of_first(int count, int64_t gap_ns)
{
	enum hang_class class;
	struct job job;

	begin(&job, count, count, false);
	for (int r = 0; r < count; r++)
		launch(&job, r, S + (r ? gap_ns + r * MS : 0));
	read_back(&job);
	class = class_at(&job, 10 * S, true);
	CHECK(class != HANG_IS_OUTSIDE || (job.hang.culprit_count == 1 && job.hang.culprits[0].rank == 0),
		"another rank is named: %s", job.hang.headline);
	hang_free(&job.hang);
	return class;
}

static void check_first(void)
{
	CHECK(class_of_first(4, 30 * MS) == HANG_IS_OUTSIDE, "30 ms before three others is first");
	CHECK(class_of_first(4, 12 * MS) == HANG_IS_UNKNOWN, "12 ms before three others may be chance");
	CHECK(class_of_first(3, 200 * MS) == HANG_IS_OUTSIDE, "200 ms before two others is first");
	CHECK(class_of_first(2, 200 * MS) == HANG_IS_UNKNOWN, "of two ranks one always ends first");
}

/* A rank is gone. Its launcher has a minute to end the others, who wait. */
static void check_launcher(void)
{
	struct job job;

	begin_behind(&job, S);
	read_back(&job);
	job.hang.ranks[1]->process = HANG_GONE;
	job.hang.launcher = 1;
	expect(&job, 2 * S + 45 * S, HANG_IS_KILLED, "45 s after its last call");
	CHECK(!hang_is_final(&job.hang), "the launcher has not had its time");
	expect(&job, 2 * S + 90 * S, HANG_IS_KILLED, "90 s after its last call");
	CHECK(hang_is_final(&job.hang), "the launcher does nothing");
	hang_free(&job.hang);
}

/* Three ranks meet; one has entered something else, while the trace was read or before. */
static void check_fresh(void)
{
	struct job job;

	begin(&job, 3, 3, true);
	for (int r = 0; r < 3; r++) {
		reduce(&job, r, 0);
		call(&job, r, r == 1 ? job.barrier[r] : job.reduce[r], S);
	}
	read_back(&job);
	expect(&job, S + 350 * MS, HANG_IS_LATE, "entered 350 ms before");
	expect(&job, S + 700 * MS, HANG_IS_DIFFERENT, "entered 700 ms before");
	hang_free(&job.hang);
}

static void check_works(void)
{
	static const struct {
		const char *what;
		struct hang_progress progress;
		bool works;
	} cases[] = {
		{"a thread that wakes up now and then", {.processors = 0.07}, false},
		{"a tenth of the time on a processor", {.processors = 0.15}, true},
		{"a heartbeat to a socket", {.read_bytes = 30e3, .written_bytes = 20e3}, false},
		{"a slow download", {.read_bytes = 50e3, .written_bytes = 50e3}, true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		CHECK(hang_progress_is_work(&cases[i].progress) == cases[i].works, "%s: %s", cases[i].what,
			cases[i].works ? "no work" : "work");
}

/* Two ranks' steps, each a collective, before which they launch kernels: one for an a, two for a b. Does rank
 * 0 lack a step? */
static bool lacks_step(const char *rank0, const char *rank1)
{
	const char *const steps[] = {rank0, rank1};
	struct hang_shift shift = {0};
	struct job job;
	bool lacks;

	begin(&job, 2, 2, true);
	for (int r = 0; r < 2; r++)
		for (int64_t i = 0; steps[r][i]; i++) {
			for (int n = 'a'; n <= steps[r][i]; n++)
				launch(&job, r, i * MS + n * 2000);
			reduce(&job, r, i * MS + 900000);
		}
	read_back(&job);
	lacks = hang_find_shift(&job.hang, &job.hang.groups[0].members[0], &job.hang.groups[0].members[1],
		strlen(rank0), &shift);
	CHECK(!lacks || (shift.rank == 0 && shift.steps == 1), "%s and %s: rank %zu lacks %u", rank0, rank1,
		shift.rank, shift.steps);
	hang_free(&job.hang);
	return lacks;
}

static void check_shift(void)
{
	/* every ninth step does more */
	CHECK(!lacks_step("aaaaaaab", "aaaaaaaa"), "one step that is another may be chance");
	CHECK(lacks_step("aaaaaaba", "aaaaaaab"), "what comes one step early is a step left out");
	/* each step does something else */
	CHECK(!lacks_step("bcd", "abc"), "of three collectives it is not known what a step is");
	CHECK(lacks_step("bcdef", "abcde"), "five collectives that are the same are steps");
}

int main(void)
{
	check_usual();
	check_evaluation();
	check_start();
	check_absent();
	check_first();
	check_launcher();
	check_fresh();
	check_works();
	check_shift();
	return check_end();
}
