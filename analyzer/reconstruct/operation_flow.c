/* What operations read and write: see operation_flow.h. */
#include "operation_flow.h"
#include "operand_bytes.h"
#include "trace/trace.h"

#include <string.h>

static uint64_t positive(uint64_t value)
{
	return (int64_t)value > 0 ? value : 0;
}

uint32_t flow_dimensions(const struct timeline *timeline, uint64_t number, int64_t *dimensions, uint32_t room)
{
	const struct timeline_descriptor *descriptor;
	uint32_t count, head;

	if (number >= timeline->descriptor_count)
		return 0;
	descriptor = &timeline->descriptors[number];
	if (descriptor->kind != PM_DESCRIPTOR_TENSOR && descriptor->kind != PM_DESCRIPTOR_FILTER)
		return 0;
	head = descriptor->kind == PM_DESCRIPTOR_TENSOR ? 2 : 3;
	if (descriptor->value_count < head || descriptor->values[head - 1] < 0 ||
		descriptor->values[head - 1] > descriptor->value_count - head)
		return 0;
	count = (uint32_t)descriptor->values[head - 1];
	if (count > room)
		count = room;
	for (uint32_t i = 0; i < count; i++)
		dimensions[i] = descriptor->values[head + i];
	return count;
}

uint64_t flow_descriptor_bytes(const struct timeline *timeline, uint64_t number)
{
	int64_t dimensions[16];
	uint32_t count = flow_dimensions(timeline, number, dimensions, 16);
	uint64_t elements = 1;

	if (count == 0)
		return 0;
	for (uint32_t i = 0; i < count; i++)
		elements = operand_product(elements, positive((uint64_t)dimensions[i]));
	if (timeline->descriptors[number].kind == PM_DESCRIPTOR_TENSOR &&
		timeline->descriptors[number].value_count >= 2 + 2 * count) {
		const int64_t *strides = timeline->descriptors[number].values + 2 + count;
		uint64_t span = 1;

		for (uint32_t i = 0; i < count; i++)
			span += operand_product(
				positive((uint64_t)dimensions[i] - 1), positive((uint64_t)strides[i]));
		if (span > elements && elements > 0)
			elements = operand_product(span, 1);
	}
	return operand_product(elements, trace_type_bytes((uint64_t)timeline->descriptors[number].values[0]));
}

/* Dimensions of the tensor or filter under a label. */
static uint32_t labelled_dimensions(const struct timeline *timeline,
	const struct timeline_operation *operation, const char *label, int64_t dimensions[16])
{
	uint64_t number;

	return timeline_value(timeline, operation, label, &number)
		       ? flow_dimensions(timeline, number, dimensions, 16)
		       : 0;
}

/* Is the last but one dimension of an operand the one whose elements lie side by side? */
static bool is_turned(
	const struct timeline *timeline, const struct timeline_operation *operation, const char *label)
{
	const struct timeline_descriptor *descriptor;
	int64_t dimensions[16];
	uint32_t count = labelled_dimensions(timeline, operation, label, dimensions);
	uint64_t number;

	if (count < 2 || !timeline_value(timeline, operation, label, &number))
		return false;
	descriptor = &timeline->descriptors[number];
	return descriptor->kind == PM_DESCRIPTOR_TENSOR && descriptor->value_count >= 2 + 2 * count &&
	       descriptor->values[2 * count] == 1 && descriptor->values[2 * count + 1] != 1;
}

uint64_t flow_manner(const struct timeline *timeline, const struct timeline_operation *operation)
{
	uint64_t a = 0, b = 0, one = 0;

	if (!timeline_value(timeline, operation, "transa", &a))
		a = is_turned(timeline, operation, "a");
	if (!timeline_value(timeline, operation, "transb", &b))
		b = is_turned(timeline, operation, "b");
	timeline_value(timeline, operation, "trans", &one);
	return a << 16 | b << 8 | one;
}

bool flow_product(const struct timeline *timeline, const struct timeline_operation *operation,
	struct flow_product *product)
{
	int64_t a[16], b[16];
	uint32_t a_count, b_count;
	uint64_t m, n, k;

