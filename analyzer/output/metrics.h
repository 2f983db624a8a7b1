/* A run as gauges in the text format that Prometheus' textfile collectors read, for dashboards. */
#ifndef OUTPUT_METRICS_H
#define OUTPUT_METRICS_H

#include "reconstruct/run.h"

#include <stdio.h>

#define METRICS_LAST 20  /* used iterations over which times are medians: the last ones */
#define METRICS_SURE 0.5 /* confidence of the iterations below which their times are not known */

/*
 * Writes all metrics: of the run, and of each worker at most 30 series, labelled with job, rank and device,
 * of phases also with phase. Times are in seconds. What is not known has no line. The text ends with "# EOF".
 */
void metrics_write(struct run *run, FILE *out);

#endif
