/*
 * Checks normalisations and attention of the stand-in cuDNN's backend API against direct loops in double
 * precision, and their gradients against differences of these loops.
 */
#include "test_cudnn_backend.h"

/* ---- normalisations ---- */

#define NORM_COUNT 180 /* of 3 x 4 x 3 x 5 */
#define EPSILON 1e-2f

/* Which of the statistics, or of the parameters of that shape, belongs to element i. */
static int64_t part_of(const int *dim, int64_t i)
{
	int at[] = {(int)(i / 60), (int)(i / 15 % 4), (int)(i / 5 % 3), (int)(i % 5)};
	int64_t part = 0;

	for (int d = 0; d < 4; d++)
		part = part * dim[d] + (dim[d] > 1 ? at[d] : 0);
	return part;
}

struct norm {
	cudnnBackendNormMode_t mode;
	int stats_dim[4], param_dim[4];
};

static const struct norm norms[] = {
	{CUDNN_LAYER_NORM, {3, 1, 1, 1}, {1, 4, 3, 5}},
	{CUDNN_INSTANCE_NORM, {3, 4, 1, 1}, {1, 4, 1, 1}},
	{CUDNN_BATCH_NORM, {1, 4, 1, 1}, {1, 4, 1, 1}},
	{CUDNN_RMS_NORM, {3, 1, 1, 1}, {1, 4, 3, 5}},
};

/* y, and mean and 1 / deviation of each part, of x in the order of its dims. */
static void normalise(const struct norm *norm, const double *x, const double *scale, const double *bias,
	double *y, double *mean, double *inverse)
{
	double sum[NORM_COUNT] = {0}, squares[NORM_COUNT] = {0}, n[NORM_COUNT] = {0};

	for (int64_t i = 0; i < NORM_COUNT; i++) {
		sum[part_of(norm->stats_dim, i)] += x[i];
		n[part_of(norm->stats_dim, i)]++;
	}
	for (int64_t i = 0; i < NORM_COUNT; i++) {
		int64_t part = part_of(norm->stats_dim, i);

		mean[part] = norm->mode == CUDNN_RMS_NORM ? 0 : sum[part] / n[part];
		squares[part] += (x[i] - mean[part]) * (x[i] - mean[part]);
	}
	for (int64_t i = 0; i < NORM_COUNT; i++) {
		int64_t part = part_of(norm->stats_dim, i), param = part_of(norm->param_dim, i);

		inverse[part] = 1 / sqrt(squares[part] / n[part] + (double)EPSILON);
		y[i] = (x[i] - mean[part]) * inverse[part] * scale[param] + bias[param];
	}
}

static double scalar_product(const double *a, const double *b)
{
	double sum = 0;

	for (int i = 0; i < NORM_COUNT; i++)
		sum += a[i] * b[i];
	return sum;
}

/* The gradient of dy * y along `which`, by differences of the loops above. */
static void differences(const struct norm *norm, double *which, int count, const double *x,
	const double *scale, const double *bias, const double *dy, double *gradient)
{
	double y[2][NORM_COUNT], mean[NORM_COUNT], inverse[NORM_COUNT];

	for (int i = 0; i < count; i++) {
		double before = which[i];

		which[i] = before + 1e-5;
		normalise(norm, x, scale, bias, y[0], mean, inverse);
		which[i] = before - 1e-5;
		normalise(norm, x, scale, bias, y[1], mean, inverse);
		which[i] = before;
		gradient[i] = (scalar_product(y[0], dy) - scalar_product(y[1], dy)) / 2e-5;
	}
}

static void to_list(const struct tensor *t, double *list)
{
	for (int64_t i = 0; i < count_of(t); i++)
		list[i] = *element(t, i);
}

static void from_list(struct tensor *t, const double *list)
{
	for (int64_t i = 0; i < count_of(t); i++)
		*element(t, i) = list[i];
}

/* With statistics that are given, or with none: then they are measured again, with the data's layout and no
 * place. */
