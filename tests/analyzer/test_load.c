/*
 * Waiting for input that ranges tell of, PyTorch's data loader's, TensorFlow's or the program's own: it is
 * the phase "input" of each iteration, once where ranges and reads of files are in one another, and the
 * finding names the loader. Nothing is known of one in a thread that computes nothing, nor of one that has no
 * end; TensorFlow's lasts until its batch is taken, whichever thread starts it.
 */
#include "analyses/cause/cause_measure.h"
#include "analyses/finding/finding.h"
#include "analyses/replay/whatif.h"
#include "check.h"
#include "trace_builder.h"

#include <string.h>

#define STEPS 10
#define LOADING 5000 /* ns */
#define SINGLE "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
#define SEVERAL "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
#define NEXT "IteratorGetNext:IteratorGetNext"
#define PIPELINE 5000000 /* ns, until its batch is there */
#define EXECUTOR 6
#define STARTING 50 /* ns of TensorFlow's operation, which then waits outside of its range */
#define BY_EXECUTOR(name) name, PM_RANGE_NVTX, 2, 1, 1, .domain = "TSL"
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
	const char *domain, *takes;  /* the second: TensorFlow's operation that takes the batch; NULL: none */
	uint64_t until;              /* ns after which it does; 0: PIPELINE */
	bool inside;                 /* it waits in its range */
	int64_t input_ns;            /* a step, as it should be found */
	const char *says, *advises;  /* in the finding; NULL: there is none */
};

struct program {
	struct builder builder;
	uint32_t kernels[3], copy, read, queues[2], loader, outer, receive, take, forward, backward, step;
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
	if (row->domain)
		p->loader = builder_nvtx(builder, row->domain, row->loader, 0);
	else if (row->loader)
		p->loader = builder_range(builder, row->scope, row->loader, NULL, NULL);
	if (row->takes) {
		p->forward = builder_nvtx(builder, "TSL", "net/layer/Cast:Cast", 0);
		p->backward = builder_nvtx(builder, "TSL", "gradient_tape/net/layer/Cast:Cast", 0);
		p->receive = builder_nvtx(builder, "TSL", "IteratorGetNext/_4:_Recv", 0);
		p->take = builder_nvtx(builder, "TSL", row->takes, 0);
	}
	p->outer = builder_range(builder, row->scope, "load_batch", NULL, NULL);
}

static void operate(struct program *p, uint32_t thread, uint32_t range, uint64_t begin, uint64_t ns)
{
	builder_in_range(&p->builder, thread, begin, range, PM_RANGE_NO_SEQUENCE, 0);
	builder_in_range(&p->builder, thread, begin + ns, 0, PM_RANGE_NO_SEQUENCE, 0);
}

