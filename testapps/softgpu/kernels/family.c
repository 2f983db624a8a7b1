/*
 * The table of rules, and what they have in common.
 *
 * The one idea: the first rule whose texts the mangled name holds is the kernel's; the last one is the table
 * of terms.c, which has most kernels.
 */
#include "paces.h"
#include "rule.h"

#include <string.h>

static const struct sg_rule rules[] = {
	{"elements", "elementwise_kernelI", "IPcL", sg_elements_find, NULL, sg_elements_bytes,
		sg_elements_run, NULL},
	{"elements", "elementwise_kernel_for_multi_outputsI", "IPcL", sg_elements_find, NULL,
		sg_elements_bytes, NULL, NULL},
	{"elements", "18elementwise_kernelILi", "gpu_kernel_impl", sg_strided_find, sg_strided_fit,
		sg_strided_bytes, sg_strided_run, NULL, NULL, NULL, sg_strided_pace},
	{"reduction", "reduce_kernelI", "ReduceOpI", sg_reduce_find, NULL, sg_reduce_bytes, sg_reduce_run,
		NULL, NULL, sg_reduce_steps, sg_reduce_pace},
	{"count", "DeviceReduceSingleTileKernelI", "NonZeroOpI", sg_count_find, NULL, sg_count_bytes,
		sg_count_run, NULL},
	{"select", "DeviceSelectSweepKernelI", "NonZeroOpI", sg_select_find, NULL, sg_select_bytes,
		sg_select_run, NULL},
	{"arange", "elementwise_kernel_with_indexI", "arange_cuda_out", sg_arange_find, NULL, sg_arange_bytes,
		sg_arange_run, NULL},
	{"concatenation", "CatArrayBatchedCopy", "CatArrInputTensorMetadata", sg_cat_find, NULL, sg_cat_bytes,
		sg_cat_run, NULL},
	{"topk", "6sbtopk10gatherTopKI", "jLi", sg_topk_find, sg_topk_fit, sg_topk_bytes, sg_topk_run, NULL},
	{"sort", "SortKVInPlaceI", NULL, sg_sort_find, NULL, sg_sort_bytes, sg_sort_run, NULL},
	{"sort", "31DeviceRadixSortSingleTileKernelI", NULL, sg_radix_find, NULL, sg_radix_bytes,
		sg_radix_run, NULL},
	{"runs", "23DeviceReduceByKeyKernelI", "3rle6encode", sg_runs_find, sg_runs_fit, sg_runs_bytes,
		sg_runs_run, NULL},
	{"unique", "28DeviceUniqueByKeySweepKernelI", NULL, sg_firsts_find, NULL, sg_firsts_bytes,
		sg_firsts_run, NULL},
	{"histogram", "17kernelHistogram1DI", NULL, sg_histogram_find, NULL, sg_histogram_bytes,
		sg_histogram_run, NULL},
	{"scatter", "_scatter_gather_elementwise_kernelI", "34_cuda_scatter_fill_internal_kernelI",
		sg_scatter_find, NULL, sg_scatter_bytes, sg_scatter_run, NULL},
	{"tensor lists", "multi_tensor_apply_kernelI", "MetadataI", sg_lists_find, sg_lists_fit,
		sg_lists_bytes, NULL, NULL, sg_lists_blocks},
	{"attention", "pytorch_flash", NULL, sg_attention_find, NULL, sg_attention_bytes, NULL,
		sg_attention_flops},
	{"attention", "fmha_cutlass", "PyTorchMemEffAttention", sg_efficient_find, sg_efficient_fit,
		sg_efficient_bytes, NULL, sg_efficient_flops, sg_efficient_blocks},
	{NULL, "", NULL, sg_terms_find, sg_terms_fit, sg_terms_bytes, NULL, NULL},
};

static const struct sg_known nothing = {
	.in = SG_NO_TYPE, .out = SG_NO_TYPE, .scalar = SG_NO_TYPE, .source = SG_BY_THREADS};

static const struct sg_pace *pace_of(const char *name)
{
	for (size_t i = 0; i < sizeof(paces) / sizeof(paces[0]); i++)
		if (strstr(name, paces[i].holds) != NULL &&
			(paces[i].too == NULL || strstr(name, paces[i].too) != NULL))
			return &paces[i].pace;
	return NULL;
}

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
			known->pace = pace_of(name);
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

double sg_known_blocks(const struct sg_known *known, dim3 grid, void *const *args)
{
	if (known->rule == NULL || known->rule->blocks == NULL || args == NULL)
		return (double)grid.x * grid.y * grid.z;
	return known->rule->blocks(known, grid, args);
}

double sg_known_steps(const struct sg_known *known, void *const *args)
{
	if (known->rule == NULL || known->rule->steps == NULL || args == NULL)
		return 0;
	return known->rule->steps(known, args);
}

const struct sg_pace *sg_known_pace(const struct sg_known *known, void *const *args)
{
	if (known->rule == NULL || known->rule->pace == NULL || args == NULL)
		return known->pace;
	return known->rule->pace(known, args);
}

int sg_known_run(const struct sg_known *known, dim3 grid, void *const *args)
{
	if (known->rule == NULL || known->rule->run == NULL || args == NULL)
		return -1;
	return known->rule->run(known, grid, args);
}
