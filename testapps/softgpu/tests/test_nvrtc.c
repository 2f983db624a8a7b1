/* Checks where the stand-in run-time compiler looks for the vendor's: test_nvrtc given|wheel|absent FILE.
 * `given`: SOFTGPU_NVRTC names it (fake_nvrtc.c); `wheel`: it is in the package beside the library FILE, of
 * another one; `absent`: there is none. */
#include "test_common.h"

#include <dlfcn.h>
#include <string.h>

#define INTERNAL_ERROR 11

int nvrtcVersion(int *major, int *minor);
int nvrtcCreateProgram(void **program, const char *source, const char *name, int headers,
	const char *const *contents, const char *const *names);
const char *nvrtcGetErrorString(int error);

static void expect_none(void)
{
	int major = 7, minor = 7;

	CHECK(nvrtcVersion(&major, &minor) == INTERNAL_ERROR && major == 7 && minor == 7);
	CHECK(strstr(nvrtcGetErrorString(INTERNAL_ERROR), "SOFTGPU_NVRTC") != NULL);
}

static void expect_fake(void)
{
	const char *const contents[] = {"struct a;"}, *const names[] = {"a.h"};
	int major = 0, minor = 0;
	void *program = NULL;

	CHECK(nvrtcVersion(&major, &minor) == 0 && major == 13 && minor == 5);
	/* the sixth parameter, and a pointer whose upper half counts */
	CHECK(nvrtcCreateProgram(&program, "source", "name", 1, contents, names) == 0 && program == names[0]);
	CHECK(strcmp(nvrtcGetErrorString(3), "fake") == 0);
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	if (strcmp(argv[1], "wheel") == 0)
		CHECK(dlopen(argv[2], RTLD_NOW) != NULL);
	if (strcmp(argv[1], "absent") == 0)
		expect_none();
	else
		expect_fake();
	return 0;
}
