/* A run as gauges in the text format that Prometheus' textfile collectors read, for dashboards. */
#ifndef OUTPUT_METRICS_H
#define OUTPUT_METRICS_H

#include "analyses/fleet/recent.h"

#include <stdio.h>

/*
 * Writes all metrics: of the run, and of each worker at most 30 series, labelled with run, rank and device,
 * of phases also with phase. Times are in seconds. What is not known has no line. The text ends with "# EOF".
 */
void metrics_write(const struct recent *recent, FILE *out);

#endif
