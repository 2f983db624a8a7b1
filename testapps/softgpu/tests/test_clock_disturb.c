/* Checks the model clock's disturbances and the truth log. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#include "test_clock.h"

/* ---- disturbances ---- */

static void test_slow(void)
{
	cudaStream_t stream = new_stream();

	watch();
	kernel(stream, 10 * MS);
	OK(cudaSetDevice(1));
	kernel(NULL, 10 * MS);
	OK(cudaDeviceSynchronize());
	/* the rules of ranks 0 and 1 hold, those of others do not; half as fast and 2 ms more, on device 0 */
	CHECK(lasted(seen(0)) == 22 * MS);
	CHECK(lasted(seen(1)) == 10 * MS);
}

static void test_labels(void)
{
	cudaStream_t stream = new_stream();
	char *device;

	watch();
	OK(cudaMalloc((void **)&device, 100000));
	softgpu_truth("forward", "conv1");
	kernel(stream, 1 * MS);
	softgpu_truth("forward", "conv2");
	kernel(stream, 1 * MS);
	softgpu_truth("backward", "conv2");
	kernel(stream, 1 * MS);
	softgpu_truth(NULL, NULL);
	kernel(stream, 1 * MS);
	OK(cudaMemsetAsync(device, 0, 100000, stream));
	OK(cudaStreamSynchronize(stream));
	CHECK(lasted(seen(0)) == 2 * MS);
	CHECK(lasted(seen(1)) == 3 * MS);
	CHECK(lasted(seen(2)) == 1500 * US);
	CHECK(lasted(seen(3)) == 1 * MS);
	CHECK(lasted(seen(4)) == FLOOR_NS + 1000 + 4 * MS);
}

/* What is said at the end of these two ends nothing; so the case does. */
static void test_launch_alone(void)
{
	cudaStream_t stream = new_stream();

	kernel(stream, 1 * MS);
	OK(cudaStreamSynchronize(stream));
	exit(1);
}

static void test_labels_alone(void)
{
	softgpu_truth("forward", "conv1");
	kernel(NULL, 1 * MS);
	softgpu_truth("forward", "conv2");
	test_launch_alone();
}

/* The labels are those of the capture, but for the iteration. */
static void test_captured_labels(void)
{
	cudaStream_t stream = new_stream();
	cudaGraph_t graph;
	cudaGraphExec_t executable;

	watch();
	softgpu_truth_iteration(3);
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	softgpu_truth("forward", "conv1");
	kernel(stream, 1 * MS);
	softgpu_truth("forward", "fc");
	kernel(stream, 1 * MS);
	softgpu_truth(NULL, NULL);
	OK(cudaStreamEndCapture(stream, &graph));
	OK(cudaGraphInstantiate(&executable, graph, 0));
	softgpu_truth_iteration(4);
	OK(cudaGraphLaunch(executable, stream));
	OK(cudaStreamSynchronize(stream));
	CHECK(lasted(seen(0)) == 2 * MS && lasted(seen(1)) == 1 * MS);
	CHECK(seen(0).iteration == 4);
}

static void test_launches(void)
{
	cudaStream_t stream = new_stream();
	uint64_t begin_ns = sg_now_ns();

	for (int i = 0; i < 100; i++)
		kernel(stream, 10 * US);
	CHECK(sg_now_ns() - begin_ns >= 99 * 200 * US);
	OK(cudaStreamSynchronize(stream));
}

static void test_link_rules(void)
{
	struct sg_link link = sg_link_between(0, 1);

	CHECK(link.latency_ns == 3000 && link.bytes_per_ns == 50);
	link = sg_link_between(1, 2);
	CHECK(link.latency_ns == 30000 && link.bytes_per_ns == 0.5);
	link = sg_link_between(2, 1);
	CHECK(link.latency_ns == 30000 && link.bytes_per_ns == 0.5);
	link = sg_link_between(6, 7);
	CHECK(link.latency_ns == 53000 && link.bytes_per_ns == 50);
	link = sg_link_between(3, 5);
	CHECK(link.latency_ns == 30000 && link.bytes_per_ns == 0.25);
	/* of a rule's links those of its ranks */
	link = sg_link_between(8, 9);
	CHECK(link.bytes_per_ns == 25);
	link = sg_link_between(9, 10);
	CHECK(link.bytes_per_ns == 1);
}

