/*
 * How much of a run describing what is new may take: after the first ten seconds with operations a second,
 * and a share of the time that the run has taken so far (PMHOOK_NEW_SHARE), over all threads. Any thread.
 */
#ifndef BUDGET_H
#define BUDGET_H

#include <stdbool.h>

#include "guest/own_cost.h"

/* False: what is new is to be counted under what is known of it without a look (PM_LOSS_BUDGET). */
bool pmh_budget_left(void);

/* A description that began then is over: it is counted as the thread's cost, and here. */
void pmh_budget_spent(struct pmh_moment begin);

#endif
