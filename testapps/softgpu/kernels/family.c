/*
 * The table of rules, and what they have in common.
 *
 * The one idea: the first rule whose texts the mangled name holds is the kernel's. Most rules are rows here:
 * how many elements, from whole numbers among the arguments and the number of blocks, times how many operands
 * of which type.
 */
#include "rule.h"

#include <string.h>

/* Kernels with (elements) = the product of whole arguments, below 2^31, and perhaps the blocks in x; operands
 * is how often each is read or written. */
struct rows {
	const char *type_after; /* the element's type stands behind this in the name */
	signed char counts[2];  /* numbers of whole arguments, -1: none */
	unsigned char by_blocks, operands;
};

static const struct rows rows[] = {
	{"softmax_warp_forwardI", {2, 4}, 0, 2},
	{"softmax_warp_backwardI", {3, 5}, 0, 3},
	{"cunn_SoftMaxForwardRegI", {2, -1}, 1, 2},
	{"cunn_SoftMaxForwardSmemILi4E", {2, -1}, 1, 2},
	{"cunn_SoftMaxForwardSmemILi8E", {2, -1}, 1, 2},
	{"cunn_SoftMaxBackwardSmemILi4E", {3, -1}, 1, 3},
	{"cunn_SoftMaxBackwardSmemILi8E", {3, -1}, 1, 3},
	{"vectorized_layer_norm_kernelI", {0, -1}, 1, 2},
	{"layer_norm_grad_input_kernel_vectorizedI", {6, -1}, 1, 3},
	{"GammaBetaBackwardCUDAKernelTemplateI", {0, 1}, 0, 2},
};

static int find_rows(struct sg_known *known, const char *name)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strstr(name, rows[i].type_after) != NULL) {
			known->op = (int)i;
			known->in = sg_type_after(name, rows[i].type_after);
			return sg_type_size(known->in) > 0;
		}
	return 0;
}

static double rows_bytes(const struct sg_known *known, dim3 grid, void *const *args)
{
	const struct rows *row = &rows[known->op];
	double elements = row->by_blocks ? grid.x : 1;

	for (size_t i = 0; i < sizeof(row->counts); i++) {
		int count;

		if (row->counts[i] < 0)
			continue;
		memcpy(&count, args[row->counts[i]], sizeof(count));
		elements *= count;
	}
	return elements * row->operands * (double)sg_type_size(known->in);
}

static const struct sg_rule rules[] = {
	{"elements", "elementwise_kernelI", "St5arrayIPcLm", sg_elements_find, sg_elements_bytes,
		sg_elements_run, NULL},
	{"reduction", "reduce_kernelI", "ReduceOpI", sg_reduce_find, sg_reduce_bytes, sg_reduce_run, NULL},
	{"count", "DeviceReduceSingleTileKernelI", "NonZeroOpI", sg_count_find, sg_count_bytes, sg_count_run,
		NULL},
	{"select", "DeviceSelectSweepKernelI", "NonZeroOpI", sg_select_find, sg_select_bytes, sg_select_run,
		NULL},
	{"arange", "elementwise_kernel_with_indexI", "arange_cuda_out", sg_arange_find, sg_arange_bytes,
		sg_arange_run, NULL},
	{"concatenation", "CatArrayBatchedCopy", "CatArrInputTensorMetadata", sg_cat_find, sg_cat_bytes,
		sg_cat_run, NULL},
	{"tensor lists", "multi_tensor_apply_kernelI", "TensorListMetadataILi", sg_lists_find, sg_lists_bytes,
		NULL, NULL},
	{"softmax", "softmax_warp_", NULL, find_rows, rows_bytes, NULL, NULL},
	{"softmax", "cunn_SoftMax", NULL, find_rows, rows_bytes, NULL, NULL},
	{"layer norm", "layer_norm_", NULL, find_rows, rows_bytes, NULL, NULL},
	{"layer norm", "GammaBetaBackward", NULL, find_rows, rows_bytes, NULL, NULL},
	{"attention", "pytorch_flash", NULL, sg_attention_find, sg_attention_bytes, NULL, sg_attention_flops},
};

void sg_known_find(struct sg_known *known, const char *name)
{
	static const struct sg_known nothing = {.in = SG_NO_TYPE, .out = SG_NO_TYPE, .scalar = SG_NO_TYPE};

	*known = nothing;
	/* all of these are mangled */
	if (strncmp(name, "_Z", 2) != 0)
		return;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (strstr(name, rules[i].holds) == NULL ||
			(rules[i].too != NULL && strstr(name, rules[i].too) == NULL))
			continue;
		if (rules[i].find(known, name)) {
			known->rule = &rules[i];
			return;
		}
		*known = nothing;
	}
}

double sg_known_bytes(const struct sg_known *known, dim3 grid, void *const *args)
{
	if (known->rule == NULL || known->rule->bytes == NULL || args == NULL)
		return -1;
	return known->rule->bytes(known, grid, args);
}

double sg_known_flops(const struct sg_known *known, void *const *args)
{
	if (known->rule == NULL || known->rule->flops == NULL || args == NULL)
		return 0;
	return known->rule->flops(known, args);
}

const char *sg_known_rule(const struct sg_known *known)
{
	return known->rule != NULL && known->rule->bytes != NULL ? known->rule->name : "threads";
}

int sg_known_run(const struct sg_known *known, dim3 grid, void *const *args)
{
	if (known->rule == NULL || known->rule->run == NULL || args == NULL)
		return -1;
	return known->rule->run(known, grid, args);
}
