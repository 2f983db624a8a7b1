/*
 * Which products of a PyTorch transformer Megatron-LM (Shoeybi et al., 2019, section 3) divides, and which
 * calls of an iteration do work that is divided with them.
 *
 * The one idea: a block (a member of the outermost list of modules) takes rows of a width and gives rows of
 * it. Products that take the width and give something else, and the product that takes that and gives the
 * width back, are a pair: the former are divided by columns, the latter by rows, and what is called between
 * them (attention's heads, an activation) is divided with them. Where queries, keys and values have the
 * width too, a block's products of width by width follow each other by four; two of them are a pair by
 * themselves. In backward it is the same the other way round, and a gradient of biases is of the product that
 * it belongs to. All else (norms, sums with what went around the block, embeddings) is whole.
 *
 * A product must be called once forward and twice backward, and once more in each for its biases: more calls
 * are recomputation or accumulation. Then, and where the sizes do not fit together, there are no pairs, with
 * the reason.
 */
#ifndef STRATEGY_PAIRS_H
#define STRATEGY_PAIRS_H

#include "strategy.h"

/* Reads what `pmanalyze layers --why --json` printed of the run that the net is of, and fills what struct
 * strategy_net and its layers have of it. 0 or -errno, with one sentence. */
int strategy_pairs_read(struct strategy_net *net, const char *path);

/* The part that is of the layers alone: fills layer->divide; why there is none, or NULL. */
const char *strategy_pairs_find(struct strategy_net *net);

/* Can so many workers have the same part of each product by columns? Whether they divide attention's heads,
 * the trace does not tell. */
bool strategy_pairs_divide(const struct strategy_net *net, size_t workers);

/* Where there are pairs the network may be cut in front of each block, and rows of the block's width go
 * there: what torch.distributed.pipelining sends. */
void strategy_pairs_cut(struct strategy_net *net);

#endif
