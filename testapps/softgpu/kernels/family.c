/*
 * The table of rules, and what they have in common.
 *
 * The one idea: the first rule whose texts the mangled name holds is the kernel's; the last one is the table
 * of terms.c, which has most kernels.
 */
#include "rule.h"

#include <string.h>

static const struct sg_rule rules[] = {
	{"elements", "elementwise_kernelI", "IPcL", sg_elements_find, NULL, sg_elements_bytes,
		sg_elements_run, NULL},
	{"elements", "elementwise_kernel_for_multi_outputsI", "IPcL", sg_elements_find, NULL,
		sg_elements_bytes, NULL, NULL},
	{"elements", "18elementwise_kernelILi", "gpu_kernel_impl", sg_strided_find, sg_strided_fit,
		sg_strided_bytes, NULL, NULL},
	{"reduction", "reduce_kernelI", "ReduceOpI", sg_reduce_find, NULL, sg_reduce_bytes, sg_reduce_run,
		NULL},
	{"count", "DeviceReduceSingleTileKernelI", "NonZeroOpI", sg_count_find, NULL, sg_count_bytes,
		sg_count_run, NULL},
	{"select", "DeviceSelectSweepKernelI", "NonZeroOpI", sg_select_find, NULL, sg_select_bytes,
		sg_select_run, NULL},
	{"arange", "elementwise_kernel_with_indexI", "arange_cuda_out", sg_arange_find, NULL, sg_arange_bytes,
		sg_arange_run, NULL},
	{"concatenation", "CatArrayBatchedCopy", "CatArrInputTensorMetadata", sg_cat_find, NULL, sg_cat_bytes,
		sg_cat_run, NULL},
	{"tensor lists", "multi_tensor_apply_kernelI", "MetadataI", sg_lists_find, sg_lists_fit,
		sg_lists_bytes, NULL, NULL},
	{"attention", "pytorch_flash", NULL, sg_attention_find, NULL, sg_attention_bytes, NULL,
		sg_attention_flops},
	{"attention", "fmha_cutlass", "PyTorchMemEffAttention", sg_efficient_find, NULL, sg_efficient_bytes,
		NULL, sg_efficient_flops},
	{NULL, "", NULL, sg_terms_find, sg_terms_fit, sg_terms_bytes, NULL, NULL},
};

static const struct sg_known nothing = {
	.in = SG_NO_TYPE, .out = SG_NO_TYPE, .scalar = SG_NO_TYPE, .source = SG_BY_THREADS};

void sg_known_find(struct sg_known *known, const char *name)
{
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
			if (rules[i].name != NULL)
				known->source = rules[i].name;
			return;
		}
		*known = nothing;
	}
}

/* Of the last ones a rule may look at a part alone. Where no sizes are known its word stands. */
static int has_sizes(const struct sg_known *known, const size_t *sizes)
{
	for (size_t i = 0; sizes[0] != 0 && known->arg_bytes[i] != 0; i++)
		if (sizes[i] < known->arg_bytes[i])
			return 0;
	return 1;
}

void sg_known_fit(struct sg_known *known, const char *name, const size_t *sizes)
{
	if (known->rule == NULL)
		return;
	if (!(known->rule->fit != NULL ? known->rule->fit(known, name, sizes) : has_sizes(known, sizes)))
		*known = nothing;
}

double sg_known_bytes(const struct sg_known *known, dim3 grid, void *const *args)
{
	if (known->rule == NULL || known->rule->bytes == NULL || args == NULL)
		return -1;
	return known->rule->bytes(known, grid, args);
}

double sg_known_flops(const struct sg_known *known, dim3 grid, void *const *args, enum sg_cost_type *type)
{
	if (known->rule == NULL || known->rule->flops == NULL || args == NULL)
		return 0;
	return known->rule->flops(known, grid, args, type);
}

int sg_known_run(const struct sg_known *known, dim3 grid, void *const *args)
{
	if (known->rule == NULL || known->rule->run == NULL || args == NULL)
		return -1;
	return known->rule->run(known, grid, args);
}
