/*
 * The execution of a program: on the caller's thread its pointers are found and all is copied into a job; on
 * the stream's worker the steps run one after another.
 *
 * The one idea: steps see floats only. What is stored as something else, and scalars that are passed by
 * value, are turned into floats before the first step and, where written, back after the last.
 */
#include "backend.h"

#include <stdlib.h>
#include <string.h>

#include "core/half.h"

#define ALIGNMENT 64

/* Where a tensor of the program is: device memory of the caller's, or the value itself. */
union place {
	void *pointer;
	unsigned char value[8];
};

/* A job is this, then tensors, steps and places; a job moves in memory, so these are offsets from its
 * beginning. */
struct job {
	int device;
	int tensor_count, step_count;
	size_t tensors_at, steps_at, places_at;
	size_t scratch_bytes, step_scratch_at;
	void *workspace; /* NULL: the worker's scratch memory */
};

static inline float load(const void *from, cudnnDataType_t type, int64_t i)
{
	switch ((int)type) {
	case CUDNN_DATA_HALF:
		return sg_float_from_half(((const uint16_t *)from)[i]);
	case CUDNN_DATA_BFLOAT16:
		return sg_float_from_bfloat(((const uint16_t *)from)[i]);
	case CUDNN_DATA_DOUBLE:
		return (float)((const double *)from)[i];
	case CUDNN_DATA_INT8:
		return ((const int8_t *)from)[i];
	case CUDNN_DATA_UINT8:
	case CUDNN_DATA_BOOLEAN:
		return ((const uint8_t *)from)[i];
	case CUDNN_DATA_INT32:
		return (float)((const int32_t *)from)[i];
	case CUDNN_DATA_INT64:
		return (float)((const int64_t *)from)[i];
	default:
		return ((const float *)from)[i];
	}
}

float sg_scalar_load(const void *stored, cudnnDataType_t type)
{
	return load(stored, type, 0);
}

static inline float clamp(float value, float low, float high)
{
	return value < low ? low : value > high ? high : value;
}

static inline void store(void *to, cudnnDataType_t type, int64_t i, float value)
{
	switch ((int)type) {
	case CUDNN_DATA_HALF:
		((uint16_t *)to)[i] = sg_half_from_float(value);
		break;
	case CUDNN_DATA_BFLOAT16:
		((uint16_t *)to)[i] = sg_bfloat_from_float(value);
		break;
	case CUDNN_DATA_DOUBLE:
		((double *)to)[i] = (double)value;
		break;
	case CUDNN_DATA_INT8:
		((int8_t *)to)[i] = (int8_t)clamp(value, -128, 127);
		break;
	case CUDNN_DATA_UINT8:
		((uint8_t *)to)[i] = (uint8_t)clamp(value, 0, 255);
		break;
	case CUDNN_DATA_BOOLEAN:
		((uint8_t *)to)[i] = value != 0;
		break;
	case CUDNN_DATA_INT32:
		((int32_t *)to)[i] = (int32_t)clamp(value, -0x1p31f, 0x1.fffffep30f);
		break;
	case CUDNN_DATA_INT64:
		((int64_t *)to)[i] = (int64_t)clamp(value, -0x1p63f, 0x1.fffffep62f);
		break;
	default:
		((float *)to)[i] = value;
		break;
	}
}

/* Operands: stored, floats. context: the type. */
static void row_load(int64_t n, void *const *at, const int64_t *step, const void *context)
{
	cudnnDataType_t type = *(const cudnnDataType_t *)context;
	float *to = at[1];

	for (int64_t i = 0; i < n; i++)
		to[i * step[1]] = load(at[0], type, i * step[0]);
}

/* Operands: floats, stored. */
static void row_store(int64_t n, void *const *at, const int64_t *step, const void *context)
{
	cudnnDataType_t type = *(const cudnnDataType_t *)context;
	const float *from = at[0];

	for (int64_t i = 0; i < n; i++)
		store(at[1], type, i * step[1], from[i * step[0]]);
}

static void walk(const struct sg_shape *from_shape, const void *from, const struct sg_shape *to_shape,
	void *to, sg_row *row, const cudnnDataType_t *type)
{
	const struct sg_shape *const shapes[] = {from_shape, to_shape};
	struct sg_loop loop;

	sg_loop_init(&loop, to_shape, 2, shapes);
	sg_loop_run(&loop, (void *const[]){(void *)(uintptr_t)from, to}, row, type);
}

/* ---- on the worker ---- */

static const void *stored_at(const struct sg_graph_tensor *tensor, const union place *place)
{
	return tensor->is_virtual ? NULL : tensor->is_by_value ? place->value : place->pointer;
}

