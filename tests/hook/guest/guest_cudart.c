/*
 * A libcudart that returns at once: so whatever happens to the host's stack, files and locks is the hook's
 * doing. Its events have always happened. cudaLaunchHostFunc calls its function before it returns, so that a
 * host can leave the call in any way it likes.
 */
#include <stddef.h>
#include <stdint.h>

#define SUCCEEDS(name, ...) \
	int name(__VA_ARGS__); \
	int name(__VA_ARGS__) \
	{ \
		return 0; \
	}
#define GIVES(name, type, value, ...) \
	int name(type *result, ##__VA_ARGS__); \
	int name(type *result, ##__VA_ARGS__) \
	{ \
		*result = (value); \
		return 0; \
	}

GIVES(cudaMalloc, void *, (void *)0x10000, size_t size)
GIVES(cudaGetDevice, int, 0)
GIVES(cudaEventElapsedTime, float, 0.001f, void *start, void *end)
GIVES(cudaThreadExchangeStreamCaptureMode, int, 0)
SUCCEEDS(cudaMemsetAsync, void *p, int value, size_t size, void *stream)
SUCCEEDS(cudaStreamSynchronize, void *stream)
SUCCEEDS(cudaEventRecord, void *event, void *stream)
SUCCEEDS(cudaEventQuery, void *event)
SUCCEEDS(cudaEventDestroy, void *event)
SUCCEEDS(cudaSetDevice, int device)
SUCCEEDS(cudaGetLastError, void)
SUCCEEDS(cudaPeekAtLastError, void)

int cudaStreamIsCapturing(void *stream, int *status);
int cudaStreamIsCapturing(void *stream, int *status)
{
	(void)stream;
	*status = 0;
	return 0;
}

int cudaEventCreateWithFlags(void **event, unsigned flags);
int cudaEventCreateWithFlags(void **event, unsigned flags)
{
	static uintptr_t last = 0x1000;

	(void)flags;
	*event = (void *)__atomic_add_fetch(&last, 16, __ATOMIC_RELAXED);
	return 0;
}

int cudaLaunchHostFunc(void *stream, void (*f)(void *), void *data);
int cudaLaunchHostFunc(void *stream, void (*f)(void *), void *data)
{
	(void)stream;
	f(data);
	return 0;
}
