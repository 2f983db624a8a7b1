/* Labels go to two functions of softgpu, where the program runs on softgpu: see label.h. */
#include "label.h"

#include <dlfcn.h>
#include <string.h>

static void (*truth)(const char *phase, const char *layer);
static void (*truth_iteration)(int iteration);

/* dlsym answers an object pointer, which ISO C does not let become a function's by a cast. */
static void find(const char *name, void *function, size_t size)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	memcpy(function, &found, size);
}

__attribute__((constructor)) static void find_both(void)
{
	find("softgpu_truth", &truth, sizeof(truth));
	find("softgpu_truth_iteration", &truth_iteration, sizeof(truth_iteration));
}

void label_set(const char *phase, const char *layer)
{
	if (truth)
		truth(phase, layer ? layer : "");
}

void label_iteration(int iteration)
{
	if (truth_iteration)
		truth_iteration(iteration);
}
