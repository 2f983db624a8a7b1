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
		sg_body_int(tensor, SG_TENSOR_REORDERING) != 0)
		return SG_STATUS_LAYOUT;
	if (sg_body_at(tensor, SG_TENSOR_RAGGED, 0) != NULL && tensor->shape.ndims != 4)
		return SG_STATUS_SHAPE;
	return is_by_value && sg_shape_count(&tensor->shape) > 1 ? SG_STATUS_SHAPE : CUDNN_STATUS_SUCCESS;
}

static void fill_tensor(struct sg_graph_tensor *tensor, const struct sg_body *body)
{
	tensor->uid = sg_body_int(body, SG_TENSOR_UID);
	tensor->alignment = sg_body_int(body, SG_TENSOR_ALIGNMENT);
	tensor->shape = body->shape;
	tensor->is_virtual = sg_body_int(body, SG_TENSOR_VIRTUAL) != 0;
	tensor->has_constant = body->value[SG_TENSOR_CONSTANT].count > 0;
	tensor->is_by_value = sg_body_int(body, SG_TENSOR_BY_VALUE) != 0 || tensor->has_constant;
	memcpy(tensor->constant, body->constant, sizeof(tensor->constant));
	tensor->ragged = -1;
	tensor->multiplier = sg_body_int(body, SG_TENSOR_MULTIPLIER);
	tensor->is_in_place = !tensor->is_virtual && !tensor->is_by_value &&
			      body->shape.type == CUDNN_DATA_FLOAT &&
			      sg_body_at(body, SG_TENSOR_RAGGED, 0) == NULL;
	tensor->work = tensor->is_in_place ? body->shape : packed_like(&body->shape);
}

/* The number of a tensor, new or met before; -1 where two that share an id differ. */
static int find_tensor(struct sg_build *build, const struct sg_body *body)
{
	struct sg_program *program = build->program;
	const struct sg_body *ragged = sg_body_at(body, SG_TENSOR_RAGGED, 0);
	int64_t uid = sg_body_int(body, SG_TENSOR_UID);
	int i = 0, offsets;

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
	/* Between steps sequences lie at their full length. */
	if (ragged == NULL || program->tensor[i].is_virtual)
		return i;
	offsets = find_tensor(build, ragged);
	program->tensor[i].ragged = offsets;
	return offsets < 0 ? -1 : i;
}

/* TensorFlow's convolutions have a second summand with a factor of zero where the model has none. */
static bool is_times_zero(const struct sg_body *op, int role)
{
	return op->kind->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR && role == SG_POINTWISE_OP_B &&
	       sg_body_real(op, SG_POINTWISE_OP_ALPHA2) == 0;
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
			*(is_times_zero(op, role) ? &build->program->tensor[t].is_ignored
						  : &build->program->tensor[t].is_read) = true;
		} else {
			if (build->writer[t] >= 0)
				return CUDNN_STATUS_BAD_PARAM;
			build->writer[t] = number;
			build->program->tensor[t].is_written = true;
		}
	}
	return CUDNN_STATUS_SUCCESS;
}

/* After all operations: what another one reads or writes is there. */
static void settle_ignored(struct sg_program *program)
{
	for (int t = 0; t < program->tensor_count; t++) {
		struct sg_graph_tensor *tensor = &program->tensor[t];

		tensor->is_ignored = tensor->is_ignored && !tensor->is_read && !tensor->is_written;
		if (!tensor->is_ignored || !tensor->is_in_place)
			continue;
		tensor->is_in_place = false;
		tensor->work = packed_like(&tensor->shape);
	}
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

/* Sorts the steps; BAD_PARAM where they go in a cycle or a virtual tensor comes from nowhere, unless that is
 * where an operation's subgraph begins: it has no handle, and no engine. */
static cudnnStatus_t order_steps(struct sg_build *build, const struct sg_body *graph)
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
		if (!program->tensor[t].is_virtual || program->tensor[t].is_written)
			continue;
		if (graph->value[SG_GRAPH_HANDLE].count > 0)
			return CUDNN_STATUS_BAD_PARAM;
		program->status = SG_STATUS_GRAPH_PATTERN;
	}
	return count == program->step_count ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

