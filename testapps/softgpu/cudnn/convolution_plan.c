/* Convolutions by oneDNN: plans and their cache. convolution_steps.h has the idea. */
#include "convolution_steps.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024
#define ALIGNMENT 64

static struct sg_convolution_plan *buckets[BUCKETS];
static pthread_mutex_t buckets_lock = PTHREAD_MUTEX_INITIALIZER;
dnnl_engine_t sg_convolution_engine;
static dnnl_primitive_attr_t attributes;
static pthread_once_t engine_once = PTHREAD_ONCE_INIT;

/*
 * OpenMP's runtime as oneDNN uses it: that very copy, whatever OpenMP our compiler would have linked. The
 * number of threads is a setting of the calling thread. NULL when oneDNN computes in some other way.
 */
static void (*set_openmp_threads)(int count);
static int (*get_openmp_threads)(void);

static void find_openmp(void)
{
	void *openmp = dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD);

	if (openmp == NULL)
		return;
	*(void **)&set_openmp_threads = dlsym(openmp, "omp_set_num_threads");
	*(void **)&get_openmp_threads = dlsym(openmp, "omp_get_max_threads");
}

/* Returns what was set before. */
static int use_threads(int count)
{
	int before = get_openmp_threads != NULL ? get_openmp_threads() : count;

	if (set_openmp_threads != NULL && before != count)
		set_openmp_threads(count);
	return before;
}

static void open_engine(void)
{
	if (sg_onednn_open() != 0)
		return;
	find_openmp();
	if (sg_onednn.dnnl_engine_create(&sg_convolution_engine, dnnl_cpu, 0) != dnnl_success ||
		sg_onednn.dnnl_primitive_attr_create(&attributes) != dnnl_success ||
		sg_onednn.dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user) !=
			dnnl_success)
		sg_convolution_engine = NULL;
}

