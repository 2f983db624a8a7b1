/* What pmfit advise reads: captured runs, as pmanalyze tells of them. */
#ifndef CMDS_ADVISE_H
#define CMDS_ADVISE_H

#include "advise/advice.h"
#include "advise_exchange.h"

/*
 * Fills what the advice is made from: of the first run on one GPU the iteration, of it and of further ones
 * (with other batches) the layers, of runs on several GPUs with data parallelism their iterations. Without a
 * run on one GPU the first on several takes its place, without its exchange. pmanalyze is started, from PATH
 * or beside this program. Ends the program where a run is none of these, with the reason. batch: samples on a
 * GPU, of a run whose trace does not have them; 0: none was given. *name: of the run whose iteration it is.
 * *exchange: of the run with most GPUs; advise_exchange_free. advise_free_runs frees net and checks.
 */
void advise_read_runs(struct advice *advice, char *const *runs, size_t count, double batch, const char **name,
	struct advise_exchange *exchange);
void advise_free_runs(struct advice *advice);

#endif
