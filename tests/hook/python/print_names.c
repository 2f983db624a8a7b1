/*
 * Prints, for each operation of cublasSscal in some traces, its size, its module's name and its call site; on
 * standard error what the traces say of Python.
 */
#include "peek.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct peek *trace;
static const char *module;

static void match_module(const void *body, size_t body_bytes, void *data)
{
	const struct pm_entry_module *m = body;

	(void)body_bytes;
	if (m->operation == *(const uint32_t *)data)
		module = peek_string(trace, m->name);
}

static void print_operation(const void *body, size_t body_bytes, void *data)
{
	const struct pm_entry_operation *op = body;
	uint32_t number = op->number;

	(void)body_bytes;
	(void)data;
	if (!strstr(peek_function(trace, op->function), " cublasSscal_v2 "))
		return;
	module = "-";
	peek_entries(trace, PM_ENTRY_MODULE, match_module, &number);
	printf("%" PRIu64 "\t%s\t%s\n", op->values[0], module, peek_string(trace, op->site));
}

static void print_note(const void *body, size_t body_bytes, void *data)
{
	(void)body_bytes;
	(void)data;
	if (strncmp(body, "python:", 7) == 0)
		fprintf(stderr, "%s\n", (const char *)body);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct peek t = peek_open(argv[i]);

		trace = &t;
		peek_entries(&t, PM_ENTRY_OPERATION, print_operation, NULL);
		peek_entries(&t, PM_ENTRY_NOTE, print_note, NULL);
		peek_close(&t);
	}
	return 0;
}
