/* How the files of traces are named: NAME.RANK.pmtrace. */
#ifndef TRACE_TRACE_NAME_H
#define TRACE_TRACE_NAME_H

#include <stddef.h>
#include <string.h>

/* Bytes of a file's name, or of its path, before ".pmtrace"; 0: it is no trace's. */
static inline size_t trace_name_stem(const char *name)
{
	static const char ending[] = ".pmtrace";
	const size_t length = strlen(name), bytes = sizeof(ending) - 1;

	return length > bytes && strcmp(name + length - bytes, ending) == 0 ? length - bytes : 0;
}

#endif
