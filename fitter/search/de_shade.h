/*
 * Success-history based adaptive differential evolution with linear reduction of the population: what L-SHADE
 * and jSO have in common. A generation is made and then evaluated as a whole.
 */
#ifndef DE_SHADE_H
#define DE_SHADE_H

#include "search.h"

struct shade_rules {
	size_t (*population)(size_t size); /* at the beginning; at the end it is 4 */
	double archive_rate;               /* archive's size, in populations */
	size_t memory;                     /* entries of the success history */
	double scale, crossover;           /* what the history begins with */
	bool fixed_entry;                  /* the history's last entry stays at 0.9, 0.9 */
	bool averaged;                     /* a new entry is averaged with the old */
	double best_share, last_share;     /* of the population that may lead, first and last */
	/* `done` goes from 0 to 1; what is drawn may be bounded by it */
	void (*limit)(double done, double *scale, double *crossover);
	double (*lead_weight)(double done); /* of the pull to the leader, in units of the scale */
};

int shade_search(struct search *search, const struct shade_rules *rules);

#endif
