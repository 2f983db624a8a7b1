/* Between the table of rules (family.c) and the twins. */
#ifndef SG_RULE_H
#define SG_RULE_H

#include "kernels.h"

struct sg_rule {
	const char *name;  /* what durations say they rest on */
	const char *holds; /* the kernel's mangled name has this in it */
	const char *too;   /* and this; NULL: nothing more */
	/* Fills in `known`; 0: the name is not as the rule expects. NULL: nothing to fill in. */
	int (*find)(struct sg_known *known, const char *name);
	/* 0: the arguments' sizes (kernels.h) are not as the rule expects. NULL: they do not matter. */
	int (*fit)(struct sg_known *known, const char *name, const size_t *sizes);
	double (*bytes)(const struct sg_known *known, dim3 grid, void *const *args); /* NULL: not known */
	int (*run)(
		const struct sg_known *known, dim3 grid, void *const *args); /* as sg_known_run; NULL: -1 */
	double (*flops)(const struct sg_known *known, dim3 grid, void *const *args,
		enum sg_cost_type *type); /* as sg_known_flops; NULL: 0 */
	double (*blocks)(const struct sg_known *known, dim3 grid,
		void *const *args); /* as sg_known_blocks; NULL: those of the grid */
	double (*steps)(const struct sg_known *known, void *const *args); /* as sg_known_steps; NULL: 0 */
	const struct sg_pace *(*pace)(
		const struct sg_known *known, void *const *args); /* as sg_known_pace; NULL: the name's */
};

/* Element by element (elements.c). */
int sg_elements_find(struct sg_known *known, const char *name);
double sg_elements_bytes(const struct sg_known *known, dim3 grid, void *const *args);
int sg_elements_run(const struct sg_known *known, dim3 grid, void *const *args);

/* Reductions (reduce.c). */
int sg_reduce_find(struct sg_known *known, const char *name);
double sg_reduce_bytes(const struct sg_known *known, dim3 grid, void *const *args);
const struct sg_pace *sg_reduce_pace(const struct sg_known *known, void *const *args);
double sg_reduce_steps(const struct sg_known *known, void *const *args);
int sg_reduce_run(const struct sg_known *known, dim3 grid, void *const *args);

/* Counting and selecting what is not 0 (select.c). */
int sg_count_find(struct sg_known *known, const char *name);
double sg_count_bytes(const struct sg_known *known, dim3 grid, void *const *args);
int sg_count_run(const struct sg_known *known, dim3 grid, void *const *args);
int sg_select_find(struct sg_known *known, const char *name);
double sg_select_bytes(const struct sg_known *known, dim3 grid, void *const *args);
int sg_select_run(const struct sg_known *known, dim3 grid, void *const *args);

/* arange, and concatenation (arrange.c). */
int sg_arange_find(struct sg_known *known, const char *name);
double sg_arange_bytes(const struct sg_known *known, dim3 grid, void *const *args);
int sg_arange_run(const struct sg_known *known, dim3 grid, void *const *args);
int sg_cat_find(struct sg_known *known, const char *name);
double sg_cat_bytes(const struct sg_known *known, dim3 grid, void *const *args);
int sg_cat_run(const struct sg_known *known, dim3 grid, void *const *args);

/* Sums of products of numbers among the arguments (terms.c). */
int sg_terms_find(struct sg_known *known, const char *name);
int sg_terms_fit(struct sg_known *known, const char *name, const size_t *sizes);
double sg_terms_bytes(const struct sg_known *known, dim3 grid, void *const *args);

/* What a twin wrote piece by piece, in any order: one stretch of memory that is known from then on, and is
 * forgotten as one (core/known.c). Begin with {NULL, NULL}. */
struct sg_span {
	char *low, *high;
};
static inline void sg_span_add(struct sg_span *span, void *at, size_t bytes)
{
	char *from = at;

	if (span->low == NULL || from < span->low)
		span->low = from;
	if (from + bytes > span->high)
		span->high = from + bytes;
}
static inline void sg_span_end(const struct sg_span *span)
{
	if (span->low != NULL)
		sg_memory_written(span->low, (size_t)(span->high - span->low));
}

