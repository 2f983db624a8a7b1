/* Its constructor makes a call, while the loader's lock is held. */
int cudaMalloc(void **memory, unsigned long size);

__attribute__((constructor)) static void call(void)
{
	void *memory;

	cudaMalloc(&memory, 8);
}
