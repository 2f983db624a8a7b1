/*
 * Layers on another GPU: predicted from their times on known ones, corrected by what is measured of the new
 * one, with intervals from how far such answers were off for each known GPU when it was left out.
 *
 * A prediction is that of efficiency.h over the known GPUs, then that of correction.h. Each known GPU is left
 * out in turn and predicted in the same way from the others: that gives the correction's prior, the factor by
 * which intervals are widened so that they would have held, and the errors that are reported.
 */
#ifndef TRANSFER_H
#define TRANSFER_H

#include "efficiency.h"

enum transfer_basis {
	TRANSFER_LEARNED, /* efficiencies learned on the known GPUs */
	TRANSFER_SAME,    /* the same layer's efficiency on known GPUs */
};

struct transfer_answer {
	size_t layer;     /* in the table */
	double time;      /* ns */
	double low, high; /* ns; NAN: not known, as only one GPU was measured */
	double plain;     /* by the plain roofline ratio, without learning or correction */
	enum transfer_basis basis;
	size_t same_on; /* on how many known GPUs this very layer was measured */
};

/* A known GPU, left out. Errors are means of |predicted / measured - 1|, NAN: not tried. */
struct transfer_trial {
	size_t device;
	size_t rows;       /* that it was tried on */
	double plain;      /* plain roofline ratio */
	double unmeasured; /* without its rows */
	double error;      /* with as many of its rows as the asked GPU has, over draws of them */
	double coverage;   /* share of times in their intervals, widened as the answers' are */
};

struct transfer {
	size_t target;                   /* device */
	size_t known_count;              /* other GPUs with measured layers */
	size_t measured_count;           /* rows of the target */
	struct transfer_answer *answers; /* of its layers without time, in the table's order */
	size_t answer_count;
	struct transfer_trial *trials; /* known_count of them; none where that is 1 */
	size_t trial_count;
	double factor;  /* that the measured rows put on a layer of the usual length; 1: none */
	double widened; /* intervals' factor; NAN: there are none */
	double sum, sum_low, sum_high; /* of all answers, ns */
};

struct transfer_how {
	struct efficiency_how learn;
	double confidence;                    /* of intervals, in (0, 1) */
	void (*progress)(const char *device); /* called before a GPU is left out; NULL: nobody asks */
};

/* Answers NULL, or why there is no answer. transfer_free in either case. */
const char *transfer_predict(struct transfer *transfer, const struct transfer_table *table, size_t target,
	const struct transfer_how *how);
void transfer_free(struct transfer *transfer);

#endif
