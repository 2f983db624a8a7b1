/*
 * From a finalised operation graph to a program.
 *
 * The one idea: tensors are distinguished by their unique ids, and an operation is a step that reads some and
 * writes some; so one walk over the operations' attributes finds the tensors, the order of the steps and what
 * must be converted, whatever the operations are.
 */
#include "backend.h"

#include "cost.h"

#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 64

struct sg_build {
	struct sg_program *program;
	const struct sg_body **body; /* of each tensor */
	int *writer;                 /* of each tensor: a step, or -1 */
};

const struct sg_shape *sg_build_shape(const struct sg_build *build, const struct sg_step *step, int role)
{
	return step->tensor[role] < 0 ? NULL : &build->program->tensor[step->tensor[role]].work;
}

const struct sg_shape *sg_build_stored(const struct sg_build *build, const struct sg_step *step, int role)
{
	return step->tensor[role] < 0 ? NULL : &build->program->tensor[step->tensor[role]].shape;
}

struct sg_cost sg_build_elements(
	const struct sg_build *build, const struct sg_step *step, int role, double per_element)
{
	const struct sg_shape *shape = sg_build_stored(build, step, role);

	return sg_cost_vector(shape->type, per_element * (double)sg_shape_count(shape), 0, NULL);
}

void sg_build_reads(struct sg_build *build, const struct sg_step *step, int role)
{
	build->program->tensor[step->tensor[role]].is_read = true;
	build->program->tensor[step->tensor[role]].is_added_to = true;
}

/* What some operations write depends on their mode. */
static bool writes(const struct sg_body *op, int role)
{
	if (!(op->kind->rules[role].flags & SG_RULE_OUTPUT))
		return false;
	if (op->kind->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR && role == SG_POINTWISE_OP_Y)
		return sg_body_at(op, SG_POINTWISE_OP_DX, 0) == NULL;
	if (op->kind->type == CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR &&
		(role == SG_NORM_MEAN || role == SG_NORM_INV_VARIANCE))
		return sg_body_int(op, SG_NORM_PHASE) == CUDNN_NORM_FWD_TRAINING;
	return true;
}

static bool is_tensor_role(const struct sg_body *op, int role)
{
	return op->kind->rules[role].of == CUDNN_BACKEND_TENSOR_DESCRIPTOR &&
	       op->kind->rules[role].max == 1 && op->kind->rules[role].type == CUDNN_TYPE_BACKEND_DESCRIPTOR;
}

static bool same_shape(const struct sg_shape *a, const struct sg_shape *b)
{
	return a->type == b->type && sg_shape_same_dims(a, b) &&
	       memcmp(a->stride, b->stride, (size_t)a->ndims * sizeof(a->stride[0])) == 0;
}

/* Floats without gaps, in the order in which the tensor's own elements lie. */
static struct sg_shape packed_like(const struct sg_shape *shape)
{
	struct sg_shape packed = *shape;
	int order[SG_DIMS_MAX]; /* dimensions, the nearest first */
	int64_t step = 1;

	for (int d = 0; d < shape->ndims; d++) {
		int at = d;

		for (; at > 0 && shape->stride[order[at - 1]] >= shape->stride[d]; at--)
			order[at] = order[at - 1];
		order[at] = d;
	}
	packed.type = CUDNN_DATA_FLOAT;
	for (int i = 0; i < shape->ndims; i++) {
		packed.stride[order[i]] = step;
		step *= shape->dim[order[i]];
	}
	return packed;
}

/* NOT_SUPPORTED of some kind for tensors that no engine handles. */
static cudnnStatus_t find_support(const struct sg_body *tensor)
{
	bool is_by_value = sg_body_int(tensor, SG_TENSOR_BY_VALUE) != 0;

	if (sg_type_bytes(tensor->shape.type) == 0)
		return SG_STATUS_DATA_TYPE;
	if (sg_body_int(tensor, SG_TENSOR_VECTOR_COUNT) != 1 ||
		sg_body_int(tensor, SG_TENSOR_REORDERING) != 0 ||
		sg_body_at(tensor, SG_TENSOR_RAGGED, 0) != NULL)
		return SG_STATUS_LAYOUT;
	return is_by_value && sg_shape_count(&tensor->shape) > 1 ? SG_STATUS_SHAPE : CUDNN_STATUS_SUCCESS;
}

static void fill_tensor(struct sg_graph_tensor *tensor, const struct sg_body *body)
{
	tensor->uid = sg_body_int(body, SG_TENSOR_UID);
	tensor->alignment = sg_body_int(body, SG_TENSOR_ALIGNMENT);
	tensor->shape = body->shape;
	tensor->is_virtual = sg_body_int(body, SG_TENSOR_VIRTUAL) != 0;
	tensor->is_by_value = sg_body_int(body, SG_TENSOR_BY_VALUE) != 0;
	tensor->is_in_place =
		!tensor->is_virtual && !tensor->is_by_value && body->shape.type == CUDNN_DATA_FLOAT;
	tensor->work = tensor->is_in_place ? body->shape : packed_like(&body->shape);
}

/* The number of a tensor, new or met before; -1 where two that share an id differ. */
static int find_tensor(struct sg_build *build, const struct sg_body *body)
{
	struct sg_program *program = build->program;
	int64_t uid = sg_body_int(body, SG_TENSOR_UID);
	int i = 0;

	while (i < program->tensor_count &&
		!(build->body[i] == body || (uid != -1 && program->tensor[i].uid == uid)))
		i++;
	if (i < program->tensor_count)
		return same_shape(&program->tensor[i].shape, &body->shape) ? i : -1;
	build->body[i] = body;
	build->writer[i] = -1;
	fill_tensor(&program->tensor[i], body);
	program->tensor_count++;
	if (program->status == CUDNN_STATUS_SUCCESS)
		program->status = find_support(body);
	return i;
}

