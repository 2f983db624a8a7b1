/* Checks the model clock's order: streams, events, host functions, graphs, engines, work that ends by itself.
 */
#include <pthread.h>

#include <cuda_runtime_api.h>

#include "test_clock.h"

static void nothing(void *arg)
{
	(void)arg;
}

static void test_events_across_streams(void)
{
	cudaStream_t a = new_stream(), b = new_stream(), c = new_stream();
	cudaEvent_t event, again;
	int *device, *pinned;

	watch();
	OK(cudaMalloc((void **)&device, 4));
	OK(cudaMallocHost((void **)&pinned, 4));
	OK(cudaEventCreate(&event));
	OK(cudaEventCreateWithFlags(&again, cudaEventDisableTiming));
	kernel(a, HEAD_NS);
	OK(cudaEventRecord(event, a));
	OK(cudaStreamWaitEvent(b, event, 0));
	kernel(b, 1 * MS);
	/* To wait for what only waits is to wait for both. */
	OK(cudaStreamWaitEvent(c, event, 0));
	OK(cudaEventRecord(again, c));
	OK(cudaStreamDestroy(a));
	OK(cudaStreamDestroy(c));
	a = new_stream();
	OK(cudaStreamWaitEvent(a, again, 0));
	OK(cudaMemcpyAsync(device, pinned, 4, cudaMemcpyHostToDevice, a));
	kernel(b, 1 * MS);
	OK(cudaDeviceSynchronize());
	CHECK(seen(1).begin_ns == seen(0).end_ns && lasted(seen(1)) == 1 * MS);
	CHECK(seen(2).kind == SG_ACTIVITY_COPY && seen(2).begin_ns == seen(0).end_ns);
	CHECK(seen(3).begin_ns == seen(1).end_ns);
}

/* The launch latency counts from the submission, and only when nothing is before. */
static void test_latency(void)
{
	cudaStream_t stream = new_stream();
	cudaEvent_t event;
	uint64_t before, after;

	watch();
	OK(cudaEventCreate(&event));
	OK(cudaEventRecord(event, stream));
	OK(cudaEventSynchronize(event));
	before = sg_now_ns();
	kernel(stream, HEAD_NS);
	after = sg_now_ns();
	kernel(stream, 1 * MS);
	OK(cudaStreamSynchronize(stream));
	CHECK(seen(0).begin_ns + US >= before + LAUNCH_NS && seen(0).begin_ns <= after + LAUNCH_NS + US);
	CHECK(seen(1).begin_ns == seen(0).end_ns);
}

static void test_legacy(void)
{
	cudaStream_t blocking, other = new_stream();

	watch();
	OK(cudaStreamCreate(&blocking));
	kernel(blocking, HEAD_NS);
	kernel(NULL, 10 * MS);
	kernel(blocking, 10 * MS);
	OK(cudaMemsetAsync(NULL, 0, 0, other));
	EXPECT(cudaStreamQuery(NULL), cudaErrorNotReady);
	OK(cudaStreamSynchronize(blocking));
	CHECK(seen(1).begin_ns == seen(0).end_ns && seen(2).begin_ns == seen(1).end_ns);
	OK(cudaStreamQuery(NULL));
}

struct host_time {
	uint64_t ran_ns;
};

static void note_time(void *arg)
{
	((struct host_time *)arg)->ran_ns = sg_now_ns();
}

static void note_callback(cudaStream_t stream, cudaError_t status, void *arg)
{
	(void)stream;
	OK(status);
	note_time(arg);
}

static void test_host_functions(void)
{
	cudaStream_t stream = new_stream();
	struct host_time first, second;

	watch();
	kernel(stream, 10 * MS);
	OK(cudaLaunchHostFunc(stream, note_time, &first));
	kernel(stream, 10 * MS);
	OK(cudaStreamAddCallback(stream, note_callback, &second, 0));
	OK(cudaStreamSynchronize(stream));
	CHECK(first.ran_ns + US >= seen(0).end_ns);
	CHECK(seen(1).begin_ns + US >= first.ran_ns);
	CHECK(second.ran_ns + US >= seen(1).end_ns);
}

