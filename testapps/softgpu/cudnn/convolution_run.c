/* Convolutions by oneDNN: running a plan. convolution_steps.h has the idea. */
#include "convolution_steps.h"

/* Compiles the kernels in the first run. */
static bool make_primitives(struct sg_convolution_plan *plan)
{
	bool made = true;

	pthread_mutex_lock(&plan->lock);
	if (plan->primitive == NULL) {
		for (int t = 0; t < SG_CONVOLUTION_TENSORS; t++) {
			struct sg_conversion *conversion = &plan->conversion[t];

			if (conversion->description != NULL && conversion->primitive == NULL)
				made = made && sg_onednn.dnnl_primitive_create(&conversion->primitive,
						       conversion->description) == dnnl_success;
		}
		made = made &&
		       sg_onednn.dnnl_primitive_create(&plan->primitive, plan->description) == dnnl_success;
	}
	pthread_mutex_unlock(&plan->lock);
	return made;
}

struct argument {
	int name;
	const dnnl_memory_desc_t *description;
	void *data;
};

/* Executes one primitive on up to three tensors, with oneDNN's own scratch. */
static bool execute(struct sg_convolution_plan *plan, dnnl_primitive_t primitive,
	const_dnnl_primitive_desc_t description, const struct argument *argument, int count, void *scratch,
	dnnl_stream_t stream)
{
	dnnl_exec_arg_t passed[SG_CONVOLUTION_TENSORS + 1];
	int made = 0;
	bool done = false;

	for (; made <= count; made++) {
		bool is_scratch = made == count;
		const dnnl_memory_desc_t *md = is_scratch ? sg_onednn.dnnl_primitive_desc_query_md(
								    description, dnnl_query_scratchpad_md, 0)
							  : argument[made].description;
		void *data = is_scratch ? (char *)scratch + plan->onednn_at : argument[made].data;

		passed[made].arg = is_scratch ? DNNL_ARG_SCRATCHPAD : argument[made].name;
		if (sg_onednn.dnnl_memory_create(&passed[made].memory, md, sg_convolution_engine, data) !=
			dnnl_success)
			goto out;
	}
	done = sg_onednn.dnnl_primitive_execute(primitive, stream, made, passed) == dnnl_success;
out:
	while (made-- > 0)
		sg_onednn.dnnl_memory_destroy(passed[made].memory);
	return done;
}

static bool convert(struct sg_convolution_plan *plan, enum sg_convolution_tensor tensor, void *from, void *to,
	void *scratch, dnnl_stream_t stream)
{
	const struct sg_conversion *conversion = &plan->conversion[tensor];
	const struct argument argument[] = {
		{DNNL_ARG_FROM, &conversion->from, from},
		{DNNL_ARG_TO, &conversion->to, to},
	};

	return execute(plan, conversion->primitive, conversion->description, argument, 2, scratch, stream);
}

/* Copies between two float tensors, with scaling. */
static void blend(const struct sg_shape *from, const float *x, const struct sg_shape *to, float *y,
	double alpha, double beta)
{
	const struct sg_shape *const shapes[] = {from, to};
	const struct sg_blend by = {alpha, beta};
	struct sg_loop loop;

	sg_loop_init(&loop, to, 2, shapes);
	sg_loop_run(&loop, (void *const[]){(void *)(uintptr_t)x, y}, sg_row_blend_f32, &by);
}

/* A filter seen from its other end: element 0 is the last one of each plane. Moves *data there. */
static struct sg_shape turned_round(const struct sg_shape *shape, const float **data)
{
	struct sg_shape turned = *shape;

	for (int d = 2; d < shape->ndims; d++) {
		*data += (shape->dim[d] - 1) * shape->stride[d];
		turned.stride[d] = -shape->stride[d];
	}
	return turned;
}

/* Brings an input to the layout of the convolution; returns where it lies, or NULL. */
static void *bring_in(struct sg_convolution_plan *plan, enum sg_convolution_tensor tensor, void *data,
	void *scratch, dnnl_stream_t stream)
{
	if (tensor == SG_CONVOLUTION_W && !plan->is_packed_w) {
		const float *from = data;
		struct sg_shape shape = plan->key.shape[SG_CONVOLUTION_W];

		if (plan->key.flips)
			shape = turned_round(&shape, &from);
		data = (char *)scratch + plan->packed_w_at;
		blend(&shape, from, &plan->inner_shape[SG_CONVOLUTION_W], data, 1, 0);
	}
	if (plan->conversion[tensor].description != NULL) {
		void *inner = (char *)scratch + plan->inner_at[tensor];

		return convert(plan, tensor, data, inner, scratch, stream) ? inner : NULL;
	}
	return data;
}

