/* A run-time compiler that compiles nothing, for test_nvrtc.c. */
int nvrtcVersion(int *major, int *minor);
int nvrtcCreateProgram(const void **program, const char *source, const char *name, int headers,
	const char *const *contents, const char *const *names);
const char *nvrtcGetErrorString(int error);

int nvrtcVersion(int *major, int *minor)
{
	*major = 13;
	*minor = 5;
	return 0;
}

int nvrtcCreateProgram(const void **program, const char *source, const char *name, int headers,
	const char *const *contents, const char *const *names)
{
	*program = source != 0 && name != 0 && contents != 0 && headers == 1 ? names[0] : 0;
	return 0;
}

const char *nvrtcGetErrorString(int error)
{
	return error == 3 ? "fake" : "";
}
