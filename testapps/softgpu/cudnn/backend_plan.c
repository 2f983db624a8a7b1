/*
 * What is checked and answered when the descriptors are finalised that lead from tensors to an execution.
 *
 * The one idea: a graph that can be computed has two engines with one result. Engine 0 keeps intermediate
 * values in memory of its own, engine 1 in a workspace of the caller's; both are deterministic.
 */
#include "backend.h"

#include <limits.h>
#include <string.h>

enum { ENGINE_OWN_MEMORY, ENGINE_WORKSPACE, ENGINES };

#define ALIGNMENT 64

static cudnnStatus_t fill_shape(struct sg_shape *shape, const struct sg_body *tensor)
{
	const int64_t *dim = sg_body_ints(tensor, SG_TENSOR_DIMS);
	const int64_t *stride = sg_body_ints(tensor, SG_TENSOR_STRIDES);
	int64_t count = 1;

	shape->type = (cudnnDataType_t)sg_body_int(tensor, SG_TENSOR_TYPE);
	shape->ndims = (int)tensor->value[SG_TENSOR_DIMS].count;
	for (int d = 0; d < shape->ndims; d++) {
		if (dim[d] <= 0 || dim[d] > INT_MAX || stride[d] < 0)
			return CUDNN_STATUS_BAD_PARAM;
		if (__builtin_mul_overflow(count, dim[d], &count))
			return CUDNN_STATUS_NOT_SUPPORTED;
		shape->dim[d] = (int)dim[d];
		shape->stride[d] = stride[d];
	}
	return CUDNN_STATUS_SUCCESS;
}

