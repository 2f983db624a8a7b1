/* The tables and sentences that text, JSON and page of an advice have in common. */
#ifndef ADVICE_TABLE_H
#define ADVICE_TABLE_H

#include "advice_print.h"
#include "base/table.h"

/* A row for each number of GPUs with its best strategy; and one for each strategy on each of them. */
void advice_table_rows(const struct advice_print *print, struct print_table *table);
void advice_table_ways(const struct advice_print *print, struct print_table *table);

struct advice_answer {
	const char *question, *answer;
};
enum { ADVICE_QUESTIONS = 5 };

/* "32 samples in 4.1 ms on one GPU, ...": what it begins with. The text lives in the arena. */
const char *advice_base(const struct advice_print *print, struct arena *arena);
/* What to do before all else: stragglers of the runs; NULL: nothing. */
const char *advice_first(const struct advice_print *print, struct arena *arena);
/* How many GPUs, which strategy, how long, what limits it, how sure: of what is recommended. The texts live
 * in the arena. */
void advice_answers(const struct advice_print *print, struct arena *arena, struct advice_answer *answers);
/* What it was made from and rests on: sentences, ended by NULL. */
enum { ADVICE_ASSUMPTIONS = 10 };
void advice_assumptions(const struct advice_print *print, struct arena *arena, const char **sentences);

#endif