static void test_norm_inference(const struct norm *norm, bool has_stats)
{
	struct tensor x = make_4d(CUDNN_DATA_FLOAT, PACKED, 3, 4, 3, 5);
	struct tensor y = make_4d(CUDNN_DATA_FLOAT, PACKED, 3, 4, 3, 5);
	struct tensor scale = make_tensor(CUDNN_DATA_FLOAT, PACKED, 4, norm->param_dim);
	struct tensor bias = make_tensor(CUDNN_DATA_FLOAT, PACKED, 4, norm->param_dim);
	struct tensor mean = make_tensor(CUDNN_DATA_FLOAT, PACKED, 4, norm->stats_dim);
	struct tensor inverse = make_tensor(CUDNN_DATA_FLOAT, PACKED, 4, norm->stats_dim);
	double list[6][NORM_COUNT] = {{0}};
	float epsilon = EPSILON;
	descriptor op;

	case_name = "normalisation, inference";
	begin_graph();
	op = make(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
	set_enum(op, CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, (int)norm->mode);
	set_enum(
		op, CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, CUDNN_NORM_FWD_INFERENCE);
	set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, graph_tensor('x', &x));
	set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, graph_tensor('s', &scale));
	set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, graph_tensor('b', &bias));
	set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, graph_tensor('y', &y));
	if (has_stats) {
		set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, graph_tensor('m', &mean));
		set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, graph_tensor('v', &inverse));
	} else {
		set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, scalar_tensor('e', 4, &epsilon));
	}
	add_op(op);
	run_graph();
	to_list(&x, list[0]);
	to_list(&scale, list[1]);
	to_list(&bias, list[2]);
	normalise(norm, list[0], list[1], list[2], list[3], list[4], list[5]);
	for (int64_t i = 0; has_stats && i < NORM_COUNT; i++) {
		int64_t part = part_of(norm->stats_dim, i), param = part_of(norm->param_dim, i);

		list[3][i] = (list[0][i] - mean.value[part]) * inverse.value[part] * list[1][param] +
			     list[2][param];
	}
	from_list(&y, list[3]);
	COMPARE(&y, 1e-5);
	drop_tensor(&x);
	drop_tensor(&y);
	drop_tensor(&scale);
	drop_tensor(&bias);
	drop_tensor(&mean);
	drop_tensor(&inverse);
}