/* TensorFlow starts to get a batch, and to receive it on the device, and sends it when it is there. */
static void get_next(struct program *p, const struct load_case *row)
{
	const uint64_t begin = p->now += 10, ns = row->until ? row->until : PIPELINE;

	operate(p, row->loading, p->loader, begin, row->inside ? ns : STARTING);
	operate(p, row->computing, p->receive, begin + 2 * STARTING, STARTING);
	p->now = begin + ns;
	operate(p, row->loading + 2, p->take, p->now, STARTING);
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

static void launch_in(struct program *p, uint32_t operation)
{
	in(p, EXECUTOR, operation);
	launch(p, EXECUTOR, p->kernels[1], 0);
	in(p, EXECUTOR, 0);
}

static void train(struct program *p, const struct load_case *row)
{
	if (row->early)
		load(p, row, true);
	for (uint32_t i = 0; i < 5 && row->early; i++)
		launch(p, row->computing, p->copy, 0);
	for (uint32_t i = 0; i < STEPS; i++) {
		if (row->takes) {
			/* what needs no input, as steps of momentum; the thread goes on when the batch is
			 * there */
			launch_in(p, p->forward);
			get_next(p, row);
			launch_in(p, p->backward);
		} else if (row->loader && !(row->early && i == 0))
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

/* Replayed, the first copy waits for the loader, nothing is split, and without the wait steps are shorter by
 * it. */
static void check_replay(size_t number, const struct load_case *row, const struct analysis *analysis)
{
	const struct whatif_change change = {.kind = WHATIF_INPUT};
	struct replay_job job;
	struct whatif whatif;
	double before_ns;

	replay_build(analysis, SIZE_MAX, &job);
	for (size_t i = 0; i < job.replay.task_count; i++)
		CHECK(job.works[i].phase != PHASE_MD, "row %zu: task %zu splits a batch", number, i);
	whatif_init(&whatif, &job);
	before_ns = whatif_run(&whatif);
	whatif_apply(&whatif, &change);
	CHECK(row->devices > 1 || before_ns - whatif_run(&whatif) >= 0.95 * (double)row->input_ns,
		"row %zu: a gain of %f ns", number, before_ns - whatif_run(&whatif));
	whatif_free(&whatif);
	replay_job_free(&job);
}

/* What a straggler's input is compared by: until it is there nothing counts as the first computation. */
static void check_lead(size_t number, const struct load_case *row, const struct analysis *analysis)
{
	struct arena arena = {0};
	struct cause_measure measure;

	cause_measure(analysis, &analysis->workers[0], &arena, &measure);
	CHECK(measure.lead.median >= (double)row->input_ns, "row %zu: computing begins after %f ns", number,
		measure.lead.median);
	cause_measure_free(&measure);
	arena_free(&arena);
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
	check_replay(number, row, &analysis);
	check_lead(number, row, &analysis);
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
		/* TensorFlow's graph, in an executor's thread that computes nothing, or serves the second device */
		{BY_EXECUTOR(NEXT), .takes = "IteratorGetNext/_3:_Send", .input_ns = PIPELINE,
			.says = "100% of the reading is in " NEXT ", which waits for the tf.data pipeline",
			.advises = "prefetch(tf.data.AUTOTUNE)"},
		{BY_EXECUTOR("while/body/_1/Next:IteratorGetNextAsOptional"), .takes = "while/body/_1/Next/_30:Identity",
			.input_ns = PIPELINE, .says = "tf.data", .advises = "num_parallel_calls"},
		{NEXT, PM_RANGE_NVTX, 2, 1, 2, .domain = "TSL", .takes = "IteratorGetNext/_3:_Send",
			.input_ns = PIPELINE, .says = "tf.data", .advises = "cache()"},
		/* a batch that is there, or nearly; NEXT_READY */
		{BY_EXECUTOR(NEXT), .takes = "IteratorGetNext/_3:_Send", .until = 800000, .input_ns = 0},
		{BY_EXECUTOR(NEXT), .takes = "IteratorGetNext/_3:_Send", .until = 1200000, .input_ns = 1200000,
			.says = "tf.data", .advises = "tf.data"},
		/* operations that take no batch, or another's; another library's range; a wait that ends with its range */
		{BY_EXECUTOR(NEXT), .takes = "IteratorGetNext/Cast:_Send", .input_ns = 0},
		{BY_EXECUTOR(NEXT), .takes = "Other/_3:_Send", .input_ns = 0},
		{NEXT, PM_RANGE_NVTX, 2, 1, 1, .domain = "mine", .takes = "IteratorGetNext/_3:_Send", .input_ns = 0},
		{BY_EXECUTOR("IteratorGetNext:IteratorGetNextSync"), .takes = "Other/_3:_Send", .inside = true,
			.input_ns = PIPELINE, .says = "tf.data", .advises = "tf.data"},
		{NULL, PM_RANGE_USER, 1, 1, 1, .says = "copying 30 ns", .advises = "copy the next batch"},
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check_row(i, &rows[i]);
	return check_end();
}
