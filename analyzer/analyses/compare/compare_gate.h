/*
 * Is the pair's other side slower than its base by more than is allowed? For programs that decide by it, such
 * as a merge request's checks. Two times are looked at: the step's, of which the hosts have a part, and the
 * device's (MEASURE_DEVICE). Where hosts are shared, what other jobs do to them is in the step's time of one
 * run and not of another; there the device's decides alone.
 */
#ifndef ANALYSES_COMPARE_COMPARE_GATE_H
#define ANALYSES_COMPARE_COMPARE_GATE_H

#include "compare.h"
#include "slower.h"

enum compare_gate_time {
	COMPARE_GATE_AUTO, /* the device's where hosts are shared; else both, of which either may be slower */
	COMPARE_GATE_DEVICE, /* alone */
	COMPARE_GATE_STEP,   /* alone */
};

struct compare_gate {
	enum slower_answer answer;
	enum compare_gate_time by;  /* what has decided: COMPARE_GATE_DEVICE or _STEP */
	struct slower step, device; /* the device's times are not known: SLOWER_UNKNOWN, its change NaN */
	double processor_wait;      /* the greatest of any process of the two sides; NaN: unknown */
};

void compare_gate(const struct compare *compare, const struct compare_pair *pair, double allowed,
	enum compare_gate_time time, struct compare_gate *gate);

/* Decides by what is there: step, device and processor_wait are filled in. */
void compare_gate_settle(struct compare_gate *gate, enum compare_gate_time time);

/* The greatest share of its threads' time that a process waited for a processor; NaN: unknown. */
double compare_processor_wait(const struct run *run);

/* The verdict with its figures, a sentence or two in the arena. */
const char *compare_gate_verdict(
	struct arena *arena, const char *base, const char *other, const struct compare_gate *gate);

/* And where it is slower why: a paragraph in the compare's arena. */
const char *compare_gate_text(
	struct compare *compare, const struct compare_pair *pair, const struct compare_gate *gate);

/* "slower", "not slower" or "undecided". */
const char *compare_gate_word(enum slower_answer answer);

/* base, other, answer, decided_by, allowed, processor_wait, and of step and device: answer, change, low,
 * high, runs_to_decide. */
cJSON *compare_gate_json(const char *base, const char *other, const struct compare_gate *gate);

#endif
