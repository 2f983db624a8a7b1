/*
 * Recurrent networks, computed: ReLU and tanh cells, LSTM and GRU, several layers, one direction.
 *
 * The one idea: per layer one large product for all steps' inputs, then step by step one small product with
 * the last hidden state and the cell's arithmetic; backward the same the other way round. A sequence that has
 * ended keeps its state while the others go on.
 */
#include "rnn.h"

#include <math.h>
#include <string.h>

#include "backend.h"

SG_VECTORIZE_LOOPS

#include "vector_math.h"

int sg_rnn_gates(cudnnRNNMode_t mode)
{
	return mode == CUDNN_LSTM ? 4 : mode == CUDNN_GRU ? 3 : 1;
}

struct sg_rnn_parts sg_rnn_parts_of(const struct cudnnRNNStruct *rnn, int layer)
{
	int64_t rows = (int64_t)sg_rnn_gates(rnn->mode) * rnn->hidden_size;
	bool has_w_bias = rnn->bias == CUDNN_RNN_SINGLE_INP_BIAS || rnn->bias == CUDNN_RNN_DOUBLE_BIAS;
	bool has_r_bias = rnn->bias == CUDNN_RNN_SINGLE_REC_BIAS || rnn->bias == CUDNN_RNN_DOUBLE_BIAS;
	struct sg_rnn_parts parts;
	int64_t at = 0;

	for (int l = 0; l <= layer; l++) {
		parts.input_size = l == 0 ? rnn->input_size : rnn->hidden_size;
		parts.w = at;
		parts.r = parts.w + rows * parts.input_size;
		at = parts.r + rows * rnn->hidden_size;
		parts.w_bias = has_w_bias ? at : -1;
		at += has_w_bias ? rows : 0;
		parts.r_bias = has_r_bias ? at : -1;
		at += has_r_bias ? rows : 0;
	}
	return parts;
}

size_t sg_rnn_weight_count(const struct cudnnRNNStruct *rnn)
{
	struct sg_rnn_parts next = sg_rnn_parts_of(rnn, rnn->layers);

	return (size_t)next.w;
}

/* What is kept of a layer: arrays of steps x batch rows. */
struct kept {
	float *gates;  /* after their functions; gates x hidden */
	float *slopes; /* backward: the loss's gradient with respect to what goes into the functions */
	float *hidden, *cell;
	float *recurrent; /* GRU: what the reset gate is multiplied with */
};

static size_t kept_per_row(const struct cudnnRNNStruct *rnn)
{
	return (size_t)(2 * sg_rnn_gates(rnn->mode) + 3) * (size_t)rnn->hidden_size;
}

size_t sg_rnn_kept_count(const struct cudnnRNNStruct *rnn, int steps, int batch)
{
	size_t rows = (size_t)steps * (size_t)batch;

	return rows * (size_t)rnn->input_size + rows * kept_per_row(rnn) * (size_t)rnn->layers;
}

static size_t wider_size(const struct cudnnRNNStruct *rnn)
{
	return (size_t)(rnn->input_size > rnn->hidden_size ? rnn->input_size : rnn->hidden_size);
}

size_t sg_rnn_scratch_count(const struct cudnnRNNStruct *rnn, int steps, int batch)
{
	size_t gates = (size_t)sg_rnn_gates(rnn->mode) * (size_t)rnn->hidden_size;

	return (size_t)batch * (gates + 3 * (size_t)rnn->hidden_size) +
	       2 * (size_t)steps * (size_t)batch * wider_size(rnn);
}

/* The job's memory while one layer is computed. */
struct layer {
	const struct sg_rnn_job *job;
	struct sg_rnn_parts parts;
	struct kept kept;
	int number, hidden, gates; /* gates: their number times hidden */
	const float *input;        /* steps x batch x parts.input_size */
	float *product;            /* batch x gates */
	float *h, *c, *spare;      /* batch x hidden */
};

static struct kept kept_of(const struct sg_rnn_job *job, int layer)
{
	size_t rows = (size_t)job->steps * (size_t)job->batch, hidden = (size_t)job->rnn.hidden_size;
	size_t gates = (size_t)sg_rnn_gates(job->rnn.mode) * hidden;
	struct kept kept;

