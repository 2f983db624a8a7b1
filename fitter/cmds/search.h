/* pmfit search: what was asked, what was found, and how it is printed. */
#ifndef SEARCH_CMD_H
#define SEARCH_CMD_H

#include "base/table.h"
#include "expression/expression_search.h"
#include "options.h"

struct search_choices {
	struct options options;
	struct expression_settings settings;
	const char *monotone, *output;
	size_t take; /* 0: the chosen */
	enum print_form form;
};

struct search_answer {
	const char *path;
	const struct search_choices *choices;
	const struct observations *observations;
	struct expression_search search;
	struct expression_terms terms;
	struct pm_fit_error *test;  /* of each result */
	struct pm_fit_model *model; /* of the one taken */
	size_t taken;
	bool on_line; /* progress is on the terminal's last line */
};

extern const char *const search_cost_names[]; /* by enum expression_cost, then NULL */
extern const char *const search_cost_heads[]; /* by enum expression_cost: "MAPE %" */

/* A loss as all forms print it: percent where it is relative. */
double search_shown(const struct search_answer *a, double loss);
bool search_has_test(const struct search_answer *a);

/* To standard output, in the form that was chosen. */
void search_print(const struct search_answer *a);

#endif
