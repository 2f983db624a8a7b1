/*
 * What rows of pm_hooks.def need to know: which stream a handle was given, what a descriptor says, who is in
 * a communicator.
 *
 * Everything hangs on the address of a vendor's object, in one table. An object that is made at the address
 * of a destroyed one is set up again before use, so nothing is ever taken out, and destroying is not watched.
 * Look-ups take no lock. Fields of an object are written by the thread that sets it up, before others use it.
 */
#include "hook.h"

#include <string.h>

#define OBJECTS (1u << 14)
#define DESCRIPTOR_VALUES 28
#define DIMENSIONS 8 /* as cuDNN's CUDNN_DIM_MAX */

/* What calls ask for comes first, in one cache line. */
struct object {
	_Alignas(64) _Atomic uintptr_t address;
	_Atomic uint32_t number; /* of a descriptor, string or communicator in this trace, 0: not yet */
	_Atomic uint16_t queue;  /* a stream's or a handle's number, 0: not asked yet */
	uint16_t kind;           /* enum pm_descriptor_kind */
	cudaStream_t stream;     /* a handle's */
	int device;              /* a stream's, a handle's or a communicator's */
	bool device_pointers;    /* a cuBLAS handle's scalars lie on the device */
	uint16_t value_count;
	int rank, size;   /* a communicator's */
	uint64_t hash;    /* a communicator's */
	unsigned splits;  /* a communicator's, so far */
	const char *name; /* a kernel's */
	int64_t values[DESCRIPTOR_VALUES];
};

static struct object objects[OBJECTS];

/* The object at an address; with `make`, one is made. NULL: not known, or the table is full. */
static struct object *object_of(const void *address, bool make)
{
	uintptr_t wanted = (uintptr_t)address;
	unsigned i = (unsigned)((wanted >> 3) * 0x9e3779b1u >> 7) % OBJECTS;

	if (!wanted)
		return NULL;
	for (unsigned tries = 0; tries < 64; tries++, i = (i + 1) % OBJECTS) {
		uintptr_t there = atomic_load_explicit(&objects[i].address, memory_order_acquire);

		if (there == wanted)
			return &objects[i];
		if (there)
			continue;
		if (!make)
			return NULL;
		if (atomic_compare_exchange_strong(&objects[i].address, &there, wanted) || there == wanted)
			return &objects[i];
	}
	return NULL;
}

/* In a child after fork: numbers belong to the parent's trace. */
void pmh_describe_forget(void)
{
	atomic_fetch_add(&pmh_place_epoch, 1);
	for (unsigned i = 0; i < OBJECTS; i++)
		if (atomic_load_explicit(&objects[i].address, memory_order_relaxed)) {
			atomic_store_explicit(&objects[i].number, 0, memory_order_relaxed);
			atomic_store_explicit(&objects[i].queue, 0, memory_order_relaxed);
		}
}

/* ---- streams and handles ---- */

/* The default streams: NULL, cudaStreamLegacy (1), cudaStreamPerThread (2). They are the current device's. */
static bool is_default(cudaStream_t stream)
{
	return (uintptr_t)stream <= 2;
}

static struct pmh_place place_of(struct object *o, cudaStream_t stream)
{
	uint16_t queue = atomic_load_explicit(&o->queue, memory_order_relaxed);

	if (__builtin_expect(queue == 0, 0)) {
		queue = pmh_queue_number(o->device, stream);
		atomic_store_explicit(&o->queue, queue, memory_order_relaxed);
	}
	return (struct pmh_place){.stream = stream, .device = o->device, .queue = queue};
}

_Atomic unsigned pmh_place_epoch;

static struct pmh_place remember(const void *asked, unsigned epoch, struct pmh_place place)
{
	pmh_self.last_asked = asked;
	pmh_self.last_epoch = epoch;
	pmh_self.last_place = place;
	return place;
}