	kept.gates =
		job->kept + rows * ((size_t)job->rnn.input_size + (size_t)layer * kept_per_row(&job->rnn));
	kept.slopes = kept.gates + rows * gates;
	kept.hidden = kept.slopes + rows * gates;
	kept.cell = kept.hidden + rows * hidden;
	kept.recurrent = kept.cell + rows * hidden;
	return kept;
}

static struct layer open_layer(const struct sg_rnn_job *job, int number)
{
	struct layer layer = {.job = job, .number = number, .hidden = job->rnn.hidden_size};
	size_t state = (size_t)job->batch * (size_t)layer.hidden;

	layer.parts = sg_rnn_parts_of(&job->rnn, number);
	layer.kept = kept_of(job, number);
	layer.gates = sg_rnn_gates(job->rnn.mode) * layer.hidden;
	layer.input = number == 0 ? job->kept : kept_of(job, number - 1).hidden;
	layer.product = job->scratch;
	layer.h = layer.product + (size_t)job->batch * (size_t)layer.gates;
	layer.c = layer.h + state;
	layer.spare = layer.c + state;
	return layer;
}

/* The two arrays of steps x batch rows in which gradients go from layer to layer. */
static float *flow(const struct sg_rnn_job *job, int which)
{
	size_t rows = (size_t)job->steps * (size_t)job->batch;
	size_t gates = (size_t)sg_rnn_gates(job->rnn.mode) * (size_t)job->rnn.hidden_size;

	return job->scratch + (size_t)job->batch * (gates + 3 * (size_t)job->rnn.hidden_size) +
	       (size_t)which * rows * wider_size(&job->rnn);
}

/* ---- the caller's layouts ---- */

/*
 * Between the caller's rows and ours; what lies after the end of a sequence becomes zeros here and, where
 * one is wanted, the fill there.
 */
static void move_rows(const struct sg_rnn_job *job, cudnnRNNDataLayout_t layout, int values, float *theirs,
	float *ours, bool to_theirs, const float *fill)
{
	int64_t packed = 0;

	for (int t = 0; t < job->steps; t++) {
		for (int n = 0; n < job->batch; n++) {
			bool is_inside = t < job->length[n];
			int64_t row = layout == CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED
					      ? (int64_t)n * job->steps + t
					      : (int64_t)t * job->batch + n;
			float *mine = ours + ((int64_t)t * job->batch + n) * values;

			if (layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED) {
				if (!is_inside && to_theirs)
					continue;
				row = is_inside ? packed++ : 0;
			}
			for (int v = 0; v < values; v++) {
				float *other = theirs + row * values + v;

				if (!to_theirs)
					mine[v] = is_inside ? *other : 0;
				else if (is_inside)
					*other = mine[v];
				else if (fill != NULL)
					*other = *fill;
			}
		}
	}
}

/* A layer's part of an array of states, or zeros where there is no array. */
static void take_state(const struct layer *layer, const float *from, float *to)
{
	size_t count = (size_t)layer->job->batch * (size_t)layer->hidden;

	if (from != NULL)
		memcpy(to, from + (size_t)layer->number * count, count * sizeof(*to));
	else
		memset(to, 0, count * sizeof(*to));
}

static void give_state(const struct layer *layer, const float *from, float *to)
{
	size_t count = (size_t)layer->job->batch * (size_t)layer->hidden;

	if (to != NULL)
		memcpy(to + (size_t)layer->number * count, from, count * sizeof(*to));
}

/* ---- products ---- */

static struct sg_matrix rows_of(const float *data, int64_t width)
{
	return (struct sg_matrix){(float *)(uintptr_t)data, width, 1};
}

static struct sg_matrix columns_of(const float *data, int64_t width)
{
	return (struct sg_matrix){(float *)(uintptr_t)data, 1, width};
}

/* out (rows x to) = in (rows x from) * weights' (to x from), or with `back` the other way: in x to, out x
 * from. */