/* What an element-wise operation is, read from its functor. 0: no twin computes it, or there are too many
 * elements. */
struct sg_elements {
	const struct sg_known *known;
	int way; /* of a comparison */
	long double scalars[2];
};
int sg_elements_is_copy(const struct sg_known *known);
int sg_elements_begin(
	const struct sg_known *known, const char *functor, int count, struct sg_elements *elements);
/* An element of the result, of those at these places and of these types. */
long double sg_elements_value(
	const struct sg_elements *elements, const char *const *from, const enum sg_type *in);

/* Fills in the types and `each` (the result's first) of what computes element by element. */
void sg_elements_types(struct sg_known *known, const char *name);
/* Element by element over tensors that are not contiguous (strided.c). */
int sg_strided_find(struct sg_known *known, const char *name);
int sg_strided_fit(struct sg_known *known, const char *name, const size_t *sizes);
double sg_strided_bytes(const struct sg_known *known, dim3 grid, void *const *args);
const struct sg_pace *sg_strided_pace(const struct sg_known *known, void *const *args);
int sg_strided_run(const struct sg_known *known, dim3 grid, void *const *args);

/* Attention: flash, and memory-efficient (attention.c). */
int sg_attention_find(struct sg_known *known, const char *name);
double sg_attention_bytes(const struct sg_known *known, dim3 grid, void *const *args);
double sg_attention_flops(
	const struct sg_known *known, dim3 grid, void *const *args, enum sg_cost_type *type);
int sg_efficient_find(struct sg_known *known, const char *name);
int sg_efficient_fit(struct sg_known *known, const char *name, const size_t *sizes);
double sg_efficient_blocks(const struct sg_known *known, dim3 grid, void *const *args);
double sg_efficient_bytes(const struct sg_known *known, dim3 grid, void *const *args);
double sg_efficient_flops(
	const struct sg_known *known, dim3 grid, void *const *args, enum sg_cost_type *type);

/* Choosing among classes, and what goes with it (draw.c). */
int sg_topk_find(struct sg_known *known, const char *name);
int sg_topk_fit(struct sg_known *known, const char *name, const size_t *sizes);
double sg_topk_bytes(const struct sg_known *known, dim3 grid, void *const *args);
int sg_topk_run(const struct sg_known *known, dim3 grid, void *const *args);
int sg_sort_find(struct sg_known *known, const char *name);
double sg_sort_bytes(const struct sg_known *known, dim3 grid, void *const *args);
int sg_sort_run(const struct sg_known *known, dim3 grid, void *const *args);
int sg_scatter_find(struct sg_known *known, const char *name);
double sg_scatter_bytes(const struct sg_known *known, dim3 grid, void *const *args);
int sg_scatter_run(const struct sg_known *known, dim3 grid, void *const *args);

/* Sorted numbers, and counts of them (runs.c). */
int sg_radix_find(struct sg_known *known, const char *name);
double sg_radix_bytes(const struct sg_known *known, dim3 grid, void *const *args);
int sg_radix_run(const struct sg_known *known, dim3 grid, void *const *args);
int sg_runs_find(struct sg_known *known, const char *name);
int sg_runs_fit(struct sg_known *known, const char *name, const size_t *sizes);
double sg_runs_bytes(const struct sg_known *known, dim3 grid, void *const *args);
int sg_runs_run(const struct sg_known *known, dim3 grid, void *const *args);
int sg_firsts_find(struct sg_known *known, const char *name);
double sg_firsts_bytes(const struct sg_known *known, dim3 grid, void *const *args);
int sg_firsts_run(const struct sg_known *known, dim3 grid, void *const *args);
int sg_histogram_find(struct sg_known *known, const char *name);
double sg_histogram_bytes(const struct sg_known *known, dim3 grid, void *const *args);
int sg_histogram_run(const struct sg_known *known, dim3 grid, void *const *args);

/* Lists of tensors (lists.c). */
int sg_lists_find(struct sg_known *known, const char *name);
int sg_lists_fit(struct sg_known *known, const char *name, const size_t *sizes);
double sg_lists_bytes(const struct sg_known *known, dim3 grid, void *const *args);
double sg_lists_blocks(const struct sg_known *known, dim3 grid, void *const *args);

#endif