	if (timeline_value(timeline, operation, "m", &m) && timeline_value(timeline, operation, "n", &n) &&
		timeline_value(timeline, operation, "k", &k)) {
		*product = (struct flow_product){(int64_t)m, (int64_t)n, (int64_t)k};
		return true;
	}
	a_count = labelled_dimensions(timeline, operation, "a", a);
	b_count = labelled_dimensions(timeline, operation, "b", b);
	if (a_count < 2 || b_count < 2)
		return false;
	*product = (struct flow_product){a[a_count - 2], b[b_count - 1], a[a_count - 1]};
	return true;
}

/* Bytes of a vector over the channels of a layer, whose own descriptor is unknown; 0: unknown. */
static uint64_t channel_bytes(const struct timeline *timeline, const struct timeline_operation *operation)
{
	static const struct {
		const char *label;
		int place; /* of the channels; -1: the last */
	} sources[] = {{"w", 0}, {"x", 1}, {"c", -1}};
	int64_t dimensions[16];

	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
		uint32_t count = labelled_dimensions(timeline, operation, sources[i].label, dimensions);
		uint32_t place = sources[i].place < 0 ? count - 1 : (uint32_t)sources[i].place;
		uint64_t number = 0;

		if (count == 0 || place >= count)
			continue;
		timeline_value(timeline, operation, sources[i].label, &number);
		return operand_product(positive((uint64_t)dimensions[place]),
			trace_type_bytes((uint64_t)timeline->descriptors[number].values[0]));
	}
	return 0;
}

const char *flow_shaped_as(const char *operand)
{
	static const char *const known[][2] = {{"z", "y"}, {"b", "y"}, {"dy", "y"}, {"dx", "x"}, {"x", "dy"},
		{"dq", "q"}, {"dk", "k"}, {"dv", "v"}, {"q", "dq"}};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(known[i][0], operand) == 0)
			return known[i][1];
	return NULL;
}

/* Of the tensor or filter under a label; 0: there is none. */
static uint64_t labelled_bytes(
	const struct timeline *timeline, const struct timeline_operation *operation, const char *label)
{
	const struct timeline_function *function = &timeline->functions[operation->function];

	for (uint32_t i = 0; i < operation->value_count; i++)
		if (function->labels[i].type == PM_VALUE_DESCRIPTOR &&
			strcmp(function->labels[i].name, label) == 0)
			return flow_descriptor_bytes(timeline, operation->values[i]);
	return 0;
}

/* By the descriptor whose label is the pointer's without "_ptr", or of an operand of the same shape, or of what
 * the function goes through. */
static uint64_t descriptor_bytes(
	const struct timeline *timeline, const struct timeline_operation *operation, const char *label)
{
	const size_t length = strlen(label);
	char operand[32];
	uint64_t bytes;

	if (length < 5 || length - 4 >= sizeof(operand) || strcmp(label + length - 4, "_ptr") != 0)
		return 0;
	memcpy(operand, label, length - 4);
	operand[length - 4] = 0;
	bytes = labelled_bytes(timeline, operation, operand);
	if (!bytes && flow_shaped_as(operand))
		bytes = labelled_bytes(timeline, operation, flow_shaped_as(operand));
	if (bytes)
		return bytes;
	if (!strstr(label, "scale") && !strstr(label, "bias"))
		return labelled_bytes(
			timeline, operation, timeline->functions[operation->function].facts.shape);
	/* Scale and bias of a normalisation share one descriptor. */
	bytes = labelled_bytes(timeline, operation, "params");
	return bytes ? bytes : channel_bytes(timeline, operation);
}

/* Of those of the communicator; 1 where it is not known. */
static uint64_t rank_count(const struct timeline *timeline, const struct timeline_operation *operation)
{
	uint64_t number;

	return timeline_value(timeline, operation, "comm", &number) &&
			       number < timeline->communicator_count &&
			       timeline->communicators[number].size > 0
		       ? (uint64_t)timeline->communicators[number].size
		       : 1;
}

static uint64_t access_bytes(const struct timeline *timeline, const struct timeline_operation *operation,
	const char *label, bool is_read)
{
	const uint8_t access = timeline->functions[operation->function].facts.access;
	uint64_t bytes = descriptor_bytes(timeline, operation, label);

	if (bytes)
		return bytes;
	/* All weights of a recurrent layer or of attention lie together. */
	if ((strcmp(label, "w_ptr") == 0 || strcmp(label, "dw_ptr") == 0) &&
		timeline_value(timeline, operation, "w_bytes", &bytes))
		return operand_product(bytes, 1);
	if (!timeline_value(timeline, operation, "bytes", &bytes))
		return operand_bytes(timeline, operation, label);
	/* The count of these is one rank's part of the whole. */
	return operand_product(bytes, access & (is_read ? PM_ACCESS_SCATTERS : PM_ACCESS_GATHERS)
					      ? rank_count(timeline, operation)
					      : 1);
}