static int apply(
	const float *weights, int64_t to, int64_t from, int64_t rows, const float *in, float *out, bool back)
{
	struct sg_matrix a = rows_of(in, back ? to : from);
	struct sg_matrix b = back ? rows_of(weights, from) : columns_of(weights, from);
	struct sg_matrix c = rows_of(out, back ? from : to);

	return sg_multiply(rows, back ? from : to, back ? to : from, &a, &b, &c, false);
}

/* weights (to x from) += slopes' (rows x to) * in (rows x from). */
static int collect(
	const float *slopes, int64_t to, const float *in, int64_t from, int64_t rows, float *weights)
{
	struct sg_matrix a = columns_of(slopes, to), b = rows_of(in, from), c = rows_of(weights, from);

	return sg_multiply(to, from, rows, &a, &b, &c, true);
}

/* ---- forward ---- */

static inline float sigmoid(float x)
{
	return 1 / (1 + sg_exp_f32(-x));
}

/* One row of one step. in: gates from the input, biases added; rec: from the last state. All go to `gates`.
 */
static void step_cell(
	const struct layer *l, float *gates, const float *rec, float *h, float *c, float *recurrent)
{
	int hidden = l->hidden;
	cudnnRNNMode_t mode = l->job->rnn.mode;

	for (int i = 0; i < hidden; i++) {
		float *g = gates + i;

		if (mode == CUDNN_LSTM) {
			float in = sigmoid(g[0] + rec[i]), forget = sigmoid(g[hidden] + rec[hidden + i]);
			float fresh = sg_tanh_f32(g[2 * hidden] + rec[2 * hidden + i]);
			float out = sigmoid(g[3 * hidden] + rec[3 * hidden + i]);

			c[i] = forget * c[i] + in * fresh;
			h[i] = out * sg_tanh_f32(c[i]);
			g[0] = in;
			g[hidden] = forget;
			g[2 * hidden] = fresh;
			g[3 * hidden] = out;
		} else if (mode == CUDNN_GRU) {
			float reset = sigmoid(g[0] + rec[i]), update = sigmoid(g[hidden] + rec[hidden + i]);
			float fresh = sg_tanh_f32(g[2 * hidden] + reset * rec[2 * hidden + i]);

			recurrent[i] = rec[2 * hidden + i];
			h[i] = (1 - update) * fresh + update * h[i];
			g[0] = reset;
			g[hidden] = update;
			g[2 * hidden] = fresh;
		} else {
			float x = g[0] + rec[i];

			h[i] = mode == CUDNN_RNN_TANH ? sg_tanh_f32(x) : x > 0 ? x : 0;
			g[0] = h[i];
		}
	}
}

static void add_bias(const float *weights, int64_t at, float *rows, int64_t count, int width)
{
	for (int64_t r = 0; at >= 0 && r < count; r++) {
		for (int i = 0; i < width; i++)
			rows[r * width + i] += weights[at + i];
	}
}

static int run_layer(const struct layer *l)
{
	const struct sg_rnn_job *job = l->job;
	int64_t rows = (int64_t)job->steps * job->batch;

	if (apply(job->weights + l->parts.w, l->gates, l->parts.input_size, rows, l->input, l->kept.gates,
		    false) != 0)
		return -1;
	add_bias(job->weights, l->parts.w_bias, l->kept.gates, rows, l->gates);
	take_state(l, job->hx, l->h);
	take_state(l, job->cx, l->c);
	for (int t = 0; t < job->steps; t++) {
		if (apply(job->weights + l->parts.r, l->gates, l->hidden, job->batch, l->h, l->product,
			    false) != 0)
			return -1;
		add_bias(job->weights, l->parts.r_bias, l->product, job->batch, l->gates);
		for (int n = 0; n < job->batch; n++) {
			int64_t row = (int64_t)t * job->batch + n;
			float *h = l->h + (int64_t)n * l->hidden, *c = l->c + (int64_t)n * l->hidden;

			if (t < job->length[n])
				step_cell(l, l->kept.gates + row * l->gates,
					l->product + (int64_t)n * l->gates, h, c,
					l->kept.recurrent + row * l->hidden);
			memcpy(l->kept.hidden + row * l->hidden, h, (size_t)l->hidden * sizeof(*h));
			memcpy(l->kept.cell + row * l->hidden, c, (size_t)l->hidden * sizeof(*c));
		}
	}
	give_state(l, l->h, job->hy);
	give_state(l, l->c, job->cy);
	return 0;
}

