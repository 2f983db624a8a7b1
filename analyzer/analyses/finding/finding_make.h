/* Inside finding*.c: the sources of findings. */
#ifndef ANALYSES_FINDING_FINDING_MAKE_H
#define ANALYSES_FINDING_FINDING_MAKE_H

#include "finding.h"
#include "analyses/input_file.h"

/* Adds a finding if its gain is at least FINDING_LEAST of a step, or it has none. Sets what is NULL of its
 * texts, and the basis. */
void finding_add(struct finding_list *list, struct finding finding);

/* Strength of what is measured over the used iterations of all ranks that there are. */
enum finding_strength finding_measured(const struct finding_list *list);

/* Puts the list in order, and sets the titles that depend on it: FINDING_WAITING's. */
void finding_order(struct finding_list *list);

/*
 * A rank that the others wait for: `name` is its name, `peer` that of the rank at the link's other end or
 * NULL; `others` wait for it, each `lost_ns` on average. What is NULL of `basis` is as finding_add sets it.
 */
void finding_add_cause(struct finding_list *list, const struct cause *cause, const char *name,
	const char *peer, double others, double lost_ns, enum finding_strength strength, const char *basis);

/* Idle or waiting time of all ranks, of the kinds INPUT, LAUNCH, LATENCY and COMMUNICATION: what is the same
 * of all findings of a kind is added to the text. `title` and `advice` NULL: the usual. */
void finding_add_idle(struct finding_list *list, enum finding_kind kind, enum finding_strength strength,
	const char *title, const char *text, const char *advice, double gain_ns);

/* Of the rank with the least: the time in which it reads input, splits and copies it. `source`: where most of
 * it is read, `loader`: what most of the reading is in; NULL: not known. */
void finding_add_input(struct finding_list *list, const double ns[3], const struct input_file *source,
	const struct input_loader *loader);

/* A worker's communication in a typical iteration: all of it, what of it waits for the last rank, what nothing
 * hides, and what of that can be moving. */
struct finding_communication {
	double busy_ns, wait_ns, exposed_ns, moving_ns;
};
struct finding_communication finding_communication(const struct finding_list *list, size_t worker);

/* The worker's typical exclusive time in the phase. */
double finding_phase(const struct finding_list *list, size_t worker, enum phase phase);

/* What a worker has more of when the others wait for it. */
struct finding_late {
	double more_ns;
	const char *text;   /* "its device has no work for 9.8 ms more each while ..."; NULL: nothing is much
			       more */
	const char *advice; /* NULL: none of its own */
};

/* In outliers, against its typical iterations; or in all iterations, against the other ranks. `least_ns`: the
 * waiting, of which what is named makes most. */
struct finding_late finding_late(struct finding_list *list, size_t worker, bool in_outliers, double least_ns);

/* In all iterations: of the rank that is late in each, where it is in no call meanwhile. */
struct finding_late finding_late_in_turn(struct finding_list *list);

/* Each adds what it finds. */
void finding_link(struct finding_list *list);       /* finding_link.c: before stragglers, whose cause it may be */
void finding_stragglers(struct finding_list *list); /* finding_rank.c */
void finding_input(struct finding_list *list);      /* finding_input.c */
void finding_idle(struct finding_list *list);       /* finding_idle.c */
void finding_outliers(struct finding_list *list);   /* finding_outlier.c */
void finding_evaluation(struct finding_list *list); /* finding_evaluation.c */
void finding_job(struct finding_list *list);        /* finding_job.c */

#endif
