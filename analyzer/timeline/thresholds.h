/*
 * The constants that decide what is concluded of a run: which findings and causes there are, who is a
 * straggler, which model is the run's. In one table: type, name, value, unit, what it decides, where the
 * value is from. "chosen": between the runs that are known on either side, without a reason that would hold
 * for the next one. What is reconstructed is decided by constants.h.
 *
 * What a command shows of a conclusion, and what an option sets, stays where it is shown or read; limits that
 * only bound work or memory in their files.
 *
 * In a build with PM_MUTATION they are variables: see mutation.h.
 */
#ifndef TIMELINE_THRESHOLDS_H
#define TIMELINE_THRESHOLDS_H

#include <stdint.h>

/* clang-format off */
#define THRESHOLD_LIST(X) \
	/* anywhere */ \
	X(double, MOSTLY, 0.5, "share", \
		"of what is in question that what is named has", \
		"a majority") \
	/* who waits for whom */ \
	X(double, BALANCE_WAITED, 0.01, "share", \
		"of a collective's time that the others wait for the last, or nobody is said to be last", \
		"somebody is always last") \
	X(double, SLOW_LINK_TIMES, 1.3, "times", \
		"as long as the same transfer takes on other links, from which a link is slow", \
		"NCCL itself varies by less between equal links") \
	X(uint32_t, SLOW_LINK_LEAST, 3, "collectives", \
		"of a kind: fewer have no typical time", \
		"a median of two is none") \
	X(double, SLOW_LINK_SAME_BYTES, 0.01, "share", \
		"of their bytes that collectives may differ by and be compared", \
		"chosen") \
	/* what holds a rank up */ \
	X(double, CAUSE_WAITING, 0.02, "share", \
		"of an iteration that each of the others waits for a worker, from which it is looked into", \
		"chosen") \
	X(double, CAUSE_EXPLAINS, 0.1, "share", \
		"of what each of the others waits that a cause costs at least", \
		"chosen") \
	X(double, CAUSE_RECURS, 0.75, "share", \
		"of the iterations, of a recurring straggler's steps, in which it shows: what happens now and then is no cause", \
		"chosen") \
	X(uint32_t, CAUSE_FEW_GAPS, 10, "gaps", \
		"in an iteration: fewer, each longer than launching takes, are pauses", \
		"chosen") \
	X(double, CAUSE_LAYER_MATTERS, 0.005, "share", \
		"of the computing time of a layer: a shorter one says nothing about speed", \
		"chosen") \
	X(double, CAUSE_FACTOR_COUNTS, 1.03, "times", \
		"as long as the peer, below which a difference is the measurement's", \
		"chosen") \
	X(double, CAUSE_RESIDUE, 0.15, "share", \
		"of what a worker takes longer, below which a layer is not named", \
		"chosen") \
	X(double, CAUSE_STAGE_COUNTS, 1.05, "times", \
		"as busy as other stages, or as long as the same calls elsewhere", \
		"chosen") \
	X(double, HOST_LAUNCHING_NS, 100000, "ns", \
		"on average that a call takes, from which it has waited: giving work takes less", \
		"chosen") \
	/* findings */ \
	X(double, FINDING_LEAST, 0.01, "share", \
		"of the mean step: what gains or costs less is not listed", \
		"chosen") \
	X(uint32_t, FINDING_SAMPLED_WELL, 5, "iterations", \
		"that a figure is of, from which it is strong evidence", \
		"chosen") \
	X(double, FINDING_RARE, 0.5, "calls", \
		"a step: a call that is made less often is rare", \
		"chosen") \
	X(uint32_t, FINDING_FEW_CALLS, 3, "calls", \
		"in all: fewer are no habit of the program", \
		"twice may be chance") \
	X(double, OFFLOAD_RETURNS, 0.3, "share", \
		"of the time of copies to the device that those back take", \
		"gradients of half the size, weights that are gathered twice") \
	X(uint32_t, OFFLOAD_MANY, 4, "copies", \
		"in a step: fewer are a batch", \
		"chosen") \
	X(double, OFFLOAD_LARGE, 1e9, "bytes", \
		"in a step: so much is no batch", \
		"chosen") \
	X(double, OFFLOAD_ALIKE, 0.01, "share", \
		"of them that steps may differ by: weights are the same in each", \
		"chosen") \
	/* labelled phases: the analysis of arXiv 2505.05713 */ \
	X(double, EXPLAINED_LEAST, 0.3, "share", \
		"of a slowdown, or of a difference between runs, that is explained, or what does is not called the cause", \
		"chosen") \
	X(double, SLOWDOWN_RECURRING, 1.05, "times", \
		"the mean that a stage, data rank or worker takes in CAUSE_RECURS of the steps to be a recurring straggler", \
		"chosen") \
	X(double, SLOWDOWN_WHOLE, 0.8, "share", \
		"of what its slowest worker exceeds the mean by, from which the whole stage or data rank does", \
		"chosen") \
	X(double, SLOWDOWN_SAME_WORK, 0.9, "correlation", \
		"of forward and backward times of micro-batches, from which the work differs", \
		"section 5.3 of the paper") \
	X(double, SLOWDOWN_PAUSE, 1.5, "times", \
		"the worker's mean, from which it is a pause", \
		"chosen") \
	/* kernels and models */ \
	X(double, ROOFLINE_SHORT_TIMES, 2, "times", \
		"the shortest kernel of the run, up to which kernels are called short", \
		"chosen") \
	X(double, ROOFLINE_SHORT_NS, 10000, "ns", \
		"up to which the shortest kernel is a launch's own time: a run need not have short kernels", \
		"chosen") \
	X(double, ROOFLINE_SHORT_SHARE, 0.5, "share", \
		"of the roof: what reaches that is not called short", \
		"chosen") \
	X(double, SSGD_HIDDEN, 0.05, "share", \
		"of the time that is seen to overlap, below which an assumption of overlap is out of the question", \
		"chosen") \
	X(double, SSGD_MOSTLY, 0.5, "share", \
		"of it, above which nothing beside is out of the question", \
		"a majority") \
	X(double, SSGD_FAR, 0.1, "share", \
		"that a prediction is off, beyond which no assumption is called the run's behaviour", \
		"chosen") \
	X(double, SSGD_ALIKE, 0.002, "share", \
		"so much closer to the measured time, or the assumption named first stands", \
		"chosen") \
	X(uint32_t, REPLAY_SOON_NS, 20000, "ns", \
		"after work of another queue ended, within which work waited for it, if nothing else tells why and no waits are recorded", \
		"chosen") \
	X(uint32_t, REPLAY_AT_ONCE_NS, 2000, "ns", \
		"the same in a process where others are", \
		"chosen") \
	/* runs compared */ \
	X(double, COMPARE_LEVEL, 0.05, "probability", \
		"the greatest corrected p that counts", \
		"a usual rule") \
	X(double, COMPARE_GATE_SHARED, 0.02, "share", \
		"of a process's time that it waits for a processor, from which its host is shared", \
		"chosen") \
	/* hangs */ \
	X(double, HANG_USUAL_TIMES, 3, "times", \
		"the longest pause before, for less than which who is behind is late, not hung", \
		"chosen") \
	X(int64_t, HANG_WORK_TIMES, 3, "times", \
		"the patience, for who makes no call and works", \
		"a checkpoint, an evaluation on the host") \
	X(double, HANG_START_TIMES, 30, "times", \
		"the patience, before a job's first communication", \
		"importing, compiling and reading data take minutes") \
	X(int64_t, HANG_ABSENT_TIMES, 3, "times", \
		"the patience, for a rank that is not there yet", \
		"a rank may be started later than others") \
	X(double, HANG_FIRST_NS, 20e6, "ns", \
		"between the last call of the first to stop and those of the others; and at least what theirs lie apart", \
		"chosen") \
	X(uint32_t, HANG_FIRST_OTHERS, 2, "ranks", \
		"beside the first to stop", \
		"with one alone it is not known what is usual") \
	X(int64_t, HANG_LAUNCHER_NS, 60000000000, "ns", \
		"after the last call within which a process that others of its job survive may still be ended", \
		"torchrun gives ranks 30 s to end") \
	X(int64_t, HANG_FRESH_NS, 500000000, "ns", \
		"before a trace is read, within which what was entered may be seen in part", \
		"a call is recorded after it is entered") \
	X(double, HANG_WORKS_PROCESSORS, 0.1, "processors", \
		"that a process keeps busy which works", \
		"threads that merely look around take less") \
	X(uint32_t, HANG_WORKS_BYTES, 65536, "bytes", \
		"that a process reads and writes in a second which works", \
		"chosen") \
	X(uint32_t, HANG_SHIFT_EXPLAINS, 2, "differences", \
		"that a missing step explains", \
		"one may be chance") \
	X(uint32_t, HANG_SHIFT_PERIODS, 3, "times", \
		"that a step's collectives repeat", \
		"twice may be chance") \
	/* fleets */ \
	X(uint32_t, FLEET_LEAST_STEPS, 10, "steps", \
		"with device times, for a rank's computing", \
		"chosen") \
	X(uint32_t, FLEET_BEFORE, 10, "iterations", \
		"before the last ones, for a trend", \
		"chosen") \
	X(double, FLEET_FORGET_S, 3600, "s", \
		"of silence after which a process of another host is over", \
		"chosen")
/* clang-format on */

#ifdef PM_MUTATION
#define THRESHOLD_ITEM(type, name, value, unit, decides, source) extern type name;
#else
#define THRESHOLD_ITEM(type, name, value, unit, decides, source) static const type name = value;
#endif
THRESHOLD_LIST(THRESHOLD_ITEM)
#undef THRESHOLD_ITEM

#endif