static int run_forward(const struct sg_rnn_job *job)
{
	move_rows(
		job, job->x_layout, job->rnn.input_size, (float *)(uintptr_t)job->x, job->kept, false, NULL);
	for (int number = 0; number < job->rnn.layers; number++) {
		struct layer layer = open_layer(job, number);

		if (run_layer(&layer) != 0)
			return -1;
	}
	move_rows(job, job->y_layout, job->rnn.hidden_size, job->y, kept_of(job, job->rnn.layers - 1).hidden,
		true, job->fills_y ? &job->y_fill : NULL);
	return 0;
}

/* ---- backward ---- */

/* The state before a step: the one kept of the step before, or what the pass began with. */
static const float *state_before(const struct layer *l, const float *kept, const float *first, int t, int n)
{
	int64_t hidden = l->hidden, batch = l->job->batch;

	if (t > 0)
		return kept + ((t - 1) * batch + n) * hidden;
	return first == NULL ? NULL : first + (l->number * batch + n) * hidden;
}

/* One row of one step: from dh and dc, the slopes; dc and, of a GRU, the direct part of dh go one step back.
 */
static void step_cell_back(const struct layer *l, int t, int n, float *slopes, float *dh, float *dc)
{
	const struct sg_rnn_job *job = l->job;
	int64_t row = (int64_t)t * job->batch + n;
	int hidden = l->hidden;
	const float *g = l->kept.gates + row * l->gates, *cell = l->kept.cell + row * hidden;
	const float *recurrent = l->kept.recurrent + row * hidden;
	const float *h_before = state_before(l, l->kept.hidden, job->hx, t, n);
	const float *c_before = state_before(l, l->kept.cell, job->cx, t, n);

	for (int i = 0; i < hidden; i++) {
		float before;

		if (job->rnn.mode == CUDNN_LSTM) {
			float in = g[i], forget = g[hidden + i], fresh = g[2 * hidden + i],
			      out = g[3 * hidden + i];
			float tanh_c = sg_tanh_f32(cell[i]), d = dc[i] + dh[i] * out * (1 - tanh_c * tanh_c);

			before = c_before == NULL ? 0 : c_before[i];
			slopes[i] = d * fresh * in * (1 - in);
			slopes[hidden + i] = d * before * forget * (1 - forget);
			slopes[2 * hidden + i] = d * in * (1 - fresh * fresh);
			slopes[3 * hidden + i] = dh[i] * tanh_c * out * (1 - out);
			dc[i] = d * forget;
			dh[i] = 0;
		} else if (job->rnn.mode == CUDNN_GRU) {
			float reset = g[i], update = g[hidden + i], fresh = g[2 * hidden + i];
			float d = dh[i] * (1 - update) * (1 - fresh * fresh);

			before = h_before == NULL ? 0 : h_before[i];
			slopes[i] = d * recurrent[i] * reset * (1 - reset);
			slopes[hidden + i] = dh[i] * (before - fresh) * update * (1 - update);
			slopes[2 * hidden + i] = d;
			dh[i] *= update;
		} else {
			slopes[i] = dh[i] * (job->rnn.mode == CUDNN_RNN_TANH ? 1 - g[i] * g[i]
						    : g[i] > 0               ? 1
									     : 0);
			dh[i] = 0;
		}
	}
}

/* The slopes as the last state's product sees them: a GRU's reset gate stands before one of them. */
static void take_recurrent_slopes(const struct layer *l, int t, float *to)
{
	int64_t first = (int64_t)t * l->job->batch;

	memcpy(to, l->kept.slopes + first * l->gates, (size_t)l->job->batch * (size_t)l->gates * sizeof(*to));
	for (int n = 0; l->job->rnn.mode == CUDNN_GRU && n < l->job->batch; n++) {
		for (int i = 0; i < l->hidden; i++)
			to[n * l->gates + 2 * l->hidden + i] *= l->kept.gates[(first + n) * l->gates + i];
	}
}

