/*
 * Checks the recurrent networks of the stand-in cuDNN: all cells, several layers, sequences of different
 * lengths in the three layouts, against the cells' formulas in double precision; gradients against
 * differences of these; descriptors and what the calls answer to wrong arguments.
 */
#include "test_compute.h"

enum { STEPS = 4, BATCH = 3, HIDDEN_MAX = 4, LAYERS_MAX = 2, LINES_MAX = 8 };

static const int lengths[BATCH] = {4, 3, 1};

struct network {
	cudnnRNNMode_t mode;
	cudnnRNNBiasMode_t bias;
	int layers, input, hidden;
	cudnnRNNDataLayout_t layout;
	bool has_state; /* begins with given states, and gradients come in by the last ones too */
};

static const struct network networks[] = {
	{CUDNN_RNN_RELU, CUDNN_RNN_DOUBLE_BIAS, 1, 5, 4, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, true},
	{CUDNN_RNN_TANH, CUDNN_RNN_SINGLE_INP_BIAS, 2, 3, 4, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, true},
	{CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS, 2, 5, 4, CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED, true},
	{CUDNN_LSTM, CUDNN_RNN_NO_BIAS, 1, 5, 3, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, false},
	{CUDNN_GRU, CUDNN_RNN_DOUBLE_BIAS, 2, 4, 4, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, true},
	{CUDNN_GRU, CUDNN_RNN_SINGLE_REC_BIAS, 1, 2, 4, CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED, false},
};

/* An array of floats on both sides. */
struct floats {
	size_t count;
	double value[1024];
	void *device;
};

static void make_floats(struct floats *f, size_t count)
{
	float copy[1024];

	if (count > 1024)
		abort();
	f->count = count;
	for (size_t i = 0; i < count; i++)
		f->value[i] = (double)(copy[i] = (float)next_random());
	CUDA(cudaMalloc(&f->device, (count + 1) * sizeof(*copy)));
	CUDA(cudaMemcpy(f->device, copy, count * sizeof(*copy), cudaMemcpyHostToDevice));
}