struct pmh_place pmh_find_stream(cudaStream_t stream)
{
	const unsigned epoch = atomic_load_explicit(&pmh_place_epoch, memory_order_acquire);
	const int device = pmh_self.device;
	struct object *o = is_default(stream) ? NULL : object_of(stream, true);

	if (o)
		return remember(stream, epoch, place_of(o, stream));
	return remember(stream, epoch,
		(struct pmh_place){
			.stream = stream, .device = device, .queue = pmh_queue_number(device, stream)});
}

struct pmh_place pmh_find_handle(const void *handle)
{
	const unsigned epoch = atomic_load_explicit(&pmh_place_epoch, memory_order_acquire);
	struct object *o = object_of(handle, true);

	return remember(handle, epoch, o ? place_of(o, o->stream) : pmh_find_stream(NULL));
}

static void set_place(struct object *o, cudaStream_t stream, int device)
{
	/* libraries are told the same stream again and again */
	if (o->stream == stream && o->device == device &&
		atomic_load_explicit(&o->queue, memory_order_relaxed))
		return;
	o->stream = stream;
	o->device = device;
	atomic_store_explicit(&o->queue, 0, memory_order_relaxed);
	atomic_fetch_add_explicit(&pmh_place_epoch, 1, memory_order_release);
}

void pmh_stream_created(cudaStream_t stream)
{
	struct object *o = object_of(stream, true);

	if (o)
		set_place(o, stream, pmh_self.device);
}

void pmh_device_set(int device)
{
	if (pmh_self.device == device)
		return;
	pmh_self.device = device;
	pmh_self.last_asked = NULL;
}

void pmh_handle_created(const void *handle)
{
	struct object *o = object_of(handle, true);

	if (!o)
		return;
	set_place(o, NULL, pmh_self.device);
	o->device_pointers = false;
}

void pmh_handle_stream(const void *handle, cudaStream_t stream)
{
	struct object *o = object_of(handle, true);

	/* a default stream is the device's that the handle was made on */
	if (o)
		set_place(o, stream, is_default(stream) ? o->device : pmh_find_stream(stream).device);
}

void pmh_pointer_mode(cublasHandle_t handle, cublasPointerMode_t mode)
{
	struct object *o = object_of(handle, true);

	if (o)
		o->device_pointers = mode == CUBLAS_POINTER_MODE_DEVICE;
}

/* ---- types and scalars ---- */

uint64_t pmh_type_of_cudnn(cudnnDataType_t type)
{
	switch ((int)type) {
	case CUDNN_DATA_FLOAT:
		return PM_TYPE_F32;
	case CUDNN_DATA_DOUBLE:
		return PM_TYPE_F64;
	case CUDNN_DATA_HALF:
		return PM_TYPE_F16;
	case CUDNN_DATA_BFLOAT16:
		return PM_TYPE_BF16;
	case CUDNN_DATA_INT8:
		return PM_TYPE_I8;
	case CUDNN_DATA_UINT8:
		return PM_TYPE_U8;
	case CUDNN_DATA_INT32:
		return PM_TYPE_I32;
	case CUDNN_DATA_INT64:
		return PM_TYPE_I64;
	default:
		return PM_TYPE_OTHER;
	}
}

uint64_t pmh_cuda_type(cudaDataType_t type)
{
	switch ((int)type) {
	case CUDA_R_32F:
		return PM_TYPE_F32;
	case CUDA_R_64F:
		return PM_TYPE_F64;
	case CUDA_R_16F:
		return PM_TYPE_F16;
	case CUDA_R_16BF:
		return PM_TYPE_BF16;
	case CUDA_R_8I:
		return PM_TYPE_I8;
	case CUDA_R_8U:
		return PM_TYPE_U8;
	case CUDA_R_32I:
		return PM_TYPE_I32;
	case CUDA_R_32U:
		return PM_TYPE_U32;
	case CUDA_R_64I:
		return PM_TYPE_I64;
	case CUDA_R_64U:
		return PM_TYPE_U64;
	default:
		return PM_TYPE_OTHER;
	}
}