static int run_steps(const struct job *job, const struct sg_graph_tensor *tensor, const union place *place,
	float *const *data, char *scratch)
{
	const struct sg_step *steps = (const void *)((const char *)job + job->steps_at);

	for (int s = 0; s < job->step_count; s++) {
		const struct sg_step *step = &steps[s];
		struct sg_operands operands = {.scratch = scratch + job->step_scratch_at};

		for (int role = 0; role < SG_ROLES_MAX; role++) {
			if (step->tensor[role] < 0)
				continue;
			operands.shape[role] = &tensor[step->tensor[role]].work;
			operands.data[role] = data[step->tensor[role]];
			operands.type[role] = tensor[step->tensor[role]].shape.type;
			operands.stored[role] =
				stored_at(&tensor[step->tensor[role]], &place[step->tensor[role]]);
		}
		if (step->run(step, &operands) != 0)
			return -1;
	}
	return 0;
}

/* Sequences are along the second to last dimension, or the last one of keys that come turned. */
static int sequence_dim(const struct sg_shape *shape)
{
	return shape->stride[3] > shape->stride[2] ? 3 : 2;
}

static int64_t offset_at(const struct sg_graph_tensor *offsets, const union place *place, int64_t i)
{
	const char *from = place->pointer;

	if (offsets->shape.type == CUDNN_DATA_INT64)
		return ((const int64_t *)(const void *)from)[i * offsets->shape.stride[0]];
	return ((const int32_t *)(const void *)from)[i * offsets->shape.stride[0]];
}

/* Each sequence by itself, at its offset and up to where the next one begins: its tensor is zeros from there
 * on, and what is stored there is the next one's. */
static void convert_ragged(
	const struct sg_graph_tensor *tensor, int t, const union place *place, float *data, bool back)
{
	const struct sg_graph_tensor *self = &tensor[t], *offsets = &tensor[self->ragged];
	int along = sequence_dim(&self->shape);
	size_t bytes = sg_type_bytes(self->shape.type);

	if (!back)
		memset(data, 0, (size_t)sg_shape_count(&self->work) * sizeof(float));
	for (int batch = 0; batch < self->shape.dim[0]; batch++) {
		struct sg_shape stored = self->shape, work = self->work;
		int64_t at = offset_at(offsets, &place[self->ragged], batch) * self->multiplier;
		int64_t count = stored.dim[along];
		char *from = (char *)place[t].pointer + at * (int64_t)bytes;
		float *to = data + batch * work.stride[0];

		if (batch + 1 < offsets->shape.dim[0] && stored.stride[along] > 0)
			count = (offset_at(offsets, &place[self->ragged], batch + 1) * self->multiplier -
					at) /
				stored.stride[along];
		count = count > stored.dim[along] ? stored.dim[along] : count;
		if (count <= 0)
			continue;
		stored.dim[0] = work.dim[0] = 1;
		stored.dim[along] = work.dim[along] = (int)count;
		if (back)
			walk(&work, to, &stored, from, row_store, &stored.type);
		else
			walk(&stored, from, &work, to, row_load, &stored.type);
	}
}

static void convert_all(
	const struct sg_graph_tensor *tensor, int count, union place *place, float *const *data, bool back)
{
	for (int t = 0; t < count; t++) {
		void *stored = tensor[t].is_by_value ? place[t].value : place[t].pointer;

		if (tensor[t].is_in_place || tensor[t].is_virtual ||
			!(back ? tensor[t].is_written : tensor[t].is_read))
			continue;
		if (tensor[t].ragged >= 0)
			convert_ragged(tensor, t, place, data[t], back);
		else if (back)
			walk(&tensor[t].work, data[t], &tensor[t].shape, stored, row_store,
				&tensor[t].shape.type);
		else
			walk(&tensor[t].shape, stored, &tensor[t].work, data[t], row_load,
				&tensor[t].shape.type);
	}
}

static void run_job(void *arg)
{
	const struct job *job = arg;
	const struct sg_graph_tensor *tensor = (const void *)((const char *)job + job->tensors_at);
	union place *place = (void *)((char *)arg + job->places_at);
	char *scratch = job->workspace != NULL ? job->workspace : sg_scratch(job->scratch_bytes);
	float **data = malloc((size_t)(job->tensor_count + 1) * sizeof(*data));

	if (scratch == NULL || data == NULL) {
		free(data);
		sg_async_error(job->device, cudaErrorMemoryAllocation);
		return;
	}
	for (int t = 0; t < job->tensor_count; t++) {
		data[t] = tensor[t].is_in_place ? place[t].pointer : (void *)(scratch + tensor[t].at);
		if (tensor[t].is_ignored)
			memset(data[t], 0, (size_t)sg_shape_count(&tensor[t].work) * sizeof(float));
	}
	convert_all(tensor, job->tensor_count, place, data, false);
	if (run_steps(job, tensor, place, data, scratch) != 0)
		sg_async_error(job->device, cudaErrorUnknown);
	convert_all(tensor, job->tensor_count, place, data, true);
	free(data);
}

