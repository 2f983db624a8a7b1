/*
 * Waiting for input that ranges tell of, PyTorch's data loader's or the program's own: it is the phase
 * "input" of each iteration, once where ranges and reads of files are in one another, and the finding names
 * the loader. Nothing is known of one in a thread that computes nothing, nor of one that has no end.
 */
#include "analyses/finding/finding.h"
#include "analyses/replay/replay_build.h"
#include "check.h"
#include "trace_builder.h"

#include <string.h>

#define STEPS 10
#define LOADING 5000 /* ns */
#define SINGLE "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
#define SEVERAL "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
#define IN_ONE_THREAD(name) name, PM_RANGE_USER, 1, 1, 1, .input_ns = LOADING

struct load_case {
	const char *loader; /* name of the range; NULL: there is none */
	enum pm_range_scope scope;
	uint32_t loading, computing; /* threads */
	uint32_t devices;            /* each other one is another thread's */
	uint64_t reading;            /* ns of it in which a file is read */
	bool nested;                 /* another such range lies in it */
	bool endless;                /* the last one breaks off */
	bool early;                  /* the first batch comes before the set-up's calls */
	int64_t input_ns;            /* a step, as it should be found */
	const char *says, *advises;  /* in the finding; NULL: there is none */
};

struct program {
	struct builder builder;
	uint32_t kernels[3], copy, read, queues[2], loader, outer, step;
	uint64_t now;
};

static void in(struct program *p, uint32_t thread, uint32_t range)
{
	builder_in_range(&p->builder, thread, p->now += 10, range, PM_RANGE_NO_SEQUENCE, 0);
}

static void begin(struct program *p, const struct load_case *row)
{
	struct builder *builder = &p->builder;

	memset(p, 0, sizeof(*p));
	builder_init(builder);
	builder->header.version = PM_VERSION_WHOLE;
	p->now = 100000;
	for (uint32_t i = 0; i < 3; i++)
		p->kernels[i] = builder_operation(builder,
			builder_function(builder, "cudart LAUNCH cudaLaunchKernel int:x"), 0,
			(const uint64_t[]){i});
	p->kernels[0] = builder_operation(builder,
		builder_function(builder, "cudnn COMPUTE cudnnActivationForward reads:x_ptr writes:y_ptr"), 0,
		(const uint64_t[]){0x1000, 0x9000});
	p->copy = builder_operation(builder,
		builder_function(builder, "cudart COPY cudaMemcpyAsync writes:dst bytes:bytes direction:dir"),
		0, (const uint64_t[]){0x1000, 4096, 1});
	p->read = builder_operation(builder, builder_function(builder, "libc READ read string:file"), 0,
		(const uint64_t[]){builder_string(builder, "/data/train.bin")});
	for (uint32_t d = 0; d < row->devices; d++)
		p->queues[d] = builder_queue(builder, (int32_t)d, d);
	p->step = builder_range(builder, PM_RANGE_USER, "Optimizer.step#SGD.step", NULL, "train.py(7): main");
	p->loader = row->loader ? builder_range(builder, row->scope, row->loader, NULL, NULL) : 0;
	p->outer = builder_range(builder, row->scope, "load_batch", NULL, NULL);
}

static void load(struct program *p, const struct load_case *row, bool ends)
{
	const uint64_t begin = p->now += 10;

	if (row->nested)
		builder_in_range(&p->builder, row->loading, begin, p->outer, PM_RANGE_NO_SEQUENCE, 0);
	builder_in_range(&p->builder, row->loading, begin, p->loader, PM_RANGE_NO_SEQUENCE, 0);
	if (row->reading)
		builder_call(&p->builder, row->loading, begin + 100, begin + 100 + row->reading, p->read, 0,
			4096, 0, 0);
	p->now = begin + LOADING;
	if (!ends)
		return;
	builder_in_range(&p->builder, row->loading, p->now, 0, PM_RANGE_NO_SEQUENCE, 0);
	if (row->nested)
		builder_in_range(&p->builder, row->loading, p->now, 0, PM_RANGE_NO_SEQUENCE, 0);
}

static void launch(struct program *p, uint32_t thread, uint32_t operation, uint32_t device)
{
	p->now += 10;
	builder_call(&p->builder, thread, p->now, p->now + 5, operation, p->queues[device], 0, p->now + 20,
		p->now + 50);
	p->now += 60;
}

static void train(struct program *p, const struct load_case *row)
{
	if (row->early)
		load(p, row, true);
	for (uint32_t i = 0; i < 5 && row->early; i++)
		launch(p, row->computing, p->copy, 0);
	for (uint32_t i = 0; i < STEPS; i++) {
		if (row->loader && !(row->early && i == 0))
			load(p, row, true);
		launch(p, row->computing, p->copy, 0);
		for (uint32_t kernel = 0; kernel < 2; kernel++)
			for (uint32_t d = 0; d < row->devices; d++)
				launch(p, row->computing + d, p->kernels[kernel], d);
		in(p, row->computing, p->step);
		for (uint32_t d = 0; d < row->devices; d++)
			launch(p, row->computing + d, p->kernels[2], d);
		in(p, row->computing, 0);
	}
	if (row->endless)
		load(p, row, false);
}