uint64_t pmh_compute_type(cublasComputeType_t type)
{
	switch ((int)type) {
	case CUBLAS_COMPUTE_16F:
	case CUBLAS_COMPUTE_16F_PEDANTIC:
		return PM_TYPE_F16;
	case CUBLAS_COMPUTE_64F:
	case CUBLAS_COMPUTE_64F_PEDANTIC:
		return PM_TYPE_F64;
	case CUBLAS_COMPUTE_32I:
	case CUBLAS_COMPUTE_32I_PEDANTIC:
		return PM_TYPE_I32;
	default:
		return PM_TYPE_F32;
	}
}

uint64_t pmh_nccl_type(ncclDataType_t type)
{
	static const uint8_t types[] = {[ncclInt8] = PM_TYPE_I8,
		[ncclUint8] = PM_TYPE_U8,
		[ncclInt32] = PM_TYPE_I32,
		[ncclUint32] = PM_TYPE_U32,
		[ncclInt64] = PM_TYPE_I64,
		[ncclUint64] = PM_TYPE_U64,
		[ncclFloat16] = PM_TYPE_F16,
		[ncclFloat32] = PM_TYPE_F32,
		[ncclFloat64] = PM_TYPE_F64,
		[ncclBfloat16] = PM_TYPE_BF16};

	return (unsigned)type < sizeof types ? types[type] : PM_TYPE_OTHER;
}

size_t pmh_type_bytes(uint64_t type)
{
	static const uint8_t sizes[] = {0,
#define PM_FIELD(name, bytes) bytes,
		PM_FORMAT_TYPES(PM_FIELD)
#undef PM_FIELD
	};

	return type < sizeof sizes ? sizes[type] : 0;
}

static uint64_t scale_of_bits(uint64_t bits, uint64_t one)
{
	return bits == 0 ? 0 : bits == one ? 1 : 2;
}

static uint64_t scale_of_type(const void *beta, uint64_t type)
{
	uint64_t bits = 0;

	if (!beta)
		return 3;
	memcpy(&bits, beta, pmh_type_bytes(type) < 8 ? pmh_type_bytes(type) : 8);
	switch (type) {
	case PM_TYPE_F64:
		return scale_of_bits(bits, 0x3ff0000000000000u);
	case PM_TYPE_F16:
		return scale_of_bits(bits, 0x3c00u);
	case PM_TYPE_I32:
		return scale_of_bits(bits, 1);
	default:
		return scale_of_bits(bits, 0x3f800000u);
	}
}

/* cuDNN's scalars lie on the host, and are float for all types but double. */
uint64_t pmh_scale(const void *beta)
{
	return scale_of_type(beta, PM_TYPE_F32);
}

uint64_t pmh_scale_of(cublasHandle_t handle, const void *beta, uint64_t type)
{
	const struct object *o = object_of(handle, false);

	return o && o->device_pointers ? 3 : scale_of_type(beta, type);
}

/* ---- cuDNN's descriptors ---- */

uint32_t pmh_descriptor(const void *descriptor)
{
	struct object *o = object_of(descriptor, false);
	uint32_t number;

	if (!o || !o->value_count)
		return 0;
	number = atomic_load_explicit(&o->number, memory_order_acquire);
	if (!number) {
		number = pmh_descriptor_number(o->kind, o->values, o->value_count);
		atomic_store_explicit(&o->number, number, memory_order_release);
	}
	return number;
}

/* A descriptor's new content, value by value. o may be NULL: then nothing is kept. */
struct content {
	struct object *o;
	unsigned count;
};

static struct content content_begin(const void *descriptor, enum pm_descriptor_kind kind)
{
	struct content c = {.o = object_of(descriptor, true)};

	if (c.o) {
		atomic_store_explicit(&c.o->number, 0, memory_order_relaxed);
		c.o->kind = (uint16_t)kind;
		c.o->value_count = 0;
	}
	return c;
}