/* Matrix by matrix, or by vector. */
static bool is_product(enum pm_role role)
{
	switch (role) {
	case PM_ROLE_PRODUCT:
	case PM_ROLE_MATRIX_VECTOR:
	case PM_ROLE_OUTER_PRODUCT:
	case PM_ROLE_RANK_K_UPDATE:
	case PM_ROLE_SYMMETRIC_PRODUCT:
	case PM_ROLE_TRIANGULAR_PRODUCT:
		return true;
	default:
		return false;
	}
}

static bool overlap(const struct flow_access *a, const struct flow_access *b)
{
	return a->address < b->address + b->bytes && b->address < a->address + a->bytes;
}

static enum flow_shape shape_of(
	const struct timeline *timeline, const struct timeline_operation *operation, const struct flow *flow)
{
	const enum pm_role role = timeline->functions[operation->function].facts.role;
	uint64_t written = 0, least_read = UINT64_MAX;
	uint64_t value;

	if (flow->kind != PM_KIND_COMPUTE)
		return FLOW_OTHER;
	if (is_product(role))
		return FLOW_PRODUCT;
	if (role == PM_ROLE_REDUCTION)
		return FLOW_REDUCE;
	for (uint32_t i = 0; i < flow->access_count; i++) {
		if (flow_writes(&flow->accesses[i])) {
			if (flow->accesses[i].bytes > written)
				written = flow->accesses[i].bytes;
		} else if (flow->accesses[i].type == PM_VALUE_READS && flow->accesses[i].bytes < least_read) {
			least_read = flow->accesses[i].bytes;
		}
	}
	if (!written)
		return FLOW_READER;
	/* Normalisation by the running statistics reads small parameters but is no bias. */
	if (timeline_value(timeline, operation, "params", &value))
		return FLOW_ELEMENTWISE;
	return least_read < written ? FLOW_SPREAD : FLOW_ELEMENTWISE;
}

/* Is the access to memory of the host? Its addresses mean nothing here, and may be those of device memory. */
static bool is_host_side(bool is_copy, enum pm_direction direction, enum pm_value type)
{
	return is_copy &&
	       (direction == PM_DIRECTION_H2H ||
		       direction == (type == PM_VALUE_READS ? PM_DIRECTION_H2D : PM_DIRECTION_D2H));
}

/* Are they queries, keys and values, or the gradients of those? */
static bool is_attended(const char *label)
{
	static const char *const labels[] = {"q_ptr", "k_ptr", "v_ptr"};

	for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++)
		if (strcmp(label + (label[0] == 'd'), labels[i]) == 0)
			return true;
	return false;
}

/* Queries, keys and values that overlap are columns of one tensor, which one product has made: it is known by
 * its address. */
static void join_attended(struct flow *flow)
{
	for (uint32_t i = 0; i < flow->access_count; i++)
		for (uint32_t j = 0; j < flow->access_count && is_attended(flow->accesses[i].label); j++) {
			struct flow_access *one = &flow->accesses[i], *other = &flow->accesses[j];

			if (other->address < one->address && one->mode == other->mode &&
				is_attended(other->label) && overlap(one, other))
				one->address = other->address;
		}
}

/* Does what was there take part in what the operation writes? `apart`: its result is not the operand that
 * beta belongs to. */
static bool is_in_place(
	const struct timeline *timeline, const struct timeline_operation *operation, bool apart)
{
	const struct hook_facts *facts = &timeline->functions[operation->function].facts;
	uint64_t scale = 0, mode = 1;

	if (facts->access & PM_ACCESS_IN_PLACE)
		return true;
	if (facts->access & PM_ACCESS_MODE_ADDS && timeline_value(timeline, operation, "mode", &mode))
		return mode == 0;
	if (apart || !timeline_value(timeline, operation, "beta", &scale))
		return false;
	/* A factor that is not known (3) keeps what was there where that is what the function is for. */
	return scale == 1 || scale == 2 || (scale == 3 && facts->role == PM_ROLE_ADDITION);
}

