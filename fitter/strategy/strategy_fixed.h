/*
 * What a layer's pass takes besides what grows with the batch, from a run with one batch: launches, and what
 * a device of which little is used takes longer (Hockney's n-half: the time of work w is (w + half) / rate).
 *
 * The one idea: layers of one kind differ in size, as batches do. Where the passes of enough of them lie on
 * t = f + c flops + d bytes of output, f is what they all have. Otherwise it is at most what the
 * shortest pass of all takes. Where the calls of a pass are known (strategy_pairs.h), it is what the shortest
 * call of all takes for each, with its reading of parameters.
 */
#ifndef STRATEGY_FIXED_H
#define STRATEGY_FIXED_H

#include "strategy.h"

/*
 * f of a layer's forward or backward pass, ns, from the first measured batch: of the line, or with all of the
 * above, on which at least half of the unlike layers of its kind lie within 1%, and one more than such a line
 * needs. NAN: there is none.
 */
double strategy_fixed_of_kind(const struct strategy_net *net, size_t layer, enum strategy_time which);

/* Layers of whose passes this says it. */
size_t strategy_fixed_count(const struct strategy_net *net);

/*
 * The same layers with the times that other batches would take, from none to twice the measured one: of a
 * pass `times` the part above does not grow, at least `least` of its time; and it takes no less than that
 * part and reading the layer's parameters, backward also writing their gradients. `copies`: as
 * optimizer_copies of strategy_how. strategy_fixed_free in either case; names are the net's. 0 or -ENOMEM.
 */
int strategy_fixed_make(const struct strategy_net *net, double copies, double times, double least,
	struct strategy_net *fixed);
void strategy_fixed_free(struct strategy_net *fixed);

#endif