static void test_link_added(void)
{
	struct sg_cost cost = SG_COST(SG_COST_LINK, SG_COST_F32, 0, 1000);
	cudaStream_t stream = new_stream();

	watch();
	kernel(stream, HEAD_NS);
	OK(sg_submit_cost(stream, &cost, (sg_work *)sg_wait_end, NULL, 0));
	OK(cudaStreamSynchronize(stream));
	CHECK(seen(1).begin_ns == seen(0).end_ns + 3 * MS);
}

/* Says each duration, for the other run to be compared with; 1: they are spread as they should be. */
static void test_jitter(void)
{
	static uint64_t first[200];
	cudaStream_t streams[2] = {new_stream(), new_stream()};
	double sum = 0;
	FILE *file;
	unsigned different = 0;

	watch();
	for (unsigned i = 0; i < 200; i++)
		kernel(streams[i % 2], 100 * US);
	OK(cudaDeviceSynchronize());
	for (unsigned i = 0; i < 200; i++) {
		uint64_t ns = lasted(seen(i));

		CHECK(ns >= 80 * US - 1 && ns <= 120 * US + 1);
		sum += (double)ns / 100000 - 1;
		different += i > 0 && ns != lasted(seen(i - 1));
	}
	CHECK(different > 190 && sum / 200 > -0.03 && sum / 200 < 0.03);
	file = fopen(test_path("rules"), "r");
	if (file != NULL) {
		CHECK(fread(first, sizeof(first[0]), 200, file) == 200);
		for (unsigned i = 0; i < 200; i++)
			CHECK(first[i] == lasted(seen(i)));
	} else {
		file = fopen(test_path("rules"), "w");
		CHECK(file != NULL);
		for (unsigned i = 0; i < 200; i++)
			first[i] = lasted(seen(i));
		CHECK(fwrite(first, sizeof(first[0]), 200, file) == 200);
	}
	fclose(file);
}

/* Another seed, another rank: other durations. */
static void test_other_jitter(void)
{
	static uint64_t first[200];
	cudaStream_t streams[2] = {new_stream(), new_stream()};
	FILE *file = fopen(test_path("rules"), "r");
	unsigned same = 0;

	watch();
	CHECK(file != NULL && fread(first, sizeof(first[0]), 200, file) == 200);
	fclose(file);
	for (unsigned i = 0; i < 200; i++)
		kernel(streams[i % 2], 100 * US);
	OK(cudaDeviceSynchronize());
	for (unsigned i = 0; i < 200; i++)
		same += first[i] == lasted(seen(i));
	CHECK(same < 10);
}

/* Whatever the settings, times do not overflow; nobody waits for these. */
static void test_longest(void)
{
	watch();
	kernel(NULL, 100 * MS);
	for (int i = 0; i < 2 || seen_count() < 2; i++)
		kernel(NULL, 100 * MS);
	CHECK(lasted(seen(0)) == (uint64_t)1e15 && seen(1).begin_ns == seen(0).end_ns);
	_exit(0);
}

/* ---- the truth log ---- */

#define LINES 16

struct truth_line {
	char kind[16], op[64], layer[32], phase[32];
	int rank, device, iteration;
	unsigned stream;
	unsigned long long begin_ns, ready_ns, end_ns;
	double flops, bytes;
};

