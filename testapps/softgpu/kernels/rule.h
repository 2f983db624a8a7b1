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
};

/* Element by element (elements.c). */
int sg_elements_find(struct sg_known *known, const char *name);
double sg_elements_bytes(const struct sg_known *known, dim3 grid, void *const *args);
int sg_elements_run(const struct sg_known *known, dim3 grid, void *const *args);

/* Reductions (reduce.c). */
int sg_reduce_find(struct sg_known *known, const char *name);
double sg_reduce_bytes(const struct sg_known *known, dim3 grid, void *const *args);
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

/* Fills in the types and `each` (the result's first) of what computes element by element. */
void sg_elements_types(struct sg_known *known, const char *name);
/* Element by element over tensors that are not contiguous (strided.c). */
int sg_strided_find(struct sg_known *known, const char *name);
int sg_strided_fit(struct sg_known *known, const char *name, const size_t *sizes);
double sg_strided_bytes(const struct sg_known *known, dim3 grid, void *const *args);

/* Attention: flash, and memory-efficient (attention.c). */
int sg_attention_find(struct sg_known *known, const char *name);
double sg_attention_bytes(const struct sg_known *known, dim3 grid, void *const *args);
double sg_attention_flops(
	const struct sg_known *known, dim3 grid, void *const *args, enum sg_cost_type *type);
int sg_efficient_find(struct sg_known *known, const char *name);
double sg_efficient_bytes(const struct sg_known *known, dim3 grid, void *const *args);
double sg_efficient_flops(
	const struct sg_known *known, dim3 grid, void *const *args, enum sg_cost_type *type);

/* Lists of tensors (lists.c). */
int sg_lists_find(struct sg_known *known, const char *name);
int sg_lists_fit(struct sg_known *known, const char *name, const size_t *sizes);
double sg_lists_bytes(const struct sg_known *known, dim3 grid, void *const *args);

#endif
