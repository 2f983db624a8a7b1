/*
 * Ranges of a PyTorch that is none (torch_library.c), in the cases of framework.sh. What is to be in the
 * trace is printed as framework.py prints it.
 *
 *     framework_host nest|counters|moved|fork|window|exit|open
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pm_abi.h"
#include "torch_library.h"

cudaError_t cudaMemcpyAsync(
	void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);
cudaError_t cudaDeviceSynchronize(void);

static void call(void)
{
	static char memory[2][8];

	cudaMemcpyAsync(memory[0], memory[1], sizeof memory[0], cudaMemcpyHostToDevice, NULL);
}

/* One without anything in it. */
static void range(int scope, const char *name, int64_t sequence)
{
	struct torch_range r;

	torch_begin(&r, scope, name, sequence, 0);
	torch_end(&r);
}

static void *backward(void *unused)
{
	struct torch_range outer, node;

	torch_begin(&outer, TORCH_OPERATOR, "autograd::engine::evaluate_function: X", -1, 0);
	torch_begin(&node, TORCH_NODE, "X", 0, 1);
	range(TORCH_OPERATOR, "aten::mm", -1);
	call();
	range(TORCH_OPERATOR, "aten::again", 0);
	torch_end(&node);
	range(TORCH_OPERATOR, "aten::add_", -1);
	torch_end(&outer);
	torch_begin(&node, TORCH_NODE, "of another thread", 3, 77);
	torch_end(&node);
	puts("thread 2\nop autograd::engine::evaluate_function: X - 2\n node X 0 1\n  op aten::again 0 2\nnode of another thread 3 0");
	return unused;
}

static void nest(void)
{
	struct torch_range user, outer, lost;
	pthread_t thread;

	torch_begin(&user, TORCH_USER, "Optimizer.step#X.step", -1, 0);
	torch_begin(&outer, TORCH_OPERATOR, "aten::mul", -1, 0);
	range(TORCH_OPERATOR, "aten::empty", -1);
	range(TORCH_USER, "inside", -1);
	call();
	torch_end(&outer);
	torch_end(&user);
	range(TORCH_OPERATOR, "aten::linear", 0);
	torch_next();
	range(TORCH_OPERATOR, "aten::relu", 1);
	/* one that its program forgets ends with the one around it, whatever comes afterwards */
	torch_begin(&user, TORCH_USER, "outer", -1, 0);
	torch_begin(&lost, TORCH_USER, "forgotten", -1, 0);
	torch_end(&user);
	torch_end(&lost);
	range(TORCH_USER, "after", -1);
	puts("thread 1\nuser Optimizer.step#X.step - 1\n op aten::mul - 1\n  user inside - 1\nop aten::linear 0 1\nop aten::relu 1 1");
	puts("user outer - 1\n user forgotten - 1\nuser after - 1");
	pthread_create(&thread, NULL, backward, NULL);
	pthread_join(thread, NULL);
}

static void counters(void)
{
	char name[32];

	puts("thread 1");
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "step %d of 300", i);
		range(TORCH_USER, name, -1);
		printf("user %s - 1\n", i < 128 ? name : "step  of ");
		snprintf(name, sizeof name, "ProfilerStep#%d", i);
		range(TORCH_USER, name, -1);
		puts("user ProfilerStep# - 1");
	}
}

static void moved(void)
{
	torch_move();
	range(TORCH_OPERATOR, "aten::empty", -1);
	range(TORCH_OPERATOR, "aten::linear", 0);
	range(TORCH_NODE, "X", 0);
	range(TORCH_USER, "mine", -1);
	puts("thread 1\nuser mine - 1");
}

/* Of a version that is not known: operators are believed once one had the right number. */
static void unknown(void)
{
	range(TORCH_OPERATOR, "aten::empty", -1);
	range(TORCH_NODE, "X", 0);
	range(TORCH_OPERATOR, "aten::linear", 0);
	range(TORCH_OPERATOR, "aten::empty", -1);
	puts("thread 1\nop aten::linear 0 1\nop aten::empty - 1");
}

static void forks(void)
{
	struct torch_range user;
	int status;

	range(TORCH_OPERATOR, "before", 0);
	torch_begin(&user, TORCH_USER, "around", -1, 0);
	fflush(stdout);
	if (fork() == 0) {
		const unsigned enabled = torch_enabled(TORCH_OPERATOR) + torch_enabled(TORCH_NODE);

		range(TORCH_USER, "child", -1);
		torch_end(&user);
		_exit(enabled != 0);
	}
	wait(&status);
	torch_end(&user);
	call();
	range(TORCH_OPERATOR, "after", 0);
	printf("thread 1\nop before 0 1\nuser around - 1\nop after 0 1\n%s",
		status ? "a child pays for operators\n" : "");
}

static void window(void)
{
	struct torch_range outer;

	range(TORCH_USER, "before", -1);
	torch_begin(&outer, TORCH_USER, "around", -1, 0);
	cudaProfilerStart();
	range(TORCH_USER, "within", -1);
	torch_end(&outer);
	torch_begin(&outer, TORCH_USER, "over the end", -1, 0);
	cudaProfilerStop();
	range(TORCH_USER, "after", -1);
	torch_end(&outer);
	puts("thread 1\nuser within - 1\nuser over the end - 1");
}

static void late(void)
{
	range(TORCH_USER, "after the end", -1);
}

static void at_exit(void)
{
	static struct torch_range open;

	torch_begin(&open, TORCH_USER, "open", -1, 0);
	puts("thread 1\nuser open - 1");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"nest", nest}, {"counters", counters}, {"moved", moved}, {"unknown", unknown},
		{"fork", forks}, {"window", window}, {"exit", at_exit}};
	struct torch_range r;

	atexit(late);
	call();
	cudaDeviceSynchronize(); /* from here on the hook is done before what was registered earlier */
	torch_begin(&r, TORCH_OPERATOR, "none", -1, 0);
	if (argc == 2 && r.called && r.context)
		return 3;
	torch_end(&r);
	for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof cases[0]; i++)
		if (strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run();
			call();
			return 0;
		}
	return 2;
}