/* dout: the gradient with respect to the layer's output; din: to its input. */
static int run_layer_back(const struct layer *l, const float *dout, float *din)
{
	const struct sg_rnn_job *job = l->job;

	take_state(l, job->dhy, l->h);
	take_state(l, job->dcy, l->c);
	for (int t = job->steps - 1; t >= 0; t--) {
		for (int n = 0; n < job->batch; n++) {
			int64_t row = (int64_t)t * job->batch + n;
			float *dh = l->h + (int64_t)n * l->hidden, *dc = l->c + (int64_t)n * l->hidden;
			float *slopes = l->kept.slopes + row * l->gates;

			memset(slopes, 0, (size_t)l->gates * sizeof(*slopes));
			for (int i = 0; t < job->length[n] && i < l->hidden; i++)
				dh[i] += dout[row * l->hidden + i];
			if (t < job->length[n])
				step_cell_back(l, t, n, slopes, dh, dc);
		}
		take_recurrent_slopes(l, t, l->product);
		if (apply(job->weights + l->parts.r, l->gates, l->hidden, job->batch, l->product, l->spare,
			    true) != 0)
			return -1;
		for (int64_t i = 0; i < (int64_t)job->batch * l->hidden; i++)
			l->h[i] += l->spare[i];
	}
	give_state(l, l->h, job->dhx);
	give_state(l, l->c, job->dcx);
	return apply(job->weights + l->parts.w, l->gates, l->parts.input_size,
		(int64_t)job->steps * job->batch, l->kept.slopes, din, true);
}

static int run_backward(const struct sg_rnn_job *job)
{
	int which = 0;

	move_rows(job, job->y_layout, job->rnn.hidden_size, (float *)(uintptr_t)job->dy, flow(job, 0), false,
		NULL);
	for (int number = job->rnn.layers - 1; number >= 0; number--) {
		struct layer layer = open_layer(job, number);

		if (run_layer_back(&layer, flow(job, which), flow(job, 1 - which)) != 0)
			return -1;
		which = 1 - which;
	}
	if (job->dx != NULL)
		move_rows(job, job->x_layout, job->rnn.input_size, job->dx, flow(job, which), true,
			job->fills_x ? &job->x_fill : NULL);
	return 0;
}

static void sum_rows(const float *rows, int64_t count, int width, float *to)
{
	for (int64_t r = 0; r < count; r++) {
		for (int i = 0; i < width; i++)
			to[i] += rows[r * width + i];
	}
}

/* From the slopes that the backward pass has left. */
static int run_weights(const struct sg_rnn_job *job)
{
	int64_t rows = (int64_t)job->steps * job->batch;

	for (int number = 0; number < job->rnn.layers; number++) {
		struct layer l = open_layer(job, number);

		if (collect(l.kept.slopes, l.gates, l.input, l.parts.input_size, rows,
			    job->dweights + l.parts.w) != 0)
			return -1;
		if (l.parts.w_bias >= 0)
			sum_rows(l.kept.slopes, rows, l.gates, job->dweights + l.parts.w_bias);
		take_state(&l, job->hx, l.h);
		for (int t = 0; t < job->steps; t++) {
			const float *before =
				t == 0 ? l.h : l.kept.hidden + (int64_t)(t - 1) * job->batch * l.hidden;

			take_recurrent_slopes(&l, t, l.product);
			if (collect(l.product, l.gates, before, l.hidden, job->batch,
				    job->dweights + l.parts.r) != 0)
				return -1;
			if (l.parts.r_bias >= 0)
				sum_rows(l.product, job->batch, l.gates, job->dweights + l.parts.r_bias);
		}
	}
	return 0;
}

void sg_rnn_run(void *arg)
{
	const struct sg_rnn_job *job = arg;
	int status = job->is_weights    ? run_weights(job)
		     : job->is_backward ? run_backward(job)
					: run_forward(job);

	if (status != 0)
		sg_async_error(job->device, cudaErrorUnknown);
}