/* The caller's bytes need not be there for longer than the call. */
static cudnnStatus_t keep_constant(struct sg_body *tensor)
{
	size_t bytes = sg_type_bytes(tensor->shape.type);

	if (tensor->value[SG_TENSOR_CONSTANT].count == 0)
		return CUDNN_STATUS_SUCCESS;
	if (sg_shape_count(&tensor->shape) != 1 || bytes == 0 || bytes > sizeof(tensor->constant))
		return CUDNN_STATUS_NOT_SUPPORTED;
	memcpy(tensor->constant, *(void *const *)tensor->value[SG_TENSOR_CONSTANT].elements, bytes);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sg_tensor_finalize(struct sg_body *tensor)
{
	int64_t alignment = sg_body_int(tensor, SG_TENSOR_ALIGNMENT);
	cudnnStatus_t status;

	if (tensor->value[SG_TENSOR_DIMS].count != tensor->value[SG_TENSOR_STRIDES].count || alignment <= 0 ||
		(alignment & (alignment - 1)) != 0)
		return CUDNN_STATUS_BAD_PARAM;
	if (sg_body_int(tensor, SG_TENSOR_MULTIPLIER) <= 0)
		return CUDNN_STATUS_BAD_PARAM;
	status = fill_shape(&tensor->shape, tensor);
	return status == CUDNN_STATUS_SUCCESS ? keep_constant(tensor) : status;
}

cudnnStatus_t sg_graph_finalize(struct sg_body *graph)
{
	cudnnStatus_t status;
	int64_t engines;

	graph->program = sg_program_make(graph, &status);
	if (graph->program == NULL)
		return status;
	engines = graph->program->status == CUDNN_STATUS_SUCCESS ? ENGINES : 0;
	return sg_body_put(graph, SG_GRAPH_ENGINES, 1, &engines);
}

cudnnStatus_t sg_engine_finalize(struct sg_body *engine)
{
	const struct sg_body *graph = sg_body_at(engine, SG_ENGINE_GRAPH, 0);
	int64_t index = sg_body_int(engine, SG_ENGINE_INDEX);

	if (graph->program->status != CUDNN_STATUS_SUCCESS)
		return graph->program->status;
	/* Frontends know by heart which of the vendor's engines for attention is deterministic. */
	return index >= 0 && (index < ENGINES || graph->program->is_attention) ? CUDNN_STATUS_SUCCESS
									       : CUDNN_STATUS_BAD_PARAM;
}

static struct sg_body *make_config(struct sg_body *graph, int64_t index)
{
	struct sg_body *engine = sg_body_create(sg_kind_find(CUDNN_BACKEND_ENGINE_DESCRIPTOR));
	struct sg_body *config = sg_body_create(sg_kind_find(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));

	if (engine == NULL || config == NULL || sg_body_put(engine, SG_ENGINE_GRAPH, 1, &graph) != 0 ||
		sg_body_put(engine, SG_ENGINE_INDEX, 1, &index) != 0 || sg_body_finalize(engine) != 0 ||
		sg_body_put(config, SG_CONFIG_ENGINE, 1, &engine) != 0 || sg_body_finalize(config) != 0) {
		sg_body_drop(config);
		config = NULL;
	}
	sg_body_drop(engine);
	return config;
}

/* Modes A and B know both engines, the quick and the last resort the one that asks for nothing. */
cudnnStatus_t sg_heur_finalize(struct sg_body *heur)
{
	struct sg_body *graph = sg_body_at(heur, SG_HEUR_GRAPH, 0);
	int64_t mode = sg_body_int(heur, SG_HEUR_MODE);
	int64_t wanted = mode == CUDNN_HEUR_MODE_A || mode == CUDNN_HEUR_MODE_B ? ENGINES : 1;
	struct sg_body *config[ENGINES] = {NULL};
	cudnnStatus_t status = CUDNN_STATUS_SUCCESS;

	if (graph->program->status != CUDNN_STATUS_SUCCESS)
		return graph->program->status;
	for (int64_t i = 0; status == CUDNN_STATUS_SUCCESS && i < wanted; i++) {
		config[i] = make_config(graph, i);
		status = config[i] == NULL ? CUDNN_STATUS_ALLOC_FAILED : CUDNN_STATUS_SUCCESS;
	}
	if (status == CUDNN_STATUS_SUCCESS)
		status = sg_body_put(heur, SG_HEUR_RESULTS, wanted, config);
	for (int i = 0; i < ENGINES; i++)
		sg_body_drop(config[i]);
	return status;
}

cudnnStatus_t sg_config_finalize(struct sg_body *config)
{
	const struct sg_body *engine = sg_body_at(config, SG_CONFIG_ENGINE, 0);
	const struct sg_program *program = sg_body_at(engine, SG_ENGINE_GRAPH, 0)->program;
	int64_t zero = 0;
	int64_t bytes = sg_body_int(engine, SG_ENGINE_INDEX) == ENGINE_WORKSPACE
				? (int64_t)program->scratch_bytes + ALIGNMENT
				: 0;
	cudnnStatus_t status = sg_body_put(config, SG_CONFIG_WORKSPACE, 1, &bytes);

	return status == CUDNN_STATUS_SUCCESS ? sg_body_put(config, SG_CONFIG_SHARED, 1, &zero) : status;
}

cudnnStatus_t sg_plan_finalize(struct sg_body *plan)
{
	cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
	int64_t bytes;

	if (plan->value[SG_PLAN_CONFIG].count == 0)
		status = plan->value[SG_PLAN_TEXT].count > 0 ? sg_plan_read(plan) : CUDNN_STATUS_BAD_PARAM;
	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	bytes = sg_body_int(sg_body_at(plan, SG_PLAN_CONFIG, 0), SG_CONFIG_WORKSPACE);
	return sg_body_put(plan, SG_PLAN_WORKSPACE, 1, &bytes);
}

cudnnStatus_t sg_pack_finalize(struct sg_body *pack)
{
	return pack->value[SG_PACK_UIDS].count == pack->value[SG_PACK_POINTERS].count
		       ? CUDNN_STATUS_SUCCESS
		       : CUDNN_STATUS_BAD_PARAM;
}