static void list_accesses(const struct timeline *timeline, const struct timeline_operation *operation,
	struct flow *flow, struct arena *arena)
{
	const struct timeline_function *function = &timeline->functions[operation->function];
	const enum pm_direction direction = timeline_direction(timeline, operation);
	uint64_t scale = 0, result;
	/* A result beside the operand that beta belongs to: whether it is the same its address says. */
	const bool apart = timeline_value(timeline, operation, "d_ptr", &result),
		   in_place = is_in_place(timeline, operation, apart);

	timeline_value(timeline, operation, "beta", &scale);
	flow->kind = function->kind;
	flow->accesses = arena_alloc(arena, operation->value_count, sizeof(*flow->accesses));
	for (uint32_t i = 0; i < operation->value_count; i++) {
		enum pm_value type = function->labels[i].type;
		struct flow_access *access = &flow->accesses[flow->access_count];

		if ((type != PM_VALUE_READS && type != PM_VALUE_WRITES && type != PM_VALUE_WEIGHT &&
			    type != PM_VALUE_GRAD) ||
			operation->values[i] == 0 ||
			(apart && scale == 0 && strcmp(function->labels[i].name, "c_ptr") == 0) ||
			is_host_side(function->kind == PM_KIND_COPY, direction, type))
			continue;
		access->address = operation->values[i];
		access->bytes = access_bytes(timeline, operation, function->labels[i].name,
			type == PM_VALUE_READS || type == PM_VALUE_WEIGHT);
		if (access->bytes == 0)
			access->bytes = 1;
		if (access->address > UINT64_MAX - access->bytes)
			continue;
		access->type = type;
		access->label = function->labels[i].name;
		access->mode = type == PM_VALUE_READS || type == PM_VALUE_WEIGHT ? FLOW_READ
			       : in_place                                        ? FLOW_KEEP
										 : FLOW_WRITE;
		flow->access_count++;
	}
	join_attended(flow);
	for (uint32_t i = 0; i < flow->access_count; i++)
		for (uint32_t j = 0; j < flow->access_count && flow->accesses[i].mode == FLOW_WRITE; j++)
			if (flow->accesses[j].mode == FLOW_READ &&
				overlap(&flow->accesses[i], &flow->accesses[j]))
				flow->accesses[i].mode = FLOW_KEEP;
	flow->shape = shape_of(timeline, operation, flow);
}

/* Does a product or forward call of the process make anew what begins at this address? */
static bool is_result(
	const struct timeline *timeline, const struct flow *flows, uint32_t process, uint64_t address)
{
	const struct timeline_process *owner = &timeline->processes[process];

	for (uint32_t i = 0; i < owner->operation_count; i++) {
		const struct flow *flow = &flows[owner->first_operation + i];

		for (uint32_t j = 0; j < flow->access_count &&
				     (flow->shape == FLOW_PRODUCT || flow->kind == PM_KIND_FORWARD);
			j++)
			if (flow->accesses[j].mode == FLOW_WRITE && flow->accesses[j].address == address)
				return true;
	}
	return false;
}

/* With a batch of one a bias is as large as what it is added to: then it is known by being added to a result.
 */
static void find_biases(const struct timeline *timeline, struct flow *flows)
{
	for (size_t i = 0; i < timeline->operation_count; i++) {
		const struct timeline_operation *operation = &timeline->operations[i];
		struct flow *flow = &flows[i];

		if (flow->shape != FLOW_ELEMENTWISE ||
			timeline->functions[operation->function].facts.role != PM_ROLE_ADDITION)
			continue;
		for (uint32_t j = 0; j < flow->access_count; j++)
			if (flow->accesses[j].mode == FLOW_KEEP &&
				is_result(timeline, flows, operation->process, flow->accesses[j].address))
				flow->shape = FLOW_SPREAD;
	}
}

struct flow *flow_list(const struct timeline *timeline, struct arena *arena)
{
	struct flow *flows = arena_alloc(arena, timeline->operation_count, sizeof(*flows));

	for (size_t i = 0; i < timeline->operation_count; i++)
		if (timeline->operations[i].function)
			list_accesses(timeline, &timeline->operations[i], &flows[i], arena);
	find_biases(timeline, flows);
	return flows;
}