static void content_add(struct content *c, int64_t value)
{
	if (c->o && c->count < DESCRIPTOR_VALUES)
		c->o->values[c->count++] = value;
}

static void content_add_list(struct content *c, const int *list, int n)
{
	for (int i = 0; i < n; i++)
		content_add(c, list ? list[i] : 0);
}

static void content_end(struct content *c)
{
	if (c->o)
		c->o->value_count = (uint16_t)c->count;
}

static int clamp(int n)
{
	return n < 0 ? 0 : n > DIMENSIONS ? DIMENSIONS : n;
}

void pmh_set_tensor_nd(
	cudnnTensorDescriptor_t d, cudnnDataType_t type, int n, const int *dims, const int *strides)
{
	struct content c = content_begin(d, PM_DESCRIPTOR_TENSOR);

	n = clamp(n);
	content_add(&c, (int64_t)pmh_type_of_cudnn(type));
	content_add(&c, n);
	content_add_list(&c, dims, n);
	content_add_list(&c, strides, n);
	content_end(&c);
}

void pmh_set_tensor_4d_strided(
	cudnnTensorDescriptor_t d, cudnnDataType_t type, const int *dims, const int *strides)
{
	pmh_set_tensor_nd(d, type, 4, dims, strides);
}

void pmh_set_tensor_packed(
	cudnnTensorDescriptor_t d, cudnnTensorFormat_t format, cudnnDataType_t type, int n, const int *dims)
{
	int strides[DIMENSIONS] = {0}, stride = 1;

	n = clamp(n);
	if (format == CUDNN_TENSOR_NHWC && n > 2) {
		/* channels, the second dimension, lie closest */
		strides[1] = 1;
		stride = dims[1];
		for (int i = n - 1; i > 1; stride *= dims[i--])
			strides[i] = stride;
		strides[0] = stride;
	} else {
		for (int i = n - 1; i >= 0; stride *= dims[i--])
			strides[i] = stride;
	}
	pmh_set_tensor_nd(d, type, n, dims, strides);
}

void pmh_set_tensor_4d(cudnnTensorDescriptor_t d, cudnnTensorFormat_t format, cudnnDataType_t type, int n,
	int c, int h, int w)
{
	pmh_set_tensor_packed(d, format, type, 4, (int[]){n, c, h, w});
}

void pmh_set_filter(
	cudnnFilterDescriptor_t d, cudnnDataType_t type, cudnnTensorFormat_t format, int n, const int *dims)
{
	struct content c = content_begin(d, PM_DESCRIPTOR_FILTER);

	n = clamp(n);
	content_add(&c, (int64_t)pmh_type_of_cudnn(type));
	content_add(&c, format);
	content_add(&c, n);
	content_add_list(&c, dims, n);
	content_end(&c);
}

void pmh_set_convolution(cudnnConvolutionDescriptor_t d, int n, const int *pads, const int *strides,
	const int *dilations, cudnnConvolutionMode_t mode, cudnnDataType_t type)
{
	struct content c = content_begin(d, PM_DESCRIPTOR_CONVOLUTION);

	n = clamp(n);
	content_add(&c, n);
	content_add_list(&c, pads, n);
	content_add_list(&c, strides, n);
	content_add_list(&c, dilations, n);
	content_add(&c, mode);
	content_add(&c, (int64_t)pmh_type_of_cudnn(type));
	content_add(&c, 1); /* groups */
	content_add(&c, CUDNN_DEFAULT_MATH);
	content_end(&c);
}

/* Changes one of the last values of a convolution: 2 from the end the groups, 1 the math type. */
static void change_convolution(const void *d, unsigned from_end, int64_t value)
{
	struct object *o = object_of(d, false);

	if (!o || o->kind != PM_DESCRIPTOR_CONVOLUTION || o->value_count < from_end)
		return;
	o->values[o->value_count - from_end] = value;
	atomic_store_explicit(&o->number, 0, memory_order_release);
}

void pmh_set_convolution_groups(cudnnConvolutionDescriptor_t d, int groups)
{
	change_convolution(d, 2, groups);
}