static void test_norm(const struct norm *norm, enum layout layout)
{
	bool is_rms = norm->mode == CUDNN_RMS_NORM, is_batch = norm->mode == CUDNN_BATCH_NORM;
	struct tensor x = make_4d(CUDNN_DATA_FLOAT, layout, 3, 4, 3, 5),
		      y = make_4d(CUDNN_DATA_FLOAT, layout, 3, 4, 3, 5);
	struct tensor dy = make_4d(CUDNN_DATA_FLOAT, layout, 3, 4, 3, 5),
		      dx = make_4d(CUDNN_DATA_FLOAT, layout, 3, 4, 3, 5);
	struct tensor scale = make_tensor(CUDNN_DATA_FLOAT, PACKED, 4, norm->param_dim);
	struct tensor bias = make_tensor(CUDNN_DATA_FLOAT, PACKED, 4, norm->param_dim);
	struct tensor dscale = make_tensor(CUDNN_DATA_FLOAT, PACKED, 4, norm->param_dim);
	struct tensor dbias = make_tensor(CUDNN_DATA_FLOAT, PACKED, 4, norm->param_dim);
	struct tensor mean = make_tensor(CUDNN_DATA_FLOAT, PACKED, 4, norm->stats_dim);
	struct tensor inverse = make_tensor(CUDNN_DATA_FLOAT, PACKED, 4, norm->stats_dim);
	struct tensor running = make_tensor(CUDNN_DATA_FLOAT, PACKED, 4, norm->stats_dim);
	struct tensor new_running = make_tensor(CUDNN_DATA_FLOAT, PACKED, 4, norm->stats_dim);
	double list[7][NORM_COUNT] = {{0}}; /* x, scale, bias, y, mean, inverse, dy */
	double gradient[NORM_COUNT];
	float epsilon = EPSILON, factor = 0.25f;
	descriptor op, input;

	case_name = "normalisation";
	begin_graph();
	op = make(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
	set_enum(op, CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, (int)norm->mode);
	set_enum(op, CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, CUDNN_NORM_FWD_TRAINING);
	input = graph_tensor('x', &x);
	set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, input);
	if (!is_rms)
		set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, graph_tensor('m', &mean));
	set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, graph_tensor('v', &inverse));
	set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, graph_tensor('s', &scale));
	for (size_t i = 0; is_rms && i < bias.span; i++)
		bias.value[i] = 0;
	if (!is_rms)
		set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, graph_tensor('b', &bias));
	set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, scalar_tensor('e', 4, &epsilon));
	set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, graph_tensor('y', &y));
	if (is_batch) {
		set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC,
			scalar_tensor('f', 4, &factor));
		set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC,
			graph_tensor('o', &running));
		set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC,
			graph_tensor('n', &new_running));
	}
	add_op(op);
	run_graph();
	to_list(&x, list[0]);
	to_list(&scale, list[1]);
	to_list(&bias, list[2]);
	to_list(&dy, list[6]);
	normalise(norm, list[0], list[1], list[2], list[3], list[4], list[5]);
	from_list(&y, list[3]);
	COMPARE(&y, 1e-5);
	if (!is_rms)
		from_list(&mean, list[4]);
	from_list(&inverse, list[5]);
	COMPARE(&mean, 1e-5);
	COMPARE(&inverse, 1e-5);
	for (int c = 0; is_batch && c < 4; c++) {
		double variance = 1 / (list[5][c] * list[5][c]) - (double)EPSILON;

		new_running.value[c] = 0.75 * running.value[c] + 0.25 * variance * 45 / 44;
	}
	COMPARE(&new_running, 1e-5);

	case_name = "normalisation's gradients";
	begin_graph();
	op = make(CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
	set_enum(op, CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE, (int)norm->mode);
	set_part(op, CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, graph_tensor('x', &x));
	if (!is_rms)
		set_part(op, CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, graph_tensor('m', &mean));
	set_part(op, CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, graph_tensor('v', &inverse));
	set_part(op, CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, graph_tensor('s', &scale));
	set_part(op, CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, graph_tensor('g', &dy));
	set_part(op, CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, graph_tensor('d', &dx));
	set_part(op, CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, graph_tensor('a', &dscale));
	set_part(op, CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, graph_tensor('c', &dbias));
	add_op(op);
	run_graph();
	differences(norm, list[0], NORM_COUNT, list[0], list[1], list[2], list[6], gradient);
	from_list(&dx, gradient);
	COMPARE(&dx, 2e-5);
	differences(norm, list[1], (int)count_of(&scale), list[0], list[1], list[2], list[6], gradient);
	from_list(&dscale, gradient);
	COMPARE(&dscale, 2e-5);
	differences(norm, list[2], (int)count_of(&bias), list[0], list[1], list[2], list[6], gradient);
	from_list(&dbias, gradient);
	COMPARE(&dbias, 2e-5);

	struct tensor *const all[] = {
		&x, &y, &dy, &dx, &scale, &bias, &dscale, &dbias, &mean, &inverse, &running, &new_running};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		drop_tensor(all[i]);
}

