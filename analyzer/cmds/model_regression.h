/* The regression (3.9) that pmanalyze model prints. */
#ifndef CMDS_MODEL_REGRESSION_H
#define CMDS_MODEL_REGRESSION_H

#include "analyses/ssgd/ssgd_regression.h"

struct model_regression {
	const struct ssgd_question *question;
	enum print_form form;
	bool residuals;  /* in text, also the rows */
	bool meant;      /* asked for by an option: with CSV remarks are printed for one run, too */
	bool by_program; /* one for each program, in the order of their first runs */
};

/* object: of the JSON; NULL in other forms. count: at least 1. */
void model_print_regression(
	const struct ssgd_item *items, size_t count, const struct model_regression *how, cJSON *object);

#endif
