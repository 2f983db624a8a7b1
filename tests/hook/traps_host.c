/*
 * Programs in whose way a hook could get: each case is one. It prints what it finds and does, the same with
 * and without the hook, and `call NAME COUNT` for the calls that a trace of it has.
 *
 *     traps_host CASE
 *
 * Compiled three times: STATIC has a function of the vendor's in itself, OLD is linked with a fake CUDA 12,
 * else it is linked with softgpu's runtime.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cudaMalloc(void **memory, size_t size);
int cudaMemPrefetchAsync(const void *memory, size_t size, int device, void *stream);

typedef int allocate(void **, size_t);
typedef int nothing(void);

static void *find(void *handle, const char *name)
{
	void *found;

	dlerror();
	found = dlsym(handle, name);
	if (!found) {
		const char *error = dlerror();

		printf("%s: %s\n", name, error ? "not found" : "no error");
	}
	return found;
}

static void *library(const char *file, int mode)
{
	void *handle = dlopen(file, RTLD_NOW | mode);

	if (!handle) {
		printf("%s\n", dlerror());
		exit(1);
	}
	return handle;
}

static int call(allocate *f)
{
	void *memory = NULL;

	return f ? f(&memory, 64) : -1;
}

static void case_interposed(void)
{
	void *self = dlopen(NULL, RTLD_NOW);

	for (int i = 0; i < 5; i++)
		printf("%d\n", call(cudaMalloc));
	printf("%d %d\n", call((allocate *)find(RTLD_DEFAULT, "cudaMalloc")),
		call((allocate *)find(self, "cudaMalloc")));
	puts("call cudaMalloc 7");
}

#ifdef STATIC
__attribute__((visibility("default"))) int cudaMalloc(void **memory, size_t size)
{
	(void)memory, (void)size;
	return 321;
}

/* A function of the vendor's in the program itself, and no library. */
static void case_static(void)
{
	void *self = dlopen(NULL, RTLD_NOW);

	printf("%d %d %d\n", call(cudaMalloc), call((allocate *)find(RTLD_DEFAULT, "cudaMalloc")),
		call((allocate *)find(self, "cudaMalloc")));
	printf("%d\n", find(RTLD_DEFAULT, "cudaFree") != NULL);
}
#endif

/* Bound to CUDA 12's form of a function, whose parameters were others. */
static void case_old(void)
{
	typedef int prefetch(const void *, size_t, int, void *);
	void *handle = library("libcudart.so.12", RTLD_LOCAL);
	prefetch *found = (prefetch *)find(handle, "cudaMemPrefetchAsync"),
		 *any = (prefetch *)find(RTLD_DEFAULT, "cudaMemPrefetchAsync");

#ifdef OLD
	printf("linked %d\n", cudaMemPrefetchAsync((void *)1, 2, 3, (void *)4));
	printf("%d\n", call(cudaMalloc));
	puts("call cudaMalloc 1");
#endif
	printf("%d %d\n", found((void *)1, 2, 3, (void *)4), any != NULL);
}

/* Two runtimes: that which is linked, and one that is opened under another name. */
static void two_copies(int opened_first)
{
	void *handle = library("libcudart-b.so.13", RTLD_LOCAL);
	allocate *other;

	if (!opened_first)
		printf("linked %d\n", call(cudaMalloc));
	other = (allocate *)find(handle, "cudaMalloc");
	printf("opened %d\n", call(other));
	if (other != (allocate *)find(handle, "cudaMalloc")) /* one function, however often it is looked up */
		puts("another");
	printf("linked %d\n", call(cudaMalloc));
	printf("opened %d\n", call(other));
	printf("call cudaMalloc %d\n", opened_first ? 1 : 2);
}

static void case_copies(void)
{
	two_copies(0);
}

static void case_copies_first(void)
{
	two_copies(1);
}

/* Opened by the name without a version; of this function each version has its own form. */
static void case_plain_name(void)
{
	int (*instantiate)(void *, void *, unsigned long long);

	*(void **)&instantiate = find(library("libcudart.so", RTLD_LOCAL), "cudaGraphInstantiate");
	printf("%d\n", instantiate(NULL, NULL, 0) != 0);
	puts("call cudaGraphInstantiate 1");
}

