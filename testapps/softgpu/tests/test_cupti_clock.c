/*
 * Checks the stand-in CUPTI under the model clock: records are in the units of the clock that the application
 * registers, which need not be nanoseconds, and lie between its own readings of it before and after the work.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cupti.h>

#include <cublas_v2.h>

#include "test_common.h"

#define RECORDS 64
#define TICKS_PER_NS 2.596

static struct {
	uint64_t begin, end;
} seen[RECORDS];
static size_t seen_count;

static uint64_t count_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t count_ticks(void)
{
	return (uint64_t)((double)count_ns() * TICKS_PER_NS) + 12345;
}

static void request(uint8_t **buffer, size_t *size, size_t *record_count)
{
	*size = 1 << 16;
	*buffer = malloc(*size);
	*record_count = 0;
}

static void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t used)
{
	CUpti_Activity *record = NULL;

	(void)context, (void)stream, (void)size;
	while (cuptiActivityGetNextRecord(buffer, used, &record) == CUPTI_SUCCESS) {
		const CUpti_ActivityKernel10 *kernel = (void *)record;

		if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			continue;
		CHECK(seen_count < RECORDS);
		seen[seen_count].begin = kernel->start;
		seen[seen_count++].end = kernel->end;
	}
	free(buffer);
}

/* Work of some sizes; how long each took, in the clock's units. */
static void measure(cublasHandle_t blas, float *x, uint64_t (*clock)(void), double durations[8])
{
	const float one = 1;
	uint64_t before, after;

	OK(cuptiActivityRegisterTimestampCallback(clock));
	seen_count = 0;
	before = clock();
	for (int i = 0; i < 8; i++)
		OK(cublasSscal(blas, 1 << (14 + i), &one, x, 1));
	OK(cudaDeviceSynchronize());
	after = clock();
	OK(cuptiActivityFlushAll(0));
	CHECK(seen_count == 8);
	for (int i = 0; i < 8; i++) {
		CHECK(before <= seen[i].begin && seen[i].begin < seen[i].end && seen[i].end <= after);
		durations[i] = (double)(seen[i].end - seen[i].begin);
	}
}

int main(void)
{
	double ns[8], ticks[8], again[8];
	cublasHandle_t blas;
	float *x;

	OK(cublasCreate(&blas));
	OK(cudaMalloc((void **)&x, sizeof(float) << 22));
	OK(cuptiActivityRegisterCallbacks(request, complete));
	OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	measure(blas, x, count_ns, ns);
	measure(blas, x, count_ticks, ticks);
	measure(blas, x, count_ns, again);
	for (int i = 0; i < 8; i++) {
		const double wanted = ns[i] * TICKS_PER_NS;

		printf("%.0f ns: %.0f ticks, %.1f wanted\n", ns[i], ticks[i], wanted);
		CHECK(ticks[i] >= wanted * 0.999 - 4 && ticks[i] <= wanted * 1.001 + 4);
		/* in nanoseconds the model's own, to the last */
		CHECK(again[i] == ns[i]);
	}
	OK(cudaFree(x));
	OK(cublasDestroy(blas));
	return 0;
}
