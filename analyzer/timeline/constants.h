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
	/* reads */ \
	X(uint32_t, NEXT_READY, 1000000, "ns", \
		"in which TensorFlow's executor hands on a batch that was there: what takes longer is waiting", \
		"0.56 ms in the mean where a pipeline that is quick feeds LeNet on two busy processors") \
	/* iterations */ \
	X(double, ITERATION_UNKNOWN, 0.5, "confidence", \
		"below it iterations are not shown: candidates are named, no figures given; cuts by data flow give way to a surer search", \
		"even odds") \
	X(double, RUN_SURE, 0.9, "confidence", \
		"below it the report warns about the iterations, and the search with sizes is tried too; share of what the framework has told", \
		"chosen") \
	X(uint32_t, REPEATS_LEAST, 3, "times", \
		"that a piece, period, pass of a loop or range comes that is an iteration; that one gathers to be warned", \
		"twice may be chance") \
	X(double, JUDGE_SIMILAR, 0.95, "similarity", \
		"of the calls of two pieces, and of their work, from which they are alike, and no period", \
		"chosen") \
	X(uint32_t, JUDGE_CLOSE, 8, "calls", \
		"between copies from the host that are of one input", \
		"chosen") \
	X(uint32_t, BURST_LARGE_GAP, 20, "calls", \
		"between updates from which a gap may tell iterations apart", \
		"chosen") \
	X(double, REPEAT_LEAST_COVER, 0.25, "share", \
		"of the sequence that a loop must cover", \
		"chosen") \
	X(uint32_t, START_EARLY, 8, "calls", \
		"from the start of a piece in which its iteration may begin; or a twentieth of it", \
		"chosen") \
	X(double, RANGE_MOSTLY, 0.9, "share", \
		"of the computations that lie in instances of a range, and of those that it puts where the calls do", \
		"logging and evaluations lie between, a call at the border on either side") \
	X(uint32_t, LEAST_STEPS, 2, "steps", \
		"of an optimizer, or runs of a compiled program, that may be the iteration", \
		"the framework names them") \
	X(uint32_t, KIND_LIKELIER, 10, "times", \
		"as often a step is found in an iteration as in none", \
		"chosen") \
	X(uint32_t, SEQUENCE_LEAST_TURNS, 2, "turns", \
		"that a thread takes after Python's code, to be that of the backward pass", \
		"threads that compile have their work at first") \
	X(double, SEQUENCE_PURE, 0.95, "share", \
		"of a class's calls that are updates where all of them count as such", \
		"chosen") \
	X(uint32_t, EXCHANGE_LEAST, 10, "calls", \
		"of collectives, of which fewer are no exchange without iterations", \
		"chosen") \
	X(uint32_t, PART_AROUND, 2, "steps", \
		"read around the part that is asked for", \
		"those at the edges are cut") \
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
	X(uint32_t, NEAR_CALLS, 6, "calls", \
		"at most between those that belong together: element-wise ones and copies around a product, an update's", \
		"scale, mask, softmax, dropout, and what copies") \
	X(uint32_t, EXCHANGE_FEW_BYTES, 1024, "bytes", \
		"so short an exchange is of losses or counts", \
		"losses, counts of hits") \
	X(double, PLACE_LEAST_ALIKE, 0.75, "share", \
		"of the computations of two iterations with a partner, or roles are not carried over", \
		"chosen") \
	/* passes and layers by the memory that calls touch */ \
	X(uint32_t, PARAMETERS_LEAST, 4, "parameters", \
		"fewer say nothing: of what is one, of their order, of how they were copied", \
		"two layers with a bias each") \
	X(uint32_t, SET_UP_PIECE, 1048576, "bytes", \
		"a great block is copied in pieces of a multiple of so many", \
		"chosen") \
	X(uint32_t, CAST_WIDEST, 2, "times", \
		"as many bytes has an element of a copy", \
		"16 bits in 32") \
	X(double, TURN_LEAST_ORDER, 0.7, "rank correlation", \
		"at the turning point from forward to backward", \
		"chosen") \
	X(uint32_t, LAYER_MOST_PARAMETERS, 6, "parameters", \
		"of one layer's call; one with more is of the whole model", \
		"two weights, two biases, scale and shift") \
	X(double, PASS_MOST_APART, 0.1, "share", \
		"of the calls with parameters that passes of batches of one step differ by, or that go forward and not back", \
		"chosen") \
	X(uint32_t, STRETCH_JUMP, 3, "parameters", \
		"that the order skips where another stretch begins", \
		"two are a weight and its bias") \
	X(uint32_t, MODULE_MOST_PARAMETERS, 2, "parameters", \
		"of a module that is one layer", \
		"weights and a bias")
/* clang-format on */

#ifdef PM_MUTATION
#define CONSTANT_ITEM(type, name, value, unit, decides, source) extern type name;
#else
#define CONSTANT_ITEM(type, name, value, unit, decides, source) static const type name = value;
#endif
CONSTANT_LIST(CONSTANT_ITEM)
#undef CONSTANT_ITEM

#endif
