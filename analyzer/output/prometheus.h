/* Prometheus's text format, as far as all who write series have it alike. Names begin with "pmhook_". */
#ifndef OUTPUT_PROMETHEUS_H
#define OUTPUT_PROMETHEUS_H

#include <stdio.h>

#include "base/memory.h"

/* A text as a label's value: backslash, quote and line feed are escaped. */
const char *prometheus_value(struct arena *arena, const char *text);

/* The head of a family of series, of type "gauge" or "counter"; the format wants their lines after it, together. */
void prometheus_family(FILE *out, const char *name, const char *type, const char *help);

#endif
