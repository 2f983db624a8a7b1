/*
 * The inner loop: the cost (4.9) of eight candidates at once.
 *
 * Hyperparameters take few values, so a term a * x^p is computed once per distinct value, sums of some terms
 * once per distinct combination, and a sample only adds up a few table entries. A table entry holds the eight
 * candidates side by side: a sample's look-up is then one aligned vector load, whatever the vector's width,
 * and there are no gathers. Samples are sorted by their combination of extrinsic values, so that the product
 * is in a register.
 *
 * kernel.c is compiled once for each instruction set; kernel_choose takes the widest that the processor has.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <stddef.h>
#include <stdint.h>

#define KERNEL_LANES 8
#define KERNEL_CHUNK 512 /* samples for which a Jacobian is held at once */
/* From one of its columns to the next: not a power of two, so that the columns do not share a part of the
 * cache. */
#define KERNEL_STRIDE (KERNEL_CHUNK + 8)

/* Sums over combinations: entry e is the sum of the entries source[e * member_count ...]. */
struct kernel_table {
	size_t first_entry, entry_count, member_count;
	const uint32_t *source;
};

/* Everything about a problem that a cost needs; read-only, shared by threads. Entries are numbered
 * through: first the intrinsic columns' values, then the levels (and the base), then the joint tables. */
struct kernel_plan {
	/* parameters: intrinsic coefficients, levels and base, C, powers, exponents (extrinsic powers and
	 * factors) */
	size_t intrinsic_count, level_count, exponent_count;
	size_t linear_count, parameter_count;
	const size_t *value_begin; /* intrinsic_count + 1 */
	const double *log_values;  /* of scaled values */
	size_t entry_count;
	size_t table_count;
	const struct kernel_table *tables;
	size_t combination_count;
	const double *exponents; /* combination_count x exponent_count: logarithms, or 0 and 1 for a level */
	const size_t *combination_begin; /* combination_count + 1 samples */
	size_t look_up_count;            /* entries that a sample adds up */
	size_t sample_count;
	const uint32_t *look_ups; /* sample_count x look_up_count */
	const double *times;      /* scaled */
	/* penalty: 0, 1 (absolute values) or 2 (squares) */
	int penalty;
	double lambda_coefficients, lambda_powers;
	const double *log_scales; /* intrinsic_count: of the inputs; all 0 to penalise in scaled units */
	const double *exponent_log_scales; /* exponent_count */
	double coefficient_scale;          /* original units of a coefficient, at inputs of 1 */
	double penalty_scale; /* the objective's unit: scaled times, so 1 over the time's scale */
};

struct kernel {
	const char *name;
	/* x: parameter_count x KERNEL_LANES; work: entry_count x KERNEL_LANES, both aligned to 64 bytes */
	void (*cost)(const struct kernel_plan *plan, const double *x, double *work, double *error,
		double *objective);
	/* gram += J' diag(weights) J, upper triangle by columns; J is column_count x KERNEL_STRIDE, by
	 * columns
	 */
	void (*gram)(const double *jacobian, const double *weights, size_t row_count, size_t column_count,
		double *gram);
};

/* The widest that runs here, or the one of that name ("baseline", "avx2", "avx512"); NULL if it does not
 * run here. */
const struct kernel *kernel_choose(const char *name);

#endif
