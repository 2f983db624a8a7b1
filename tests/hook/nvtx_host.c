/*
 * Pushes NVTX ranges around calls: nvtx_host HOW. What is to be in its trace stands in nvtx.sh.
 */
#include "nvtx_loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

static void *memory;

static void work(void)
{
	if (!memory)
		cudaMalloc(&memory, 64);
	cudaMemsetAsync(memory, 0, 64, NULL);
}

static void pushed(int result)
{
	if (result != -2)
		printf("push or pop: %d, without a tool -2\n", result);
}

/* As XLA pushes them, after it has registered more texts than there is room for. */
static void xla(void)
{
	struct attributes program = {3, 48, 0, 0, 0, 0, 0, 0, 3, NULL};
	char text[120];

	for (unsigned i = 0; i < 2000000; i++) {
		snprintf(text, sizeof text,
			"Thunk:#name=x,hlo_op=input_reduce_transpose_fusion_of_a_long_name.%u.clone.1#", i);
		nvtx_register(NULL, text);
	}
	program.message = nvtx_register(NULL, "XlaModule:#hlo_module=jit_step,program_id=29#");
	nvtx_push_with(NULL, &program);
	for (unsigned i = 0; i < 5000; i++) { /* as a net of some thirty blocks has */
		snprintf(text, sizeof text, "Thunk:#name=jit(step)/jvp(Net)/fc_%u/dot,hlo_op=fusion.%u,unique_hlo_op_id=2276#", i, i);
		nvtx_push(text);
		work();
		nvtx_pop();
	}
	nvtx_pop();
	nvtx_push("XlaModule:#hlo_module=gemm_fusion.1#");
	nvtx_pop();
}

static void nested(void)
{
	pushed(nvtx_push("run")); /* before the first call, and so on */
	pushed(nvtx_push("setup"));
	pushed(nvtx_pop());
	pushed(nvtx_push("iteration 1 of 2"));
	pushed(nvtx_push("forward, seq = 12, op_id = 3"));
	work();
	pushed(nvtx_pop());
	work();
	pushed(nvtx_push("layer1, sizes"));
	pushed(nvtx_pop());
	pushed(nvtx_pop());
	pushed(nvtx_push("iteration 2 of 2"));
	work();
	pushed(nvtx_pop());
	pushed(nvtx_push("XlaPass:#name=fusion#"));
	pushed(nvtx_push("in a pass"));
	pushed(nvtx_pop());
	pushed(nvtx_pop());
	pushed(nvtx_pop());
	pushed(nvtx_pop()); /* of none */
	work();
}

static void domains(void)
{
	void *a = nvtx_domain("library a"), *b = nvtx_domain("library b"), *again = nvtx_domain("library a");
	struct attributes red = {3, 48, 0, 1, 0xffff0000, 0, 0, 0, 1, "red"};
	struct attributes wide = {3, 48, 0, 0, 0, 0, 0, 0, 2, L"Stra\u00dfe \u4e2d \U0001f600"};
	struct attributes registered = {3, 48, 0, 0, 0, 0, 0, 0, 3, nvtx_register(a, "registered 7")};
	struct attributes wrong = {3, 48, 0, 0, 0, 0, 0, 0, 3, &red};

	if (a != again)
		printf("a domain of the same name is another\n");
	work();
	nvtx_push_with(b, &red);
	nvtx_push_with(a, &red);
	nvtx_push_with(b, &wide);
	work();
	nvtx_pop_of(a); /* before what is in it: that ends too, and its pop is the end of nothing else */
	nvtx_push_with(NULL, &wide);
	nvtx_pop_of(b);
	work();
	nvtx_pop();
	work();
	nvtx_pop_of(b);
	nvtx_push_wide(L"wide 5");
	nvtx_push_with(a, &registered);
	nvtx_push_with(a, &wrong);
	work();
	nvtx_pop_of(a);
	nvtx_pop_of(a);
	nvtx_pop_of(&red); /* no domain of the tool's: the default one */
	work();
}

static void *other_thread(void *id)
{
	nvtx_push("other thread");
	work();
	nvtx_end(*(uint64_t *)id);
	nvtx_pop();
	return NULL;
}