/* While a stream is held up, what follows it waits, and others do not. */
static void test_held_up(void)
{
	cudaStream_t held = new_stream(), after = new_stream(), other = new_stream();
	cudaEvent_t event;
	struct gate gate;
	uint64_t opened_ns;

	gate_init(&gate);
	watch();
	OK(cudaEventCreate(&event));
	OK(cudaLaunchHostFunc(held, gate_hold, &gate));
	kernel(held, 1 * MS);
	OK(cudaEventRecord(event, held));
	OK(cudaStreamWaitEvent(after, event, 0));
	kernel(after, 1 * MS);
	kernel(other, 1 * MS);
	OK(cudaStreamSynchronize(other));
	CHECK(seen_count() == 1);
	EXPECT(cudaStreamQuery(after), cudaErrorNotReady);
	opened_ns = sg_now_ns();
	gate_open(&gate);
	OK(cudaStreamSynchronize(after));
	CHECK(seen_count() == 3 && seen(0).begin_ns + US >= opened_ns && seen(1).begin_ns == seen(0).end_ns);
	/* All is processed: from now on there is nothing to hold up. */
	kernel(held, HEAD_NS);
	OK(cudaEventRecord(event, held));
	OK(cudaStreamWaitEvent(after, event, 0));
	kernel(after, 1 * MS);
	OK(cudaDeviceSynchronize());
	CHECK(seen(4).begin_ns == seen(3).end_ns);
}

/* fork, two branches on different engines, join */
static void test_graphs(void)
{
	cudaStream_t a = new_stream(), b = new_stream();
	cudaEvent_t fork_event, join_event, begin, end;
	cudaGraph_t graph;
	cudaGraphExec_t executable;
	char *device, *pinned;

	watch();
	OK(cudaMalloc((void **)&device, 1000000));
	OK(cudaMallocHost((void **)&pinned, 1000000));
	OK(cudaEventCreate(&fork_event));
	OK(cudaEventCreate(&join_event));
	OK(cudaEventCreate(&begin));
	OK(cudaEventCreate(&end));
	OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
	kernel(a, 1 * MS);
	OK(cudaEventRecord(fork_event, a));
	OK(cudaStreamWaitEvent(b, fork_event, 0));
	OK(cudaMemcpyAsync(device, pinned, 1000000, cudaMemcpyHostToDevice, b));
	kernel(a, 3 * MS);
	OK(cudaEventRecord(join_event, b));
	OK(cudaStreamWaitEvent(a, join_event, 0));
	kernel(a, 2 * MS);
	OK(cudaStreamEndCapture(a, &graph));
	CHECK(seen_count() == 0);
	OK(cudaGraphInstantiate(&executable, graph, 0));
	kernel(a, HEAD_NS);
	OK(cudaEventRecord(begin, a));
	OK(cudaGraphLaunch(executable, a));
	OK(cudaGraphLaunch(executable, a));
	OK(cudaEventRecord(end, a));
	OK(cudaStreamSynchronize(a));
	TAKES(begin, end, 2 * 6 * MS);
	CHECK(seen_count() == 9);
	CHECK(seen(2).kind == SG_ACTIVITY_COPY && seen(2).begin_ns == seen(1).end_ns);
	CHECK(lasted(seen(2)) == COPY_NS + 100000);
	CHECK(seen(3).begin_ns == seen(1).end_ns && seen(4).begin_ns == seen(3).end_ns);
	CHECK(seen(5).begin_ns == seen(4).end_ns);
}

