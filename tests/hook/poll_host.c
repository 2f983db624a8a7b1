/*
 * Asks an event again and again whether it is ready, while its stream waits for the program itself: three
 * times 200,000 questions and one that is answered yes.
 */
#include <stdio.h>

#include <cuda_runtime_api.h>

static void wait_for(void *ready)
{
	while (!__atomic_load_n((int *)ready, __ATOMIC_ACQUIRE))
		continue;
}

int main(void)
{
	unsigned unready = 0, ready = 0;
	cudaStream_t stream;
	cudaEvent_t event;
	int go;

	cudaStreamCreate(&stream);
	cudaEventCreate(&event);
	for (int round = 0; round < 3; round++) {
		__atomic_store_n(&go, 0, __ATOMIC_RELEASE);
		cudaLaunchHostFunc(stream, wait_for, &go);
		cudaEventRecord(event, stream);
		for (int i = 0; i < 200000; i++)
			unready += cudaEventQuery(event) == cudaErrorNotReady;
		__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
		cudaEventSynchronize(event);
		ready += cudaEventQuery(event) == cudaSuccess;
	}
	cudaGetLastError();
	printf("%u unready %u ready\n", unready, ready);
	return 0;
}
