/* Checks the model clock: durations, what hosts see of them, numerics, memory; runs the cases of all its
 * files. */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#include "test_clock.h"

static const char PROFILE[] = "# round numbers\n"
			      "name Test Device 1\n"
			      "memory_gib 64\n"
			      "multiprocessors 10\ncapability_major 6\ncapability_minor 1\n"
			      "fp32_tflops 1\ntf32_tflops 4\nfp16_tflops 8\nfp64_tflops 0.5\n"
			      "memory_gb_s 100\n"
			      "copy_to_device_gb_s 10\ncopy_to_host_gb_s 5\npageable_efficiency 0.5\n"
			      "copy_latency_us 10\nlaunch_latency_us 20\nkernel_floor_us 5\n"
			      "bytes_per_thread 8\ngpus_per_node 2\n"
			      "device_link_latency_us 3\ndevice_link_gb_s 50\n"
			      "network_latency_us 30\nnetwork_gb_s 1\n"
			      "convolution_efficiency 0.5\nconvolution_half_gflop 0.01\n"
			      "convolution_memory_efficiency 0.25\nconvolution_half_mb 1\n"
			      "depthwise_efficiency 0.1\ndepthwise_half_gflop 0\n"
			      "depthwise_memory_efficiency 0.5\ndepthwise_half_mb 0\n"
			      "product_efficiency 0.8\nproduct_half_gflop 0.08\n"
			      "product_memory_efficiency 1\nproduct_half_mb 0\n"
			      "vector_efficiency 1\nvector_half_gflop 0\n"
			      "vector_memory_efficiency 1\nvector_half_mb 0\n";

static char folder[256];

const char *test_path(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s",
		getenv("CLOCK_FOLDER") != NULL ? getenv("CLOCK_FOLDER") : folder, name);
	return path;
}

/* ---- what the cases use ---- */

unsigned patience(void)
{
	const char *times = getenv("CLOCK_PATIENCE");

	return times != NULL ? (unsigned)atoi(times) : 1;
}

static int called;

int kernels_called(void)
{
	return called;
}

void count_call(void *arg)
{
	(void)arg;
	__atomic_fetch_add(&called, 1, __ATOMIC_RELAXED);
}

void kernel(cudaStream_t stream, uint64_t duration_ns)
{
	struct sg_cost cost = SG_COST(SG_COST_VECTOR, SG_COST_F32, 0, (double)(duration_ns - FLOOR_NS) * RATE);

	OK(sg_submit_cost(stream, &cost, count_call, NULL, 0));
}

static struct {
	pthread_mutex_t lock;
	unsigned count;
	struct sg_activity all[8192];
} log_ = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The watcher's clock is another one. */
#define AHEAD_NS 1234567890123u

static uint64_t watch_ns(void)
{
	return sg_now_ns() + AHEAD_NS;
}

static void note_activity(const struct sg_activity *activity)
{
	pthread_mutex_lock(&log_.lock);
	CHECK(log_.count < sizeof(log_.all) / sizeof(log_.all[0]));
	log_.all[log_.count] = *activity;
	log_.all[log_.count].begin_ns -= AHEAD_NS;
	log_.all[log_.count++].end_ns -= AHEAD_NS;
	pthread_mutex_unlock(&log_.lock);
}

static void note_call(const struct sg_call_seen *call)
{
	(void)call;
}

void watch(void)
{
	static const struct sg_watcher watcher = {
		.now_ns = watch_ns, .call = note_call, .activity = note_activity};

	sg_watch(&watcher);
}

unsigned seen_count(void)
{
	unsigned count;

	pthread_mutex_lock(&log_.lock);
	count = log_.count;
	pthread_mutex_unlock(&log_.lock);
	return count;
}

struct sg_activity seen(unsigned number)
{
	struct sg_activity found;

	CHECK(number < seen_count());
	pthread_mutex_lock(&log_.lock);
	/* As they were submitted; those of one graph's launch as they came. */
	for (unsigned i = 1; i < log_.count; i++) {
		for (unsigned k = i; k > 0 && log_.all[k].correlation < log_.all[k - 1].correlation; k--) {
			found = log_.all[k];
			log_.all[k] = log_.all[k - 1];
			log_.all[k - 1] = found;
		}
	}
	found = log_.all[number];
	pthread_mutex_unlock(&log_.lock);
	return found;
}

int takes(cudaEvent_t begin, cudaEvent_t end, uint64_t wanted_ns)
{
	float ms = -1;

	OK(cudaEventElapsedTime(&ms, begin, end));
	if (ms == (float)((double)wanted_ns * 1e-6))
		return 1;
	fprintf(stderr, "took %.6f ms, not %.6f\n", (double)ms, (double)wanted_ns * 1e-6);
	return 0;
}

