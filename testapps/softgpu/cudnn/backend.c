/*
 * The backend API's calls: descriptors are created, given attributes, finalised, asked and executed.
 *
 * The one idea: see backend.h; nothing here knows a kind of descriptor but those that an execution
 * takes.
 */
#include "backend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of one element as the caller passes it; 0: no type that any of our attributes has. */
static size_t passed_bytes(cudnnBackendAttributeType_t type)
{
	switch ((int)type) {
	case CUDNN_TYPE_BOOLEAN:
		return sizeof(bool);
	case CUDNN_TYPE_CHAR:
		return 1;
	case CUDNN_TYPE_HANDLE:
	case CUDNN_TYPE_VOID_PTR:
	case CUDNN_TYPE_BACKEND_DESCRIPTOR:
		return sizeof(void *);
	case CUDNN_TYPE_INT64:
	case CUDNN_TYPE_DOUBLE:
		return 8;
	case CUDNN_TYPE_FRACTION:
		return sizeof(cudnnFraction_t);
	default:
		return 4; /* enumerators, INT32, FLOAT */
	}
}

static size_t kept_bytes(cudnnBackendAttributeType_t type)
{
	return type == SG_TYPE_REAL || type == SG_TYPE_WHOLE ? 8 : passed_bytes(type);
}

/* Whether an attribute of type `rule` may be passed as `type`. */
static bool type_fits(cudnnBackendAttributeType_t rule, cudnnBackendAttributeType_t type)
{
	if (rule == SG_TYPE_REAL)
		return type == CUDNN_TYPE_FLOAT || type == CUDNN_TYPE_DOUBLE;
	if (rule == SG_TYPE_WHOLE)
		return type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_FRACTION;
	return rule == type;
}

struct sg_body *sg_body_create(const struct sg_kind *kind)
{
	struct sg_body *body = calloc(1, sizeof(*body));

	if (body == NULL)
		return NULL;
	body->kind = kind;
	atomic_init(&body->references, 1);
	return body;
}

struct sg_body *sg_body_keep(struct sg_body *body)
{
	atomic_fetch_add_explicit(&body->references, 1, memory_order_relaxed);
	return body;
}

static void clear_value(struct sg_value *value, cudnnBackendAttributeType_t type)
{
	struct sg_body **held = value->elements;

	for (int64_t i = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < value->count; i++)
		sg_body_drop(held[i]);
	free(value->elements);
	*value = (struct sg_value){0, NULL};
}

void sg_body_drop(struct sg_body *body)
{
	if (body == NULL || atomic_fetch_sub_explicit(&body->references, 1, memory_order_acq_rel) > 1)
		return;
	for (int role = 0; role < body->kind->rule_count; role++)
		clear_value(&body->value[role], body->kind->rules[role].type);
	sg_program_free(body->program);
	free(body);
}

cudnnStatus_t sg_body_put(struct sg_body *body, int role, int64_t count, const void *elements)
{
	cudnnBackendAttributeType_t type = body->kind->rules[role].type;
	size_t bytes = (size_t)count * kept_bytes(type);
	struct sg_value value = {count, malloc(bytes > 0 ? bytes : 1)};

	if (value.elements == NULL)
		return CUDNN_STATUS_ALLOC_FAILED;
	if (bytes > 0)
		memcpy(value.elements, elements, bytes);
	for (int64_t i = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < count; i++)
		sg_body_keep(((struct sg_body **)value.elements)[i]);
	clear_value(&body->value[role], type);
	body->value[role] = value;
	return CUDNN_STATUS_SUCCESS;
}

int64_t sg_body_int(const struct sg_body *body, int role)
{
	const void *elements = body->value[role].elements;
	int32_t number;

	switch (kept_bytes(body->kind->rules[role].type)) {
	case 1:
		return *(const unsigned char *)elements;
	case 4:
		memcpy(&number, elements, sizeof(number));
		return number;
	default:
		return *(const int64_t *)elements;
	}
}

double sg_body_real(const struct sg_body *body, int role)
{
	return *(const double *)body->value[role].elements;
}

const int64_t *sg_body_ints(const struct sg_body *body, int role)
{
	return body->value[role].elements;
}

struct sg_body *sg_body_at(const struct sg_body *body, int role, int64_t index)
{
	return index < body->value[role].count ? ((struct sg_body **)body->value[role].elements)[index]
					       : NULL;
}

const struct sg_shape *sg_body_shape(const struct sg_body *op, int role)
{
	const struct sg_body *tensor = sg_body_at(op, role, 0);

	return tensor == NULL ? NULL : &tensor->shape;
}

