/*
 * A plugin's table of functions is XLA's, so a copy is handed out in which two functions are ours: that which
 * compiles and that which loads what was compiled before. They call XLA's, and if that succeeded ask the new
 * executable for its program.
 *
 * Each call takes one struct, which begins with its size and a pointer to extensions. Functions are only ever
 * added to the end of the table as long as its major version stays.
 */
#include "pjrt.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/settings_hook.h"
#include "guest/state.h"
#include "hlo.h"
#include "trace/intern.h"

/* Places in the table. */
enum {
	ERROR_DESTROY = 0,
	CLIENT_COMPILE = 20,
	EXECUTABLE_DESTROY = 40,
	EXECUTABLE_OPTIMIZED_PROGRAM = 48,
	LOADED_GET_EXECUTABLE = 51,
	LOADED_DESERIALIZE = 56,
	PLACES_NEEDED,
};

struct head {
	size_t size;
	void *extension;
};
typedef void *function(void *arguments); /* returns an error, NULL: none */

struct api {
	struct head head;
	struct {
		struct head head;
		int major, minor;
	} version;
	function *functions[1024];
};
#define MAJOR_KNOWN 0

struct error_destroy {
	struct head head;
	void *error;
};
struct compile {
	struct head head;
	void *client, *program;
	const char *options;
	size_t options_bytes;
	void *loaded; /* out */
};
struct deserialize {
	struct head head;
	void *client;
	const char *bytes;
	size_t byte_count;
	void *loaded; /* out */
};
struct get_executable {
	struct head head;
	void *loaded, *executable; /* the second is out */
};
struct executable_destroy {
	struct head head;
	void *executable;
};
struct program {
	struct head head;
	char *code; /* in: room for the code, or NULL to be told its size */
	size_t code_bytes;
	const char *format; /* out */
	size_t format_bytes;
};
struct optimized_program {
	struct head head;
	void *executable;
	struct program *program;
};
#define HEAD(type) .head = {.size = sizeof(struct type)}

#define PROGRAM_MOST (64u << 20)   /* bytes: a larger one is not read */
#define PROGRAMS_MOST (256u << 20) /* of all that a process compiles */

static const struct api *(*_Atomic found_get)(void); /* the plugin's GetPjrtApi */
static struct api exchanged;                         /* its table, with ours */
static const struct api *real;                       /* its own */
enum { NONE, MAKING, MADE };
static _Atomic int state;
static _Atomic uint64_t bytes_read;
static _Atomic bool has_said;

/* ---- asking the executable ---- */

/* True: the call succeeded. An error is the caller's, and of no interest. */
static bool call(unsigned place, void *arguments)
{
	void *error = real->functions[place](arguments);

	if (!error)
		return true;
	real->functions[ERROR_DESTROY](&(struct error_destroy){HEAD(error_destroy), .error = error});
	return false;
}

/* Once a process, of programs that are not read. */
static void say(const char *why)
{
	if (!atomic_exchange(&has_said, true))
		pmh_note_of("xla", why);
}

static bool is_format(const struct program *p, const char *name)
{
	return p->format && p->format_bytes == strlen(name) && memcmp(p->format, name, p->format_bytes) == 0;
}

static void *map(size_t byte_count)
{
	const long address = syscall(SYS_mmap, NULL, byte_count, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return address == -1 ? NULL : (void *)address; /* NOLINT */
}

static void read_program(void *executable, struct program *p)
{
	struct optimized_program ask = {HEAD(optimized_program), .executable = executable, .program = p};
	const size_t all_bytes = p->code_bytes + PMH_HLO_SCRATCH(p->code_bytes);
	const size_t code_bytes = p->code_bytes, scratch_at = (code_bytes + 7) / 8 * 8;
	const bool is_wrapped = is_format(p, "hlo_with_config");
	char *memory = map(all_bytes + 8);

	if (!memory)
		return;
	p->code = memory;
	if (call(EXECUTABLE_OPTIMIZED_PROGRAM, &ask) && p->code_bytes <= code_bytes &&
		!pmh_hlo_record(memory, p->code_bytes, is_wrapped, memory + scratch_at))
		say("an XLA program has an unknown format: its instructions are not recorded");
	syscall(SYS_munmap, memory, all_bytes + 8);
}

static bool is_wanted(const struct program *p)
{
	if (!is_format(p, "hlo_with_config") && !is_format(p, "hlo")) {
		say("XLA's programs have an unknown format: their instructions are not recorded");
		return false;
	}
	if (p->code_bytes > PROGRAM_MOST ||
		atomic_fetch_add(&bytes_read, p->code_bytes) + p->code_bytes > PROGRAMS_MOST) {
		say("XLA's programs are too large: not all of their instructions are recorded");
		return false;
	}
	return p->code_bytes > 0;
}

static void look(void *loaded)
{
	struct get_executable get = {HEAD(get_executable), .loaded = loaded};
	struct program program = {HEAD(program)};
	struct optimized_program ask = {HEAD(optimized_program), .program = &program};

	if (!loaded || !call(LOADED_GET_EXECUTABLE, &get))
		return;
	ask.executable = get.executable;
	if (call(EXECUTABLE_OPTIMIZED_PROGRAM, &ask) && is_wanted(&program))
		read_program(get.executable, &program);
	call(EXECUTABLE_DESTROY,
		&(struct executable_destroy){HEAD(executable_destroy), .executable = get.executable});
}

static void look_at(void *loaded)
{
	const int saved_errno = errno;

	if (atomic_load_explicit(&pmh_state, memory_order_acquire) == PMH_RECORDING &&
		strcmp(pmh_settings.framework, "on") == 0)
		look(loaded);
	errno = saved_errno;
}

/* ---- the table ---- */

static void *compile(void *arguments)
{
	struct compile *a = arguments;
	void *error = real->functions[CLIENT_COMPILE](a);

	if (!error && a->head.size >= sizeof *a)
		look_at(a->loaded);
	return error;
}

static void *deserialize(void *arguments)
{
	struct deserialize *a = arguments;
	void *error = real->functions[LOADED_DESERIALIZE](a);

	if (!error && a->head.size >= sizeof *a)
		look_at(a->loaded);
	return error;
}

static bool is_known(const struct api *api)
{
	return api->head.size >= offsetof(struct api, functions[PLACES_NEEDED]) &&
	       api->head.size <= sizeof *api && api->version.major == MAJOR_KNOWN &&
	       api->functions[CLIENT_COMPILE] && api->functions[LOADED_DESERIALIZE];
}

static const struct api *get_api(void)
{
	const struct api *api = atomic_load(&found_get)();
	int none = NONE;

	if (!api || !is_known(api) || (real && api != real))
		return api;
	if (atomic_compare_exchange_strong(&state, &none, MAKING)) {
		memcpy(&exchanged, api, api->head.size);
		exchanged.functions[CLIENT_COMPILE] = compile;
		exchanged.functions[LOADED_DESERIALIZE] = deserialize;
		real = api;
		atomic_store(&state, MADE);
	}
	return atomic_load(&state) == MADE ? &exchanged : api;
}

void *pmh_pjrt_exchanged(void *found)
{
	const struct api *(*none)(void) = NULL, *(*get)(void) = (const struct api *(*)(void))found;

	return atomic_compare_exchange_strong(&found_get, &none, get) || none == get ? (void *)get_api
										     : found;
}

void pmh_pjrt_forget(void)
{
	pmh_hlo_forget();
	atomic_store(&bytes_read, 0);
	atomic_store(&has_said, false);
}
