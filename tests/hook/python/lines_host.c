/*
 * Launches for lines.py: from the calling line, from a thread that is not in Python, from another
 * interpreter, and when the interpreter has ended. The launch's grid says which it is.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "pm_abi.h"
#include "pm_hooks.h"

#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	result name PM_PARAMETERS pairs;
#include "pm_hooks.def"

#define EXPORT __attribute__((visibility("default")))

EXPORT void launch(unsigned size);
EXPORT void wait_for_stream(void);
EXPORT void launch_in_thread(unsigned size);
EXPORT void launch_in_interpreter(unsigned size, const char *text);
EXPORT void launch_at_end(unsigned size);

static unsigned at_end;

void launch(unsigned size)
{
	cuLaunchKernel((CUfunction)(uintptr_t)64, size, 1, 1, 32, 1, 1, 0, (CUstream)0x1000, NULL, NULL);
}

/* One place of the program's own code, whatever line it is called from. */
void wait_for_stream(void)
{
	cuStreamSynchronize((CUstream)0x1000);
}

static void *run(void *size)
{
	launch((unsigned)(uintptr_t)size);
	return NULL;
}

void launch_in_thread(unsigned size)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, (void *)(uintptr_t)size) == 0)
		pthread_join(thread, NULL);
}

/* Runs the text in another interpreter, and launches from C while that is the current one. */
void launch_in_interpreter(unsigned size, const char *text)
{
	void *(*get)(void), *(*make)(void), *(*swap)(void *), *before, *state;
	void (*end)(void *);
	int (*run_text)(const char *, void *);

	*(void **)&get = dlsym(RTLD_DEFAULT, "PyThreadState_Get");
	*(void **)&make = dlsym(RTLD_DEFAULT, "Py_NewInterpreter");
	*(void **)&swap = dlsym(RTLD_DEFAULT, "PyThreadState_Swap");
	*(void **)&end = dlsym(RTLD_DEFAULT, "Py_EndInterpreter");
	*(void **)&run_text = dlsym(RTLD_DEFAULT, "PyRun_SimpleStringFlags");
	before = get();
	state = make();
	if (!state)
		abort();
	launch(size);
	run_text(text, NULL);
	end(state);
	swap(before);
	launch(size);
}

void launch_at_end(unsigned size)
{
	at_end = size;
}

/* After the interpreter's end, in the process's first thread. */
__attribute__((destructor)) static void leave(void)
{
	if (at_end)
		launch(at_end);
}