/* The role of an attribute, or -1; where several share a name, the one of the type. */
static int find_role(
	const struct sg_kind *kind, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type)
{
	int found = -1;

	for (int role = kind->rule_count - 1; role >= 0; role--) {
		if (kind->rules[role].name != name)
			continue;
		if (found < 0 || type_fits(kind->rules[role].type, type))
			found = role;
	}
	return found;
}

static bool kind_fits(const struct sg_rule *rule, const struct sg_kind *kind)
{
	return rule->of < 0 ? kind->build != NULL : rule->of == (int)kind->type;
}

static cudnnStatus_t put_descriptors(
	struct sg_body *body, int role, int64_t count, const cudnnBackendDescriptor_t *elements)
{
	struct sg_body **bodies = malloc((size_t)(count + 1) * sizeof(struct sg_body *));
	cudnnStatus_t status = bodies == NULL ? CUDNN_STATUS_ALLOC_FAILED : CUDNN_STATUS_SUCCESS;

	for (int64_t i = 0; status == CUDNN_STATUS_SUCCESS && i < count; i++) {
		const struct sg_descriptor *element = elements[i];

		if (element == NULL)
			status = SG_STATUS_NULL_POINTER;
		else if (!kind_fits(&body->kind->rules[role], element->body->kind))
			status = SG_STATUS_DESCRIPTOR_TYPE;
		else if (!element->body->is_finalized)
			status = SG_STATUS_NOT_FINALIZED;
		else
			bodies[i] = element->body;
	}
	if (status == CUDNN_STATUS_SUCCESS)
		status = sg_body_put(body, role, count, bodies);
	free(bodies);
	return status;
}

static cudnnStatus_t put_reals(
	struct sg_body *body, int role, cudnnBackendAttributeType_t type, int64_t count, const void *elements)
{
	double number;

	if (count > 1)
		return CUDNN_STATUS_BAD_PARAM;
	number = type == CUDNN_TYPE_DOUBLE ? *(const double *)elements : (double)*(const float *)elements;
	return sg_body_put(body, role, count, &number);
}

static cudnnStatus_t put_fractions(
	struct sg_body *body, int role, int64_t count, const cudnnFraction_t *elements)
{
	int64_t whole[SG_DIMS_MAX];

	for (int64_t i = 0; i < count; i++) {
		if (elements[i].denominator == 0)
			return CUDNN_STATUS_BAD_PARAM;
		if (elements[i].numerator % elements[i].denominator != 0)
			return CUDNN_STATUS_NOT_SUPPORTED;
		whole[i] = elements[i].numerator / elements[i].denominator;
	}
	return sg_body_put(body, role, count, whole);
}

/* Tables of enumerations would be a second copy of the vendor's; that each is one range is enough to find
 * nonsense. */
static bool enumerator_fits(cudnnBackendAttributeType_t type, int64_t value)
{
	switch ((int)type) {
	case CUDNN_TYPE_DATA_TYPE:
		return value >= CUDNN_DATA_FLOAT && value <= 21;
	case CUDNN_TYPE_BOOLEAN:
	case CUDNN_TYPE_CONVOLUTION_MODE:
	case CUDNN_TYPE_NORM_FWD_PHASE:
		return value == 0 || value == 1;
	case CUDNN_TYPE_HEUR_MODE:
		return value >= CUDNN_HEUR_MODE_INSTANT && value <= CUDNN_HEUR_MODE_A;
	case CUDNN_TYPE_POINTWISE_MODE:
		return value >= CUDNN_POINTWISE_ADD && value <= CUDNN_POINTWISE_BINARY_SELECT;
	case CUDNN_TYPE_REDUCTION_OPERATOR_TYPE:
		return value >= CUDNN_REDUCE_TENSOR_ADD && value <= CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS;
	case CUDNN_TYPE_RESAMPLE_MODE:
		return value >= CUDNN_RESAMPLE_NEAREST && value <= CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING;
	case CUDNN_TYPE_PADDING_MODE:
		return value >= CUDNN_ZERO_PAD && value <= CUDNN_EDGE_VAL_PAD;
	case CUDNN_TYPE_NORM_MODE:
		return value >= CUDNN_LAYER_NORM && value <= 5;
	default:
		return true;
	}
}

