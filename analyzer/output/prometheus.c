/* Prometheus's text format: see prometheus.h. */
#include "prometheus.h"

#include <string.h>

const char *prometheus_value(struct arena *arena, const char *text)
{
	char *escaped = arena_alloc(arena, 2 * strlen(text) + 1, 1), *end = escaped;

	for (; *text; text++) {
		if (*text == '\\' || *text == '"' || *text == '\n')
			*end++ = '\\';
		*end++ = *text == '\n' ? 'n' : *text;
	}
	return escaped;
}

void prometheus_family(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP pmhook_%s %s\n# TYPE pmhook_%s %s\n", name, help, name, type);
}