/* A batch normalisation in parts: what they say about x and dy, put together, is the whole's y and dx. */
static void test_batchnorm_parts(void)
{
	static const int per_channel[] = {1, 4, 1, 1};
	const struct norm *norm = &norms[2];
	struct tensor x = make_4d(CUDNN_DATA_FLOAT, CHANNELS_LAST, 3, 4, 3, 5);
	struct tensor dy = make_4d(CUDNN_DATA_FLOAT, PACKED, 3, 4, 3, 5);
	struct tensor t[14]; /* one number per channel */
	enum {
		SUM,
		SQUARES,
		SCALE,
		BIAS,
		MEAN,
		INVERSE,
		EQ_SCALE,
		EQ_BIAS,
		DSCALE,
		DBIAS,
		EQ_DY,
		EQ_X,
		EQ_DX_BIAS,
		OLD
	};
	double list[7][NORM_COUNT] = {{0}}, gradient[NORM_COUNT], *got[14];
	float count = 45, epsilon = EPSILON;
	descriptor op, d[14];

	case_name = "batch normalisation in parts";
	for (int i = 0; i < 14; i++)
		t[i] = make_tensor(CUDNN_DATA_FLOAT, PACKED, 4, per_channel);
	begin_graph();
	for (int i = 0; i < 14; i++)
		d[i] = graph_tensor(1000 + i, &t[i]);
	op = make(CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR);
	set_part(op, CUDNN_ATTR_OPERATION_GENSTATS_XDESC, graph_tensor('x', &x));
	set_part(op, CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, d[SUM]);
	set_part(op, CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, d[SQUARES]);
	add_op(op);
	op = make(CUDNN_BACKEND_OPERATION_BN_FINALIZE_STATISTICS_DESCRIPTOR);
	set_enum(op, CUDNN_ATTR_OPERATION_BN_FINALIZE_STATS_MODE, CUDNN_TYPE_BN_FINALIZE_STATS_MODE,
		CUDNN_BN_FINALIZE_STATISTICS_TRAINING);
	set_part(op, CUDNN_ATTR_OPERATION_BN_FINALIZE_Y_SUM_DESC, d[SUM]);
	set_part(op, CUDNN_ATTR_OPERATION_BN_FINALIZE_Y_SQ_SUM_DESC, d[SQUARES]);
	set_part(op, CUDNN_ATTR_OPERATION_BN_FINALIZE_SCALE_DESC, d[SCALE]);
	set_part(op, CUDNN_ATTR_OPERATION_BN_FINALIZE_BIAS_DESC, d[BIAS]);
	set_part(op, CUDNN_ATTR_OPERATION_BN_FINALIZE_ACCUM_COUNT_DESC, scalar_tensor('n', 4, &count));
	set_part(op, CUDNN_ATTR_OPERATION_BN_FINALIZE_EPSILON_DESC, scalar_tensor('e', 4, &epsilon));
	set_part(op, CUDNN_ATTR_OPERATION_BN_FINALIZE_SAVED_MEAN_DESC, d[MEAN]);
	set_part(op, CUDNN_ATTR_OPERATION_BN_FINALIZE_SAVED_INV_STD_DESC, d[INVERSE]);
	set_part(op, CUDNN_ATTR_OPERATION_BN_FINALIZE_EQ_SCALE_DESC, d[EQ_SCALE]);
	set_part(op, CUDNN_ATTR_OPERATION_BN_FINALIZE_EQ_BIAS_DESC, d[EQ_BIAS]);
	add_op(op);
	op = make(CUDNN_BACKEND_OPERATION_BN_BWD_WEIGHTS_DESCRIPTOR);
	set_part(op, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MEAN_DESC, d[MEAN]);
	set_part(op, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_INVSTD_DESC, d[INVERSE]);
	set_part(op, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_BN_SCALE_DESC, d[SCALE]);
	set_part(op, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_X_DESC, graph_tensor('x', &x));
	set_part(op, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DY_DESC, graph_tensor('g', &dy));
	set_part(op, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_SCALE_DESC, d[DSCALE]);
	set_part(op, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_BIAS_DESC, d[DBIAS]);
	set_part(op, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC, d[EQ_DY]);
	set_part(op, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_X_SCALE_DESC, d[EQ_X]);
	set_part(op, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_BIAS, d[EQ_DX_BIAS]);
	add_op(op);
	run_graph();
	to_list(&x, list[0]);
	to_list(&t[SCALE], list[1]);
	to_list(&t[BIAS], list[2]);
	to_list(&dy, list[6]);
	normalise(norm, list[0], list[1], list[2], list[3], list[4], list[5]);
	for (int i = 0; i < 14; i++)
		got[i] = download(&t[i]);
	differences(norm, list[0], NORM_COUNT, list[0], list[1], list[2], list[6], gradient);
	for (int64_t i = 0; i < NORM_COUNT; i++) {
		int64_t c = i / 15 % 4;

		EXPECT(fabs(got[EQ_SCALE][c] * list[0][i] + got[EQ_BIAS][c] - list[3][i]) < 1e-5);
		EXPECT(fabs(got[EQ_DY][c] * list[6][i] + got[EQ_X][c] * list[0][i] + got[EQ_DX_BIAS][c] -
			       gradient[i]) < 1e-5);
	}
	from_list(&t[MEAN], list[4]);
	from_list(&t[INVERSE], list[5]);
	COMPARE(&t[MEAN], 1e-5);
	COMPARE(&t[INVERSE], 1e-5);
	differences(norm, list[1], 4, list[0], list[1], list[2], list[6], gradient);
	from_list(&t[DSCALE], gradient);
	COMPARE(&t[DSCALE], 2e-5);
	differences(norm, list[2], 4, list[0], list[1], list[2], list[6], gradient);
	from_list(&t[DBIAS], gradient);
	COMPARE(&t[DBIAS], 2e-5);
	for (int i = 0; i < 14; i++) {
		free(got[i]);
		drop_tensor(&t[i]);
	}
	drop_tensor(&x);
	drop_tensor(&dy);
}

