/* What a person and a program read of an advice (advise/advice.h): text, CSV, JSON, and one HTML page. */
#ifndef ADVICE_PRINT_H
#define ADVICE_PRINT_H

#include "advise/advice.h"

#include <stdio.h>

struct advice_print {
	const struct advice *advice;
	const char *run, *cluster; /* their names */
	bool is_assumed;           /* the cluster, by the run's GPU */
	double price;              /* of a GPU hour; 0: not known */
	double samples;            /* how long for so many; 0: nobody asks */
};

void advice_print_text(const struct advice_print *print, FILE *out);
/* The strategies, a row each. */
void advice_print_csv(const struct advice_print *print, FILE *out);
void advice_print_json(const struct advice_print *print, FILE *out);
/* Stands alone, without script and network. Ends the program without memory. */
void advice_print_html(const struct advice_print *print, FILE *out);

#endif
