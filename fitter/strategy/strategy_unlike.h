/*
 * Data parallelism of workers that are not alike. All of them wait for the slowest, so two things are tried
 * besides the same share for all: to leave the slowest out, and to give each as many samples as it computes
 * in the time of the others.
 *
 * Who gives workers unequal shares must weight their gradients by them; no trainer here does, so it was
 * never validated against a run.
 */
#ifndef STRATEGY_UNLIKE_H
#define STRATEGY_UNLIKE_H

#include "strategy_choose.h"

/* Do workers differ in speed or memory? */
bool strategy_is_unlike(const struct strategy_cluster *cluster);

/* A batch that the workers do not divide gives some of them a sample more, for which all wait: as if each had
 * it. */
struct strategy_how strategy_whole_shares(const struct strategy_how *how, size_t workers);

/* Data parallelism of all workers with the same share, as the network's program does it. */
void strategy_data_of(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, struct strategy_data_parts *parts);

/* The best number of the quickest workers that can hold their share, at least two and not all: the batch is
 * divided among these alone.
 * choice->worker are they, choice->used how many. 0 or -ENOMEM. */
int strategy_choose_fewer(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, struct strategy_choice *choice);

/*
 * Whole samples for each worker such that the last is done as early as can be, within what each can hold;
 * workers that would be the last with one sample have none. choice->share are they, by the cluster's workers.
 * Of batches of thousands shares are multiples of a few samples. 0 or -ENOMEM.
 */
int strategy_choose_uneven(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, struct strategy_choice *choice);

#endif
