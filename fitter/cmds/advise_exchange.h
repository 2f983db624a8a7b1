/* What GPUs exchanged in a run, as 'pmanalyze comm --json' tells, and the link that follows. */
#ifndef CMDS_ADVISE_EXCHANGE_H
#define CMDS_ADVISE_EXCHANGE_H

#include "strategy/strategy.h"

struct advise_exchange {
	size_t gpus;  /* that take part; 0: nothing was exchanged */
	size_t hosts; /* set by the caller */
	/* All-reduces among all of them, from when the last was there; none where ranks are missing. */
	struct strategy_transfer *transfers;
	size_t transfer_count;
	double reduced, others; /* bytes of all-reduces, and of what is neither that nor a broadcast */
};

/* Of so many workers whose traces are there. NULL, or what is wrong, valid as text_file_json's;
 * advise_exchange_free in either case. */
const char *advise_exchange_read(struct advise_exchange *exchange, const char *path, size_t workers);
void advise_exchange_free(struct advise_exchange *exchange);

/* Is most of it the sum of gradients? Unknown sizes count as none. */
bool advise_exchange_is_data(const struct advise_exchange *exchange);

/* Takes the place of the cluster's link on a node, where all were on one, or between nodes, where each was on
 * its own. */
void advise_exchange_apply(const struct advise_exchange *exchange, struct strategy_cluster *cluster);

#endif
