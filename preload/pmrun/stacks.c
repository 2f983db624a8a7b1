/*
 * Where the threads of another process are in Python (pmrun --stacks, keep.c), read from its memory. The process goes
 * on meanwhile: of threads that move a frame may be missing; those that stand still, for which one asks, are
 * right.
 *
 * What finds and reads frames is python/, as in the hook; here is what only an outsider needs: the
 * interpreter's symbols in the other process, and the interpreter's list of threads.
 */
#include "pmrun.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "elf_symbol.h"
#include "python/python_frames.h"

#define THREADS 4096
#define STACK_BYTES 4096

/*
 * Where the interpreter keeps its list of threads, by minor version. From 3.13 on it says so itself, in a
 * table at the start of its state; the places are those of the table's entries then.
 */
static const struct lists {
	unsigned minor;
	bool is_table;
	unsigned runtime_head; /* of the list of interpreters */
	unsigned next;         /* of an interpreter */
	unsigned threads_head;
} lists[] = {
	{11, false, 40, 0, 16},
	{12, false, 40, 0, 72},
	{13, true, 40, 64, 72},
	{14, true, 40, 64, 72},
};
#define THREAD_NEXT 8
#define THREAD_INTERPRETER 16
#define NATIVE_ID 8 /* after the thread's identity */

struct process {
	int pid;
	struct pmh_python python;
	uint64_t runtime, version; /* addresses */
	const struct lists *lists;
};

static struct pmh_python_look look; /* too big for a stack */

static bool fetch(uint64_t from, void *to, size_t byte_count, void *data)
{
	const struct process *process = data;
	struct iovec local = {.iov_base = to, .iov_len = byte_count};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)from, .iov_len = byte_count};

	return process_vm_readv(process->pid, &local, 1, &remote, 1, 0) == (ssize_t)byte_count;
}

/* Whether the file is the interpreter; then where it has what is looked for. */
static bool take_symbols(struct process *process, const struct elf_file *file)
{
	bool is_complete = true;

	process->runtime = elf_symbol(file, "_PyRuntime");
	if (!process->runtime)
		return false;
	process->version = elf_symbol(file, "Py_Version");
#define PMH_FIELD(name, symbol) \
	process->python.name##_type = elf_symbol(file, #symbol); \
	is_complete &= process->python.name##_type != 0;
	PMH_PYTHON_TYPES(PMH_FIELD)
#undef PMH_FIELD
	return is_complete;
}

static bool is_maybe_python(const char *path)
{
	const char *base = strrchr(path, '/');

	return base && strstr(base, "python");
}

/* NULL, or why not. */
static const char *find_python(struct process *process)
{
	char name[64], line[4096], path[4096];
	unsigned long start, offset;
	struct elf_file file;
	bool found = false;
	FILE *maps;

	snprintf(name, sizeof name, "/proc/%d/maps", process->pid);
	maps = fopen(name, "re");
	if (!maps)
		return strerror(errno);
	while (!found && fgets(line, sizeof line, maps))
		if (sscanf(line, "%lx-%*x %*s %lx %*s %*s %4095[^\n]", &start, &offset, path) == 3 &&
			offset == 0 && is_maybe_python(path) && elf_open(&file, process->pid, path, start)) {
			found = take_symbols(process, &file);
			elf_close(&file);
		}
	fclose(maps);
	return found ? NULL : "it is not a Python program, or its interpreter has an unknown layout";
}

/* Py_Version has the major number in its highest byte, then the minor. */
static const char *find_layout(struct process *process)
{
	uint32_t version = 0;
	unsigned minor;

	if (!process->version)
		return "its Python is older than 3.11";
	if (!fetch(process->version, &version, sizeof version, process))
		return strerror(errno);
	minor = version >> 16 & 255;
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		if (lists[i].minor == minor)
			process->lists = &lists[i];
	process->python.at = pmh_python_offsets(minor);
	process->python.fetch = fetch;
	process->python.data = process;
	if (!process->lists || !process->python.at || version >> 24 != 3)
		return "its version of Python is not known";
	pmh_python_look(&look, &process->python);
	return pmh_python_fits(&look) ? NULL : "its Python is a build with another layout";
}

/* A place in the interpreter's state, or what its own table says of it. */
static uint64_t place(const struct process *process, unsigned at)
{
	return process->lists->is_table ? pmh_python_word(&look, process->runtime + at) : at;
}

static unsigned print_threads(const struct process *process, uint64_t interpreter, FILE *out)
{
	const struct pmh_python_offsets *at = process->python.at;
	uint64_t thread = pmh_python_word(&look, interpreter + place(process, process->lists->threads_head));
	char text[STACK_BYTES];
	unsigned count = 0;

	for (; thread && count < THREADS; count++) {
		if (pmh_python_word(&look, thread + THREAD_INTERPRETER) != interpreter)
			break;
		pmh_python_find_stack(&look, thread, text, sizeof text);
		pmh_python_reader_reset(&look);
		fprintf(out, "%lu: %s\n",
			(unsigned long)pmh_python_word(&look, thread + at->thread_ident + NATIVE_ID),
			text[0] ? text : "in no function of Python");
		thread = pmh_python_word(&look, thread + THREAD_NEXT);
	}
	return count;
}

const char *pmrun_write_stacks(int pid, FILE *out)
{
	struct process process = {.pid = pid};
	const char *amiss = find_python(&process);
	uint64_t interpreter;
	unsigned count = 0;

	if (!amiss)
		amiss = find_layout(&process);
	if (amiss)
		return amiss;
	pmh_python_reader_reset(&look);
	interpreter = pmh_python_word(&look, process.runtime + place(&process, process.lists->runtime_head));
	for (; interpreter && count < THREADS;
		interpreter = pmh_python_word(&look, interpreter + place(&process, process.lists->next)))
		count += print_threads(&process, interpreter, out);
	return count ? NULL : "its list of threads is not found";
}
