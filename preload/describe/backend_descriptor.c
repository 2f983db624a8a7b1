/*
 * cuDNN's backend descriptors: what was set in them, kept until an operation graph is finished.
 *
 * Descriptors are made, set attribute by attribute, finished, put into others and destroyed, often at once:
 * so each takes over what it needs from those that are put into it. Only a few attributes matter here; the
 * rest is left alone.
 */
#include "backend.h"

#include <errno.h>
#include <string.h>

#include "trace/intern.h"
#include "trace/write.h"
#include "value.h"

#define DESCRIPTORS (1u << 15)

struct backend {
	_Atomic uintptr_t address;
	cudnnBackendDescriptorType_t type;
	union {
		struct {
			int type;
			unsigned n;
			int64_t dims[BACKEND_DIMENSIONS], strides[BACKEND_DIMENSIONS], uid;
			bool is_virtual;
		} tensor;
		struct backend_parameters parameters;
		struct backend_operation operation;
		uint32_t plan; /* of a graph, and of engines, configurations and plans made of it */
		struct {
			unsigned uid_count, address_count;
			int64_t uids[BACKEND_PACK];
			const void *addresses[BACKEND_PACK];
		} pack;
	};
};

static struct backend descriptors[DESCRIPTORS];

#define GONE ((uintptr_t)1) /* as OBJECT_GONE */
#define TRIES 64u

/* As object_of: descriptors are taken out when they are destroyed. */
static struct backend *backend_of(const void *address, bool make)
{
	const uintptr_t wanted = (uintptr_t)address;
	const unsigned first = (unsigned)((wanted >> 4) * 0x9e3779b1u >> 9) % DESCRIPTORS;

	for (unsigned again = 0; wanted && again < 8; again++) {
		struct backend *free = NULL;
		uintptr_t was = 0;

		for (unsigned tries = 0; tries < TRIES; tries++) {
			struct backend *d = &descriptors[(first + tries) % DESCRIPTORS];
			uintptr_t there = atomic_load_explicit(&d->address, memory_order_acquire);

			if (there == wanted)
				return d;
			if (there <= GONE && !free) {
				free = d;
				was = there;
			}
			if (!there)
				break;
		}
		if (!make || !free)
			return NULL;
		if (atomic_compare_exchange_strong(&free->address, &was, wanted))
			return free;
	}
	return NULL;
}

void pmh_backend_gone(const void *descriptor)
{
	struct backend *d = backend_of(descriptor, false);

	if (d)
		atomic_store_explicit(&d->address, GONE, memory_order_release);
}

static bool is_operation(cudnnBackendDescriptorType_t type)
{
	return backend_kind_of(type) != NULL;
}

/* Those that have no plan yet; one that is read from text may never have. */
static bool leads_to_plan(cudnnBackendDescriptorType_t type)
{
	switch ((int)type) {
	case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
	case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
	case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
	case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
	case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
		return true;
	default:
		return false;
	}
}

void pmh_backend_made(const void *descriptor, cudnnBackendDescriptorType_t type)
{
	struct backend *d = backend_of(descriptor, true);

	if (!d) {
		pmh_lose(PM_LOSS_OBJECTS, 1);
		return;
	}
	memset((char *)d + offsetof(struct backend, tensor), 0, sizeof *d - offsetof(struct backend, tensor));
	d->type = type;
	if (is_operation(type))
		d->operation.type = type;
	else if (!leads_to_plan(type))
		d->parameters.of = type;
}

static const void *as_descriptor(const void *elements)
{
	const void *descriptor;

	memcpy(&descriptor, elements, sizeof descriptor);
	return descriptor;
}

/* ---- tensors ---- */

static void set_tensor(struct backend *d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
	int64_t count, const void *elements)
{
	switch ((int)name) {
	case CUDNN_ATTR_TENSOR_DATA_TYPE:
		d->tensor.type = (int)backend_integer(type, elements);
		break;
	case CUDNN_ATTR_TENSOR_DIMENSIONS:
		d->tensor.n = backend_list(d->tensor.dims, type, count, elements);
		break;
	case CUDNN_ATTR_TENSOR_STRIDES:
		backend_list(d->tensor.strides, type, count, elements);
		break;
	case CUDNN_ATTR_TENSOR_UNIQUE_ID:
		d->tensor.uid = backend_integer(type, elements);
		break;
	case CUDNN_ATTR_TENSOR_IS_VIRTUAL:
		d->tensor.is_virtual = backend_integer(type, elements) != 0;
		break;
	}
}

