/* A library of a program that was built with a later CUDA; with BROKEN it asks for what no library has. */
int cudaNoSuchThing(int value);
int ncclNoSuchThing(int value);
const char *ncclNoSuchErrorString(int value);
int no_such_function(void);
int ask_runtime(void);
int ask_nccl(void);
const char *ask_text(void);

int ask_runtime(void)
{
	return cudaNoSuchThing(1);
}

int ask_nccl(void)
{
#ifdef BROKEN
	return no_such_function();
#else
	return ncclNoSuchThing(1);
#endif
}

const char *ask_text(void)
{
	return ncclNoSuchErrorString(1);
}