static void loose(void)
{
	pthread_t thread;
	uint64_t first, second;

	work();
	first = nvtx_start("first 1");
	second = nvtx_start("second");
	nvtx_push("in both");
	work();
	nvtx_end(first);
	nvtx_pop();
	pthread_create(&thread, NULL, other_thread, &second);
	pthread_join(thread, NULL);
}

/* As many texts as there are, with numbers that are part of words, and with none. */
static void many(void)
{
	char text[64];

	work();
	for (int i = 0; i < 1000; i++)
		nvtx_push("deep");
	work();
	for (int i = 0; i < 1000; i++)
		nvtx_pop();
	nvtx_push("shallow");
	work();
	nvtx_pop();
	for (int i = 0; i < 10000; i++) {
		snprintf(text, sizeof text, "iter%d", i);
		nvtx_push(text);
		nvtx_pop();
	}
	for (int i = 0; i < 20000; i++) {
		snprintf(text, sizeof text, "%c%c%c%c", 'a' + i / 1000, 'a' + i / 100 % 10, 'a' + i / 10 % 10,
			'a' + i % 10);
		nvtx_push(text);
		nvtx_pop();
	}
}

static void forks(void)
{
	nvtx_push("outer");
	work();
	if (fork() == 0) {
		memory = NULL;
		nvtx_push("child");
		work();
		nvtx_pop();
		nvtx_pop();
		work();
		exit(0);
	}
	wait(NULL);
	nvtx_pop();
	work();
}

/* TensorFlow pushes its operations once its profiler's switch is on; XLA alone has the domain too. */
static void tensorflow(void)
{
	void *library = dlopen("libtensorflow_framework.so.2", RTLD_NOW);
	const int *enabled = library ? dlsym(library, "tensorflow_enabled") : NULL;
	static const char *const names[] = {"net/dense/MatMul:MatMul", "net/dense_17/Add 3:Add",
		"x/_2:_Send#from=net/dense,to=y#", "aten::mm",
		"StatefulPartitionedCall/gradient_tape/net/block_3/attention/query/einsum/Einsum/MatMul/batch_matmul_2:BatchMatMulV2",
		("StatefulPartitionedCall/PartitionedCall/net/encoder_block_with_a_name_that_is_long_11/attention_12/query_13/"
		 "einsum_14/Einsum/MatMul_15:BatchMatMulV2")};
	struct attributes operation = {3, 48, 0, 0, 0, 0, 0, 0, 1, NULL};
	char text[40];
	void *domain = nvtx_domain("of another");

	if (enabled && *enabled)
		printf("switched on without the domain\n");
	domain = nvtx_domain("TSL");
	nvtx_domain("TSL");
	work();
	for (unsigned i = 0; i < 100; i++) {
		operation.message = i < 94 ? text : names[i - 94];
		snprintf(text, sizeof text, "net/dense_%u/MatMul:MatMul", i);
		nvtx_push_with(domain, &operation);
		nvtx_pop_of(domain);
	}
	printf("switched on: %d\n", enabled ? *enabled : -1);
}

/* The cost of a push and a pop, in nanoseconds of the processor. */
static void cost(void)
{
	const int count = 1000000;
	struct timespec begin, end;

	work();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	for (int i = 0; i < count; i++) {
		nvtx_push("forward of the model");
		nvtx_pop();
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	printf("%.1f\n", ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / count);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*f)(void);
	} ways[] = {{"nested", nested}, {"xla", xla}, {"domains", domains}, {"loose", loose}, {"many", many}, {"forks", forks},
		{"tensorflow", tensorflow}, {"cost", cost}, {"work", work}};

	errno = EDOM;
	printf("%s\n", nvtx_load() ? "a tool" : "no tool");
	fflush(stdout);
	errno = EDOM;
	nvtx_push("errno");
	nvtx_pop();
	if (errno != EDOM)
		printf("errno has changed\n");
	if (argc > 2 && strcmp(argv[2], "late") == 0)
		work();
	else if (argc > 2) { /* as a child that is started */
		if (fork() == 0) {
			if (strcmp(argv[2], "bare") == 0)
				unsetenv("LD_PRELOAD");
			execl("/proc/self/exe", argv[0], argv[1], NULL);
		}
		wait(NULL);
		return 0;
	}
	for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof ways[0]; i++)
		if (strcmp(ways[i].name, argv[1]) == 0)
			ways[i].f();
	return 0;
}