/* ---- on the caller's thread ---- */

/* Frontends put sequences' lengths one after the other, whatever alignment they describe them with. */
static bool is_aligned(const struct sg_graph_tensor *tensor, const void *pointer)
{
	bool is_whole = tensor->shape.type == CUDNN_DATA_INT32 || tensor->shape.type == CUDNN_DATA_INT64;
	uint64_t alignment = is_whole ? sg_type_bytes(tensor->shape.type) : (uint64_t)tensor->alignment;

	return (uintptr_t)pointer % alignment == 0;
}

static cudnnStatus_t find_place(
	const struct sg_graph_tensor *tensor, const struct sg_body *pack, union place *place)
{
	const int64_t *uid = sg_body_ints(pack, SG_PACK_UIDS);
	void *const *pointers = pack->value[SG_PACK_POINTERS].elements;
	int64_t count = pack->value[SG_PACK_UIDS].count;
	int64_t i = 0;

	if (tensor->has_constant) {
		memcpy(place->value, tensor->constant, sizeof(place->value));
		return CUDNN_STATUS_SUCCESS;
	}
	while (i < count && uid[i] != tensor->uid)
		i++;
	if (i == count)
		return CUDNN_STATUS_BAD_PARAM;
	if (pointers[i] == NULL)
		return tensor->is_ignored ? CUDNN_STATUS_SUCCESS : SG_STATUS_NULL_POINTER;
	if (tensor->is_by_value)
		memcpy(place->value, pointers[i], sg_type_bytes(tensor->shape.type));
	else if (!is_aligned(tensor, pointers[i]))
		return SG_STATUS_MISALIGNED_POINTER;
	else
		place->pointer = pointers[i];
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t find_workspace(const struct sg_body *pack, void **workspace)
{
	void *given = pack->value[SG_PACK_WORKSPACE].count > 0
			      ? *(void **)pack->value[SG_PACK_WORKSPACE].elements
			      : NULL;

	if (given == NULL)
		return SG_STATUS_NULL_POINTER;
	*workspace = (char *)given + (-(uintptr_t)given & (ALIGNMENT - 1));
	return CUDNN_STATUS_SUCCESS;
}

/* What masks leave out is known when the scalars are. */
static struct sg_cost cost_of(const struct sg_program *program, const union place *place)
{
	struct sg_cost cost = program->cost;
	const void **value;

	if (!program->is_attention)
		return cost;
	value = calloc((size_t)program->tensor_count + 1, sizeof(*value));
	for (int t = 0; value != NULL && t < program->tensor_count; t++)
		value[t] = program->tensor[t].is_by_value ? place[t].value : NULL;
	cost.flops *= value == NULL ? 1 : sg_attention_share(program, value);
	free(value);
	return cost;
}

cudnnStatus_t sg_program_execute(cudnnHandle_t handle, const struct sg_program *program, bool uses_workspace,
	const struct sg_body *pack)
{
	size_t tensors_bytes = (size_t)program->tensor_count * sizeof(*program->tensor);
	size_t steps_bytes = (size_t)program->step_count * sizeof(*program->step);
	size_t places_bytes = (size_t)program->tensor_count * sizeof(union place);
	struct job job = {sg_stream_device(handle->stream), program->tensor_count, program->step_count,
		sizeof(job), sizeof(job) + tensors_bytes, sizeof(job) + tensors_bytes + steps_bytes,
		program->scratch_bytes, program->step_scratch_at, NULL};
	size_t bytes = job.places_at + places_bytes;
	cudnnStatus_t status = uses_workspace ? find_workspace(pack, &job.workspace) : CUDNN_STATUS_SUCCESS;
	char *copy;

	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	copy = calloc(1, bytes);
	if (copy == NULL)
		return CUDNN_STATUS_ALLOC_FAILED;
	memcpy(copy, &job, sizeof(job));
	memcpy(copy + job.tensors_at, program->tensor, tensors_bytes);
	memcpy(copy + job.steps_at, program->step, steps_bytes);
	for (int t = 0; status == CUDNN_STATUS_SUCCESS && t < program->tensor_count; t++) {
		if (!program->tensor[t].is_virtual)
			status = find_place(
				&program->tensor[t], pack, (union place *)(copy + job.places_at) + t);
	}
	if (status == CUDNN_STATUS_SUCCESS) {
		struct sg_cost cost = cost_of(program, (const union place *)(copy + job.places_at));

		status = sg_cudnn_submit(handle, &cost, run_job, copy, bytes);
	}
	free(copy);
	return status;
}
