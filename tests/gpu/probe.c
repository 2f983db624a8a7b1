/*
 * What there is to run GPU tests with: prints the first GPU and where each of the given libraries is found,
 * one line each.
 *
 * Usage: probe SONAME...   Exit status: 0 a GPU is there, 1 none, with the reason on standard output. A
 * library that is not found is "none". The driver is asked, so neither toolkit nor nvidia-smi need be
 * installed.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The driver's functions that are called here, in its own words. */
struct driver {
	int (*init)(unsigned flags);
	int (*count)(int *count);
	int (*name)(char *name, int name_bytes, int device);
	int (*version)(int *version);
};

static const char *find_driver(struct driver *d)
{
	void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return "there is no libcuda.so.1";
	*(void **)&d->init = dlsym(handle, "cuInit");
	*(void **)&d->count = dlsym(handle, "cuDeviceGetCount");
	*(void **)&d->name = dlsym(handle, "cuDeviceGetName");
	*(void **)&d->version = dlsym(handle, "cuDriverGetVersion");
	return d->init && d->count && d->name && d->version ? NULL : "libcuda.so.1 lacks functions";
}

static void print_library(const char *soname)
{
	void *handle = dlopen(soname, RTLD_LAZY | RTLD_LOCAL);
	char folder[4096];

	if (!handle || dlinfo(handle, RTLD_DI_ORIGIN, folder) != 0)
		printf("%s none\n", soname);
	else
		printf("%s %s\n", soname, folder);
}

int main(int argc, char **argv)
{
	struct driver driver;
	const char *trouble = find_driver(&driver);
	char name[256] = "?";
	int error = 0, count = 0, version = 0;

	if (trouble) {
		printf("no GPU: %s\n", trouble);
		return 1;
	}
	error = driver.init(0);
	if (error == 0)
		error = driver.count(&count);
	if (error != 0 || count == 0) {
		printf("no GPU: the driver says %d, and %d devices\n", error, count);
		return 1;
	}
	driver.name(name, sizeof(name), 0);
	driver.version(&version);
	printf("device %s\ndevices %d\ndriver %d.%d\n", name, count, version / 1000, version % 1000 / 10);
	for (int i = 1; i < argc; i++)
		print_library(argv[i]);
	return 0;
}