void pmh_set_convolution_math(cudnnConvolutionDescriptor_t d, cudnnMathType_t math)
{
	change_convolution(d, 1, math);
}

void pmh_set_pooling(cudnnPoolingDescriptor_t d, cudnnPoolingMode_t mode, int n, const int *windows,
	const int *pads, const int *strides)
{
	struct content c = content_begin(d, PM_DESCRIPTOR_POOLING);

	n = clamp(n);
	content_add(&c, mode);
	content_add(&c, n);
	content_add_list(&c, windows, n);
	content_add_list(&c, pads, n);
	content_add_list(&c, strides, n);
	content_end(&c);
}

/* Coefficients go into the trace in millionths; what does not fit, as the largest number. */
static int64_t millionths(double x)
{
	return x > -9e12 && x < 9e12 ? (int64_t)(x * 1e6 + (x < 0 ? -0.5 : 0.5)) : INT64_MAX;
}

void pmh_set_activation(cudnnActivationDescriptor_t d, cudnnActivationMode_t mode, double coefficient)
{
	struct content c = content_begin(d, PM_DESCRIPTOR_ACTIVATION);

	content_add(&c, mode);
	content_add(&c, millionths(coefficient));
	content_end(&c);
}

void pmh_set_dropout(cudnnDropoutDescriptor_t d, float probability, unsigned long long seed)
{
	struct content c = content_begin(d, PM_DESCRIPTOR_DROPOUT);

	content_add(&c, millionths((double)probability));
	content_add(&c, (int64_t)seed);
	content_end(&c);
}

void pmh_set_op_tensor(cudnnOpTensorDescriptor_t d, cudnnOpTensorOp_t op, cudnnDataType_t type)
{
	struct content c = content_begin(d, PM_DESCRIPTOR_OP_TENSOR);

	content_add(&c, op);
	content_add(&c, (int64_t)pmh_type_of_cudnn(type));
	content_end(&c);
}

void pmh_set_reduce(cudnnReduceTensorDescriptor_t d, cudnnReduceTensorOp_t op, cudnnDataType_t type,
	cudnnReduceTensorIndices_t indices)
{
	struct content c = content_begin(d, PM_DESCRIPTOR_REDUCE);

	content_add(&c, op);
	content_add(&c, (int64_t)pmh_type_of_cudnn(type));
	content_add(&c, indices);
	content_end(&c);
}

void pmh_set_lrn(cudnnLRNDescriptor_t d, unsigned n, double alpha, double beta, double k)
{
	struct content c = content_begin(d, PM_DESCRIPTOR_LRN);

	content_add(&c, n);
	content_add(&c, millionths(alpha));
	content_add(&c, millionths(beta));
	content_add(&c, millionths(k));
	content_end(&c);
}

/* ---- communicators ---- */

uint32_t pmh_comm(ncclComm_t comm)
{
	struct object *o = object_of(comm, false);
	uint32_t number;

	if (!o)
		return 0;
	number = atomic_load_explicit(&o->number, memory_order_acquire);
	if (!number && o->size > 0) {
		number = pmh_communicator_number(o->rank, o->size, o->device, o->hash);
		atomic_store_explicit(&o->number, number, memory_order_release);
	}
	return number;
}

static void communicator_made(ncclComm_t comm, int rank, int size, int device, uint64_t hash)
{
	/* the largest communicator says which rank we are; several in one process are several GPUs of one
	 * rank */
	static _Atomic int largest;
	struct object *o = object_of(comm, true);

	if (!o)
		return;
	o->rank = rank;
	o->size = size;
	o->device = device;
	o->hash = hash;
	o->splits = 0;
	atomic_store_explicit(&o->number, 0, memory_order_release);
	if (size > atomic_load_explicit(&largest, memory_order_relaxed)) {
		atomic_store_explicit(&largest, size, memory_order_relaxed);
		pmh_trace_rank(rank, size);
	}
}

