/*
 * Prints how far the model clock delivers what it was asked for: a kernel of each duration is submitted and
 * waited for, beside a bare clock_nanosleep of the same length, in turn. model_clock.sh runs it.
 *
 * The one idea: there are two errors. The device's, between the duration asked for and the one a
 * profiler is told, and the host's, between the end of the kernel and when the thread that waits for it runs
 * again.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include <cuda_runtime_api.h>

#include "../called.h"
#include "core/sg.h"

static struct sg_activity last;

static void note_call(const struct sg_call_seen *call)
{
	(void)call;
}

static void note_activity(const struct sg_activity *activity)
{
	last = *activity;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* us from when a bare sleep should have ended until it has */
static double sleep_late(uint64_t duration_ns)
{
	uint64_t end_ns = sg_now_ns() + duration_ns;
	struct timespec end = {(time_t)(end_ns / 1000000000u), (long)(end_ns % 1000000000u)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
		;
	return (double)(sg_now_ns() - end_ns) * 1e-3;
}

/* The same for a host that waits for a kernel; *error: what the kernel took less what was asked for, us. */
static double kernel_late(cudaStream_t stream, uint64_t duration_ns, double *error)
{
	static double bytes_per_ns;
	struct sg_cost cost = SG_COST(SG_COST_VECTOR, SG_COST_F32, 0, 1e15);
	uint64_t now_ns;

	if (bytes_per_ns == 0)
		bytes_per_ns = cost.bytes / (double)sg_cost_ns(0, &cost);
	cost.bytes = (double)duration_ns * bytes_per_ns;
	CHECK(sg_submit_cost(stream, &cost, NULL, NULL, 0));
	CHECK(cudaStreamSynchronize(stream));
	now_ns = sg_now_ns();
	*error = ((double)(last.end_ns - last.begin_ns) - (double)duration_ns) * 1e-3;
	return (double)(int64_t)(now_ns - last.end_ns) * 1e-3;
}

static void print_row(uint64_t duration_ns, int count)
{
	double *values[3];
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (int i = 0; i < 3; i++)
		values[i] = malloc((size_t)count * sizeof(double));
	for (int i = 0; i < count; i++) {
		values[0][i] = sleep_late(duration_ns);
		values[1][i] = kernel_late(stream, duration_ns, &values[2][i]);
		values[2][i] = fabs(values[2][i]);
	}
	printf("%12.0f", (double)duration_ns * 1e-3);
	for (int i = 0; i < 3; i++) {
		qsort(values[i], (size_t)count, sizeof(double), by_value);
		printf(" %11.3f %11.3f", values[i][count / 2], values[i][count * 99 / 100]);
		free(values[i]);
	}
	printf("\n");
}

int main(int argc, char **argv)
{
	static const struct sg_watcher watcher = {
		.now_ns = sg_now_ns, .call = note_call, .activity = note_activity};
	int total_ms = argc > 1 ? atoi(argv[1]) : 2000;

	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	sg_watch(&watcher);
	for (uint64_t us = 10; us <= 10000; us *= 10) {
		for (uint64_t part = 1; part <= 3 && us * part <= 10000; part += 2) {
			uint64_t count = (uint64_t)total_ms * 1000 / (2 * (us * part + 60));

			print_row(us * part * 1000, (int)(count < 100 ? 100 : count));
		}
	}
	return 0;
}
