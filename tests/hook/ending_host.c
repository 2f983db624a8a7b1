/*
 * A program whose last threads end while it does, as PyTorch's autograd threads do: each has made its calls
 * when main returns, and none is waited for.
 *
 *     ending_host CALLS THREADS
 */
#include <err.h>
#include <pthread.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>

static pthread_barrier_t made;
static void *memory;
static int count;

static void calls(void)
{
	cudaStream_t stream;

	if (cudaStreamCreate(&stream) != cudaSuccess)
		errx(1, "no stream");
	for (int i = 0; i < count; i++)
		cudaMemsetAsync(memory, 0, 64, stream);
	cudaStreamSynchronize(stream);
}

static void *thread(void *unused)
{
	(void)unused;
	calls();
	pthread_barrier_wait(&made);
	return NULL;
}

int main(int argc, char **argv)
{
	int thread_count;
	pthread_t id;

	if (argc != 3)
		errx(2, "usage: ending_host CALLS THREADS");
	count = atoi(argv[1]);
	thread_count = atoi(argv[2]);
	if (cudaMalloc(&memory, 64) != cudaSuccess)
		errx(1, "no memory");
	pthread_barrier_init(&made, NULL, (unsigned)thread_count + 1);
	for (int i = 0; i < thread_count; i++)
		if (pthread_create(&id, NULL, thread, NULL) || pthread_detach(id))
			errx(1, "no thread");
	calls();
	pthread_barrier_wait(&made);
	return 0;
}