/* As a filter where it is one, else as a tensor, in the words of the legacy API. */
static uint32_t tensor_number(const struct backend *d, bool is_filter)
{
	int64_t values[2 + 2 * BACKEND_DIMENSIONS + 1];
	unsigned used = 0, n = d->tensor.n;

	values[used++] = (int64_t)pmh_type_of_cudnn((cudnnDataType_t)d->tensor.type);
	if (is_filter)
		values[used++] = n > 2 && d->tensor.strides[1] == 1 && d->tensor.dims[1] > 1
					 ? CUDNN_TENSOR_NHWC
					 : CUDNN_TENSOR_NCHW;
	values[used++] = n;
	for (unsigned i = 0; i < n; i++)
		values[used++] = d->tensor.dims[i];
	for (unsigned i = 0; i < n && !is_filter; i++)
		values[used++] = d->tensor.strides[i];
	return pmh_descriptor_number(is_filter ? PM_DESCRIPTOR_FILTER : PM_DESCRIPTOR_TENSOR, values, used);
}

static void take_tensor(struct backend_tensor *t, const void *descriptor, bool is_filter)
{
	const struct backend *d = backend_of(descriptor, false);
	unsigned large = 0;

	if (!d || d->type != CUDNN_BACKEND_TENSOR_DESCRIPTOR)
		return;
	for (unsigned i = 0; i < d->tensor.n; i++)
		large += d->tensor.dims[i] > 1;
	*t = (struct backend_tensor){.uid = d->tensor.uid,
		.number = tensor_number(d, is_filter),
		.is_virtual = d->tensor.is_virtual,
		.is_vector = large <= 1,
		.channels = d->tensor.n > 1 ? d->tensor.dims[1] : 1};
}

/* ---- operations ---- */

/* Which tensor of an operation an attribute sets. */
static const struct {
	uint16_t name;
	uint8_t role;
} tensor_attributes[] = {
#define TENSOR(attribute, role) \
	{ \
		CUDNN_ATTR_OPERATION_##attribute, BACKEND_ROLE_##role \
	}
	TENSOR(CONVOLUTION_FORWARD_X, x),
	TENSOR(CONVOLUTION_FORWARD_W, w),
	TENSOR(CONVOLUTION_FORWARD_Y, y),
	TENSOR(CONVOLUTION_BWD_DATA_W, w),
	TENSOR(CONVOLUTION_BWD_DATA_DX, dx),
	TENSOR(CONVOLUTION_BWD_DATA_DY, dy),
	TENSOR(CONVOLUTION_BWD_FILTER_X, x),
	TENSOR(CONVOLUTION_BWD_FILTER_DW, dw),
	TENSOR(CONVOLUTION_BWD_FILTER_DY, dy),
	TENSOR(POINTWISE_XDESC, x),
	TENSOR(POINTWISE_BDESC, b),
	TENSOR(POINTWISE_TDESC, z),
	TENSOR(POINTWISE_YDESC, y),
	TENSOR(POINTWISE_DXDESC, dx),
	TENSOR(POINTWISE_DYDESC, dy),
	TENSOR(GENSTATS_XDESC, x),
	TENSOR(GENSTATS_SUMDESC, y),
	TENSOR(BN_FINALIZE_Y_SUM_DESC, x),
	TENSOR(BN_FINALIZE_SCALE_DESC, scale),
	TENSOR(BN_FINALIZE_BIAS_DESC, bias),
	TENSOR(BN_FINALIZE_EQ_SCALE_DESC, y),
	TENSOR(BN_BWD_WEIGHTS_X_DESC, x),
	TENSOR(BN_BWD_WEIGHTS_DY_DESC, dy),
	TENSOR(BN_BWD_WEIGHTS_BN_SCALE_DESC, scale),
	TENSOR(BN_BWD_WEIGHTS_DBN_SCALE_DESC, dscale),
	TENSOR(BN_BWD_WEIGHTS_DBN_BIAS_DESC, dbias),
	TENSOR(MATMUL_ADESC, x),
	TENSOR(MATMUL_BDESC, b),
	TENSOR(MATMUL_CDESC, y),
	TENSOR(REDUCTION_XDESC, x),
	TENSOR(REDUCTION_YDESC, y),
	TENSOR(RESAMPLE_FWD_XDESC, x),
	TENSOR(RESAMPLE_FWD_YDESC, y),
	TENSOR(RESAMPLE_BWD_XDESC, x),
	TENSOR(RESAMPLE_BWD_DXDESC, dx),
	TENSOR(RESAMPLE_BWD_DYDESC, dy),
	TENSOR(NORM_FWD_XDESC, x),
	TENSOR(NORM_FWD_SCALE_DESC, scale),
	TENSOR(NORM_FWD_BIAS_DESC, bias),
	TENSOR(NORM_FWD_YDESC, y),
	TENSOR(NORM_BWD_XDESC, x),
	TENSOR(NORM_BWD_DYDESC, dy),
	TENSOR(NORM_BWD_SCALE_DESC, scale),
	TENSOR(NORM_BWD_DXDESC, dx),
	TENSOR(NORM_BWD_DSCALE_DESC, dscale),
	TENSOR(NORM_BWD_DBIAS_DESC, dbias),
	TENSOR(RESHAPE_XDESC, x),
	TENSOR(RESHAPE_YDESC, y),
	TENSOR(RNG_YDESC, y),
	TENSOR(CONCAT_OUTPUT_DESC, y),
	TENSOR(SIGNAL_XDESC, x),
	TENSOR(SIGNAL_YDESC, y),
	TENSOR(SDPA_FWD_QDESC, q),
	TENSOR(SDPA_FWD_KDESC, k),
	TENSOR(SDPA_FWD_VDESC, v),
	TENSOR(SDPA_FWD_ODESC, y),
	TENSOR(SDPA_BWD_QDESC, q),
	TENSOR(SDPA_BWD_KDESC, k),
	TENSOR(SDPA_BWD_VDESC, v),
	TENSOR(SDPA_BWD_ODESC, y),
	TENSOR(SDPA_BWD_DODDESC, dy),
	TENSOR(SDPA_BWD_DQDESC, dq),
	TENSOR(SDPA_BWD_DKDESC, dk),
	TENSOR(SDPA_BWD_DVDESC, dv),
#undef TENSOR
};

