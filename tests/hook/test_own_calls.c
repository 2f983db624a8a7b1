/*
 * What the hook does to CUDA for itself while it takes device times: it makes no call that CUDA would refuse
 * (strict_library.c), and after each of the host's calls the current device, the capture mode and a pending
 * error are the host's. Each call outside a capture gets its device time, on the device of its stream.
 *
 * Run with libpmhook.so preloaded, PMHOOK_DEVICE=events and PMHOOK_OUT set to an empty folder.
 */
#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "peek.h"
#include "pm_abi.h"
#include "pm_hooks.h"
#include "strict_library.h"

#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	result name PM_PARAMETERS pairs;
#include "pm_hooks.def"

#define DEVICES 4
static unsigned bad;
static unsigned expected[DEVICES], times[DEVICES]; /* device times of a device */
static int device, mode;                           /* the host's */

static void check(const char *call)
{
	if (strict_device != device) {
		printf("%s: device %d is current, expected %d\n", call, strict_device, device);
		bad++;
	}
	if (strict_mode != mode) {
		printf("%s: the capture mode is %d, expected %d\n", call, strict_mode, mode);
		bad++;
	}
	strict_device = device;
	strict_mode = mode;
}

#define CHECK(call) \
	do { \
		if (call) \
			errx(1, "%s failed", #call); \
		check(#call); \
	} while (0)

static void use_device(int number)
{
	device = number;
	CHECK(cudaSetDevice(number));
}

/* A set on a stream, which gets a device time unless the stream is captured. */
static void work(cudaStream_t stream)
{
	static size_t bytes;

	CHECK(cudaMemsetAsync(NULL, 0, ++bytes, stream));
	if (!strict_captured || (stream != strict_captured && (uintptr_t)stream > 1))
		expected[stream ? STRICT_DEVICE_OF(stream) : device]++;
}

static void make_streams(int ordinal)
{
	for (int d = 0; d < DEVICES; d++) {
		cudaStream_t stream = STRICT_STREAM(d, ordinal);

		use_device(d);
		CHECK(cudaStreamCreate(&stream));
	}
}

static void all_devices(int ordinal)
{
	for (int current = 0; current < DEVICES; current++) {
		use_device(current);
		for (int d = 0; d < DEVICES; d++)
			work(STRICT_STREAM(d, ordinal));
		work(NULL);
		CHECK(cudaDeviceSynchronize());
	}
}

/* A capture on device 1, and work elsewhere meanwhile: for the first time on device 3. */
static void during_capture(int ordinal, int host_mode)
{
	mode = strict_mode = host_mode;
	use_device(0);
	work(STRICT_STREAM(0, ordinal));
	CHECK(cudaStreamBeginCapture(STRICT_STREAM(1, ordinal), cudaStreamCaptureModeGlobal));
	strict_captured = STRICT_STREAM(1, ordinal);
	for (int i = 0; i < 100; i++)
		work(STRICT_STREAM(i % DEVICES, ordinal));
	work(NULL);
	CHECK(cudaDeviceSynchronize());
	strict_captured = NULL;
	CHECK(cudaStreamEndCapture(STRICT_STREAM(1, ordinal), &(cudaGraph_t){NULL}));
	work(STRICT_STREAM(1, ordinal));
	CHECK(cudaDeviceSynchronize());
	mode = strict_mode = cudaStreamCaptureModeGlobal;
}

/* Calls of a group begin on the device when it ends; there is one time for each queue. */
static void group(int ordinal)
{
	use_device(2);
	CHECK(ncclGroupStart());
	for (int d = 0; d < DEVICES; d++)
		for (int i = 0; i < 2; i++)
			CHECK(ncclAllReduce(NULL, NULL, (size_t)(1000 + d), ncclFloat32, ncclSum, NULL,
				STRICT_STREAM(d, ordinal)));
	CHECK(ncclGroupEnd());
	for (int d = 0; d < DEVICES; d++)
		expected[d]++;
	CHECK(cudaDeviceSynchronize());
}

/* An error that the host has not looked at yet stays, and nothing is asked of CUDA meanwhile. */
static void pending_error(int ordinal)
{
	unsigned before = strict_events;

	strict_error = cudaErrorInvalidValue;
	CHECK(cudaMemsetAsync(NULL, 0, 99999, STRICT_STREAM(0, ordinal)));
	CHECK(cudaDeviceSynchronize());
	if (strict_error != cudaErrorInvalidValue || strict_events != before) {
		printf("a pending error became %d, %u events more\n", strict_error, strict_events - before);
		bad++;
	}
	strict_error = cudaSuccess;
}

static void *everything(void *ordinal)
{
	const int n = *(int *)ordinal;

	strict_mode = mode;
	make_streams(n);
	during_capture(n, cudaStreamCaptureModeGlobal);
	all_devices(n);
	during_capture(n, cudaStreamCaptureModeThreadLocal);
	during_capture(n, cudaStreamCaptureModeRelaxed);
	group(n);
	pending_error(n);
	CHECK(cudaDeviceSynchronize());
	return NULL;
}

static struct peek trace;

static void count_time(const struct peek_record *r, uint32_t thread, void *data)
{
	const struct pm_entry_queue *q = peek_numbered(&trace, PM_ENTRY_QUEUE, r->queue);

	(void)thread, (void)data;
	if (r->kind == PM_RECORD_DEVICE && q && q->device >= 0 && q->device < DEVICES)
		times[q->device]++;
}

int main(void)
{
	const char *path;
	pthread_t thread;

	if (!getenv("PMHOOK_OUT")) {
		puts("PMHOOK_OUT is not set");
		return 77;
	}
	everything(&(int){1});
	if (pthread_create(&thread, NULL, everything, &(int){2}) != 0 || pthread_join(thread, NULL) != 0)
		errx(1, "no thread");
	path = peek_only(getenv("PMHOOK_OUT"));
	if (!path[0])
		errx(1, "the hook left no trace");
	trace = peek_open(path);
	peek_records(&trace, count_time, NULL);
	for (int d = 0; d < DEVICES; d++)
		if (times[d] != expected[d]) {
			printf("device %d: %u device times, expected %u\n", d, times[d], expected[d]);
			bad++;
		}
	peek_close(&trace);
	printf("%u events, %u calls that CUDA would refuse, %u wrong\n", strict_events, strict_refused, bad);
	return bad != 0 || strict_refused != 0 || strict_events == 0;
}