struct sg_activity seen_as_processed(unsigned number)
{
	struct sg_activity found;

	pthread_mutex_lock(&log_.lock);
	CHECK(number < log_.count);
	found = log_.all[number];
	pthread_mutex_unlock(&log_.lock);
	return found;
}

cudaStream_t new_stream(void)
{
	cudaStream_t stream;

	OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	return stream;
}

static const struct clock_case *const groups[] = {host_cases, order_cases, disturb_cases, settings_cases};
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

/* ---- running cases ---- */

static void write_profile(void)
{
	FILE *file = fopen(test_path("test.profile"), "w");

	CHECK(file != NULL && fputs(PROFILE, file) >= 0 && fclose(file) == 0);
}

static void become(const struct clock_case *one, int output)
{
	setenv("SOFTGPU_PROFILE", test_path("test.profile"), 1);
	setenv("CLOCK_FOLDER", folder, 1);
	for (int i = 0; one->environment[i] != NULL; i++)
		putenv((char *)(uintptr_t)one->environment[i]);
	dup2(output, 2);
	execl("/proc/self/exe", "test_clock", one->name, (char *)NULL);
	_exit(127);
}

/* What cases that end well say on stderr, or do not. */
static const struct {
	const char *name, *text;
	int is_said;
} remarks[] = {
	{"default_told", "softgpu: 50% of the modelled GPU time is a default", 1},
	{"default_told", "of 1 kernel without a rule; most of it: foreign (50%)", 1},
	{"default_little", "softgpu:", 0},
};

static int remarked(const struct clock_case *one, const char *said)
{
	for (size_t i = 0; i < sizeof(remarks) / sizeof(remarks[0]); i++) {
		if (strcmp(remarks[i].name, one->name) != 0 ||
			(strstr(said, remarks[i].text) != NULL) == remarks[i].is_said)
			continue;
		fprintf(stderr, "case %s: said: %s\n", one->name, said);
		return 0;
	}
	return 1;
}

/* Runs the case in a process of its own; 0 when it went as it should. */
static int run_case(const struct clock_case *one)
{
	char said[4096];
	size_t length = 0;
	ssize_t got;
	int ends[2], status;
	pid_t child;

	CHECK(pipe(ends) == 0);
	child = fork();
	if (child == 0)
		become(one, ends[1]);
	close(ends[1]);
	while (length < sizeof(said) - 1 &&
		(got = read(ends[0], said + length, sizeof(said) - 1 - length)) > 0)
		length += (size_t)got;
	said[length] = '\0';
	close(ends[0]);
	CHECK(waitpid(child, &status, 0) == child);
	if (!remarked(one, said))
		return 1;
	if (one->complaint == NULL ? status == 0
				   : WIFEXITED(status) && WEXITSTATUS(status) == 1 &&
					     strstr(said, one->complaint) != NULL)
		return 0;
	fprintf(stderr, "case %s: status %#x, said: %s\n", one->name, (unsigned)status, said);
	return 1;
}

/* The host's own time counts, and other processes may take the processor: what they delayed goes as it should
 * when the device gives the host more time. */
static int fails(const struct clock_case *one)
{
	static const char *const patiences[] = {"1", "5", "25"};

	for (size_t tries = 0; tries < sizeof(patiences) / sizeof(patiences[0]); tries++) {
		setenv("CLOCK_PATIENCE", patiences[tries], 1);
		if (run_case(one) == 0)
			return 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	const char *base = getenv("TMPDIR");
	int failed = 0;

	for (size_t g = 0; g < GROUPS && argc > 1; g++) {
		for (const struct clock_case *one = groups[g]; one->name != NULL; one++) {
			if (strcmp(one->name, argv[1]) != 0)
				continue;
			one->run();
			return 0;
		}
	}
	CHECK(argc == 1);
	snprintf(folder, sizeof(folder), "%s/clock.XXXXXX", base != NULL ? base : "/tmp");
	CHECK(mkdtemp(folder) != NULL);
	write_profile();
	for (size_t g = 0; g < GROUPS; g++) {
		for (const struct clock_case *one = groups[g]; one->name != NULL; one++)
			failed += fails(one);
	}
	unlink(test_path("test.profile"));
	unlink(test_path("bad.profile"));
	unlink(test_path("blocks.profile"));
	unlink(test_path("truth.3.csv"));
	unlink(test_path("rules"));
	CHECK(rmdir(folder) == 0);
	return failed != 0;
}