static size_t rounded(size_t bytes)
{
	return (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

/* When a tensor's scratch memory is in use: from the one step to the other. What is loaded is there before
 * the first, what is stored until after the last. */
struct life {
	int first, last;
	size_t bytes;
};

static struct life life_of(const struct sg_program *program, int t)
{
	const struct sg_graph_tensor *tensor = &program->tensor[t];
	struct life life = {-1, -1, rounded((size_t)sg_shape_count(&tensor->work) * sizeof(float))};
	bool is_met = !tensor->is_virtual;

	for (int s = 0; s < program->step_count; s++) {
		for (int role = 0; role < SG_ROLES_MAX; role++) {
			if (program->step[s].tensor[role] != t)
				continue;
			life.first = is_met ? life.first : s;
			life.last = s;
			is_met = true;
		}
	}
	if (!tensor->is_virtual && tensor->is_written)
		life.last = program->step_count;
	return life;
}

/* The lowest place that is free while the tensor lives; `placed` tensors have theirs. */
static size_t find_room(const struct sg_program *program, const struct life *life, int t)
{
	size_t at = 0;

	for (bool moves = true; moves;) {
		moves = false;
		for (int other = 0; other < t; other++) {
			size_t begin = program->tensor[other].at, end = begin + life[other].bytes;

			if (program->tensor[other].is_in_place || life[other].last < life[t].first ||
				life[t].last < life[other].first || end <= at || at + life[t].bytes <= begin)
				continue;
			at = end;
			moves = true;
		}
	}
	return at;
}

/* Scores are large, and few of their tensors are needed at a time. */
static cudnnStatus_t reserve_scratch(struct sg_program *program)
{
	struct life *life = calloc((size_t)program->tensor_count + 1, sizeof(*life));
	size_t most = 0;

	if (life == NULL)
		return CUDNN_STATUS_ALLOC_FAILED;
	for (int t = 0; t < program->tensor_count; t++) {
		struct sg_graph_tensor *tensor = &program->tensor[t];

		if (tensor->is_in_place)
			continue;
		life[t] = life_of(program, t);
		tensor->at = find_room(program, life, t);
		if (tensor->at + life[t].bytes > program->step_scratch_at)
			program->step_scratch_at = tensor->at + life[t].bytes;
	}
	free(life);
	for (int s = 0; s < program->step_count; s++)
		most = program->step[s].scratch_bytes > most ? program->step[s].scratch_bytes : most;
	program->scratch_bytes = program->step_scratch_at + rounded(most);
	return CUDNN_STATUS_SUCCESS;
}

/* The operations of a graph, with what they are made of in their places. */
struct operations {
	struct sg_body **op; /* each a reference */
	int count;
};

static bool is_whole_attention(const struct sg_body *op)
{
	return op->kind->type == CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR ||
	       op->kind->type == CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR;
}

/* Where an operation cannot be taken apart for another reason than memory, the program's status says so. */
static cudnnStatus_t list_operations(
	struct sg_program *program, const struct sg_body *graph, struct operations *operations)
{
	int64_t count = graph->value[SG_GRAPH_OPS].count;
	size_t room = (size_t)count;

	for (int64_t i = 0; i < count; i++) {
		const struct sg_body *op = sg_body_at(graph, SG_GRAPH_OPS, i);

		room += is_whole_attention(op) ? (size_t)sg_sdpa_parts(op) : 0;
	}
	operations->op = calloc(room, sizeof(struct sg_body *));
	if (operations->op == NULL)
		return CUDNN_STATUS_ALLOC_FAILED;
	for (int64_t i = 0; i < count && program->status == CUDNN_STATUS_SUCCESS; i++) {
		struct sg_body *op = sg_body_at(graph, SG_GRAPH_OPS, i);

		if (is_whole_attention(op))
			program->status = sg_sdpa_expand(op, operations->op, &operations->count);
		else
			operations->op[operations->count++] = sg_body_keep(op);
	}
	return program->status == CUDNN_STATUS_ALLOC_FAILED ? CUDNN_STATUS_ALLOC_FAILED
							    : CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t build_steps(
	struct sg_build *build, const struct sg_body *graph, const struct operations *operations)
{
	struct sg_program *program = build->program;
	cudnnStatus_t status = CUDNN_STATUS_SUCCESS;

	program->step_count = operations->count;
	for (int s = 0; status == CUDNN_STATUS_SUCCESS && s < operations->count; s++)
		status = find_tensors(build, operations->op[s], s);
	settle_ignored(program);
	for (int s = 0; status == CUDNN_STATUS_SUCCESS && program->status == CUDNN_STATUS_SUCCESS &&
			s < operations->count;
		s++)
		program->status = operations->op[s]->kind->build(operations->op[s], build, &program->step[s]);
	if (status == CUDNN_STATUS_SUCCESS)
		status = order_steps(build, graph);
	if (status == CUDNN_STATUS_SUCCESS)
		status = reserve_scratch(program);
	if (status == CUDNN_STATUS_SUCCESS) {
		program->cost = sg_cost_program(program);
		sg_attention_find(program);
	}
	return status;
}

/* Each tensor may have another one of offsets. */
static cudnnStatus_t make_room(struct sg_build *build, size_t step_count)
{
	struct sg_program *program = build->program;
	size_t tensor_count = 2 * step_count * SG_ROLES_MAX;

	build->body = calloc(tensor_count, sizeof(struct sg_body *));
	build->writer = calloc(tensor_count, sizeof(*build->writer));
	program->tensor = calloc(tensor_count, sizeof(*program->tensor));
	program->step = calloc(step_count, sizeof(*program->step));
	return build->body != NULL && build->writer != NULL && program->tensor != NULL &&
			       program->step != NULL
		       ? CUDNN_STATUS_SUCCESS
		       : CUDNN_STATUS_ALLOC_FAILED;
}

struct sg_program *sg_program_make(const struct sg_body *graph, cudnnStatus_t *status)
{
	struct sg_program *program = calloc(1, sizeof(*program));
	struct sg_build build = {.program = program};
	struct operations operations = {NULL, 0};

	*status = CUDNN_STATUS_ALLOC_FAILED;
	if (program == NULL)
		return NULL;
	*status = list_operations(program, graph, &operations);
	if (*status == CUDNN_STATUS_SUCCESS && program->status == CUDNN_STATUS_SUCCESS) {
		*status = make_room(&build, (size_t)operations.count);
		if (*status == CUDNN_STATUS_SUCCESS)
			*status = build_steps(&build, graph, &operations);
	}
	for (int i = 0; i < operations.count; i++)
		sg_body_drop(operations.op[i]);
	free(operations.op);
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