static void set_operation(struct backend *d, cudnnBackendAttributeName_t name,
	cudnnBackendAttributeType_t type, const void *elements)
{
	struct backend_operation *op = &d->operation;
	const struct backend *other;

	for (size_t i = 0; i < sizeof tensor_attributes / sizeof tensor_attributes[0]; i++)
		if (tensor_attributes[i].name == (int)name) {
			enum backend_role role = tensor_attributes[i].role;

			take_tensor(&op->tensors[role], as_descriptor(elements),
				role == BACKEND_ROLE_w || role == BACKEND_ROLE_dw);
			return;
		}
	switch ((int)name) {
	case CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC:
	case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC:
	case CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC:
	case CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR:
	case CUDNN_ATTR_OPERATION_REDUCTION_DESC:
	case CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC:
	case CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC:
		other = backend_of(as_descriptor(elements), false);
		if (other && !is_operation(other->type))
			op->parameters = other->parameters;
		break;
	case CUDNN_ATTR_OPERATION_NORM_FWD_MODE:
	case CUDNN_ATTR_OPERATION_NORM_BWD_MODE:
		op->mode = (int)backend_integer(type, elements);
		break;
	case CUDNN_ATTR_OPERATION_NORM_FWD_PHASE:
		op->phase = (int)backend_integer(type, elements);
		break;
	}
}

/* An operation has all it needs: its parameters get their number. */
static void finish_operation(struct backend_operation *op)
{
	const struct backend_tensor *x = &op->tensors[BACKEND_ROLE_x], *w = &op->tensors[BACKEND_ROLE_w];
	const int64_t norm[] = {op->mode, op->phase, 0};

	if (!x->number)
		x = &op->tensors[BACKEND_ROLE_dx];
	if (!w->number)
		w = &op->tensors[BACKEND_ROLE_dw];
	if (op->type == CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR ||
		op->type == CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR)
		op->parameter = pmh_descriptor_number(PM_DESCRIPTOR_NORMALIZATION, norm, 3);
	else
		/* a convolution's groups: the input's channels by those that one filter takes */
		op->parameter = backend_parameter_number(
			&op->parameters, w->number && w->channels > 0 ? x->channels / w->channels : 1);
}

