/*
 * Why each call of an iteration has the phase and the layer that it has: the rules that reconstruct/layer_*.c
 * noted as they decided (reconstruct/layer_why.h), and how much of the device's time each of them decides.
 */
#ifndef ANALYSES_WHY_H
#define ANALYSES_WHY_H

#include "base/table.h"
#include "reconstruct/analysis.h"
#include "reconstruct/rule.h"

struct why_row {
	uint32_t call; /* of the timeline */
	enum phase phase;
	struct layer_reason reason;
	const char *layer; /* title; "": of no layer */
	size_t layers;     /* of how many; `layer` is the one with the greatest share */
	double time_ns;    /* of its work on the device; NaN: not known, as inside of a graph timed as one, or
			      in that of the call before it, with which it is one group */
	size_t other;      /* row of the call that told the layer, from 1; 0: none */
};

/* The part of the device time of the rows that is decided by what rules say of their calls, of one evidence
 * and strength. */
struct why_share {
	enum layer_why says;
	enum rule rule;      /* one of them; RULE_NONE: none has decided */
	size_t count, known; /* calls, and those whose time is known */
	double time_ns;
};

struct why_shares {
	struct why_share *items; /* the most time first */
	size_t count, room;
};

struct why {
	size_t iteration;     /* of the worker's list: the one that phases and layers were found in */
	struct why_row *rows; /* calls that put work on the device, in order */
	size_t row_count, row_room;
	double time_ns;       /* of all rows whose time is known */
	size_t unknown_count; /* rows whose time is not */
	struct why_shares phases, layers; /* of what decided them */
};

/* The share of the known time that rules of this strength decide; of all those that say something. NaN: there
 * is none. */
double why_strength(const struct why_shares *shares, enum rule_strength strength);

/* Of one worker; its iterations must be there. Ends with why_free. */
void why_find(const struct analysis *analysis, const struct analysis_worker *worker, struct why *why);
void why_free(struct why *why);

/* A row for each call; `text`: names are cut to what fits. Of the table's arena. */
void why_call_table(
	struct print_table *table, const struct analysis *analysis, const struct why *why, bool text);

/* A row for each rule, of phases and then of layers: how many calls, and which share of the time, it decides.
 */
void why_rule_table(struct print_table *table, const struct why *why);

#endif