/* Gives what was not set its fallback, and checks that all is there and makes sense by itself. */
static cudnnStatus_t complete(struct sg_body *body)
{
	for (int role = 0; role < body->kind->rule_count; role++) {
		const struct sg_rule *rule = &body->kind->rules[role];
		struct sg_value *value = &body->value[role];
		cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
		int64_t whole = (int64_t)rule->fallback;
		const void *fallback = rule->type == SG_TYPE_REAL ? (const void *)&rule->fallback : &whole;

		/* Little-endian: the first bytes of a whole number are the smaller types' values. */
		if (value->elements == NULL && rule->flags & SG_RULE_FALLBACK)
			status = sg_body_put(body, role, 1, fallback);
		if (status != CUDNN_STATUS_SUCCESS)
			return status;
		if (value->count < rule->min && !(rule->flags & SG_RULE_ANSWER))
			return CUDNN_STATUS_BAD_PARAM;
		if (value->count == 1 && rule->type >= 0 &&
			!enumerator_fits(rule->type, sg_body_int(body, role)))
			return CUDNN_STATUS_BAD_PARAM;
	}
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sg_body_finalize(struct sg_body *body)
{
	cudnnStatus_t status = body->is_finalized ? CUDNN_STATUS_BAD_PARAM : complete(body);

	if (status == CUDNN_STATUS_SUCCESS && body->kind->finalize != NULL)
		status = body->kind->finalize(body);
	body->is_finalized = body->is_finalized || status == CUDNN_STATUS_SUCCESS;
	return status;
}

cudnnStatus_t cudnnBackendCreateDescriptor(
	cudnnBackendDescriptorType_t descriptorType, cudnnBackendDescriptor_t *descriptor)
{
	const struct sg_kind *kind = sg_kind_find(descriptorType);
	struct sg_descriptor *made;

	SG_ENTER();
	if (descriptor == NULL)
		return SG_STATUS_NULL_POINTER;
	if (kind == NULL)
		return CUDNN_STATUS_NOT_SUPPORTED;
	made = malloc(sizeof(*made));
	if (made != NULL)
		made->body = sg_body_create(kind);
	if (made == NULL || made->body == NULL) {
		free(made);
		return CUDNN_STATUS_ALLOC_FAILED;
	}
	*descriptor = made;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
	struct sg_descriptor *dropped = descriptor;

	SG_ENTER();
	if (dropped == NULL)
		return SG_STATUS_NULL_POINTER;
	sg_body_drop(dropped->body);
	free(dropped);
	return CUDNN_STATUS_SUCCESS;
}

/* For callers that bring memory of their own; here descriptors only come from the call above, ready for use.
 */
cudnnStatus_t cudnnBackendInitialize(cudnnBackendDescriptor_t descriptor)
{
	SG_ENTER();
	return descriptor == NULL ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)
{
	SG_ENTER();
	if (descriptor == NULL)
		return SG_STATUS_NULL_POINTER;
	return sg_body_finalize(((struct sg_descriptor *)descriptor)->body);
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
	cudnnBackendAttributeName_t attributeName, cudnnBackendAttributeType_t attributeType,
	int64_t elementCount, const void *arrayOfElements)
{
	const struct sg_rule *rule;
	struct sg_body *body;
	int role;

	SG_ENTER();
	if (descriptor == NULL)
		return SG_STATUS_NULL_POINTER;
	body = ((struct sg_descriptor *)descriptor)->body;
	role = find_role(body->kind, attributeName, attributeType);
	if (body->is_finalized || role < 0)
		return CUDNN_STATUS_BAD_PARAM;
	rule = &body->kind->rules[role];
	if (rule->flags & SG_RULE_ANSWER)
		return CUDNN_STATUS_BAD_PARAM;
	if (!type_fits(rule->type, attributeType))
		return SG_STATUS_ATTRIBUTE_TYPE;
	if (elementCount < 0 || elementCount < rule->min || elementCount > rule->max ||
		(elementCount > 0 && arrayOfElements == NULL))
		return CUDNN_STATUS_BAD_PARAM;
	if (elementCount > 0) {
		if (rule->type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
			return put_descriptors(body, role, elementCount, arrayOfElements);
		if (rule->type == SG_TYPE_REAL)
			return put_reals(body, role, attributeType, elementCount, arrayOfElements);
		if (attributeType == CUDNN_TYPE_FRACTION)
			return put_fractions(body, role, elementCount, arrayOfElements);
	}
	return sg_body_put(body, role, elementCount, arrayOfElements);
}

/* Makes the caller's descriptors refer to what the attribute has. */
static cudnnStatus_t answer_descriptors(
	const struct sg_value *value, int64_t count, cudnnBackendDescriptor_t *array)
{
	for (int64_t i = 0; i < count; i++) {
		struct sg_descriptor *target = array[i];
		struct sg_body *body = ((struct sg_body **)value->elements)[i];

		if (target == NULL || target->body->kind != body->kind)
			return CUDNN_STATUS_BAD_PARAM;
		sg_body_keep(body);
		sg_body_drop(target->body);
		target->body = body;
	}
	return CUDNN_STATUS_SUCCESS;
}

static void answer_numbers(const struct sg_value *value, cudnnBackendAttributeType_t rule_type,
	cudnnBackendAttributeType_t type, int64_t count, void *array)
{
	if (rule_type == SG_TYPE_REAL && type == CUDNN_TYPE_FLOAT) {
		for (int64_t i = 0; i < count; i++)
			((float *)array)[i] = (float)((const double *)value->elements)[i];
	} else if (type == CUDNN_TYPE_FRACTION) {
		for (int64_t i = 0; i < count; i++)
			((cudnnFraction_t *)array)[i] =
				(cudnnFraction_t){((const int64_t *)value->elements)[i], 1};
	} else if (count > 0) {
		memcpy(array, value->elements, (size_t)count * kept_bytes(rule_type));
	}
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
	cudnnBackendAttributeName_t attributeName, cudnnBackendAttributeType_t attributeType,
	int64_t requestedElementCount, int64_t *elementCount, void *arrayOfElements)
{
	const struct sg_rule *rule;
	const struct sg_value *value;
	struct sg_body *body;
	cudnnStatus_t status;
	int64_t count;
	int role;

	SG_ENTER();
	if (descriptor == NULL)
		return SG_STATUS_NULL_POINTER;
	body = ((const struct sg_descriptor *)descriptor)->body;
	if (!body->is_finalized)
		return CUDNN_STATUS_NOT_INITIALIZED;
	if (attributeName == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION &&
		body->kind->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
		status = sg_plan_write(body);
		if (status != CUDNN_STATUS_SUCCESS)
			return status;
	}
	role = find_role(body->kind, attributeName, attributeType);
	if (role < 0 || requestedElementCount < 0)
		return CUDNN_STATUS_BAD_PARAM;
	rule = &body->kind->rules[role];
	value = &body->value[role];
	if (!type_fits(rule->type, attributeType))
		return SG_STATUS_ATTRIBUTE_TYPE;
	/* Asked for none, the answer is how many there are. */
	count = requestedElementCount == 0 || requestedElementCount > value->count ? value->count
										   : requestedElementCount;
	if (elementCount != NULL)
		*elementCount = count;
	if (requestedElementCount == 0 || arrayOfElements == NULL)
		return CUDNN_STATUS_SUCCESS;
	if (rule->type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
		return answer_descriptors(value, count, arrayOfElements);
	answer_numbers(value, rule->type, attributeType, count, arrayOfElements);
	return CUDNN_STATUS_SUCCESS;
}

/* The body of a descriptor that an execution takes. */
static cudnnStatus_t take(
	cudnnBackendDescriptor_t descriptor, cudnnBackendDescriptorType_t type, const struct sg_body **body)
{
	if (descriptor == NULL)
		return SG_STATUS_NULL_POINTER;
	*body = ((const struct sg_descriptor *)descriptor)->body;
	if ((*body)->kind->type != type)
		return SG_STATUS_DESCRIPTOR_TYPE;
	return (*body)->is_finalized ? CUDNN_STATUS_SUCCESS : SG_STATUS_NOT_FINALIZED;
}

cudnnStatus_t cudnnBackendExecute(
	cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan, cudnnBackendDescriptor_t variantPack)
{
	const struct sg_body *plan, *pack, *engine;
	cudnnStatus_t status;

	SG_ENTER();
	if (handle == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	status = take(executionPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan);
	if (status == CUDNN_STATUS_SUCCESS)
		status = take(variantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack);
	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	engine = sg_body_at(sg_body_at(plan, SG_PLAN_CONFIG, 0), SG_CONFIG_ENGINE, 0);
	return sg_program_execute(handle, sg_body_at(engine, SG_ENGINE_GRAPH, 0)->program,
		sg_body_int(plan, SG_PLAN_WORKSPACE) > 0, pack);
}

/* No engine here has the behaviour note that would allow these. */

cudnnStatus_t cudnnBackendPopulateCudaGraph(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan,
	cudnnBackendDescriptor_t variantPack, cudaGraph_t graph)
{
	SG_ENTER();
	if (handle == NULL || executionPlan == NULL || variantPack == NULL || graph == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	return CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t cudnnBackendUpdateCudaGraph(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan,
	cudnnBackendDescriptor_t variantPack, cudaGraph_t graph)
{
	SG_ENTER();
	if (handle == NULL || executionPlan == NULL || variantPack == NULL || graph == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	return CUDNN_STATUS_NOT_SUPPORTED;
}
