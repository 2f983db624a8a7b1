/* Operations and bytes of a call: see work.h. Here what all libraries share; copies and communication. */
#include "work_take.h"

#include "trace/trace.h"

#include <string.h>

const char *const work_kind_keys[WORK_KIND_COUNT] = {
#define WORK_ITEM(name, key, text) key,
	WORK_KINDS(WORK_ITEM)
#undef WORK_ITEM
};

const char *const work_kind_titles[WORK_KIND_COUNT] = {
#define WORK_ITEM(name, key, text) text,
	WORK_KINDS(WORK_ITEM)
#undef WORK_ITEM
};

const char *const work_type_names[WORK_TYPE_COUNT] = {
	[WORK_F32] = "fp32",
	[WORK_TF32] = "tf32",
	[WORK_F16] = "fp16",
	[WORK_BF16] = "bf16",
	[WORK_F64] = "fp64",
	[WORK_I8] = "int8",
};

struct work_tensor work_tensor(const struct work_source *source, const char *label)
{
	struct work_tensor tensor = {.elements = 1};
	const struct timeline_descriptor *descriptor;
	bool strided;
	uint64_t number = 0;
	double stored = 1;

	if (!timeline_value(source->timeline, source->operation, label, &number) ||
		number >= source->timeline->descriptor_count)
		return (struct work_tensor){0};
	descriptor = &source->timeline->descriptors[number];
	if (descriptor->kind == PM_DESCRIPTOR_TENSOR && descriptor->value_count >= 2) {
		/* type n dims[n] strides[n] */
		if (descriptor->values[1] < 0 || descriptor->values[1] > descriptor->value_count - 2)
			return (struct work_tensor){0};
		tensor.dimension_count = (uint32_t)descriptor->values[1];
	} else if (descriptor->kind == PM_DESCRIPTOR_FILTER && descriptor->value_count >= 3) {
		/* type format n dims[n] */
		if (descriptor->values[2] < 0 || descriptor->values[2] > descriptor->value_count - 3)
			return (struct work_tensor){0};
		tensor.dimension_count = (uint32_t)descriptor->values[2];
	}
	if (tensor.dimension_count == 0 || tensor.dimension_count > WORK_DIMENSIONS)
		return (struct work_tensor){0};
	strided = descriptor->kind == PM_DESCRIPTOR_TENSOR &&
		  descriptor->value_count >= 2 + 2 * tensor.dimension_count;
	tensor.type = (uint64_t)descriptor->values[0];
	for (uint32_t i = 0; i < tensor.dimension_count; i++) {
		int64_t size = descriptor->values[i + (descriptor->kind == PM_DESCRIPTOR_TENSOR ? 2 : 3)];

		tensor.dimensions[i] = size > 0 ? size : 0;
		tensor.elements *= (double)tensor.dimensions[i];
		if (!strided || descriptor->values[2 + tensor.dimension_count + i] != 0)
			stored *= (double)tensor.dimensions[i];
	}
	tensor.bytes = stored * (double)trace_type_bytes(tensor.type);
	return tensor;
}

const struct timeline_descriptor *work_descriptor(
	const struct work_source *source, enum pm_descriptor_kind kind, uint32_t count)
{
	const struct timeline_function *function = &source->timeline->functions[source->operation->function];

	for (uint32_t i = 0; i < source->operation->value_count; i++) {
		uint64_t number = source->operation->values[i];

		if (function->labels[i].type == PM_VALUE_DESCRIPTOR &&
			number < source->timeline->descriptor_count &&
			source->timeline->descriptors[number].kind == kind &&
			source->timeline->descriptors[number].value_count >= count)
			return &source->timeline->descriptors[number];
	}
	return NULL;
}

double work_size(const struct work_source *source, const char *label)
{
	uint64_t value = 0;

	if (!timeline_value(source->timeline, source->operation, label, &value) || (int64_t)value < 0)
		return 0;
	return (double)value;
}

bool work_labels(const struct work_source *source, const char *label)
{
	for (uint32_t i = 0; i < source->function->label_count; i++)
		if (strcmp(source->function->labels[i].name, label) == 0)
			return true;
	return false;
}

bool work_has(const struct work_source *source, const char *name)
{
	const struct timeline_function *function = &source->timeline->functions[source->operation->function];
	size_t length = strlen(name);

	for (uint32_t i = 0; i < source->operation->value_count; i++) {
		const char *label = function->labels[i].name;

		if (strncmp(label, name, length) == 0 && strcmp(label + length, "_ptr") == 0)
			return source->operation->values[i] != 0;
	}
	return false;
}

bool work_adds(const struct work_source *source)
{
	uint64_t beta = 0;

	return timeline_value(source->timeline, source->operation, "beta", &beta) && (beta == 1 || beta == 2);
}

/* Bytes of a copy in the memory of the devices: within one they are read and written. */
static struct work copied(const struct work_source *source)
{
	struct work work = {.kind = WORK_COPY, .known = true, .bytes = work_size(source, "bytes")};

	work.link = timeline_direction(source->timeline, source->operation) != PM_DIRECTION_D2D;
	if (!work.link)
		work.bytes *= 2;
	return work;
}

struct work work_of(const struct timeline *timeline, uint32_t number)
{
	const struct timeline_operation *operation = &timeline->operations[number];
	const struct timeline_function *function = &timeline->functions[operation->function];
	struct work_source source = {timeline, operation, function};

	switch (function->kind) {
	case PM_KIND_COPY:
		return copied(&source);
	case PM_KIND_SET:
		return (struct work){.kind = WORK_COPY, .known = true, .bytes = work_size(&source, "bytes")};
	case PM_KIND_COMM:
		return (struct work){.kind = WORK_COLLECTIVE,
			.known = true,
			.link = true,
			.bytes = work_size(&source, "bytes")};
	case PM_KIND_FORWARD:
	case PM_KIND_BACKWARD:
	case PM_KIND_COMPUTE:
		if (strcmp(function->library, "cudnn") == 0)
			return work_of_cudnn(&source);
		if (strncmp(function->library, "cublas", 6) == 0)
			return work_of_blas(&source);
		return (struct work){.kind = WORK_OTHER};
	case PM_KIND_LAUNCH:
	case PM_KIND_GRAPH:
		return (struct work){.kind = WORK_KERNEL};
	default:
		return (struct work){.kind = WORK_OTHER, .known = true};
	}
}
