/* The one sentence of a thread: see error_message.h. */
#include "error_message.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char sentence[512];

const char *error_message(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(sentence, sizeof(sentence), format, list);
	va_end(list);
	return sentence;
}
