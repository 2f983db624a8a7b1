/*
 * Programs with iterations, for the windows of recording; and what a trace has of them.
 *
 *     windows_host CASE            runs it, on the null library
 *     windows_host look TRACE      prints `iteration NUMBER CALLS` for each that is in the trace, `other
 * CALLS`, and `window OPEN ITERATION` for each entry
 *
 * A call is a copy; its size says which of the iteration's it is, and its addresses which iteration it is in,
 * which the hook does not look at when it counts.
 */
#include <err.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peek.h"
#include "pm_abi.h"

cudaError_t cudaMemcpyAsync(
	void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

#define MARK 0x10000000u /* in addresses, above the iteration */
#define OTHER 0x20000000u

static void copy_as(unsigned iteration, unsigned bytes, enum cudaMemcpyKind kind)
{
	void *address = (void *)(uintptr_t)((iteration ? MARK + iteration : OTHER) * 16ull);

	cudaMemcpyAsync(address, address, bytes, kind, NULL);
}

static void copy(unsigned iteration, unsigned bytes)
{
	copy_as(iteration, bytes, cudaMemcpyDeviceToDevice);
}

/* Computation, as far as the hook can tell. */
static void copies(unsigned iteration, unsigned from, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		copy(iteration, from + i);
}

/* Images and labels come from the host. */
static void batch(unsigned iteration)
{
	copy_as(iteration, 64, cudaMemcpyHostToDevice);
	copy_as(iteration, 8, cudaMemcpyHostToDevice);
}

/* ---- iterations ---- */

#define ITERATIONS 100u

/* Preparations, then the same again and again. */
static void case_plain(void)
{
	copies(0, 5000, 37);
	for (unsigned i = 1; i <= ITERATIONS; i++) {
		batch(i);
		copies(i, 100, 18);
	}
}

/* Many layers that are alike, and equal calls at the beginning and the end. */
static void case_layers(void)
{
	for (unsigned i = 1; i <= ITERATIONS; i++) {
		batch(i);
		copies(i, 700, 2);
		for (unsigned layer = 0; layer < 40; layer++)
			copies(i, 100, 10);
		copy(i, 300);
		for (unsigned layer = 0; layer < 40; layer++)
			copies(i, 200, 20);
		copies(i, 700, 2);
	}
}

/* The forward pass was tried before, and the first iteration looks for algorithms and has no momentum yet. */
static void case_first(void)
{
	for (unsigned i = 0; i < 2; i++) {
		batch(0);
		copies(0, 100, 10);
	}
	for (unsigned i = 1; i <= ITERATIONS; i++) {
		batch(i);
		copies(i, 100, 10);
		if (i == 1)
			copies(i, 900, 30);
		copies(i, 200, 10);
		if (i > 1)
			copies(i, 400, 3);
		copies(i, 300, 5);
	}
}

/* Between the epochs the net is tested. */
static void case_epochs(void)
{
	unsigned i = 1;

	for (unsigned epoch = 0; epoch < 2; epoch++) {
		for (; i <= (epoch ? ITERATIONS : 80); i++) {
			batch(i);
			copies(i, 100, 28);
		}
		for (unsigned test = 0; test < 7; test++) {
			batch(0);
			copies(0, 100, 10);
		}
		copy(0, 5000 + epoch);
	}
}

/* Several batches make one step. */
static void case_steps(void)
{
	for (unsigned i = 1; i <= ITERATIONS; i++) {
		for (unsigned k = 0; k < 8; k++) {
			batch(i);
			copies(i, 100, 20);
		}
		copies(i, 200, 30);
	}
}

/* So many calls that looking comes often within one iteration. */
static void case_long(void)
{
	copies(0, 50000, 500);
	for (unsigned i = 1; i <= 12; i++) {
		batch(i);
		copies(i, 10000, 2998);
	}
}

/* Nothing comes from the host. */
static void case_synthetic(void)
{
	for (unsigned i = 1; i <= ITERATIONS; i++)
		copies(i, 100, 500);
}

/* No two iterations are alike. */
static void case_irregular(void)
{
	for (unsigned i = 1; i <= ITERATIONS; i++) {
		batch(i);
		copies(i, 100 * i, 18);
	}
}

static void *other_thread(void *data)
{
	copies(*(unsigned *)data, 200, 10);
	return NULL;
}

/* The backward pass is in another thread. */
static void case_threads(void)
{
	for (unsigned i = 1; i <= ITERATIONS; i++) {
		pthread_t thread;

		batch(i);
		copies(i, 100, 10);
		if (pthread_create(&thread, NULL, other_thread, &i) != 0)
			errx(3, "pthread_create");
		pthread_join(thread, NULL);
		copies(i, 110, 8);
	}
}

/* Others call all the time while windows open and close. */
static _Atomic int is_over;
static void *restless(void *unused)
{
	while (!is_over)
		copy(0, 77);
	return unused;
}

static void case_restless(void)
{
	pthread_t threads[3];

	copy(1, 100);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, restless, NULL) != 0)
			errx(3, "pthread_create");
	for (unsigned i = 1; i <= ITERATIONS; i++) {
		copies(i, 100, 20);
		if (i % 10 == 0)
			cudaProfilerStart();
		if (i % 10 == 2)
			cudaProfilerStop();
	}
	is_over = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

