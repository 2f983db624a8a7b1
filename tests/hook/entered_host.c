/*
 * Calls that do not return, as the trace of a killed process has them:
 *
 *     entered_host COUNT inside|outside|asked
 *
 * makes COUNT calls, asks questions that are answered "not ready", and waits in a call for work that kills the
 * process as soon as its main thread sleeps there. `outside`: the work just ends, and the process kills itself;
 * `asked`: it does so after the last question. It has waited for the same stream elsewhere before.
 */
#include <err.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

/* What the work waits for: the questions are asked. */
static bool go;

static bool main_sleeps(void)
{
	char state = 0, path[64];
	FILE *file;

	snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
	file = fopen(path, "re");
	if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		err(1, "%s", path);
	fclose(file);
	return state == 'S';
}

static void work(void *kills)
{
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		continue;
	if (!*(const bool *)kills)
		return;
	while (!main_sleeps())
		continue;
	raise(SIGKILL);
}

static __attribute__((noinline)) void set_up(cudaStream_t stream)
{
	if (cudaStreamSynchronize(stream) != cudaSuccess)
		errx(1, "no stream");
}

int main(int argc, char **argv)
{
	bool kills = argc == 3 && strcmp(argv[2], "inside") == 0;
	const int count = argc == 3 ? atoi(argv[1]) : 0;
	cudaStream_t stream;
	cudaEvent_t event;

	if (argc != 3 || cudaStreamCreate(&stream) != cudaSuccess || cudaEventCreate(&event) != cudaSuccess)
		errx(2, "usage: entered_host COUNT inside|outside|asked");
	set_up(stream);
	for (int i = 0; i < count; i++)
		cudaStreamWaitEvent(stream, event, 0);
	if (cudaLaunchHostFunc(stream, work, &kills) != cudaSuccess ||
		cudaEventRecord(event, stream) != cudaSuccess)
		errx(1, "the work was refused");
	for (int i = 0; i < 10; i++)
		cudaEventQuery(event);
	if (strcmp(argv[2], "asked") == 0)
		raise(SIGKILL);
	__atomic_store_n(&go, true, __ATOMIC_RELEASE);
	cudaStreamSynchronize(stream);
	raise(SIGKILL);
}
