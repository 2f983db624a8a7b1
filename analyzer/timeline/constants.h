/*
 * The constants that decide what is reconstructed, in one table: type, name, value, unit, what it decides, where the value is
 * from. "chosen": between the runs that are known on either side, without a reason that would hold for the next one.
 *
 * Limits that only bound work or memory, or keep a damaged file harmless, stay in their files: an answer does not
 * depend on them.
 *
 * In a build with PM_MUTATION they are variables: see mutation.h. How far each may move before an answer changes is measured by
 * tests/mutation/room.py, and kept in room.txt beside it.
 */
#ifndef TIMELINE_CONSTANTS_H
#define TIMELINE_CONSTANTS_H

#include <stdint.h>

/* clang-format off */
#define CONSTANT_LIST(X) \
	/* iterations */ \
	X(double, ITERATION_UNKNOWN, 0.5, "confidence", \
		"below it iterations are not shown: candidates are named, no figures given", \
		"even odds") \
	X(double, RUN_SURE, 0.9, "confidence", \
		"below it the report warns about the iterations", \
		"chosen") \
	X(double, CUT_SURE, 0.7, "confidence", \
		"a search without sizes is enough, sizes are not tried", \
		"chosen") \
	X(double, CUT_DOUBTFUL, 0.6, "share", \
		"of pieces alike, from which cuts by data flow stand without a search by names", \
		"chosen") \
	X(uint32_t, CUT_FEW_PIECES, 2, "pieces", \
		"so few are checked against a search by names", \
		"two pieces cannot be compared with a third") \
	X(double, CUT_MUCH_SURER, 0.1, "confidence", \
		"that another search must be surer by to replace cuts by data flow", \
		"chosen") \
	X(double, JUDGE_SAME_WORK, 0.05, "share", \
		"of the larger amount of work that two pieces may differ by and be equal", \
		"chosen") \
	X(double, JUDGE_SIMILAR, 0.95, "similarity", \
		"of the calls of two pieces with the same work from which they are alike", \
		"chosen") \
	X(uint32_t, JUDGE_FEW, 7, "pieces", \
		"fewer cannot show the period of several optimizers", \
		"three repetitions of two, and one") \
	X(uint32_t, JUDGE_CLOSE, 8, "calls", \
		"between copies from the host that are of one input", \
		"chosen") \
	X(uint32_t, BURST_LARGE_GAP, 20, "calls", \
		"between updates from which a gap may tell iterations apart", \
		"chosen") \
	X(uint32_t, BURST_SMALL_GAP, 5, "calls", \
		"a gap as short is of no iteration where nothing goes backward", \
		"chosen") \
	X(uint32_t, BURST_LITTLE, 8, "", \
		"one part in so many of the most forward work between updates is of no iteration", \
		"chosen") \
	X(double, BURST_ODD, 0.2, "similarity", \
		"a burst less like the usual one is no update", \
		"chosen") \
	X(double, BURST_MOST_ARE, 0.7, "share", \
		"of the bursts that must be like the usual one, or all stay", \
		"chosen") \
	X(uint32_t, BURST_LONGEST_TAIL, 64, "calls", \
		"after an update beyond the usual that still belong to it", \
		"chosen") \
	X(uint32_t, REPEAT_LEAST_MEMBERS, 20, "calls", \
		"of a sequence in which something may repeat", \
		"chosen") \
	X(uint32_t, REPEAT_LEAST_PASSES, 3, "passes", \
		"of a loop", \
		"twice may be chance") \
	X(double, REPEAT_LEAST_COVER, 0.25, "share", \
		"of the sequence that a loop must cover", \
		"chosen") \
	X(double, REPEAT_LEAST_END_COVER, 0.8, "share", \
		"the same of the end of the sequence", \
		"chosen") \
	X(uint32_t, REPEAT_LEAST_END_PASSES, 8, "passes", \
		"of a loop at the end of the sequence, or of a graph alone", \
		"chosen") \
	X(uint32_t, START_EARLY, 8, "calls", \
		"from the start of a piece in which its iteration may begin; or a twentieth of it", \
		"chosen") \
	X(uint32_t, PERIOD_LEAST_REPETITIONS, 3, "periods", \
		"of pieces that make an iteration together", \
		"twice may be chance") \
	X(double, PERIOD_IDENTICAL, 0.999, "similarity", \
		"of calls from which two pieces are the same", \
		"chosen") \
	X(double, PERIOD_MUCH_MORE, 0.05, "share", \
		"of a piece's calls that pieces of a period differ by", \
		"more than a metric that is computed now and then") \
	X(uint32_t, LEAST_RANGES, 3, "instances", \
		"of a range of the program that may be its iteration", \
		"twice may be chance") \
	X(double, RANGE_LEAST_WITHIN, 0.9, "share", \
		"of the computations that lie in instances of the range", \
		"logging and evaluations lie between") \
	X(double, RANGE_AGREES, 0.9, "share", \
		"of the computations that are in the same iteration by range and by calls", \
		"a call at the border may be on either side") \
	X(uint32_t, LEAST_RUNS, 2, "runs", \
		"of a compiled program that may be its iteration", \
		"XLA names the program") \
	X(uint32_t, LEAST_STEPS, 2, "steps", \
		"of an optimizer that may be the iteration", \
		"the framework names the step") \
	X(uint32_t, KIND_LIKELIER, 10, "times", \
		"as often a step is found in an iteration as in none", \
		"chosen") \
	X(uint32_t, SEQUENCE_LEAST_TURNS, 2, "turns", \
		"that a thread takes after Python's code, to be that of the backward pass", \
		"threads that compile have their work at first") \
	X(double, SEQUENCE_PURE, 0.95, "share", \
		"of a class's calls that are updates where all of them count as such", \
		"chosen") \
	X(uint32_t, COUNT_SAME, 1, "calls", \
		"that counts may differ by and be one", \
		"the first or last iteration is cut") \
	X(double, COUNT_AGREEMENT, 0.5, "share", \
		"of the operations whose counts must agree", \
		"a majority") \
	X(uint32_t, EXCHANGE_LEAST, 10, "calls", \
		"of collectives, of which fewer are no exchange without iterations", \
		"chosen") \
	X(double, EXCHANGE_LEAST_SHARE, 0.5, "share", \
		"of the device time that such a run exchanges", \
		"a majority") \
	X(uint32_t, PART_AROUND, 2, "steps", \
		"read around the part that is asked for", \
		"those at the edges are cut") \
	X(uint32_t, LEAST_GATHERED, 65536, "bytes", \
		"less that is gathered is a loss, a length, a count", \
		"chosen") \
	X(uint32_t, LEAST_GATHERS, 3, "gathers", \
		"of an iteration from which a warning says that shards are not followed", \
		"chosen") \
	/* the pace of a run */ \
	X(double, PACE_SLOW, 1.5, "times", \
		"the median from which a step is slow", \
		"chosen") \
	X(double, PACE_FEW, 0.25, "share", \
		"of the steps that may be slow and exceptions", \
		"a quarter is no exception") \
	X(uint32_t, PACE_LEAST, 5, "steps", \
		"of fewer nothing is said", \
		"a median of four is no median") \
	/* passes and layers by what calls work on */ \
	X(uint32_t, ANCHOR_MOST_BETWEEN, 4, "calls", \
		"element-wise ones from one anchor to the next", \
		"activation, dropout, scale, sum") \
	X(uint32_t, ATTENTION_MOST_BETWEEN, 6, "calls", \
		"between the two products of an attention", \
		"scale, mask, softmax, dropout, and what copies") \
	X(uint32_t, EXCHANGE_FEW_BYTES, 1024, "bytes", \
		"so short an exchange is of losses or counts", \
		"losses, counts of hits") \
	X(double, PLACE_LEAST_ALIKE, 0.75, "share", \
		"of the computations of two iterations with a partner, or roles are not carried over", \
		"chosen") \
	X(double, FRAMEWORK_MOSTLY, 0.9, "share", \
		"of computing time that the framework has told, from which doubts of data flow do not count", \
		"chosen") \
	/* passes and layers by the memory that calls touch */ \
	X(uint32_t, LEAST_WEIGHTS, 4, "weights", \
		"fewer say nothing about what is a parameter", \
		"chosen") \
	X(uint32_t, SET_UP_PIECE, 1048576, "bytes", \
		"a great block is copied in pieces of a multiple of so many", \
		"chosen") \
	X(uint32_t, CAST_WIDEST, 2, "times", \
		"as many bytes has an element of a copy", \
		"16 bits in 32") \
	X(uint32_t, UPDATE_MOST_BETWEEN, 4, "calls", \
		"in a row within an update that touch no state or whose function is not known", \
		"chosen") \
	X(double, SPREAD_LEAST_UPDATED, 0.7, "share", \
		"of the parameters that updates within the backward pass touch", \
		"chosen") \
	X(uint32_t, TURN_LEAST_PARAMETERS, 4, "parameters", \
		"fewer in an order say nothing", \
		"chosen") \
	X(double, TURN_LEAST_ORDER, 0.7, "rank correlation", \
		"at the turning point from forward to backward", \
		"chosen") \
	X(uint32_t, LAYER_MOST_PARAMETERS, 6, "parameters", \
		"of one layer's call; one with more is of the whole model", \
		"two weights, two biases, scale and shift") \
	X(uint32_t, SIBLING_NEAR, 4, "calls", \
		"between those for the gradients of one product", \
		"chosen") \
	X(uint32_t, COPY_NEAR, 6, "calls", \
		"between a copy and the product that it is made for", \
		"chosen") \
	X(uint32_t, SEED_NEW, 10, "calls", \
		"in which nothing has touched the address of the seed of a backward pass", \
		"chosen") \
	X(uint32_t, COPIED_LEAST, 8, "parameters", \
		"at the starts of copies to the device; of fewer the copies hold more", \
		"chosen") \
	X(double, PASS_MOST_APART, 0.1, "share", \
		"of the calls with parameters that passes of batches of one step differ by", \
		"chosen") \
	X(uint32_t, SEED_CLEARED, 2, "fills", \
		"of a forward pass: more of the same are no seeds", \
		"one fill may be the seed") \
	X(uint32_t, STATE_MOST_TOUCHES, 16, "addresses", \
		"more are a list of tensors, of no single module", \
		"chosen") \
	X(uint32_t, STRETCH_JUMP, 3, "parameters", \
		"that the order skips where another stretch begins", \
		"two are a weight and its bias") \
	X(uint32_t, STRETCH_LEAST_CHANGES, 2, "changes", \
		"of place that show which way a stretch goes", \
		"one change may be a bias") \
	X(double, STRETCH_MOST_ODD, 0.1, "share", \
		"of the calls with parameters that do not go forward as often as backward", \
		"chosen") \
	X(uint32_t, MODULE_MOST_PARAMETERS, 2, "parameters", \
		"of a module that is one layer", \
		"weights and a bias") \
	/* other profilers and clocks */ \
	X(uint32_t, PAIR_MOST_NS, 100000, "ns", \
		"that a pair of events takes by itself", \
		"chosen")
/* clang-format on */

#ifdef PM_MUTATION
#define CONSTANT_ITEM(type, name, value, unit, decides, source) extern type name;
#else
#define CONSTANT_ITEM(type, name, value, unit, decides, source) static const type name = value;
#endif
CONSTANT_LIST(CONSTANT_ITEM)
#undef CONSTANT_ITEM

#endif