/* ---- attention ---- */

#define SCALE 0.75
enum { BATCH = 2, HEADS = 4, OWN_HEADS = 2, QUERIES = 5, KEYS = 6, WIDTH = 3, V_WIDTH = 4 };

/* sum(o * d_o) of attention by the definition; o and stats are filled in where they are not NULL. */
static double attend(struct tensor *q, struct tensor *k, struct tensor *v, struct tensor *o,
	struct tensor *stats, const struct tensor *d_o)
{
	double total = 0;

	for (int r = 0; r < BATCH * HEADS * QUERIES; r++) {
		int row = r % QUERIES, head = r / QUERIES % HEADS, n = r / QUERIES / HEADS;
		int own = n * OWN_HEADS + head / (HEADS / OWN_HEADS);
		double p[KEYS], sum = 0;

		for (int j = 0; j < KEYS; j++) {
			p[j] = 0;
			for (int c = 0; c < WIDTH; c++)
				p[j] += *element(q, (int64_t)r * WIDTH + c) *
					*element(k, (own * KEYS + j) * WIDTH + c);
			p[j] = exp(SCALE * p[j]);
			sum += p[j];
		}
		for (int c = 0; c < V_WIDTH; c++) {
			double value = 0;

			for (int j = 0; j < KEYS; j++)
				value += p[j] / sum * *element(v, (own * KEYS + j) * V_WIDTH + c);
			if (o != NULL)
				*element(o, (int64_t)r * V_WIDTH + c) = value;
			total += value * *element(d_o, (int64_t)r * V_WIDTH + c);
		}
		if (stats != NULL)
			*element(stats, (n * HEADS + head) * QUERIES + row) = log(sum);
	}
	return total;
}

static void check_gradient(struct tensor *which, struct tensor *gradient, struct tensor *q, struct tensor *k,
	struct tensor *v, const struct tensor *d_o)
{
	for (int64_t i = 0; i < count_of(which); i++) {
		double before = *element(which, i), up, down;

		*element(which, i) = before + 1e-5;
		up = attend(q, k, v, NULL, NULL, d_o);
		*element(which, i) = before - 1e-5;
		down = attend(q, k, v, NULL, NULL, d_o);
		*element(which, i) = before;
		*element(gradient, i) = (up - down) / 2e-5;
	}
	COMPARE(gradient, 2e-5);
}

