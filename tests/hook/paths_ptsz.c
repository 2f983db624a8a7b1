/*
 * A program that is compiled for per-thread default streams: the vendor's headers turn its calls into the
 * functions' _ptsz and _ptds forms. Prints how often it called what.
 */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include <cuda_runtime_api.h>

#include <stdio.h>

#define TEXT_(name) #name
#define TEXT(name) TEXT_(name)

/* Calls a function, and prints the name that it has after the headers have been at it. */
#define CALL(name, ...) printf("call %s 1\n%d\n", TEXT(name), (int)name(__VA_ARGS__))

int main(void)
{
	float host[64] = {0};
	cudaStream_t stream = NULL;
	cudaEvent_t event = NULL;
	void *memory = NULL;

	CALL(cudaMalloc, &memory, sizeof host);
	CALL(cudaMemcpy, memory, host, sizeof host, cudaMemcpyHostToDevice);
	CALL(cudaMemcpyAsync, memory, host, sizeof host, cudaMemcpyHostToDevice, NULL);
	CALL(cudaMemset, memory, 0, sizeof host);
	CALL(cudaMemsetAsync, memory, 0, sizeof host, NULL);
	CALL(cudaEventCreateWithFlags, &event, 0);
	CALL(cudaEventRecord, event, NULL);
	CALL(cudaStreamWaitEvent, stream, event, 0);
	CALL(cudaStreamSynchronize, NULL);
	CALL(cudaFree, memory);
	return 0;
}
