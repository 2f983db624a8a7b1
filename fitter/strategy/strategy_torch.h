/*
 * PyTorch's ways to divide a training: an iteration, and the memory that a program reserves on a GPU, by
 * training steps replayed on its allocator (caching_allocator.h).
 *
 * The one idea of memory: what such a program takes is not the sum of what it has at once, but what the order
 * of its tensors makes the allocator reserve; so the tensors of layers are allocated and freed in the order
 * of a step, for some steps. Forward leaves a layer's output (two where an activation is a call of its own),
 * and where the next input is of a size that was not there before, a pooling's result with its indices, of
 * eight bytes a number; between two products of a module also what struct strategy_layer says. Backward has a
 * gradient of each input and each parameter, and gives back what forward left. An optimizer that keeps
 * numbers makes them in the first step and has one more copy for a while in each, as updates of lists of
 * tensors do (foreach, the default). Gradients are let go of before forward (set_to_none, the default).
 * Workspaces, and what is between layers, are not in it: compare two replays with each other.
 *
 * DDP has all gradients a second time (torch.nn.parallel.DistributedDataParallel with
 * gradient_as_bucket_view=False): in the first step they are one bucket, of which later ones are parts.
 * ZeRO-1 is that and ZeroRedundancyOptimizer: parameters in a flat tensor for each rank, the optimizer's
 * numbers of a rank's whole tensors, assigned the largest first. ZeRO-2 and 3 are FSDP2 (fully_shard,
 * reshard_after_forward False, and as it is by default): a unit's parameters are gathered to one tensor and
 * copied out of it, its gradients copied together and scattered; what is gathered for the next unit is there
 * meanwhile. Each side stream has memory of its own.
 */
#ifndef STRATEGY_TORCH_H
#define STRATEGY_TORCH_H

#include "strategy.h"

/* What the strategies of a PyTorch program are there. */
extern const char strategy_torch_sentence[];

enum strategy_torch {
	TORCH_ALONE,
	TORCH_DDP,
	TORCH_ZERO_1,
	TORCH_ZERO_2,
	TORCH_ZERO_3,
	TORCH_TENSOR,         /* of a net that has_pairs: pairs are divided, all else is whole */
	TORCH_TENSOR_GATHERED /* also the product after all blocks, by columns, and its output gathered */
};

/* Bytes that a worker of so many reserves with so many samples of its own; NAN: this process is out of
 * memory. Tensor parallelism of one worker is TORCH_ALONE and what a loss makes of logits: with the others
 * that is the same on either side of a comparison. */
double strategy_torch_bytes(const struct strategy_net *net, const struct strategy_how *how, double batch,
	size_t workers, enum strategy_torch way);

/* ZeroRedundancyOptimizer's assignment: which worker updates a tensor (STRATEGY_TENSORS of each layer); the
 * largest first, to whom has least. The caller frees it; NULL: out of memory. */
size_t *strategy_torch_assign(const struct strategy_net *net, size_t workers);

/*
 * An iteration (not TORCH_ALONE). DDP: buckets of at least 1 MiB, then 25, in the order in which backward
 * makes gradients, each summed next to it; a gradient is copied into its bucket when it is made, and out of
 * it when backward has ended and the bucket is summed; before forward the first worker's buffers of batch
 * norms are sent. ZeRO-1: the same, an update of the worker with the largest part, and a broadcast of each
 * worker's part. ZeRO-2 and 3: in forward a unit is gathered when the one before is there and the one before
 * that copied out; in backward, if parameters are gathered again, while the unit before is computed;
 * gradients are copied together and scattered next to what follows, which waits for the scatter before. All
 * on one set of links. A copy takes the cluster's latency and its bytes twice.
 */
void strategy_torch_time(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, enum strategy_torch way, struct strategy_data_parts *parts);

/*
 * Tensor parallelism as torch.distributed.tensor.parallel has it, with ColwiseParallel and RowwiseParallel,
 * of a net that has_pairs; `way` is TORCH_TENSOR or TORCH_TENSOR_GATHERED. All workers have the whole batch.
 * A call takes the net's shortest_call and what it takes more goes with its work: of the n-th of it that is
 * divided, of all of it elsewhere. After a product by rows its output is copied and summed (before it the
 * biases are divided by the workers, a call more), in backward the input's gradient of each product by
 * columns; all wait for it. A gathered output is put together from its parts, and its gradient cut into them.
 * What is divided and what is not are updated by calls of their own. Nothing is hidden: parts->exposed is
 * parts->exchange.
 */
void strategy_torch_tensor(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, enum strategy_torch way, struct strategy_data_parts *parts);

/* Of a worker under it, with the whole batch of `how`. */
struct strategy_memory strategy_memory_torch_tensor(const struct strategy_net *net,
	const struct strategy_how *how, size_t workers, enum strategy_torch way);

/* Where strategy_memory_basis is STRATEGY_REPLAYED: memory->total is what the run with the nearest batch
 * took, and the difference of the two replays; `rest` is what its other parts leave of it. */
void strategy_memory_replay(const struct strategy_net *net, const struct strategy_how *how, double batch,
	size_t workers, enum strategy_torch way, struct strategy_memory *memory);

#endif