static void test_attention(void)
{
	static const int q_dim[] = {BATCH, HEADS, QUERIES, WIDTH}, k_dim[] = {BATCH, OWN_HEADS, KEYS, WIDTH};
	static const int v_dim[] = {BATCH, OWN_HEADS, KEYS, V_WIDTH},
			 o_dim[] = {BATCH, HEADS, QUERIES, V_WIDTH};
	static const int stats_dim[] = {BATCH, HEADS, QUERIES, 1};
	enum { Q, K, V, O, STATS, DQ, DK, DV, DO, ALL };
	const int *dims[] = {q_dim, k_dim, v_dim, o_dim, stats_dim, q_dim, k_dim, v_dim, o_dim};
	struct tensor t[ALL];
	float scale = SCALE;
	descriptor op;

	case_name = "attention";
	for (int i = 0; i < ALL; i++)
		t[i] = make_tensor(CUDNN_DATA_FLOAT, i == K || i == DO ? GAPS : PACKED, 4, dims[i]);
	begin_graph();
	op = make(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
	set_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, graph_tensor('q', &t[Q]));
	set_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, graph_tensor('k', &t[K]));
	set_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, graph_tensor('v', &t[V]));
	set_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, graph_tensor('o', &t[O]));
	set_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC, graph_tensor('s', &t[STATS]));
	set_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, scalar_tensor('c', 4, &scale));
	add_op(op);
	run_graph();
	attend(&t[Q], &t[K], &t[V], &t[O], &t[STATS], &t[DO]);
	COMPARE(&t[O], 1e-5);
	COMPARE(&t[STATS], 1e-5);
	case_name = "attention's gradients";
	begin_graph();
	op = make(CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR);
	set_part(op, CUDNN_ATTR_OPERATION_SDPA_BWD_QDESC, graph_tensor('q', &t[Q]));
	set_part(op, CUDNN_ATTR_OPERATION_SDPA_BWD_KDESC, graph_tensor('k', &t[K]));
	set_part(op, CUDNN_ATTR_OPERATION_SDPA_BWD_VDESC, graph_tensor('v', &t[V]));
	set_part(op, CUDNN_ATTR_OPERATION_SDPA_BWD_ODESC, graph_tensor('o', &t[O]));
	set_part(op, CUDNN_ATTR_OPERATION_SDPA_BWD_STATSDESC, graph_tensor('s', &t[STATS]));
	set_part(op, CUDNN_ATTR_OPERATION_SDPA_BWD_SCALEDESC, scalar_tensor('c', 4, &scale));
	set_part(op, CUDNN_ATTR_OPERATION_SDPA_BWD_DQDESC, graph_tensor(1, &t[DQ]));
	set_part(op, CUDNN_ATTR_OPERATION_SDPA_BWD_DKDESC, graph_tensor(2, &t[DK]));
	set_part(op, CUDNN_ATTR_OPERATION_SDPA_BWD_DVDESC, graph_tensor(3, &t[DV]));
	set_part(op, CUDNN_ATTR_OPERATION_SDPA_BWD_DODDESC, graph_tensor(4, &t[DO]));
	add_op(op);
	run_graph();
	check_gradient(&t[Q], &t[DQ], &t[Q], &t[K], &t[V], &t[DO]);
	check_gradient(&t[K], &t[DK], &t[Q], &t[K], &t[V], &t[DO]);
	check_gradient(&t[V], &t[DV], &t[Q], &t[K], &t[V], &t[DO]);
	for (int i = 0; i < ALL; i++)
		drop_tensor(&t[i]);
}

int main(void)
{
	begin_tests();
	for (size_t i = 0; i < sizeof(norms) / sizeof(norms[0]); i++) {
		test_norm(&norms[i], PACKED);
		test_norm(&norms[i], CHANNELS_LAST);
		test_norm_inference(&norms[i], true);
	}
	test_norm_inference(&norms[0], false);
	test_norm_inference(&norms[3], false);
	test_batchnorm_parts();
	test_attention();
	return end_tests();
}