static uint64_t hash_bytes(const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static bool same_layout(const struct sg_shape *a, const struct sg_shape *b)
{
	for (int d = 0; d < a->ndims; d++) {
		if (a->dim[d] != 1 && a->stride[d] != b->stride[d])
			return false;
	}
	return true;
}

static bool describe_tensor(const struct sg_shape *shape, dnnl_memory_desc_t *description)
{
	dnnl_dims_t dim, stride;

	for (int d = 0; d < shape->ndims; d++) {
		dim[d] = shape->dim[d];
		stride[d] = shape->stride[d];
	}
	return sg_onednn.dnnl_memory_desc_init_by_strides(description, shape->ndims, dim, dnnl_f32, stride) ==
	       dnnl_success;
}

/* The packed filter: g, k/g, c/g, spatial when there are groups, else k, c, spatial. */
static bool describe_packed_w(const struct sg_convolution_key *key, dnnl_memory_desc_t *description, bool any)
{
	const struct sg_shape *w = &key->shape[SG_CONVOLUTION_W];
	dnnl_dims_t dim, stride;
	int ndims = 0;
	dnnl_dim_t step = 1;

	if (key->groups > 1)
		dim[ndims++] = key->groups;
	for (int d = 0; d < w->ndims; d++)
		dim[ndims++] = d == 0 ? w->dim[0] / key->groups : w->dim[d];
	for (int d = ndims - 1; d >= 0; d--) {
		stride[d] = step;
		step *= dim[d];
	}
	if (any)
		return sg_onednn.dnnl_memory_desc_init_by_tag(
			       description, ndims, dim, dnnl_f32, dnnl_format_tag_any) == dnnl_success;
	return sg_onednn.dnnl_memory_desc_init_by_strides(description, ndims, dim, dnnl_f32, stride) ==
	       dnnl_success;
}

/* Chooses oneDNN's kernel. md: x, w, y in inner layouts, with w's left open. */
static bool describe_convolution(struct sg_convolution_plan *plan, const dnnl_memory_desc_t *md)
{
	const struct sg_convolution_key *key = &plan->key;
	const dnnl_memory_desc_t *x = &md[SG_CONVOLUTION_X];
	const dnnl_memory_desc_t *w = &md[SG_CONVOLUTION_W];
	const dnnl_memory_desc_t *y = &md[SG_CONVOLUTION_Y];
	dnnl_dims_t stride, dilation, pad;
	dnnl_convolution_desc_t operation;
	dnnl_primitive_desc_t forward = NULL;
	dnnl_status_t status;

	for (int d = 0; d < SG_DIMS_MAX; d++) {
		stride[d] = key->stride[d];
		dilation[d] = key->dilation[d] - 1;
		pad[d] = key->pad[d];
	}
	if (sg_onednn.dnnl_dilated_convolution_forward_desc_init(&operation, dnnl_forward_training,
		    dnnl_convolution_direct, x, w, NULL, y, stride, dilation, pad, pad) != dnnl_success ||
		sg_onednn.dnnl_primitive_desc_create(
			&forward, &operation, attributes, sg_convolution_engine, NULL) != dnnl_success)
		return false;
	if (key->kind == SG_CONVOLUTION_FORWARD) {
		plan->description = forward;
		return true;
	}
	if (key->kind == SG_CONVOLUTION_BACKWARD_DATA)
		status = sg_onednn.dnnl_dilated_convolution_backward_data_desc_init(
			&operation, dnnl_convolution_direct, x, w, y, stride, dilation, pad, pad);
	else
		status = sg_onednn.dnnl_dilated_convolution_backward_weights_desc_init(
			&operation, dnnl_convolution_direct, x, w, NULL, y, stride, dilation, pad, pad);
	if (status == dnnl_success)
		status = sg_onednn.dnnl_primitive_desc_create(
			&plan->description, &operation, attributes, sg_convolution_engine, forward);
	sg_onednn.dnnl_primitive_desc_destroy(forward);
	return status == dnnl_success;
}

/* Fills in a conversion of `tensor` between the caller's side and the convolution's. */
static bool describe_conversion(
	struct sg_convolution_plan *plan, enum sg_convolution_tensor tensor, const dnnl_memory_desc_t *outer)
{
	struct sg_conversion *made = &plan->conversion[tensor];
	const dnnl_memory_desc_t *inner = &plan->inner[tensor];

	made->from = tensor == plan->output ? *inner : *outer;
	made->to = tensor == plan->output ? *outer : *inner;
	return sg_onednn.dnnl_reorder_primitive_desc_create(&made->description, &made->from,
		       sg_convolution_engine, &made->to, sg_convolution_engine, attributes) == dnnl_success;
}

static size_t scratchpad_bytes(const_dnnl_primitive_desc_t description)
{
	return sg_onednn.dnnl_memory_desc_get_size(
		sg_onednn.dnnl_primitive_desc_query_md(description, dnnl_query_scratchpad_md, 0));
}

static size_t reserve(struct sg_convolution_plan *plan, size_t bytes)
{
	size_t at = plan->scratch_bytes;

	plan->scratch_bytes += (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	return at;
}

static void reserve_scratch(struct sg_convolution_plan *plan)
{
	size_t onednn_bytes = scratchpad_bytes(plan->description);

	for (int t = 0; t < SG_CONVOLUTION_TENSORS; t++) {
		dnnl_primitive_desc_t conversion = plan->conversion[t].description;

		/* An output also waits here to be scaled or added to what is there. */
		if (conversion != NULL || t == (int)plan->output)
			plan->inner_at[t] =
				reserve(plan, sg_onednn.dnnl_memory_desc_get_size(&plan->inner[t]));
		if (conversion != NULL && scratchpad_bytes(conversion) > onednn_bytes)
			onednn_bytes = scratchpad_bytes(conversion);
	}
	if (!plan->is_packed_w || plan->output == SG_CONVOLUTION_W)
		plan->packed_w_at = reserve(
			plan, (size_t)sg_shape_count(&plan->inner_shape[SG_CONVOLUTION_W]) * sizeof(float));
	plan->onednn_at = reserve(plan, onednn_bytes);
}

static const dnnl_memory_desc_t *query_inner_w(const struct sg_convolution_plan *plan)
{
	return sg_onednn.dnnl_primitive_desc_query_md(plan->description,
		plan->output == SG_CONVOLUTION_W ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0);
}

static void free_plan(struct sg_convolution_plan *plan)
{
	for (int t = 0; t < SG_CONVOLUTION_TENSORS; t++) {
		if (plan->conversion[t].description != NULL)
			sg_onednn.dnnl_primitive_desc_destroy(plan->conversion[t].description);
	}
	if (plan->description != NULL)
		sg_onednn.dnnl_primitive_desc_destroy(plan->description);
	pthread_mutex_destroy(&plan->lock);
	free(plan);
}

static struct sg_convolution_plan *make_plan(const struct sg_convolution_key *key)
{
	static const enum sg_convolution_tensor output_of[] = {
		[SG_CONVOLUTION_FORWARD] = SG_CONVOLUTION_Y,
		[SG_CONVOLUTION_BACKWARD_DATA] = SG_CONVOLUTION_X,
		[SG_CONVOLUTION_BACKWARD_FILTER] = SG_CONVOLUTION_W,
	};
	struct sg_convolution_plan *plan = calloc(1, sizeof(*plan));
	const struct sg_shape *w = &key->shape[SG_CONVOLUTION_W];
	dnnl_memory_desc_t packed_w;

	if (plan == NULL)
		return NULL;
	pthread_mutex_init(&plan->lock, NULL);
	plan->key = *key;
	plan->output = output_of[key->kind];
	if (!sg_numerics()) {
		/* A workspace as implicit products need it: about what is known of the filter. */
		reserve(plan, (size_t)sg_shape_count(w) * sizeof(float));
		return plan;
	}
	for (int t = 0; t < SG_CONVOLUTION_TENSORS; t++) {
		const struct sg_shape *shape = &key->shape[t];

		sg_shape_pack(&plan->inner_shape[t], shape->type,
			t == SG_CONVOLUTION_W ? CUDNN_TENSOR_NCHW : CUDNN_TENSOR_NHWC, shape->ndims,
			shape->dim);
		if (t == SG_CONVOLUTION_W ? !describe_packed_w(key, &plan->inner[t], true)
					  : !describe_tensor(&plan->inner_shape[t], &plan->inner[t]))
			goto fail;
	}
	if (!describe_convolution(plan, plan->inner) || !describe_packed_w(key, &packed_w, false))
		goto fail;
	plan->inner[SG_CONVOLUTION_W] = *query_inner_w(plan);
	plan->is_packed_w = !key->flips && sg_shape_is_packed(w);
	if (!sg_onednn.dnnl_memory_desc_equal(&packed_w, &plan->inner[SG_CONVOLUTION_W]) &&
		!describe_conversion(plan, SG_CONVOLUTION_W, &packed_w))
		goto fail;
	for (int t = 0; t < SG_CONVOLUTION_TENSORS; t++) {
		dnnl_memory_desc_t outer;

		if (t == SG_CONVOLUTION_W || same_layout(&key->shape[t], &plan->inner_shape[t]))
			continue;
		if (!describe_tensor(&key->shape[t], &outer) ||
			!describe_conversion(plan, (enum sg_convolution_tensor)t, &outer))
			goto fail;
	}
	reserve_scratch(plan);
	return plan;
fail:
	free_plan(plan);
	return NULL;
}

int sg_onednn_threads(int count)
{
	pthread_once(&engine_once, open_engine);
	return use_threads(count);
}

struct sg_convolution_plan *sg_convolution_plan_get(const struct sg_convolution_key *key)
{
	struct sg_convolution_plan **bucket = &buckets[hash_bytes(key, sizeof(*key)) % BUCKETS];
	struct sg_convolution_plan *plan;

	if (sg_numerics()) {
		pthread_once(&engine_once, open_engine);
		if (sg_convolution_engine == NULL)
			return NULL;
	}
	pthread_mutex_lock(&buckets_lock);
	for (plan = *bucket; plan != NULL; plan = plan->next) {
		if (memcmp(&plan->key, key, sizeof(*key)) == 0)
			break;
	}
	if (plan == NULL) {
		/* oneDNN divides the work when it chooses the kernel, for as many threads as it sees then. */
		int before = use_threads(key->threads);

		plan = make_plan(key);
		use_threads(before);
		if (plan != NULL) {
			plan->next = *bucket;
			*bucket = plan;
		}
	}
	pthread_mutex_unlock(&buckets_lock);
	return plan;
}

const struct sg_convolution_key *sg_convolution_plan_key(const struct sg_convolution_plan *plan)
{
	return &plan->key;
}

size_t sg_convolution_plan_scratch_bytes(const struct sg_convolution_plan *plan)
{
	return plan->scratch_bytes;
}
