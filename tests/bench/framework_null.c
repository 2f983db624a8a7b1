/*
 * What PyTorch itself takes to call back: callbacks that return at once, for operators. Loaded by
 * framework_cost.py, in place of the hook.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct callback {
	void *(*start)(void **result, const void *function);
	void (*end)(const void *function, void *context);
	double probability;
	bool scopes[10];
	bool inputs, outputs, ids;
};

static void *start(void **result, const void *function)
{
	(void)function;
	*result = NULL;
	return result;
}

static void end(const void *function, void *context)
{
	(void)function;
	(void)context;
}

__attribute__((visibility("default"))) int begin(void);
int begin(void)
{
	void *library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
	uint64_t (*add)(struct callback);

	if (!library)
		return -1;
	*(void **)&add = dlsym(library, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
	if (!add)
		return -1;
	add((struct callback){.start = start, .end = end, .probability = 1, .scopes = {true}});
	return 0;
}
