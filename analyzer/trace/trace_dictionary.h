/* Inside trace*.c: the dictionary of a trace file. */
#ifndef TRACE_TRACE_DICTIONARY_H
#define TRACE_TRACE_DICTIONARY_H

#include "trace.h"

/* The first `used_bytes` of a dictionary's payload at `offset` of the file, into the trace's tables. */
void trace_parse_dictionary(struct trace *trace, uint64_t offset, uint64_t used_bytes);

/* An entry of a program that XLA compiled: `size` bytes, which are enough for its fixed part. */
void trace_parse_hlo(
	struct trace *trace, uint64_t offset, unsigned type, const unsigned char *body, uint64_t size);

/* Keeps the first sentence, "path: byte offset: ...": what follows from damage is not news. */
__attribute__((format(printf, 3, 4))) void trace_trouble(
	struct trace *trace, uint64_t offset, const char *format, ...);

#endif
