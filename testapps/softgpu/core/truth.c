/*
 * The truth log (SOFTGPU_TRUTH): what really happened when, for tests to hold measurements against. Nobody
 * else reads it.
 *
 * The one idea: a program that wants to be checked says what its thread is doing (softgpu_truth,
 * softgpu_truth_iteration); each operation carries these labels, and is written with its modelled times when
 * these are worked out. A line is
 *
 *     kind,rank,device,stream,op,layer,phase,iteration,begin_ns,ready_ns,end_ns,flops,bytes,source,kernel
 *
 * in nanoseconds of CLOCK_MONOTONIC; kind is kernel, copy, set, link (operations, by the model clock only),
 * host (a span of a phase that the host does: io*, md*, decode*), iteration, or at exit memory (bytes: the
 * most that a device had in use at once). source is what the duration of a program's kernel rests on (a
 * rule's name, threads, measured), kernel its name. Commas in names become ';'. Of a stream that several
 * threads submit to, the lines need not be in the stream's order. Lines are collected and written whole, a
 * megabyte at a time and the rest at exit: a process that a signal ends leaves what was written before.
 */
#include "model.h"
#include "rules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES ((size_t)1 << 20)
#define LINE_BYTES 8192
#define LAYER_BYTES 4096 /* a bucket has the names of all its layers */
#define KERNEL_BYTES 2048

int sg_truth_on;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *buffer;
static char path[4096];
static size_t used;
static int file = -1;
static pid_t owner;
static int own_rank;

/* ---- writing; the lock is held ---- */

static void complain(void)
{
	fprintf(stderr, "softgpu: SOFTGPU_TRUTH: %s: %s; the log is incomplete\n", path, strerror(errno));
	close(file);
	file = -1;
}

static void flush(void)
{
	for (size_t done = 0; file >= 0 && done < used;) {
		ssize_t wrote = write(file, buffer + done, used - done);

		if (wrote >= 0)
			done += (size_t)wrote;
		else if (errno != EINTR)
			complain();
	}
	used = 0;
}

static void write_memory(void);

__attribute__((destructor)) static void finish(void)
{
	if (!sg_truth_on || getpid() != owner)
		return;
	write_memory();
	pthread_mutex_lock(&lock);
	flush();
	pthread_mutex_unlock(&lock);
}

/* ---- starting ---- */

/* The file's path: the pattern with %r, the rank, and %p, the process. */
static void expand(const char *pattern)
{
	const size_t room = sizeof(path);
	size_t length = 0;

	for (; *pattern != '\0' && length + 16 < room; pattern++) {
		if (pattern[0] == '%' && (pattern[1] == 'r' || pattern[1] == 'p'))
			length += (size_t)snprintf(path + length, room - length, "%d",
				*++pattern == 'r' ? own_rank : (int)getpid());
		else
			path[length++] = *pattern;
	}
	path[length] = '\0';
}

void sg_truth_start(void)
{
	const char *pattern = getenv("SOFTGPU_TRUTH");

	own_rank = sg_rules_rank();
	owner = getpid();
	if (pattern != NULL && *pattern != '\0') {
		expand(pattern);
		buffer = malloc(BUFFER_BYTES);
		file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (buffer == NULL || file < 0) {
			fprintf(stderr, "softgpu: SOFTGPU_TRUTH: %s: %s; no log is written\n", path,
				strerror(errno));
			free(buffer);
			buffer = NULL;
		} else {
			used = (size_t)snprintf(buffer, BUFFER_BYTES,
				"kind,rank,device,stream,op,layer,phase,iteration,begin_ns,ready_ns,end_ns,flops,"
				"bytes,source,kernel\n");
			sg_truth_on = 1;
			sg_named = 1;
		}
	}
	if (sg_named)
		atomic_fetch_or(&sg_attention, SG_NAMED);
}

/* ---- lines ---- */

struct line {
	const char *kind;
	int device;
	uint32_t stream;
	const char *op, *layer, *phase;
	int iteration;
	uint64_t begin_ns, ready_ns, end_ns;
	double flops, bytes;
	const char *source, *kernel;
};

static size_t put_name(char *to, size_t room, const char *name)
{
	size_t length = 0;

	for (; name != NULL && name[length] != '\0' && length + 1 < room; length++)
		to[length] = name[length] == ',' || name[length] == '\n' ? ';' : name[length];
	to[length] = '\0';
	return length;
}