void pmh_comm_init(ncclComm_t *comm, int size, const ncclUniqueId *ids, int id_count, int rank)
{
	if (comm && *comm && ids && id_count > 0)
		communicator_made(*comm, rank, size, pmh_self.device,
			pmh_hash((uint64_t)size, ids, (size_t)(id_count > 64 ? 64 : id_count) * sizeof *ids));
}

void pmh_comm_init_all(ncclComm_t *comms, int count, const int *devices)
{
	static _Atomic uint64_t inits;
	/* no other process takes part, so any number that no other process has will do */
	const uint64_t key[] = {pmh_monotonic_ns(), atomic_fetch_add(&inits, 1)};
	uint64_t hash = pmh_hash(1, key, sizeof key);

	for (int i = 0; comms && i < count && i < PMH_DEVICES; i++)
		communicator_made(comms[i], i, count, devices ? devices[i] : i, hash);
}

/*
 * A part of a communicator: the hash follows from the parent's, so that all its ranks find the same one
 * without talking. The new rank and size are the library's to say (it sorts by key).
 */
static void derived(ncclComm_t parent, uint64_t word, ncclComm_t *comm)
{
	ncclResult_t (*count)(ncclComm_t, int *), (*user_rank)(ncclComm_t, int *);
	struct object *o = object_of(parent, false);
	int size = 0, rank = 0;

	if (!o || !comm || !*comm || pmh_self.group_depth > 0)
		return;
	*(void **)&count = pmh_real_nccl("ncclCommCount");
	*(void **)&user_rank = pmh_real_nccl("ncclCommUserRank");
	if (count && user_rank && count(*comm, &size) == ncclSuccess &&
		user_rank(*comm, &rank) == ncclSuccess) {
		const uint64_t key[] = {o->hash, o->splits, word};

		communicator_made(*comm, rank, size, o->device, pmh_hash(2, key, sizeof key));
	}
}

void pmh_comm_split(ncclComm_t parent, int colour, ncclComm_t *comm)
{
	struct object *o = object_of(parent, false);

	derived(parent, (uint64_t)colour, comm);
	if (o)
		o->splits++;
}

void pmh_comm_shrink(ncclComm_t parent, const int *excluded, int excluded_count, ncclComm_t *comm)
{
	struct object *o = object_of(parent, false);

	if (excluded && excluded_count >= 0 && excluded_count < 4096)
		derived(parent, pmh_hash(3, excluded, (size_t)excluded_count * sizeof *excluded), comm);
	if (o)
		o->splits++;
}

/* ---- kernels ---- */

void pmh_kernel_named(const void *function, const char *name)
{
	struct object *o = object_of(function, true);

	if (o)
		o->name = name;
}

uint32_t pmh_kernel_name(const void *function)
{
	struct object *o = object_of(function, false);
	uint32_t number;

	if (!o || !o->name)
		return 0;
	number = atomic_load_explicit(&o->number, memory_order_acquire);
	if (!number) {
		number = pmh_string(o->name);
		atomic_store_explicit(&o->number, number, memory_order_release);
	}
	return number;
}

/* ---- parameters behind pointers ---- */

uint64_t pmh_extent_bytes(const struct cudaMemcpy3DParms *p)
{
	return p ? p->extent.width * p->extent.height * p->extent.depth : 0;
}

uint64_t pmh_peer_extent_bytes(const struct cudaMemcpy3DPeerParms *p)
{
	return p ? p->extent.width * p->extent.height * p->extent.depth : 0;
}

uint64_t pmh_3d_kind(const struct cudaMemcpy3DParms *p)
{
	return p ? p->kind : 0;
}

uint64_t pmh_sum(const size_t *sizes, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; sizes && i < count; i++)
		sum += sizes[i];
	return sum;
}

const cudaLaunchConfig_t *pmh_config(const cudaLaunchConfig_t *config)
{
	static const cudaLaunchConfig_t none;

	return config ? config : &none;
}
