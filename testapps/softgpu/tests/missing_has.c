/* Functions of a later CUDA, for libraries to be linked to: softgpu's libraries of the same names take this
 * one's place. */
int cudaNoSuchThing(int value);
int ncclNoSuchThing(int value);
const char *ncclNoSuchErrorString(int value);

#ifdef RUNTIME
int cudaNoSuchThing(int value)
{
	return value;
}
#else
int ncclNoSuchThing(int value)
{
	return value;
}

const char *ncclNoSuchErrorString(int value)
{
	return value ? "" : 0;
}
#endif