static void case_dispatch(void)
{
	void *handle = library("libcudnn.so.9", RTLD_LOCAL), *cudnn = NULL;
	int (*create)(void **) = (int (*)(void **))find(handle, "cudnnCreate");
	int (*set)(void *, void *) = (int (*)(void *, void *))find(handle, "cudnnSetStream");
	nothing *work = (nothing *)find(handle, "cudnnWork");

	for (int i = 0; i < 3; i++)
		printf("%d %d\n", create(&cudnn), set(cudnn, NULL));
	printf("%d %d\n", work(), work());
	puts("call cudnnCreate 3\ncall cudnnSetStream 3");
}

/* A library is closed, and opened once more. */
static void reopen(int scope)
{
	for (int i = 0; i < 3; i++) {
		void *handle = library("libnccl.so.2", scope);
		nothing *start = (nothing *)find(
				scope == RTLD_GLOBAL ? RTLD_DEFAULT : handle, "ncclGroupStart"),
			*end = (nothing *)find(handle, "ncclGroupEnd");

		printf("%d %d\n", start(), end());
		printf("closed %d\n", dlclose(handle));
		library("libtrap_neighbour.so", RTLD_LOCAL); /* in its place, perhaps */
	}
	puts("call ncclGroupStart 3\ncall ncclGroupEnd 3");
}

static void case_reopen(void)
{
	reopen(RTLD_LOCAL);
}

static void case_reopen_global(void)
{
	reopen(RTLD_GLOBAL);
}

/* A wrapper is called whose library was closed meanwhile. */
static void case_closed_in_use(void)
{
	void *handle = library("libnccl.so.2", RTLD_GLOBAL), *again;
	nothing *start = (nothing *)find(RTLD_DEFAULT, "ncclGroupStart");

	printf("%d\n", start());
	again = library("libnccl.so.2", RTLD_LOCAL);
	dlclose(handle);
	printf("%d\n", start());
	dlclose(again);
	again = library("libnccl.so.2", RTLD_LOCAL);
	printf("%d\n", ((nothing *)find(again, "ncclGroupStart"))());
	puts("call ncclGroupStart 3");
}

static void case_plugin(void)
{
	void *handle = library("libtrap_plugin.so", RTLD_LOCAL);
	nothing *work = (nothing *)find(handle, "plugin_work");

	printf("%d %d\n", work(), work());
	puts("call ncclGroupStart 2\ncall ncclGroupEnd 2");
}

static void case_neighbour(void)
{
	void *handle = library(getenv("TRAP_OUTER"), RTLD_LOCAL);

	printf("%d\n", ((nothing *)find(handle, "outer_work"))());
}

static void case_none(void)
{
}

/* ---- threads: one opens and closes libraries, one makes its first calls, others look up ---- */

static pthread_barrier_t together;

static void *open_and_close(void *unused)
{
	pthread_barrier_wait(&together);
	for (int i = 0; i < 30; i++)
		dlclose(library("libtrap_busy.so", RTLD_LOCAL));
	return unused;
}

static void *call_much(void *unused)
{
	pthread_barrier_wait(&together);
	for (int i = 0; i < 30; i++)
		call(cudaMalloc);
	return unused;
}

static void *look_much(void *unused)
{
	void *self = dlopen(NULL, RTLD_NOW);

	pthread_barrier_wait(&together);
	for (int i = 0; i < 300; i++)
		if (!dlsym(RTLD_DEFAULT, "cudaMemcpyAsync") || dlsym(self, "cudaFoo") ||
			!dlsym(self, "cudaStreamCreate"))
			abort();
	return unused;
}

static void case_threads(void)
{
	void *(*const work[])(void *) = {open_and_close, call_much, call_much, look_much, look_much};
	pthread_t threads[5];

	pthread_barrier_init(&together, NULL, 5);
	for (int i = 0; i < 5; i++)
		if (pthread_create(&threads[i], NULL, work[i], NULL) != 0)
			abort();
	for (int i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	puts("call cudaMalloc 90");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		{"interposed", case_interposed},
		{"old", case_old},
		{"copies", case_copies},
		{"copies_first", case_copies_first},
		{"dispatch", case_dispatch},
		{"reopen", case_reopen},
		{"reopen_global", case_reopen_global},
		{"closed_in_use", case_closed_in_use},
		{"plugin", case_plugin},
		{"neighbour", case_neighbour},
		{"none", case_none},
		{"plain_name", case_plain_name},
		{"threads", case_threads},
#ifdef STATIC
		{"static", case_static},
#endif
	};

	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
		if (strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run();
			return 0;
		}
	return 3;
}