static const struct finding *find_input(const struct finding_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].kind == FINDING_INPUT)
			return &list->items[i];
	return NULL;
}

/* Replayed, the first copy waits for the loader, and nothing is split. */
static void check_replay(size_t number, const struct analysis *analysis)
{
	struct replay_job job;

	replay_build(analysis, SIZE_MAX, &job);
	for (size_t i = 0; i < job.replay.task_count; i++)
		CHECK(job.works[i].phase != PHASE_MD, "row %zu: task %zu splits a batch", number, i);
	replay_job_free(&job);
}

static void check_row(size_t number, const struct load_case *row)
{
	struct program p;
	struct timeline timeline;
	struct analysis analysis;
	struct finding_list list;
	const struct finding *finding;

	begin(&p, row);
	train(&p, row);
	builder_timeline(&p.builder, &timeline);
	analysis_init(&analysis, &timeline, 1);
	CHECK(analysis.worker_count == row->devices, "row %zu: %zu workers", number, analysis.worker_count);
	for (size_t w = 0; w < analysis.worker_count; w++) {
		const struct analysis_worker *worker = &analysis.workers[w];

		CHECK(worker->worker->read_count == (row->input_ns ? STEPS * (1u + (row->reading > 0)) : 0),
			"row %zu: %zu reads", number, worker->worker->read_count);
		CHECK(worker->used_count >= STEPS - 2, "row %zu: %zu steps", number, worker->used_count);
		CHECK(!row->early || worker->iterations.items[0].first_read == worker->iterations.items[0].read_end,
			"row %zu: the first step has the input from before the set-up", number);
		for (size_t i = row->early; i < worker->used_count; i++) {
			const struct phase_times *times = &worker->phases.times[worker->used[i]];

			CHECK(times->busy_ns[PHASE_IO] == row->input_ns && times->busy_ns[PHASE_MD] == 0,
				"row %zu: step %u of worker %zu: input %lld, splitting %lld ns", number,
				worker->used[i], w, (long long)times->busy_ns[PHASE_IO],
				(long long)times->busy_ns[PHASE_MD]);
			CHECK(times->exclusive_ns[PHASE_IO] == row->input_ns, "row %zu: exposed %lld ns",
				number, (long long)times->exclusive_ns[PHASE_IO]);
		}
	}
	check_replay(number, &analysis);
	findings_find(&analysis, &list);
	finding = find_input(&list);
	CHECK((finding != NULL) == (row->says != NULL), "row %zu: %s", number,
		finding ? finding->text : "no finding");
	if (finding && row->says)
		CHECK(strstr(finding->text, row->says) && strstr(finding->advice, row->advises),
			"row %zu: %s. Try: %s", number, finding->text, finding->advice);
	findings_free(&list);
	analysis_free(&analysis);
}

int main(void)
{
	/* clang-format off */
	static const struct load_case rows[] = {
		{IN_ONE_THREAD(SINGLE), .says = "100% of the reading is in " SINGLE ", which works in the training process",
			.advises = "num_workers"},
		{IN_ONE_THREAD(SEVERAL), .says = "which waits for worker processes", .advises = "prefetch_factor"},
		/* the file is most of it; each is told once */
		{IN_ONE_THREAD(SINGLE), .reading = 4000, .nested = true,
			.says = "80% of the reading is from /data/train.bin", .advises = "prefetch in worker processes"},
		{IN_ONE_THREAD(SINGLE), .endless = true, .says = SINGLE, .advises = "num_workers"},
		{IN_ONE_THREAD(SINGLE), .early = true, .says = SINGLE, .advises = "num_workers"},
		/* of NVTX */
		{"next_batch", PM_RANGE_NVTX, 1, 1, 1, .input_ns = LOADING,
			.says = "100% of the reading is in next_batch", .advises = "prefetch"},
		/* one that reads for two devices, of which it serves one (DataParallel) */
		{SINGLE, PM_RANGE_USER, 1, 1, 2, .input_ns = LOADING, .says = SINGLE, .advises = "num_workers"},
		/* another function of the loader's; an operator; a loader in a thread of its own */
		{"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__del__", PM_RANGE_USER, 1, 1, 1, .input_ns = 0},
		{"aten::data_loader", PM_RANGE_OPERATOR, 1, 1, 1, .input_ns = 0},
		{SINGLE, PM_RANGE_USER, 2, 1, 1, .input_ns = 0},
		{NULL, PM_RANGE_USER, 1, 1, 1, .says = "copying 30 ns", .advises = "copy the next batch"},
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check_row(i, &rows[i]);
	return check_end();
}
