/* Printing what is in a trace file. The caller owns all; nothing is changed. */
#ifndef TRACE_DUMP_H
#define TRACE_DUMP_H

#include "base/table.h"
#include "trace.h"

#include <stdio.h>

struct dump_options {
	enum print_form form;
	bool operations;
	bool records;
	bool statistics;
	long limit; /* of operations, records and statistics; -1: all */
};

void dump_print(const struct trace *trace, const struct dump_options *how, FILE *out);

/* The values of an operation as "label=value ..." in the words of the format; descriptors are written out. */
char *dump_values(struct arena *arena, const struct trace *trace, const struct trace_operation *operation);

#endif
