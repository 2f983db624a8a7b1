/*
 * Attention. The flash kernels have one argument, a struct that says how many heads, positions and numbers a
 * head there are (`flash.h` of flash-attention; its start is the same in all versions that PyTorch has used).
 * Forward it computes two products for each pair of positions, backward five; a causal mask leaves half of
 * the pairs.
 */
#include "rule.h"

#include <string.h>

enum { HEADS = 96, BATCH = 176, QUERIES = 180, KEYS = 184, WIDTH = 192 }; /* where in the struct, bytes */

#define ELEMENT_BYTES 2 /* half or bfloat16 */

static const struct kernel {
	const char *name;     /* and what stands before the flags in the mangled name */
	int products, causal; /* causal: which of the flags says so, from 0 */
	int queries, keys;    /* operands of that length that are read or written */
	unsigned accumulated; /* of these operands of queries, how many are floats */
} kernels[] = {
	{"flash_fwd_kernelI", 2, 1, 2, 2, 0},
	{"flash_fwd_splitkv_kernelI", 2, 0, 2, 2, 0},
	{"flash_bwd_dq_dk_dv_loop_seqk_parallel_kernelI", 5, 1, 3, 4, 1},
	{"flash_bwd_dot_do_o_kernelI", 0, 0, 2, 0, 0},
	{"flash_bwd_convert_dq_kernelI", 0, 0, 2, 0, 1},
};

/* The flag after the traits, which end with two E: "...EELb0ELb1E" has 0 and 1. */
static int flag(const char *name, int number)
{
	const char *at = strstr(name, "EELb");

	return at != NULL && strlen(at) > 6 + 4 * (size_t)number && at[4 + 4 * number] == '1';
}

int sg_attention_find(struct sg_known *known, const char *name)
{
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (strstr(name, kernels[i].name) != NULL) {
			known->op = (int)i;
			known->pointers = kernels[i].products > 0 && flag(name, kernels[i].causal) ? 2 : 1;
			return 1;
		}
	return 0;
}

static double number_at(void *const *args, int offset)
{
	int number;

	memcpy(&number, (const char *)args[0] + offset, sizeof(number));
	return number;
}

double sg_attention_bytes(const struct sg_known *known, dim3 grid, void *const *args)
{
	const struct kernel *kernel = &kernels[known->op];
	double rows = (ELEMENT_BYTES * kernel->queries + ELEMENT_BYTES * (double)kernel->accumulated) *
			      number_at(args, QUERIES) +
		      ELEMENT_BYTES * kernel->keys * number_at(args, KEYS);

	(void)grid;
	return rows * number_at(args, BATCH) * number_at(args, HEADS) * number_at(args, WIDTH);
}

double sg_attention_flops(const struct sg_known *known, dim3 grid, void *const *args, enum sg_cost_type *type)
{
	(void)grid;
	*type = SG_COST_F16;
	return 2.0 * kernels[known->op].products * number_at(args, BATCH) * number_at(args, HEADS) *
	       number_at(args, QUERIES) * number_at(args, KEYS) * number_at(args, WIDTH) / known->pointers;
}

/* ---- memory-efficient: its kernels have a struct of their own, and the batches in the grid ---- */

struct efficient {
	const char *name;
	size_t size_bytes;           /* of the struct, at least */
	int products, queries, keys; /* as above */
	int width, length, heads,
		mask; /* where in the struct, bytes: width and value's width, queries and keys */
};

/* The struct grew: those of PyTorch 2.15 come first. */
static const struct efficient efficient[] = {
	{"fmha_cutlassF_", 280, 2, 2, 2, 96, 104, 204, 116},
	{"fmha_cutlassB_", 480, 5, 4, 4, 144, 152, 160, 168},
	{"fmha_cutlassF_", 264, 2, 2, 2, 96, 104, 196, 116},
	{"fmha_cutlassB_", 456, 5, 4, 4, 144, 152, 160, 164},
};

int sg_efficient_find(struct sg_known *known, const char *name)
{
	for (size_t i = 0; i < sizeof(efficient) / sizeof(efficient[0]); i++) {
		const char *at = strstr(name, efficient[i].name);

		if (at == NULL)
			continue;
		known->op = (int)i;
		at += strlen(efficient[i].name);
		known->in = strncmp(at, "f32", 3) == 0 ? SG_FLOAT : SG_HALF;
		return 1;
	}
	return 0;
}

int sg_efficient_fit(struct sg_known *known, const char *name, const size_t *sizes)
{
	for (size_t i = 0; sizes[0] != 0 && i < sizeof(efficient) / sizeof(efficient[0]); i++)
		if (sizes[0] >= efficient[i].size_bytes && strstr(name, efficient[i].name) != NULL) {
			known->op = (int)i;
			return 1;
		}
	return sizes[0] == 0;
}

/* Numbers of heads in all batches, with `width` and `length` two each. */
static double efficient_heads(
	const struct efficient *kernel, dim3 grid, void *const *args, double *width, double *length)
{
	for (int i = 0; i < 2; i++) {
		width[i] = number_at(args, kernel->width + i * (int)sizeof(int));
		length[i] = number_at(args, kernel->length + i * (int)sizeof(int));
	}
	return number_at(args, kernel->heads) * grid.z;
}

/* Half of the operands of each length have the queries' width, the others that of the values. */
double sg_efficient_bytes(const struct sg_known *known, dim3 grid, void *const *args)
{
	const struct efficient *kernel = &efficient[known->op];
	double width[2], length[2], heads = efficient_heads(kernel, grid, args, width, length);

	return heads * (kernel->queries * length[0] + kernel->keys * length[1]) * (width[0] + width[1]) / 2 *
	       (double)sg_type_size(known->in);
}

static int is_causal(const struct efficient *kernel, void *const *args)
{
	return ((const char *)args[0])[kernel->mask] != 0;
}

/* Of a causal mask's blocks the last one has twice as much to do as the middle one. */
double sg_efficient_blocks(const struct sg_known *known, dim3 grid, void *const *args)
{
	return (double)grid.x * grid.y * grid.z / (is_causal(&efficient[known->op], args) ? 2 : 1);
}

/* Of the products each other one is as wide as the queries, three of five backward. */
double sg_efficient_flops(const struct sg_known *known, dim3 grid, void *const *args, enum sg_cost_type *type)
{
	const struct efficient *kernel = &efficient[known->op];
	double width[2], length[2], heads = efficient_heads(kernel, grid, args, width, length);
	int wide = (kernel->products + 1) / 2, causal = is_causal(kernel, args);

	/* in single precision without the matrix unit's shorter one */
	*type = known->in == SG_FLOAT ? SG_COST_F32 : SG_COST_F16;
	return 2 * heads * length[0] * length[1] * (wide * width[0] + (kernel->products - wide) * width[1]) /
	       (causal ? 2 : 1);
}