/* Takes the result from its inner layout to the caller's. */
static bool take_out(struct sg_convolution_plan *plan, void *inner, void *data, void *scratch,
	dnnl_stream_t stream, double alpha, double beta)
{
	enum sg_convolution_tensor tensor = plan->output;
	bool converts = plan->conversion[tensor].description != NULL;
	bool scales = alpha != 1 || beta != 0;

	if (tensor == SG_CONVOLUTION_W) {
		struct sg_shape shape = plan->inner_shape[SG_CONVOLUTION_W];
		void *packed = scales || !plan->is_packed_w ? (char *)scratch + plan->packed_w_at : data;
		const float *from;

		if (!converts)
			packed = inner;
		else if (!convert(plan, tensor, inner, packed, scratch, stream))
			return false;
		if (packed == data)
			return true;
		from = packed;
		if (plan->key.flips)
			shape = turned_round(&shape, &from);
		blend(&shape, from, &plan->key.shape[SG_CONVOLUTION_W], data, alpha, beta);
		return true;
	}
	if (scales)
		blend(&plan->inner_shape[tensor], inner, &plan->key.shape[tensor], data, alpha, beta);
	else if (converts)
		return convert(plan, tensor, inner, data, scratch, stream);
	return true;
}

/* Runs the convolution itself; *inner is where the result goes. */
static bool convolve(struct sg_convolution_plan *plan, void *const *tensor, void *inner, void *scratch,
	dnnl_stream_t stream)
{
	static const int names[][SG_CONVOLUTION_TENSORS] = {
		[SG_CONVOLUTION_FORWARD] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
		[SG_CONVOLUTION_BACKWARD_DATA] = {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
		[SG_CONVOLUTION_BACKWARD_FILTER] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST},
	};
	struct argument argument[SG_CONVOLUTION_TENSORS];

	for (int t = 0; t < SG_CONVOLUTION_TENSORS; t++) {
		enum sg_convolution_tensor which = (enum sg_convolution_tensor)t;

		argument[t].name = names[plan->key.kind][t];
		argument[t].description = &plan->inner[t];
		argument[t].data =
			which == plan->output ? inner : bring_in(plan, which, tensor[t], scratch, stream);
		if (argument[t].data == NULL)
			return false;
	}
	return execute(
		plan, plan->primitive, plan->description, argument, SG_CONVOLUTION_TENSORS, scratch, stream);
}

/* Makes what the plan needs, and a stream to run it on. */
static bool begin_run(struct sg_convolution_plan *plan, dnnl_stream_t *stream)
{
	sg_onednn_threads(plan->key.threads);
	return make_primitives(plan) && sg_onednn.dnnl_stream_create(stream, sg_convolution_engine,
						dnnl_stream_default_flags) == dnnl_success;
}

int sg_convolution_plan_run(struct sg_convolution_plan *plan, void *const tensor[SG_CONVOLUTION_TENSORS],
	void *scratch, double alpha, double beta)
{
	enum sg_convolution_tensor output = plan->output;
	bool is_direct = alpha == 1 && beta == 0 && plan->conversion[output].description == NULL &&
			 (output != SG_CONVOLUTION_W || plan->is_packed_w);
	void *inner = is_direct ? tensor[output] : (char *)scratch + plan->inner_at[output];
	dnnl_stream_t stream;
	bool done;

	if (!begin_run(plan, &stream))
		return -1;
	done = convolve(plan, tensor, inner, scratch, stream) &&
	       (is_direct || take_out(plan, inner, tensor[output], scratch, stream, alpha, beta));
	sg_onednn.dnnl_stream_destroy(stream);
	return done ? 0 : -1;
}

int sg_convolution_plan_run_to_scratch(struct sg_convolution_plan *plan,
	void *const tensor[SG_CONVOLUTION_TENSORS], void *scratch, void **result,
	const struct sg_shape **shape)
{
	dnnl_stream_t stream;
	bool done;

	*result = (char *)scratch + plan->inner_at[plan->output];
	*shape = &plan->inner_shape[plan->output];
	if (!begin_run(plan, &stream))
		return -1;
	done = convolve(plan, tensor, *result, scratch, stream);
	sg_onednn.dnnl_stream_destroy(stream);
	return done ? 0 : -1;
}