static void compare_floats(int line, const struct floats *f, double tolerance)
{
	float copy[1024];

	CUDA(cudaMemcpy(copy, f->device, f->count * sizeof(*copy), cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < f->count; i++) {
		if (fabs((double)copy[i] - f->value[i]) <= tolerance * (1 + fabs(f->value[i])))
			continue;
		failures++;
		printf("line %d: %s: at %zu of %zu: %.9g, expected %.9g\n", line, case_name, i, f->count,
			(double)copy[i], f->value[i]);
		return;
	}
}
#define COMPARE_FLOATS(f, tolerance) compare_floats(__LINE__, f, tolerance)

/* Everything of one case, on both sides. */
struct rnn {
	const struct network *spec;
	cudnnRNNDescriptor_t descriptor;
	cudnnRNNDataDescriptor_t x_desc, y_desc;
	cudnnTensorDescriptor_t h_desc;
	size_t weight_bytes, work_bytes, reserve_bytes;
	void *work, *reserve;
	struct floats x, y, dy, dx, weights, dweights, hx, cx, hy, cy, dhy, dcy, dhx, dcx;
	/* Where in the weights the line (gate, of the input or of the state) of a layer begins; -1: there is
	 * none. */
	int64_t matrix[LAYERS_MAX][LINES_MAX], bias[LAYERS_MAX][LINES_MAX];
};

static int gates_of(cudnnRNNMode_t mode)
{
	return mode == CUDNN_LSTM ? 4 : mode == CUDNN_GRU ? 3 : 1;
}

/* The number of a row of x or y; -1 after the end in the packed layout, which has no such rows. */
static int row_of(const struct network *s, int t, int n)
{
	int row = 0;

	if (s->layout == CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED)
		return n * STEPS + t;
	if (s->layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED)
		return t * BATCH + n;
	if (t >= lengths[n])
		return -1;
	for (int i = 0; i < t * BATCH + n; i++)
		row += i / BATCH < lengths[i % BATCH];
	return row;
}

static int row_count(const struct network *s)
{
	return s->layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED ? 8 : STEPS * BATCH;
}

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

/* A line's product with v, and its bias. */
static double line(const struct rnn *r, int layer, int number, int i, const double *v, int width)
{
	double sum = r->bias[layer][number] < 0 ? 0 : r->weights.value[r->bias[layer][number] + i];

	for (int k = 0; k < width; k++)
		sum += r->weights.value[r->matrix[layer][number] + i * width + k] * v[k];
	return sum;
}

/* One step of one sequence in one layer, by the formulas of the documentation. */
static void step(const struct rnn *r, int layer, const double *in, int width, double *h, double *c)
{
	int hidden = r->spec->hidden, gates = gates_of(r->spec->mode);
	double before[HIDDEN_MAX];

	memcpy(before, h, sizeof(before));
	for (int i = 0; i < hidden; i++) {
		double a[4] = {0}, b[4] = {0};

		for (int g = 0; g < gates; g++) {
			a[g] = line(r, layer, g, i, in, width);
			b[g] = line(r, layer, gates + g, i, before, hidden);
		}
		if (r->spec->mode == CUDNN_LSTM) {
			c[i] = sigmoid(a[1] + b[1]) * c[i] + sigmoid(a[0] + b[0]) * tanh(a[2] + b[2]);
			h[i] = sigmoid(a[3] + b[3]) * tanh(c[i]);
		} else if (r->spec->mode == CUDNN_GRU) {
			double update = sigmoid(a[1] + b[1]);

			h[i] = (1 - update) * tanh(a[2] + sigmoid(a[0] + b[0]) * b[2]) + update * before[i];
		} else {
			h[i] = r->spec->mode == CUDNN_RNN_TANH ? tanh(a[0] + b[0]) : fmax(a[0] + b[0], 0);
		}
	}
}

/* The whole network; y, hy and cy where `keeps`. Returns the loss: the outputs' sum, weighted by dy, dhy and
 * dcy. */
static double run_reference(struct rnn *r, bool keeps)
{
	const struct network *s = r->spec;
	double loss = 0;

	for (int n = 0; n < BATCH; n++) {
		double h[LAYERS_MAX][HIDDEN_MAX] = {{0}}, c[LAYERS_MAX][HIDDEN_MAX] = {{0}};

		for (int i = 0; s->has_state && i < s->layers * s->hidden; i++) {
			int at = (i / s->hidden * BATCH + n) * s->hidden + i % s->hidden;

			h[i / s->hidden][i % s->hidden] = r->hx.value[at];
			c[i / s->hidden][i % s->hidden] = r->cx.value[at];
		}
		for (int t = 0; t < lengths[n]; t++) {
			int row = row_of(s, t, n);
			const double *in = &r->x.value[row * s->input];
			int width = s->input;

			for (int layer = 0; layer < s->layers; layer++) {
				step(r, layer, in, width, h[layer], c[layer]);
				in = h[layer];
				width = s->hidden;
			}
			for (int i = 0; i < s->hidden; i++) {
				loss += in[i] * r->dy.value[row * s->hidden + i];
				if (keeps)
					r->y.value[row * s->hidden + i] = in[i];
			}
		}
		for (int i = 0; s->has_state && i < s->layers * s->hidden; i++) {
			int at = (i / s->hidden * BATCH + n) * s->hidden + i % s->hidden;
			bool is_lstm = s->mode == CUDNN_LSTM;

			loss += h[i / s->hidden][i % s->hidden] * r->dhy.value[at];
			loss += is_lstm ? c[i / s->hidden][i % s->hidden] * r->dcy.value[at] : 0;
			if (keeps)
				r->hy.value[at] = h[i / s->hidden][i % s->hidden];
			if (keeps && is_lstm)
				r->cy.value[at] = c[i / s->hidden][i % s->hidden];
		}
	}
	return loss;
}

static void differences(struct rnn *r, struct floats *which, struct floats *gradient)
{
	for (size_t i = 0; i < which->count; i++) {
		double before = which->value[i], up, down;

		which->value[i] = before + 1e-5;
		up = run_reference(r, false);
		which->value[i] = before - 1e-5;
		down = run_reference(r, false);
		which->value[i] = before;
		gradient->value[i] = (up - down) / 2e-5;
	}
}

static void find_weights(struct rnn *r)
{
	cudnnTensorDescriptor_t matrix = NULL, bias = NULL;
	int lines = 2 * gates_of(r->spec->mode);

	OK(cudnnCreateTensorDescriptor(&matrix));
	OK(cudnnCreateTensorDescriptor(&bias));
	for (int i = 0; i < r->spec->layers * lines; i++) {
		int layer = i / lines, number = i % lines, ndims = 0, dim[8], stride[8];
		cudnnDataType_t type;
		void *m = NULL, *b = NULL;

		OK(cudnnGetRNNWeightParams(handle, r->descriptor, layer, r->weight_bytes, r->weights.device,
			number, matrix, &m, bias, &b));
		OK(cudnnGetTensorNdDescriptor(matrix, 8, &type, &ndims, dim, stride));
		EXPECT(ndims == 3 && dim[1] == r->spec->hidden &&
			dim[2] == (layer == 0 && number < lines / 2 ? r->spec->input : r->spec->hidden));
		r->matrix[layer][number] = (float *)m - (float *)r->weights.device;
		r->bias[layer][number] = b == NULL ? -1 : (float *)b - (float *)r->weights.device;
	}
	OK(cudnnDestroyTensorDescriptor(matrix));
	OK(cudnnDestroyTensorDescriptor(bias));
}

static void make_descriptors(struct rnn *r)
{
	const struct network *s = r->spec;
	const int dim[] = {s->layers, BATCH, s->hidden}, stride[] = {BATCH * s->hidden, s->hidden, 1};
	float y_fill = -7, x_fill = 3;

	OK(cudnnCreateRNNDescriptor(&r->descriptor));
	OK(cudnnSetRNNDescriptor_v8(r->descriptor, CUDNN_RNN_ALGO_STANDARD, s->mode, s->bias,
		CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, CUDNN_FMA_MATH,
		s->input, s->hidden, s->hidden, s->layers, NULL, 1));
	OK(cudnnCreateRNNDataDescriptor(&r->x_desc));
	OK(cudnnCreateRNNDataDescriptor(&r->y_desc));
	OK(cudnnSetRNNDataDescriptor(
		r->x_desc, CUDNN_DATA_FLOAT, s->layout, STEPS, BATCH, s->input, lengths, &x_fill));
	OK(cudnnSetRNNDataDescriptor(
		r->y_desc, CUDNN_DATA_FLOAT, s->layout, STEPS, BATCH, s->hidden, lengths, &y_fill));
	OK(cudnnCreateTensorDescriptor(&r->h_desc));
	OK(cudnnSetTensorNdDescriptor(r->h_desc, CUDNN_DATA_FLOAT, 3, dim, stride));
	OK(cudnnGetRNNWeightSpaceSize(handle, r->descriptor, &r->weight_bytes));
	OK(cudnnGetRNNTempSpaceSizes(handle, r->descriptor, CUDNN_FWD_MODE_TRAINING, r->x_desc,
		&r->work_bytes, &r->reserve_bytes));
	CUDA(cudaMalloc(&r->work, r->work_bytes));
	CUDA(cudaMalloc(&r->reserve, r->reserve_bytes));
}

static void drop_descriptors(struct rnn *r)
{
	OK(cudnnDestroyRNNDescriptor(r->descriptor));
	OK(cudnnDestroyRNNDataDescriptor(r->x_desc));
	OK(cudnnDestroyRNNDataDescriptor(r->y_desc));
	OK(cudnnDestroyTensorDescriptor(r->h_desc));
}

static void make_memory(struct rnn *r)
{
	size_t rows = (size_t)row_count(r->spec),
	       states = (size_t)(r->spec->layers * BATCH * r->spec->hidden);
	struct floats *state[] = {&r->hx, &r->cx, &r->hy, &r->cy, &r->dhy, &r->dcy, &r->dhx, &r->dcx};

	make_floats(&r->x, rows * (size_t)r->spec->input);
	make_floats(&r->dx, r->x.count);
	make_floats(&r->y, rows * (size_t)r->spec->hidden);
	make_floats(&r->dy, r->y.count);
	make_floats(&r->weights, r->weight_bytes / sizeof(float));
	make_floats(&r->dweights, r->weights.count);
	for (size_t i = 0; i < 8; i++)
		make_floats(state[i], states);
}

static void drop_memory(struct rnn *r)
{
	struct floats *all[] = {&r->x, &r->y, &r->dy, &r->dx, &r->weights, &r->dweights, &r->hx, &r->cx,
		&r->hy, &r->cy, &r->dhy, &r->dcy, &r->dhx, &r->dcx};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		CUDA(cudaFree(all[i]->device));
	CUDA(cudaFree(r->work));
	CUDA(cudaFree(r->reserve));
}

/* The three passes, with descriptors that are gone before the work runs. */
static void call(struct rnn *r)
{
	bool has = r->spec->has_state;

#define STATE(f) (has ? (f).device : NULL)
	close_gate();
	OK(cudnnRNNForward(handle, r->descriptor, CUDNN_FWD_MODE_TRAINING, NULL, r->x_desc, r->x.device,
		r->y_desc, r->y.device, r->h_desc, STATE(r->hx), STATE(r->hy), r->h_desc, STATE(r->cx),
		STATE(r->cy), r->weight_bytes, r->weights.device, r->work_bytes, r->work, r->reserve_bytes,
		r->reserve));
	OK(cudnnRNNBackwardData_v8(handle, r->descriptor, NULL, r->y_desc, r->y.device, r->dy.device,
		r->x_desc, r->dx.device, r->h_desc, STATE(r->hx), STATE(r->dhy), STATE(r->dhx), r->h_desc,
		STATE(r->cx), STATE(r->dcy), STATE(r->dcx), r->weight_bytes, r->weights.device, r->work_bytes,
		r->work, r->reserve_bytes, r->reserve));
	OK(cudnnRNNBackwardWeights_v8(handle, r->descriptor, CUDNN_WGRAD_MODE_ADD, NULL, r->x_desc,
		r->x.device, r->h_desc, STATE(r->hx), r->y_desc, r->y.device, r->weight_bytes,
		r->dweights.device, r->work_bytes, r->work, r->reserve_bytes, r->reserve));
	drop_descriptors(r);
	open_gate();
}

/* What y has after the end of a sequence. */
static void fill_behind(struct rnn *r)
{
	for (int i = 0; i < STEPS * BATCH; i++) {
		int row = row_of(r->spec, i / BATCH, i % BATCH);

		for (int k = 0; i / BATCH >= lengths[i % BATCH] && row >= 0 && k < r->spec->hidden; k++)
			r->y.value[row * r->spec->hidden + k] = -7;
	}
}

static void test_network(const struct network *s)
{
	static struct rnn r;
	static struct floats before, gradient;
	char name[64];

	snprintf(
		name, sizeof(name), "mode %d, %d layers, layout %d", (int)s->mode, s->layers, (int)s->layout);
	case_name = name;
	memset(&r, 0, sizeof(r));
	r.spec = s;
	make_descriptors(&r);
	make_memory(&r);
	find_weights(&r);
	before = r.dweights;
	call(&r);
	run_reference(&r, true);
	fill_behind(&r);
	COMPARE_FLOATS(&r.y, 2e-6);
	COMPARE_FLOATS(&r.hy, 2e-6);
	COMPARE_FLOATS(&r.cy, 2e-6);
	gradient = r.dx;
	differences(&r, &r.x, &gradient);
	for (int i = 0; i < STEPS * BATCH; i++) {
		int row = row_of(s, i / BATCH, i % BATCH);

		for (int k = 0; row >= 0 && k < s->input; k++)
			r.dx.value[row * s->input + k] =
				i / BATCH < lengths[i % BATCH] ? gradient.value[row * s->input + k] : 3;
	}
	COMPARE_FLOATS(&r.dx, 1e-5);
	differences(&r, &r.weights, &r.dweights);
	for (size_t i = 0; i < r.dweights.count; i++)
		r.dweights.value[i] += before.value[i];
	COMPARE_FLOATS(&r.dweights, 1e-5);
	if (s->has_state) {
		differences(&r, &r.hx, &r.dhx);
		COMPARE_FLOATS(&r.dhx, 1e-5);
	}
	if (s->has_state && s->mode == CUDNN_LSTM) {
		differences(&r, &r.cx, &r.dcx);
		COMPARE_FLOATS(&r.dcx, 1e-5);
	}
	drop_memory(&r);
}

/* Inference needs no reserve space and gives the same y. */
static void test_inference(void)
{
	static struct rnn r;
	size_t work_bytes = 0, reserve_bytes = 1;
	void *work = NULL;

	case_name = "inference";
	memset(&r, 0, sizeof(r));
	r.spec = &networks[2];
	make_descriptors(&r);
	make_memory(&r);
	find_weights(&r);
	OK(cudnnGetRNNTempSpaceSizes(
		handle, r.descriptor, CUDNN_FWD_MODE_INFERENCE, r.x_desc, &work_bytes, &reserve_bytes));
	EXPECT(reserve_bytes == 0);
	CUDA(cudaMalloc(&work, work_bytes));
	OK(cudnnRNNForward(handle, r.descriptor, CUDNN_FWD_MODE_INFERENCE, NULL, r.x_desc, r.x.device,
		r.y_desc, r.y.device, r.h_desc, r.hx.device, NULL, r.h_desc, r.cx.device, NULL,
		r.weight_bytes, r.weights.device, work_bytes, work, 0, NULL));
	CUDA(cudaStreamSynchronize(stream));
	run_reference(&r, true);
	fill_behind(&r);
	COMPARE_FLOATS(&r.y, 2e-6);
	CUDA(cudaFree(work));
	drop_descriptors(&r);
	drop_memory(&r);
}

static void test_errors(void)
{
	static struct rnn r;
	cudnnRNNDescriptor_t rnn = NULL;
	cudnnRNNDataDescriptor_t data = NULL;
	cudnnRNNMode_t mode;
	cudnnRNNDataLayout_t layout;
	int32_t hidden = 0, layers = 0;
	int got[BATCH] = {0}, steps = 0;
	size_t bytes = 0;
	static const int rising[] = {1, 2, 3}, too_long[] = {5, 1, 1};

	case_name = "errors";
#define BAD(call) EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM, call)
	BAD(cudnnCreateRNNDescriptor(NULL));
	OK(cudnnCreateRNNDescriptor(&rnn));
	BAD(cudnnGetRNNWeightSpaceSize(handle, rnn, &bytes)); /* not set */
#define SET(mode_, direction, input, projection) \
	cudnnSetRNNDescriptor_v8(rnn, CUDNN_RNN_ALGO_STANDARD, mode_, CUDNN_RNN_DOUBLE_BIAS, direction, \
		CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH, input, 4, \
		projection, 2, NULL, 0)
	BAD(SET((cudnnRNNMode_t)9, CUDNN_UNIDIRECTIONAL, 3, 4));
	BAD(SET(CUDNN_LSTM, CUDNN_UNIDIRECTIONAL, 0, 4));
	BAD(SET(CUDNN_LSTM, CUDNN_UNIDIRECTIONAL, 3, 5));
	BAD(SET(CUDNN_GRU, CUDNN_UNIDIRECTIONAL, 3, 2));
	OK(SET(CUDNN_LSTM, CUDNN_BIDIRECTIONAL, 3, 4));
	EXPECT_STATUS(CUDNN_STATUS_NOT_SUPPORTED, cudnnGetRNNWeightSpaceSize(handle, rnn, &bytes));
	OK(SET(CUDNN_LSTM, CUDNN_UNIDIRECTIONAL, 3, 2));
	EXPECT_STATUS(CUDNN_STATUS_NOT_SUPPORTED, cudnnGetRNNWeightSpaceSize(handle, rnn, &bytes));
	OK(SET(CUDNN_LSTM, CUDNN_UNIDIRECTIONAL, 3, 4));
	OK(cudnnGetRNNWeightSpaceSize(handle, rnn, &bytes));
	EXPECT(bytes == (16 * (3 + 4) + 32 + 16 * 8 + 32) * sizeof(float));
	OK(cudnnGetRNNDescriptor_v8(rnn, NULL, &mode, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &hidden, NULL,
		&layers, NULL, NULL));
	EXPECT(mode == CUDNN_LSTM && hidden == 4 && layers == 2);
	OK(cudnnBuildRNNDynamic(handle, rnn, 3));
	OK(cudnnDestroyRNNDescriptor(rnn));
	OK(cudnnCreateRNNDataDescriptor(&data));
	BAD(cudnnSetRNNDataDescriptor(data, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, STEPS,
		BATCH, 2, rising, NULL));
	BAD(cudnnSetRNNDataDescriptor(data, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, STEPS,
		BATCH, 2, too_long, NULL));
	OK(cudnnSetRNNDataDescriptor(data, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, STEPS,
		BATCH, 2, rising, NULL));
	OK(cudnnGetRNNDataDescriptor(data, NULL, &layout, &steps, NULL, NULL, BATCH, got, NULL));
	EXPECT(layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED && steps == STEPS && got[2] == 3);
	memset(&r, 0, sizeof(r));
	r.spec = &networks[2];
	make_descriptors(&r);
	make_memory(&r);
#define FORWARD(y_desc_, work_, reserve_bytes_) \
	cudnnRNNForward(handle, r.descriptor, CUDNN_FWD_MODE_TRAINING, NULL, r.x_desc, r.x.device, y_desc_, \
		r.y.device, r.h_desc, NULL, NULL, r.h_desc, NULL, NULL, r.weight_bytes, r.weights.device, \
		r.work_bytes, work_, reserve_bytes_, r.reserve)
	BAD(FORWARD(data, r.work, r.reserve_bytes)); /* other lengths */
	BAD(FORWARD(r.y_desc, NULL, r.reserve_bytes));
	BAD(FORWARD(r.y_desc, r.work, r.reserve_bytes - 1));
	EXPECT_STATUS(CUDNN_STATUS_NOT_SUPPORTED,
		cudnnRNNBackwardWeights_v8(handle, r.descriptor, CUDNN_WGRAD_MODE_SET, NULL, r.x_desc,
			r.x.device, r.h_desc, NULL, r.y_desc, r.y.device, r.weight_bytes, r.dweights.device,
			r.work_bytes, r.work, r.reserve_bytes, r.reserve));
	OK(cudnnDestroyRNNDataDescriptor(data));
	drop_descriptors(&r);
	drop_memory(&r);
}

int main(void)
{
	begin_tests();
	for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++)
		test_network(&networks[i]);
	test_inference();
	test_errors();
	return end_tests();
}