/* Takes a line apart at its commas, as empty names are none for scanf. */
static void read_line(char *text, struct truth_line *line)
{
	char *fields[13];

	for (int i = 0; i < 13; i++) {
		fields[i] = strsep(&text, ",\n");
		CHECK(fields[i] != NULL);
	}
	snprintf(line->kind, sizeof(line->kind), "%s", fields[0]);
	line->rank = atoi(fields[1]);
	line->device = atoi(fields[2]);
	line->stream = (unsigned)atoi(fields[3]);
	snprintf(line->op, sizeof(line->op), "%s", fields[4]);
	snprintf(line->layer, sizeof(line->layer), "%s", fields[5]);
	snprintf(line->phase, sizeof(line->phase), "%s", fields[6]);
	line->iteration = atoi(fields[7]);
	line->begin_ns = strtoull(fields[8], NULL, 10);
	line->ready_ns = strtoull(fields[9], NULL, 10);
	line->end_ns = strtoull(fields[10], NULL, 10);
	line->flops = atof(fields[11]);
	line->bytes = atof(fields[12]);
}

/* Writes what the next case reads: the log is complete when the process has ended. */
static void write_truth(void)
{
	struct sg_cost cost = SG_COST(SG_COST_VECTOR, SG_COST_F32, 5, 1500000),
		       link = SG_COST(SG_COST_LINK, SG_COST_F32, 0, 64);
	cudaStream_t stream, other;
	cudaEvent_t begin, end;
	char *device;

	setenv("SOFTGPU_TRUTH", test_path("truth.%r.csv"), 1);
	watch();
	stream = new_stream();
	other = new_stream();
	OK(cudaEventCreate(&begin));
	OK(cudaEventCreate(&end));
	OK(cudaMalloc((void **)&device, 8000));
	softgpu_truth_iteration(0);
	softgpu_truth("io", NULL);
	softgpu_truth("forward", "a,b");
	kernel(stream, HEAD_NS);
	OK(cudaEventRecord(begin, stream));
	OK(sg_submit_cost(stream, &cost, (sg_work *)sg_wait_end, NULL, 0));
	OK(cudaEventRecord(end, stream));
	softgpu_truth_iteration(1);
	softgpu_truth("communication", NULL);
	OK(sg_submit_cost(other, &link, (sg_work *)sg_wait_end, NULL, 0));
	OK(cudaStreamSynchronize(other));
	OK(cudaMemsetAsync(device, 0, 8000, other));
	OK(cudaDeviceSynchronize());
	softgpu_truth_iteration(-1);
	TAKES(begin, end, FLOOR_NS + 15000);
	/* The times that a profiler is told are the same. */
	CHECK(seen_count() == 4);
	CHECK(lasted(seen(1)) == FLOOR_NS + 15000 && seen(1).begin_ns == seen(0).end_ns);
}

static void check_truth(void)
{
	struct truth_line lines[LINES];
	char text[1024];
	FILE *file = fopen(test_path("truth.3.csv"), "r");
	int count = 0;

	CHECK(file != NULL && fgets(text, sizeof(text), file) != NULL);
	CHECK(strcmp(text,
		      "kind,rank,device,stream,op,layer,phase,iteration,begin_ns,ready_ns,end_ns,flops,bytes,source,kernel\n") ==
		0);
	while (fgets(text, sizeof(text), file) != NULL) {
		CHECK(count < LINES);
		read_line(text, &lines[count]);
		CHECK(lines[count].rank == 3 && lines[count].device == 0);
		count++;
	}
	fclose(file);
	CHECK(count == 8);
	CHECK(strcmp(lines[0].kind, "host") == 0 && strcmp(lines[0].phase, "io") == 0);
	CHECK(lines[0].iteration == 0 && lines[0].end_ns >= lines[0].begin_ns);
	CHECK(strcmp(lines[1].kind, "kernel") == 0 && strcmp(lines[1].layer, "a;b") == 0);
	CHECK(lines[1].end_ns - lines[1].begin_ns == HEAD_NS);
	CHECK(strcmp(lines[1].phase, "forward") == 0);
	CHECK(lines[2].begin_ns == lines[1].end_ns && lines[2].ready_ns == lines[2].begin_ns);
	CHECK(lines[2].end_ns - lines[2].begin_ns == FLOOR_NS + 15000);
	CHECK(lines[2].flops == 5 && lines[2].bytes == 1500000 && lines[2].stream == lines[1].stream);
	CHECK(strcmp(lines[3].kind, "iteration") == 0 && lines[3].iteration == 0);
	CHECK(strcmp(lines[4].kind, "link") == 0 && strcmp(lines[4].phase, "communication") == 0);
	CHECK(lines[4].iteration == 1 && lines[4].layer[0] == '\0' && lines[4].bytes == 64);
	CHECK(strcmp(lines[5].kind, "set") == 0 && strcmp(lines[5].op, "cudaMemsetAsync") == 0);
	/* ready after the communication, while the device computes; it gets its turn */
	CHECK(lines[5].begin_ns == lines[1].end_ns && lines[5].ready_ns < lines[5].begin_ns);
	CHECK(strcmp(lines[6].kind, "iteration") == 0 && lines[6].iteration == 1);
	CHECK(lines[6].begin_ns == lines[3].end_ns);
	CHECK(strcmp(lines[7].kind, "memory") == 0 && lines[7].iteration == -1);
	CHECK(lines[7].bytes >= 8000 && lines[7].bytes < 8000 + (2 << 20)); /* in pages */
}