/* Kernels share the device, copies have an engine for each direction. */
static void test_engines(void)
{
	const size_t size = (size_t)8 << 20;
	cudaStream_t streams[4];
	char *device, *pinned;
	uint64_t last_ns = 0;

	watch();
	OK(cudaMalloc((void **)&device, size));
	OK(cudaMallocHost((void **)&pinned, size));
	for (int i = 0; i < 4; i++)
		streams[i] = new_stream();
	kernel(streams[0], HEAD_NS);
	kernel(streams[1], 1 * MS);
	OK(cudaMemcpyAsync(device, pinned, size, cudaMemcpyHostToDevice, streams[2]));
	OK(cudaMemcpyAsync(pinned, device, size, cudaMemcpyDeviceToHost, streams[3]));
	OK(cudaMemcpyAsync(device, pinned, size, cudaMemcpyHostToDevice, streams[1]));
	OK(cudaMemcpyAsync(device, pinned, size, cudaMemcpyHostToDevice, streams[3]));
	OK(cudaDeviceSynchronize());
	CHECK(seen(1).begin_ns == seen(0).end_ns);
	for (unsigned i = 2; i < 4; i++)
		CHECK(seen(i).begin_ns < seen(0).end_ns);
	CHECK(seen(3).begin_ns < seen(2).end_ns);
	CHECK(seen(4).begin_ns == seen(1).end_ns);
	CHECK(seen(5).begin_ns == seen(3).end_ns);
	/* Another device has its own. */
	OK(cudaSetDevice(1));
	kernel(NULL, 20 * MS);
	last_ns = seen(6).begin_ns;
	OK(cudaSetDevice(0));
	kernel(streams[0], 20 * MS);
	CHECK(seen(7).begin_ns < last_ns + 20 * MS);
	OK(cudaDeviceSynchronize());
}

/* Work that is ready earlier takes a gap, or its turn. */
static void test_turns(void)
{
	cudaStream_t a = new_stream(), b = new_stream(), c = new_stream();
	cudaEvent_t copied, first;
	char *device, *pinned;

	watch();
	OK(cudaMalloc((void **)&device, 100000000));
	OK(cudaMallocHost((void **)&pinned, 100000000));
	OK(cudaEventCreate(&copied));
	OK(cudaEventCreate(&first));
	/* A gap on the compute engine while the copy lasts (10.01 ms). */
	kernel(a, HEAD_NS);
	OK(cudaEventRecord(first, a));
	OK(cudaStreamWaitEvent(c, first, 0));
	OK(cudaMemcpyAsync(device, pinned, 100000000, cudaMemcpyHostToDevice, c));
	OK(cudaEventRecord(copied, c));
	OK(cudaStreamWaitEvent(a, copied, 0));
	for (int i = 0; i < 10; i++)
		kernel(a, 1 * MS);
	OK(cudaStreamWaitEvent(b, first, 0));
	kernel(b, 4 * MS);
	CHECK(seen(2).begin_ns == seen(1).end_ns && seen(1).begin_ns == seen(0).end_ns);
	CHECK(seen(12).begin_ns == seen(0).end_ns);
	/* Ready with the third of a's ten: begins with the fourth, and the eleventh is so much later. */
	OK(cudaStreamWaitEvent(b, copied, 0));
	OK(cudaMemcpyAsync(pinned, device, 12450000, cudaMemcpyDeviceToHost, b)); /* 2.5 ms */
	kernel(b, 2 * MS);
	CHECK(lasted(seen(13)) == 2500000);
	CHECK(seen(14).begin_ns == seen(4).end_ns && lasted(seen(14)) == 2 * MS);
	kernel(a, 1 * MS);
	CHECK(seen(15).begin_ns == seen(11).end_ns + 2 * MS);
	OK(cudaDeviceSynchronize());
}

/* A host that is held back submits the next kernel later than what follows this one in another stream, but
 * long before this one ends: the device has it in its queue, and takes it first. */
static void test_held_back_order(void)
{
	cudaStream_t a = new_stream(), b = new_stream();
	cudaEvent_t event;

	watch();
	OK(cudaEventCreate(&event));
	for (int i = 0; i < 2400; i++) {
		kernel(a, 300 * US * patience());
		if (i != 1200)
			continue;
		OK(cudaEventRecord(event, a));
		OK(cudaStreamWaitEvent(b, event, 0));
		kernel(b, 10 * US);
		kernel(b, 10 * US);
	}
	OK(cudaDeviceSynchronize());
	/* a's kernels are numbered around the two of b, 1201 and 1202 */
	CHECK(seen(1201).stream != seen(1200).stream && seen(1203).stream == seen(1200).stream);
	CHECK(seen(1203).begin_ns == seen(1200).end_ns && seen(1201).begin_ns == seen(1203).end_ns);
	CHECK(seen(1202).begin_ns >= seen(1204).end_ns);
}