/* ---- graphs, engines, configurations, plans: all lead to the plan that the graph was made ---- */

static void set_graph(struct backend *d, int64_t count, const void *elements)
{
	const struct backend_operation *operations[BACKEND_OPERATIONS];
	unsigned n = 0;

	for (int64_t i = 0; i < count && n < BACKEND_OPERATIONS; i++) {
		const struct backend *op = backend_of(as_descriptor((const char *)elements + i * 8), false);

		if (op && is_operation(op->type))
			operations[n++] = &op->operation;
	}
	d->plan = backend_plan_make(operations, n);
}

static void set_plan(struct backend *d, const void *elements)
{
	const struct backend *other = backend_of(as_descriptor(elements), false);

	if (other && !is_operation(other->type))
		d->plan = other->plan;
}

static void set_pack(struct backend *d, cudnnBackendAttributeName_t name, int64_t count, const void *elements)
{
	unsigned n = count < 0 ? 0 : count > BACKEND_PACK ? BACKEND_PACK : (unsigned)count;

	if (name == CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS) {
		memcpy(d->pack.uids, elements, n * sizeof d->pack.uids[0]);
		d->pack.uid_count = n;
	} else if (name == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS) {
		memcpy(d->pack.addresses, elements, n * sizeof d->pack.addresses[0]);
		d->pack.address_count = n;
	}
}

void pmh_backend_set(const void *descriptor, cudnnBackendAttributeName_t name,
	cudnnBackendAttributeType_t type, int64_t count, const void *elements)
{
	struct backend *d = backend_of(descriptor, false);
	const int saved_errno = errno;

	if (!d || !elements || count <= 0)
		return;
	if (is_operation(d->type)) {
		set_operation(d, name, type, elements);
	} else {
		switch (d->type) {
		case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
			set_tensor(d, name, type, count, elements);
			break;
		case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
			if (name == CUDNN_ATTR_OPERATIONGRAPH_OPS)
				set_graph(d, count, elements);
			break;
		case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
		case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
		case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
		case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
			if (name == CUDNN_ATTR_ENGINE_OPERATION_GRAPH ||
				name == CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH ||
				name == CUDNN_ATTR_ENGINECFG_ENGINE ||
				name == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)
				set_plan(d, elements);
			else if (name == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION &&
				 type == CUDNN_TYPE_CHAR)
				d->plan = backend_text_plan(elements, (size_t)count);
			break;
		case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
			set_pack(d, name, count, elements);
			break;
		default:
			backend_set_parameters(&d->parameters, name, type, count, elements);
			break;
		}
	}
	errno = saved_errno;
}

void pmh_backend_finalized(const void *descriptor)
{
	struct backend *d = backend_of(descriptor, false);
	const int saved_errno = errno;

	if (d && is_operation(d->type))
		finish_operation(&d->operation);
	errno = saved_errno;
}

/* A heuristic fills configurations that were made empty; a configuration tells its engine in the same way. */
void pmh_backend_got(
	const void *descriptor, cudnnBackendAttributeName_t name, int64_t count, const void *elements)
{
	const struct backend *d = backend_of(descriptor, false);

	if (d && elements && count > 0 && name == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION &&
		d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
		backend_text_written(d->plan, elements, (size_t)count);
	if (!d || !elements ||
		(name != CUDNN_ATTR_ENGINEHEUR_RESULTS && name != CUDNN_ATTR_ENGINECFG_ENGINE &&
			name != CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG))
		return;
	for (int64_t i = 0; i < count; i++) {
		struct backend *other = backend_of(as_descriptor((const char *)elements + i * 8), false);

		if (other && !is_operation(other->type))
			other->plan = d->plan;
	}
}

const struct backend_plan *backend_plan_of(const void *plan)
{
	const struct backend *d = backend_of(plan, false);

	return d && d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ? backend_plan_at(d->plan) : NULL;
}

const void *backend_address(const void *pack, int64_t uid)
{
	const struct backend *d = backend_of(pack, false);

	if (!d || d->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
		return NULL;
	for (unsigned i = 0; i < d->pack.uid_count && i < d->pack.address_count; i++)
		if (d->pack.uids[i] == uid)
			return d->pack.addresses[i];
	return NULL;
}