static void write_line(const struct line *line)
{
	char op[128], layer[LAYER_BYTES], phase[128], kernel[KERNEL_BYTES], text[LINE_BYTES];
	int length;

	put_name(op, sizeof(op), line->op);
	put_name(layer, sizeof(layer), line->layer);
	put_name(phase, sizeof(phase), line->phase);
	put_name(kernel, sizeof(kernel), line->kernel);
	length = snprintf(text, sizeof(text), "%s,%d,%d,%u,%s,%s,%s,%d,%llu,%llu,%llu,%.0f,%.0f,%s,%s\n",
		line->kind, own_rank, line->device, line->stream, op, layer, phase, line->iteration,
		(unsigned long long)line->begin_ns, (unsigned long long)line->ready_ns,
		(unsigned long long)line->end_ns, line->flops, line->bytes,
		line->source != NULL ? line->source : "", kernel);
	pthread_mutex_lock(&lock);
	if (used + (size_t)length > BUFFER_BYTES)
		flush();
	memcpy(buffer + used, text, (size_t)length);
	used += (size_t)length;
	pthread_mutex_unlock(&lock);
}

/* Of each device that the process used. */
static void write_memory(void)
{
	for (int device = 0; device < SG_DEVICE_LIMIT; device++) {
		size_t most = sg_memory_most(device);
		struct line line = {
			"memory", device, 0, "", "", "", -1, 0, 0, 0, 0, (double)most, NULL, NULL};

		if (most > 0)
			write_line(&line);
	}
}

void sg_truth_write(const struct sg_timed *timed)
{
	static const char *const kinds[] = {"", "kernel", "copy", "set"};
	const struct sg_activity *what = &timed->what;
	struct line line = {kinds[what->kind], what->device, what->stream, what->op, what->layer, what->phase,
		what->iteration, timed->begin_ns, timed->ready_ns, timed->end_ns, what->cost.flops,
		what->cost.bytes, NULL, NULL};

	if (what->cost.kind == SG_COST_LINK)
		line.kind = "link";
	/* The work is that of the kernel which computes. */
	if (what->part != NULL) {
		line.flops = line.bytes = 0;
		line.kernel = what->part;
	}
	if (what->rule != NULL) {
		line.source = timed->basis == SG_MEASURED ? "measured" : what->rule;
		line.kernel = what->name;
	}
	write_line(&line);
}

/* ---- what threads say ---- */

struct labels {
	const char *phase, *layer;
	uint64_t phase_ns; /* since when */
	int iteration;     /* -1: none */
	uint64_t iteration_ns;
};
static __thread struct labels labels = {.iteration = -1};

void sg_truth_label(struct sg_activity *what)
{
	if (what->op == NULL)
		what->op = what->of_library ? what->name : sg_self.call.name;
	what->phase = labels.phase;
	what->layer = labels.layer;
	what->iteration = labels.iteration;
}

int sg_truth_iteration(void)
{
	return labels.iteration;
}

static int of_host(const char *phase)
{
	return phase != NULL && (strncmp(phase, "io", 2) == 0 || strncmp(phase, "md", 2) == 0 ||
					strncmp(phase, "decode", 6) == 0);
}

void softgpu_truth(const char *phase, const char *layer)
{
	uint64_t now_ns;

	if (sg_ready() != 0 || !sg_named)
		return;
	now_ns = sg_now_ns();
	if (sg_truth_on && of_host(labels.phase)) {
		struct line line = {"host", sg_self.device, 0, "", labels.layer, labels.phase,
			labels.iteration, labels.phase_ns, labels.phase_ns, now_ns, 0, 0, NULL, NULL};

		write_line(&line);
	}
	labels.phase = phase;
	labels.layer = layer;
	labels.phase_ns = now_ns;
}

void softgpu_truth_iteration(int iteration)
{
	uint64_t now_ns;

	if (sg_ready() != 0 || !sg_named)
		return;
	now_ns = sg_now_ns();
	if (sg_truth_on && labels.iteration >= 0) {
		struct line line = {"iteration", sg_self.device, 0, "", "", "", labels.iteration,
			labels.iteration_ns, labels.iteration_ns, now_ns, 0, 0, NULL, NULL};

		write_line(&line);
	}
	labels.iteration = iteration;
	labels.iteration_ns = now_ns;
}