static uint64_t link_began_ns, link_ends_ns;

static void link_work(void *arg)
{
	(void)arg;
	link_began_ns = sg_work_begin();
	sg_work_end(link_ends_ns != 0 ? link_ends_ns : link_began_ns + 7 * MS);
}

/* A closure that says itself when it ends, and one that does not. */
static void test_links(void)
{
	struct sg_cost cost = SG_COST(SG_COST_LINK, SG_COST_F32, 0, 1000);
	cudaStream_t a = new_stream(), b = new_stream();

	watch();
	kernel(a, HEAD_NS);
	OK(sg_submit_cost(a, &cost, link_work, NULL, 0));
	OK(sg_submit_cost(a, &cost, nothing, NULL, 0));
	kernel(a, 1 * MS);
	OK(cudaStreamSynchronize(a));
	CHECK(seen(1).begin_ns == seen(0).end_ns && lasted(seen(1)) == 7 * MS);
	CHECK(lasted(seen(2)) == 0 && seen(3).begin_ns == seen(1).end_ns);
	CHECK(link_began_ns - seen(1).begin_ns + US < 2 * US);
	/* It leaves the device free. */
	OK(sg_submit_cost(a, &cost, link_work, NULL, 0));
	kernel(b, 1 * MS);
	OK(cudaDeviceSynchronize());
	CHECK(seen(4).stream != seen(5).stream);
	CHECK(seen(4).begin_ns < seen(5).end_ns && seen(5).begin_ns < seen(4).end_ns);
	/* Nothing ends before it begins. */
	link_ends_ns = 1;
	OK(sg_submit_cost(a, &cost, link_work, NULL, 0));
	OK(cudaStreamSynchronize(a));
	CHECK(lasted(seen(6)) == 0);
}

/* Marks are places in time too, and so is one after nothing but a wait. */
static void test_marks(void)
{
	cudaStream_t a = new_stream(), b = new_stream(), c = new_stream();
	struct sg_position place;

	watch();
	kernel(a, HEAD_NS);
	OK(sg_position(a, &place));
	OK(sg_wait_position(b, &place));
	OK(sg_position(b, &place));
	OK(sg_wait_position(c, &place));
	kernel(c, 1 * MS);
	OK(cudaStreamSynchronize(c));
	CHECK(seen(1).begin_ns == seen(0).end_ns);
	/* The engine is free then, so that only the marks can have held it up. */
	OK(cudaSetDevice(1));
	kernel(NULL, HEAD_NS);
	OK(sg_position(NULL, &place));
	OK(sg_wait_position(b, &place));
	OK(sg_position(b, &place));
	OK(sg_wait_position(c, &place));
	kernel(c, 1 * MS);
	OK(cudaStreamSynchronize(c));
	CHECK(seen(3).begin_ns == seen(2).end_ns);
}

/* A stream in the place of one that was destroyed does not go on from that one's end. */
static void test_reused(void)
{
	cudaStream_t first = new_stream(), last = first;
	char *device, *pinned;
	int found = 0;

	watch();
	OK(cudaMalloc((void **)&device, 4));
	OK(cudaMallocHost((void **)&pinned, 4));
	kernel(first, HEAD_NS);
	OK(cudaStreamDestroy(first));
	for (int i = 0; i < 100 && !found; i++) {
		last = new_stream();
		found = last == first;
		if (!found)
			OK(cudaStreamDestroy(last));
	}
	CHECK(found);
	OK(cudaMemcpyAsync(device, pinned, 4, cudaMemcpyHostToDevice, last));
	OK(cudaStreamSynchronize(last));
	CHECK(seen(1).begin_ns < seen(0).end_ns);
	OK(cudaDeviceSynchronize());
}