/* ---- windows that the program or a signal opens ---- */

static void case_profiler(void)
{
	for (unsigned i = 1; i <= 20; i++) {
		if (i == 5 || i == 12)
			cudaProfilerStart();
		copies(i, 100, 20);
		if (i == 7 || i == 14)
			cudaProfilerStop();
	}
}

static void case_signal(void)
{
	copy(1, 99);
	for (unsigned i = 1; i <= 20; i++) {
		if (i == 5 || i == 8)
			raise(SIGUSR2);
		copy(0, 1); /* the one that notices */
		copies(i, 100, 20);
	}
}

static void on_signal(int number)
{
	(void)number;
}

/* The program wants the signal itself. */
static void case_signal_taken(void)
{
	signal(SIGUSR2, on_signal);
	case_signal();
}

/* In a child that records for itself. */
static void case_signal_forked(void)
{
	pid_t pid;

	copy(0, 1);
	pid = fork();
	if (pid == 0) {
		case_signal();
		exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* ---- what a trace has ---- */

#define OPERATIONS (1u << 18)

static struct peek trace;
static unsigned recorded[ITERATIONS + 1], others;
static unsigned iteration_of[OPERATIONS]; /* of a copy, 1 + iteration; 1: of none */

static void see_operation(const void *body, size_t size, void *data)
{
	const struct pm_entry_operation *op = body;
	uint64_t number = op->value_count ? op->values[0] / 16 : 0;
	static uint32_t copy_function;

	(void)size, (void)data;
	if (op->function != copy_function && strstr(peek_function(&trace, op->function), "Memcpy"))
		copy_function = op->function;
	if (op->number < OPERATIONS && op->function == copy_function)
		iteration_of[op->number] =
			number > MARK && number <= MARK + ITERATIONS ? 1 + (unsigned)(number - MARK) : 1;
}

static void see_record(const struct peek_record *r, uint32_t thread, void *data)
{
	unsigned iteration = r->op < OPERATIONS ? iteration_of[r->op] : 0;

	(void)thread, (void)data;
	if (iteration > 1)
		recorded[iteration - 1]++;
	others += iteration == 1;
}

static void see_window(const void *body, size_t size, void *data)
{
	const struct pm_entry_window *w = body;

	(void)size, (void)data;
	printf("window %u %u\n", w->open, w->iteration);
}

static void see_note(const void *body, size_t size, void *data)
{
	(void)data;
	if (strncmp(body, "command", 7) != 0 && strncmp(body, "device", 6) != 0)
		printf("note %.*s\n", (int)size, (const char *)body);
}

static void look(const char *path)
{
	trace = peek_open(path);
	peek_entries(&trace, PM_ENTRY_WINDOW, see_window, NULL);
	peek_entries(&trace, PM_ENTRY_NOTE, see_note, NULL);
	peek_entries(&trace, PM_ENTRY_OPERATION, see_operation, NULL);
	peek_records(&trace, see_record, NULL);
	for (unsigned i = 1; i <= ITERATIONS; i++)
		if (recorded[i])
			printf("iteration %u %u\n", i, recorded[i]);
	printf("other %u\n", others);
	peek_close(&trace);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"plain", case_plain}, {"layers", case_layers}, {"first", case_first},
		{"epochs", case_epochs}, {"long", case_long}, {"steps", case_steps},
		{"synthetic", case_synthetic}, {"irregular", case_irregular}, {"threads", case_threads},
		{"restless", case_restless}, {"profiler", case_profiler}, {"signal", case_signal},
		{"signal_taken", case_signal_taken}, {"signal_forked", case_signal_forked}};

	if (argc == 3 && strcmp(argv[1], "look") == 0) {
		look(argv[2]);
		return 0;
	}
	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof cases[0]; i++)
		if (strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run();
			return 0;
		}
	return 3;
}