/* The file is whole when its process has ended. */
static void test_truth(void)
{
	pid_t writer = fork();
	int status;

	if (writer == 0) {
		write_truth();
		exit(0);
	}
	CHECK(waitpid(writer, &status, 0) == writer && status == 0);
	check_truth();
}

const struct clock_case disturb_cases[] = {
	{"slow", test_slow,
		{"RANK=1",
			DISTURB("rank=0,1 device=0 slow=2;rank=2 slow=9 ; device=0 add=2ms; device=7 add=9s")},
		NULL},
	{"labels", test_labels,
		{DISTURB("layer=conv* phase=forward slow=2; layer=conv2 phase=forward add=1ms; "
			 "phase=back* add=500us; op=cudaMemset* add=4ms")},
		NULL},
	{"no_layer", test_labels_alone,
		{DISTURB("layer=conv* slow=2; rank=0 layer=conv9 phase=forward slow=3"), "RANK=0",
			"WORLD_SIZE=2"},
		"softgpu: SOFTGPU_DISTURB: rank 0: rule 2 has changed nothing: rank=0 layer=conv9 phase=forward: no "
		"operation matched; the layers are conv1, conv2\n"},
	{"no_labels", test_launch_alone, {DISTURB("layer=fc slow=2")},
		"rank 0: rule 1 has changed nothing: layer=fc: no operation matched; no operation had a layer's label"},
	{"no_link", test_launch_alone, {DISTURB("link=6-7 latency=1us")},
		"rank 0: rule 1 has changed nothing: link=6-7: no link of the run matched"},
	{"captured_labels", test_captured_labels, {DISTURB("layer=conv1 slow=2")}, NULL},
	{"launches", test_launches, {DISTURB("launch=200us")}, NULL},
	{"link_rules", test_link_rules,
		{DISTURB("link=2-1 bandwidth=0.5; rank=7 link=6-7 latency=50us; link=*-5 bandwidth=0.25; "
			 "rank=8 link=*-9 bandwidth=0.5")},
		NULL},
	{"link_added", test_link_added, {DISTURB("layer=none add=1s; add=3ms"), "SOFTGPU_TIME_SCALE=1"},
		NULL},
	{"jitter", test_jitter, {DISTURB("jitter=0.2 seed=5")}, NULL},
	{"same_jitter", test_jitter, {DISTURB("jitter=0.2 seed=5")}, NULL},
	{"other_seed", test_other_jitter, {DISTURB("jitter=0.2 seed=6")}, NULL},
	{"other_rank", test_other_jitter, {DISTURB("jitter=0.2 seed=5"), "RANK=1"}, NULL},
	{"longest", test_longest, {DISTURB("slow=1e9; add=1000000s"), "SOFTGPU_TIME_SCALE=1000000"}, NULL},
	{"truth", test_truth, {"RANK=3"}, NULL},
	{NULL, NULL, {NULL}, NULL},
};