/* Notes which tensors an operation has, and which of them it writes. */
static cudnnStatus_t find_tensors(struct sg_build *build, const struct sg_body *op, int number)
{
	struct sg_step *step = &build->program->step[number];

	for (int role = 0; role < SG_ROLES_MAX; role++)
		step->tensor[role] = -1;
	for (int role = 0; role < op->kind->rule_count; role++) {
		const struct sg_body *body = is_tensor_role(op, role) ? sg_body_at(op, role, 0) : NULL;
		int t;

		if (body == NULL)
			continue;
		t = find_tensor(build, body);
		if (t < 0)
			return CUDNN_STATUS_BAD_PARAM;
		step->tensor[role] = t;
		if (!writes(op, role)) {
			build->program->tensor[t].is_read = true;
		} else {
			if (build->writer[t] >= 0)
				return CUDNN_STATUS_BAD_PARAM;
			build->writer[t] = number;
			build->program->tensor[t].is_written = true;
		}
	}
	return CUDNN_STATUS_SUCCESS;
}

/* Whether all that the step reads has been written by then; is_done is by step. */
static bool is_ready(const struct sg_build *build, int number, const bool *is_done)
{
	const struct sg_step *step = &build->program->step[number];

	for (int role = 0; role < SG_ROLES_MAX; role++) {
		int writer = step->tensor[role] < 0 ? -1 : build->writer[step->tensor[role]];

		if (writer >= 0 && writer != number && !is_done[writer])
			return false;
	}
	return true;
}

/* Sorts the steps; BAD_PARAM where they go in a circle or a virtual tensor comes from nowhere. */
static cudnnStatus_t order_steps(struct sg_build *build)
{
	struct sg_program *program = build->program;
	struct sg_step *sorted = calloc((size_t)program->step_count, sizeof(*sorted));
	bool *is_done = calloc((size_t)program->step_count, sizeof(*is_done));
	int count = 0;

	for (bool moves = sorted != NULL && is_done != NULL; moves;) {
		moves = false;
		for (int s = 0; s < program->step_count; s++) {
			if (is_done[s] || !is_ready(build, s, is_done))
				continue;
			sorted[count++] = program->step[s];
			is_done[s] = moves = true;
		}
	}
	free(is_done);
	if (sorted == NULL || is_done == NULL) {
		free(sorted);
		return CUDNN_STATUS_ALLOC_FAILED;
	}
	free(program->step);
	program->step = sorted;
	for (int t = 0; t < program->tensor_count; t++) {
		if (program->tensor[t].is_virtual && !program->tensor[t].is_written)
			return CUDNN_STATUS_BAD_PARAM;
	}
	return count == program->step_count ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

static size_t reserve(struct sg_program *program, size_t bytes)
{
	size_t at = program->scratch_bytes;

	program->scratch_bytes += (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	return at;
}

static void reserve_scratch(struct sg_program *program)
{
	size_t most = 0;

	for (int t = 0; t < program->tensor_count; t++) {
		struct sg_graph_tensor *tensor = &program->tensor[t];

		if (!tensor->is_in_place)
			tensor->at = reserve(program, (size_t)sg_shape_count(&tensor->work) * sizeof(float));
	}
	for (int s = 0; s < program->step_count; s++)
		most = program->step[s].scratch_bytes > most ? program->step[s].scratch_bytes : most;
	program->step_scratch_at = reserve(program, most);
}

static cudnnStatus_t build_steps(struct sg_build *build, const struct sg_body *graph)
{
	struct sg_program *program = build->program;
	int64_t count = graph->value[SG_GRAPH_OPS].count;
	cudnnStatus_t status = CUDNN_STATUS_SUCCESS;

	program->step_count = (int)count;
	for (int s = 0; status == CUDNN_STATUS_SUCCESS && s < count; s++)
		status = find_tensors(build, sg_body_at(graph, SG_GRAPH_OPS, s), s);
	for (int s = 0;
		status == CUDNN_STATUS_SUCCESS && program->status == CUDNN_STATUS_SUCCESS && s < count; s++) {
		const struct sg_body *op = sg_body_at(graph, SG_GRAPH_OPS, s);

		program->status = op->kind->build(op, build, &program->step[s]);
	}
	if (status == CUDNN_STATUS_SUCCESS)
		status = order_steps(build);
	if (status == CUDNN_STATUS_SUCCESS) {
		reserve_scratch(program);
		program->cost = sg_cost_program(program);
	}
	return status;
}

struct sg_program *sg_program_make(const struct sg_body *graph, cudnnStatus_t *status)
{
	size_t step_count = (size_t)graph->value[SG_GRAPH_OPS].count;
	struct sg_program *program = calloc(1, sizeof(*program));
	struct sg_build build = {.program = program};

	*status = CUDNN_STATUS_ALLOC_FAILED;
	if (program == NULL)
		return NULL;
	build.body = calloc(step_count * SG_ROLES_MAX, sizeof(struct sg_body *));
	build.writer = calloc(step_count * SG_ROLES_MAX, sizeof(*build.writer));
	program->tensor = calloc(step_count * SG_ROLES_MAX, sizeof(*program->tensor));
	program->step = calloc(step_count, sizeof(*program->step));
	if (build.body != NULL && build.writer != NULL && program->tensor != NULL && program->step != NULL)
		*status = build_steps(&build, graph);
	free(build.body);
	free(build.writer);
	if (*status == CUDNN_STATUS_SUCCESS)
		return program;
	sg_program_free(program);
	return NULL;
}

void sg_program_free(struct sg_program *program)
{
	if (program == NULL)
		return;
	free(program->tensor);
	free(program->step);
	free(program);
}