/* An event that is recorded again, and one of a stream that has wrapped its memory of ends. */
static void test_old_places(void)
{
	cudaStream_t a = new_stream(), b = new_stream();
	cudaEvent_t old, event, begin, end;

	OK(cudaEventCreate(&old));
	OK(cudaEventCreate(&event));
	OK(cudaEventCreate(&begin));
	OK(cudaEventCreate(&end));
	kernel(a, 10 * US);
	OK(cudaEventRecord(old, a));
	for (int i = 0; i < 40000; i++)
		OK(cudaEventRecord(event, a));
	OK(cudaStreamWaitEvent(b, old, 0));
	OK(cudaEventQuery(old));
	kernel(b, HEAD_NS);
	OK(cudaEventRecord(begin, b));
	OK(cudaEventRecord(begin, b));
	kernel(b, 30 * US);
	OK(cudaEventRecord(end, b));
	OK(cudaStreamSynchronize(b));
	TAKES(begin, end, 30 * US);
}

#define THREADS 4
#define ROUNDS 150

static struct {
	cudaStream_t streams[THREADS], shared;
	cudaEvent_t events[THREADS];
} many;

/* Work on its own stream and on one of all, and waits for the next thread's. */
static void *submit_much(void *arg)
{
	uintptr_t number = (uintptr_t)arg;
	cudaStream_t own = many.streams[number];

	for (int i = 0; i < ROUNDS; i++) {
		kernel(own, 10 * US);
		OK(cudaEventRecord(many.events[number], own));
		OK(cudaStreamWaitEvent(own, many.events[(number + 1) % THREADS], 0));
		kernel(i % 3 == 0 ? many.shared : own, 10 * US);
		if (i % 25 == 0)
			OK(cudaLaunchHostFunc(own, nothing, NULL));
		if (i % 10 == 0)
			OK(cudaStreamSynchronize(own));
		(void)!cudaEventQuery(many.events[(number + 2) % THREADS]);
	}
	return NULL;
}

static int by_begin(const void *a, const void *b)
{
	const struct sg_activity *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* Threads at once: nothing is lost, and a stream's work never overlaps. Each thread tells of what it has
 * processed itself, so of the stream that all use the order is any. */
static void test_threads(void)
{
	static struct sg_activity all[2 * THREADS * ROUNDS];
	uint64_t last_ns[64] = {0};
	pthread_t threads[THREADS];

	watch();
	many.shared = new_stream();
	for (int i = 0; i < THREADS; i++) {
		many.streams[i] = new_stream();
		OK(cudaEventCreate(&many.events[i]));
	}
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, submit_much, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	OK(cudaDeviceSynchronize());
	CHECK(seen_count() == 2 * THREADS * ROUNDS);
	for (unsigned i = 0; i < 2 * THREADS * ROUNDS; i++)
		all[i] = seen_as_processed(i);
	qsort(all, 2 * THREADS * ROUNDS, sizeof(all[0]), by_begin);
	for (unsigned i = 0; i < 2 * THREADS * ROUNDS; i++) {
		const struct sg_activity *a = &all[i];

		CHECK(a->stream < 64 && a->begin_ns >= last_ns[a->stream] && lasted(*a) == 10 * US);
		last_ns[a->stream] = a->end_ns;
	}
}

const struct clock_case order_cases[] = {
	{"events_across_streams", test_events_across_streams, {NULL}, NULL},
	{"events_with_numerics", test_events_across_streams, {"SOFTGPU_NUMERICS=on"}, NULL},
	{"latency", test_latency, {NULL}, NULL},
	{"legacy", test_legacy, {NULL}, NULL},
	{"legacy_with_numerics", test_legacy, {"SOFTGPU_NUMERICS=on"}, NULL},
	{"host_functions", test_host_functions, {NULL}, NULL},
	{"held_up", test_held_up, {NULL}, NULL},
	{"graphs", test_graphs, {NULL}, NULL},
	{"engines", test_engines, {NULL}, NULL},
	{"turns", test_turns, {NULL}, NULL},
	{"held_back_order", test_held_back_order, {NULL}, NULL},
	{"links", test_links, {NULL}, NULL},
	{"marks", test_marks, {NULL}, NULL},
	{"reused", test_reused, {NULL}, NULL},
	{"threads", test_threads, {NULL}, NULL},
	{"threads_with_numerics", test_threads, {"SOFTGPU_NUMERICS=on"}, NULL},
	{"old_places", test_old_places, {NULL}, NULL},
	{NULL, NULL, {NULL}, NULL},
};
