/* A CUDA runtime that does nothing and answers with its own number, so that one sees who was called. */
#define EXPORTED __attribute__((visibility("default")))

EXPORTED int cudaMalloc(void **memory, unsigned long size);
EXPORTED int cudaMalloc(void **memory, unsigned long size)
{
	(void)memory, (void)size;
	return MAJOR;
}

/* In CUDA 12 the device is a number, in 13 a struct and flags follow. */
EXPORTED int cudaMemPrefetchAsync(const void *memory, unsigned long size, int device, void *stream);
EXPORTED int cudaMemPrefetchAsync(const void *memory, unsigned long size, int device, void *stream)
{
	return memory == (void *)1 && size == 2 && device == 3 && stream == (void *)4 ? 100 * MAJOR : -1;
}

EXPORTED int cudaGetLastError(void);
EXPORTED int cudaGetLastError(void)
{
	return 0;
}
