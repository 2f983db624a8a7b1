/*
 * Rules: expressions over a trial's values, which say whether there can be such a trial.
 *
 *     kernel <= 28 && (padding == same || stride < 3)
 *
 * Numbers, names of columns and earlier `let` names, words of categorical columns (in quotes where they are
 * more than letters, digits and _), + - * / %, < <= > >= == !=, && || !, parentheses, floor(x), ceil(x),
 * min(a, b), max(a, b). A comparison is 1 or 0, so that (padding == same) * floor(kernel / 2) is a choice.
 */
#ifndef SPACE_RULE_H
#define SPACE_RULE_H

#include <stdbool.h>
#include <stddef.h>

/* What a name stands for. */
struct space_rule_name {
	const char *name;
	bool is_word;
	double number;
	const char *word;          /* of a categorical column, in this trial */
	const char *const *levels; /* all that it can be, ended by NULL */
};

/* NULL, or what is wrong with the text; valid until the thread's next call. */
const char *space_rule_value(
	const char *text, const struct space_rule_name *names, size_t count, double *value);

#endif
