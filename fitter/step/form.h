/*
 * The physical forms of a training step's time: compute and exchange, which may overlap.
 *
 *     T = (Tc^g + Ts^g)^(1/g)      g = 1: one after the other; greater: the shorter one is hidden
 *     Tc = a + b m + c m log2 k    m samples on each of k GPUs: launch, work, GPUs that slow each other
 *     Ts = 0                       one GPU
 *     Ts = d0 + d1 W(k)            one node
 *     Ts = e0 + e1 X + e2 Y        n nodes; X and Y of k and n by enum form_exchange
 *
 * All coefficients are at least 0 and in the table's unit of time. The sources of the terms: logarithms for
 * the rounds of a tree, 1/n and k/n for what GPUs of a node share. FORM_LINEAR is the published model of
 * Pollux (Qiao et al., OSDI 2021, equation 11).
 */
#ifndef FORM_H
#define FORM_H

#include <stdbool.h>
#include <stddef.h>

#define FORM_TERMS 8

/* A configuration. */
struct form_point {
	double batch; /* samples on each GPU */
	double gpus;  /* in all */
	double nodes; /* at most gpus */
};

enum form_exchange {
	FORM_SHARED_INVERSE, /* log2 k, 1/n */
	FORM_LOGARITHM,      /* log2 k; W is log2 k in these four */
	FORM_SHARED,         /* log2 k, k/n */
	FORM_TWO_LEVELS,     /* log2 n, log2 k/n */
	FORM_EXCHANGES,
	FORM_LINEAR = FORM_EXCHANGES, /* k - 2, also on one node */
};

/* Terms 0 to 2 are compute, 3 and 4 the exchange in a node, 5 to 7 among nodes. */
struct form {
	enum form_exchange exchange;
	double overlap; /* g */
	double terms[FORM_TERMS];
	unsigned without; /* bits 1 << term: stay 0 when it is fitted */
};

/* Measured configurations; the arrays are the caller's. */
struct form_rows {
	size_t count;
	const struct form_point *points;
	const double *times;
	const double *compute; /* the part without exposed exchange, NAN: not measured; NULL: nowhere */
};

/* How far two configurations are from each other, in doublings of batch, GPUs and nodes together. */
double form_apart(const struct form_point *a, const struct form_point *b);
bool form_is_one_of(const struct form_point *points, size_t count, const struct form_point *point);

/* The two parts, and all. */
double form_compute(const struct form *form, const struct form_point *point);
double form_exchange(const struct form *form, const struct form_point *point);
double form_time(const struct form *form, const struct form_point *point);

/* Finds the terms for the form's exchange and overlap: relative error, robust against single rows. Where rows
 * have compute, its terms are fitted to that too. */
void form_fit(struct form *form, const struct form_rows *rows);

/* The names of terms, "a" to "e2"; what a term multiplies, "m log2 k". */
const char *form_term_name(size_t term);
const char *form_term_factor(enum form_exchange exchange, size_t term);

#endif
