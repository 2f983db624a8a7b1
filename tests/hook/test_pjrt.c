/*
 * What stands between JAX and XLA's plugin, with a plugin made here: its table comes back with two functions
 * exchanged, what they are asked for reaches the plugin, a new executable's program is read once and
 * everything is given back; and of a plugin that is not known, or that fails, nothing is touched.
 */
#include "framework/pjrt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "framework/hlo.h"
#include "guest/settings_hook.h"
#include "guest/state.h"
#include "trace/intern.h"

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			printf("%s:%d: %s: it is not\n", __FILE__, __LINE__, #condition); \
			failures++; \
		} \
	} while (0)
static int failures;

/* ---- what the hook has around it ---- */

_Atomic int pmh_state;
struct pmh_settings pmh_settings = {.framework = "on"};
static unsigned recorded, notes;
static bool was_wrapped;
static char module[16];

bool pmh_hlo_record(const void *bytes, size_t byte_count, bool is_wrapped, void *scratch)
{
	memset(scratch, 1, PMH_HLO_SCRATCH(byte_count));
	CHECK(byte_count == sizeof "a program");
	memcpy(module, bytes, byte_count);
	was_wrapped = is_wrapped;
	recorded++;
	return true;
}

void pmh_hlo_forget(void)
{
}

void pmh_note_of(const char *key, const char *text)
{
	(void)text;
	CHECK(strcmp(key, "xla") == 0);
	notes++;
}

/* ---- a plugin ---- */

enum { COMPILE = 20, DESTROY = 40, PROGRAM = 48, EXECUTABLE = 51, DESERIALIZE = 56, COUNT = 60 };
struct table {
	size_t size;
	void *extension;
	size_t version_size;
	void *version_extension;
	int major, minor;
	void *(*functions[COUNT])(void *);
};
static struct table table;
static unsigned compiled, loaded, destroyed, errors_destroyed, programs_asked;
static void *compile_fails, *program_fails;
static const char *format = "hlo_with_config";

/* Arguments are words: size, extension, then what the call has. */
static void *destroy_error(void *arguments)
{
	(void)arguments;
	errors_destroyed++;
	return NULL;
}

static void *compile(void *arguments)
{
	((void **)arguments)[6] = &table;
	compiled++;
	return compile_fails;
}

static void *deserialize(void *arguments)
{
	((void **)arguments)[5] = &table;
	loaded++;
	return NULL;
}

static void *get_executable(void *arguments)
{
	void **a = arguments;

	CHECK(a[2] == &table);
	a[3] = &compiled;
	return NULL;
}

static void *destroy_executable(void *arguments)
{
	CHECK(((void **)arguments)[2] == &compiled);
	destroyed++;
	return NULL;
}

static void *optimized_program(void *arguments)
{
	void **a = arguments, **program = a[3];

	CHECK(a[2] == &compiled);
	programs_asked++;
	if (program_fails)
		return program_fails;
	if (program[2])
		memcpy(program[2], "a program", sizeof "a program");
	program[3] = (void *)sizeof "a program";
	program[4] = (void *)(uintptr_t)format;
	program[5] = (void *)strlen(format);
	return NULL;
}

static const struct table *get_table(void)
{
	return &table;
}

static const struct table *get_other(void)
{
	static struct table other = {.size = sizeof other};

	return &other;
}

static void set_up(void)
{
	table = (struct table){.size = sizeof table, .version_size = 24, .minor = 112};
	table.functions[0] = destroy_error;
	table.functions[COMPILE] = compile;
	table.functions[DESTROY] = destroy_executable;
	table.functions[PROGRAM] = optimized_program;
	table.functions[EXECUTABLE] = get_executable;
	table.functions[DESERIALIZE] = deserialize;
}

typedef const struct table *getter(void);

static void compile_by(const struct table *t)
{
	void *arguments[7] = {(void *)sizeof arguments};

	CHECK(t->functions[COMPILE](arguments) == compile_fails);
	CHECK(arguments[6] == &table);
}

static void load_by(const struct table *t)
{
	void *arguments[6] = {(void *)sizeof arguments};

	CHECK(t->functions[DESERIALIZE](arguments) == NULL);
}

static void test_unknown(getter *get)
{
	table.major = 1;
	CHECK(get() == &table);
	table.major = 0;
	table.size = offsetof(struct table, functions[DESERIALIZE]);
	CHECK(get() == &table);
	set_up();
}

static void test_programs(const struct table *t)
{
	compile_by(t);
	CHECK(compiled == 1 && recorded == 0); /* nothing is recorded yet */
	pmh_state = PMH_RECORDING;
	compile_by(t);
	CHECK(recorded == 1 && destroyed == 1 && programs_asked == 2 && was_wrapped);
	CHECK(strcmp(module, "a program") == 0);
	format = "hlo";
	load_by(t);
	CHECK(loaded == 1 && recorded == 2 && destroyed == 2 && !was_wrapped);
	pmh_settings.framework = "off";
	compile_by(t);
	CHECK(recorded == 2 && programs_asked == 4);
	pmh_settings.framework = "on";
}

static void test_failures(const struct table *t)
{
	compile_fails = &failures;
	compile_by(t); /* the error is the caller's */
	CHECK(recorded == 2 && errors_destroyed == 0);
	compile_fails = NULL;
	program_fails = &failures;
	compile_by(t);
	CHECK(recorded == 2 && errors_destroyed == 1 && destroyed == 3);
	program_fails = NULL;
	format = "mlir";
	compile_by(t);
	compile_by(t);
	CHECK(recorded == 2 && notes == 1 && destroyed == 5);
}

int main(void)
{
	getter *get = (getter *)pmh_pjrt_exchanged((void *)get_table);
	const struct table *t;

	set_up();
	CHECK(get != get_table);
	CHECK((getter *)pmh_pjrt_exchanged((void *)get_table) == get);
	CHECK((getter *)pmh_pjrt_exchanged((void *)get_other) == get_other); /* a second plugin */
	test_unknown(get);
	t = get();
	CHECK(t != &table && t == get());
	CHECK(t->functions[0] == destroy_error && t->functions[COMPILE] != compile && t->minor == 112);
	test_programs(t);
	test_failures(t);
	return failures != 0;
}
