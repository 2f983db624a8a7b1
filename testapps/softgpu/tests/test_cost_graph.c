/*
 * Checks what the plans of cuDNN's backend cost: single operations against closed forms, and of fused ones
 * that the flops are the main operation's and that what stays between two steps touches no memory.
 */
#include "test_cost.h"
#include "test_cudnn_backend.h"

#include "cudnn/backend_later.h"

static struct tensor floats(int ndims, const int *dim)
{
	return make_tensor(CUDNN_DATA_FLOAT, PACKED, ndims, dim);
}

static descriptor convolution(int ndims, int pad, int stride)
{
	const int64_t pads[] = {pad, pad, pad}, strides[] = {stride, stride, stride}, ones[] = {1, 1, 1};
	descriptor d = make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);

	set_enum(d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
	set_enum(d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
	set_int(d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, ndims);
	set_ints(d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, ndims, pads);
	set_ints(d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, ndims, pads);
	set_ints(d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, ndims, strides);
	set_ints(d, CUDNN_ATTR_CONVOLUTION_DILATIONS, ndims, ones);
	return finalized(d);
}

static void add_convolution(descriptor conv, descriptor x, descriptor w, descriptor y, double beta)
{
	descriptor op = make(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);

	set_part(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
	set_part(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w);
	set_part(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
	set_part(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, conv);
	set_double(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1);
	set_double(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, beta);
	add_op(op);
}

/* y = relu(convolution + bias), the two values in between virtual. */
static void test_fused_convolution(void)
{
	struct tensor x = floats(4, (const int[]){2, 3, 8, 8}), w = floats(4, (const int[]){4, 3, 3, 3});
	struct tensor b = floats(4, (const int[]){1, 4, 1, 1}), y = floats(4, (const int[]){2, 4, 8, 8});
	const double flops = 2.0 * 2 * 4 * 64 * 3 * 9;
	const double bytes = 4.0 * (2 * 3 * 64 + 4 * 3 * 9 + 2 * 4 * 64);
	descriptor made, sum;

	begin_graph();
	made = virtual_like(1, &y);
	sum = virtual_like(2, &y);
	add_convolution(convolution(2, 1, 1), graph_tensor('x', &x), graph_tensor('w', &w), made, 0);
	add_pointwise(CUDNN_POINTWISE_ADD, made, graph_tensor('b', &b), sum);
	add_pointwise(CUDNN_POINTWISE_RELU_FWD, sum, NULL, graph_tensor('y', &y));
	run_graph();
	EXPECT_COST(CONVOLUTION, TF32, flops, bytes + 4 * 4);
	/* The convolution's own result asked for too, to which the next step adds. */
	begin_graph();
	made = graph_tensor(1, &y);
	add_convolution(convolution(2, 1, 1), graph_tensor('x', &x), graph_tensor('w', &w), made, 0);
	add_pointwise(CUDNN_POINTWISE_ADD, made, graph_tensor('b', &b), virtual_like(2, &y));
	run_graph();
	EXPECT_COST(CONVOLUTION, TF32, flops, bytes + 4 * 4);
	begin_graph();
	add_convolution(
		convolution(2, 1, 1), graph_tensor('x', &x), graph_tensor('w', &w), graph_tensor('y', &y), 1);
	run_graph();
	EXPECT_COST(CONVOLUTION, TF32, flops, bytes + 4.0 * 2 * 4 * 64);
	drop_tensor(&x);
	drop_tensor(&w);
	drop_tensor(&b);
	drop_tensor(&y);
}

static void test_convolution_3d(void)
{
	struct tensor x = floats(5, (const int[]){2, 4, 6, 6, 6}),
		      w = floats(5, (const int[]){4, 1, 3, 3, 3});
	struct tensor y = floats(5, (const int[]){2, 4, 3, 3, 3});

	begin_graph();
	add_convolution(
		convolution(3, 1, 2), graph_tensor('x', &x), graph_tensor('w', &w), graph_tensor('y', &y), 0);
	run_graph();
	EXPECT_COST(DEPTHWISE, F32, 2.0 * 2 * 4 * 27 * 27, 4.0 * (2 * 4 * 216 + 4 * 27 + 2 * 4 * 27));
	drop_tensor(&x);
	drop_tensor(&w);
	drop_tensor(&y);
}

/* Half precision lies in half the memory: make_tensor's floats are room enough. */
static descriptor half_tensor(int64_t uid, const struct tensor *t)
{
	bind(uid, t->device);
	return finalized(open_tensor(uid, CUDNN_DATA_HALF, t->ndims, t->dim, t->stride));
}

static void add_matmul(descriptor a, descriptor b, descriptor c)
{
	descriptor how = make(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
	descriptor op = make(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);

	set_enum(how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
	set_part(op, CUDNN_ATTR_OPERATION_MATMUL_DESC, finalized(how));
	set_part(op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
	set_part(op, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
	set_part(op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
	add_op(op);
}

static void test_matmul(void)
{
	struct tensor a = floats(3, (const int[]){3, 5, 11}), b = floats(3, (const int[]){1, 11, 7});
	struct tensor c = floats(3, (const int[]){3, 5, 7});
	const double flops = 2.0 * 3 * 5 * 7 * 11, elements = 3 * 5 * 11 + 11 * 7 + 3 * 5 * 7;

	begin_graph();
	add_matmul(graph_tensor('a', &a), graph_tensor('b', &b), graph_tensor('c', &c));
	run_graph();
	EXPECT_COST(PRODUCT, TF32, flops, 4 * elements);
	begin_graph();
	add_matmul(half_tensor('a', &a), half_tensor('b', &b), half_tensor('c', &c));
	run_graph();
	EXPECT_COST(PRODUCT, F16, flops, 2 * elements);
	drop_tensor(&a);
	drop_tensor(&b);
	drop_tensor(&c);
}

/* Four heads of q share two of k and v. */
static void test_attention(void)
{
	enum { BATCH = 2, HEADS = 4, OWN = 2, QUERIES = 6, KEYS = 5, WIDTH = 8, V_WIDTH = 3 };
	enum { Q, K, V, O, STATS, DQ, DK, DV, DO, ALL };
	static const int q_dim[] = {BATCH, HEADS, QUERIES, WIDTH}, k_dim[] = {BATCH, OWN, KEYS, WIDTH};
	static const int v_dim[] = {BATCH, OWN, KEYS, V_WIDTH}, o_dim[] = {BATCH, HEADS, QUERIES, V_WIDTH};
	static const int stats_dim[] = {BATCH, HEADS, QUERIES, 1};
	const int *dims[] = {q_dim, k_dim, v_dim, o_dim, stats_dim, q_dim, k_dim, v_dim, o_dim};
	const double scores = (double)BATCH * HEADS * QUERIES * KEYS;
	const double q = 4.0 * BATCH * HEADS * QUERIES * WIDTH, k = 4.0 * BATCH * OWN * KEYS * WIDTH;
	const double v = 4.0 * BATCH * OWN * KEYS * V_WIDTH, o = 4.0 * BATCH * HEADS * QUERIES * V_WIDTH;
	const double stats = 4.0 * BATCH * HEADS * QUERIES;
	struct tensor t[ALL];
	float scale = 0.5f;
	descriptor op;

	for (int i = 0; i < ALL; i++)
		t[i] = floats(4, dims[i]);
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
	EXPECT_COST(PRODUCT, TF32, 2 * scores * (WIDTH + V_WIDTH), q + k + v + o + stats);
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
	EXPECT_COST(PRODUCT, TF32, 2 * scores * (3 * WIDTH + 2 * V_WIDTH), 2 * (q + k + v + o) + stats);
	for (int i = 0; i < ALL; i++)
		drop_tensor(&t[i]);
}

static descriptor virtual_tensor(int64_t uid, int rows, int columns)
{
	const int dim[] = {1, 1, rows, columns}, stride[] = {rows * columns, rows * columns, columns, 1};
	descriptor d = open_tensor(uid, CUDNN_DATA_FLOAT, 4, dim, stride);

	set_bool(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
	return finalized(d);
}

/* A mask of one side of the band, as a graph of its own from tensor 'i' to 'm'. */
static descriptor mask_graph(int rows, int columns, float *bound, bool is_left)
{
	static float otherwise = -INFINITY;
	descriptor op = make(CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR), made;

	set_part(op, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_XDESC, virtual_tensor('i', rows, columns));
	set_part(op, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_YDESC, virtual_tensor('m', rows, columns));
	set_part(op, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_BDESC, scalar_tensor('-', 4, &otherwise));
	set_part(op,
		is_left ? CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_LEFT_BOUND_DESC
			: CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_SHIFT_RIGHT_BOUND_DESC,
		scalar_tensor('b', 4, bound));
	set_enum(op, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_COMPARISON_MODE, CUDNN_TYPE_POINTWISE_MODE,
		is_left ? CUDNN_POINTWISE_CMP_GT : CUDNN_POINTWISE_CMP_GE);
	add_op(op);
	made = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
	OK(cudnnBackendSetAttribute(
		made, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, graph.op));
	graph.op_count = 0;
	return finalized(made);
}

/* Of tiles of 128 rows and columns those are computed that a mask leaves something of. */
static void test_masks(void)
{
	enum { ROWS = 512, WIDTH = 4 };
	static const struct {
		float bound;
		bool is_left;
		int tiles; /* of 16 */
	} masks[] = {{0, false, 10}, {-1, false, 10}, {1, false, 13}, {-128, false, 6}, {1, true, 10},
		{1000, true, 16}};
	static const int dim[] = {1, 1, ROWS, WIDTH};
	struct tensor t[4];

	for (int i = 0; i < 4; i++)
		t[i] = floats(4, dim);
	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		float bound = masks[i].bound;
		descriptor op, mask;

		case_name = "masks";
		begin_graph();
		mask = mask_graph(ROWS, ROWS, &bound, masks[i].is_left);
		op = make(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
		set_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, graph_tensor('q', &t[0]));
		set_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, graph_tensor('k', &t[1]));
		set_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, graph_tensor('v', &t[2]));
		set_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, graph_tensor('o', &t[3]));
		set_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH, mask);
		set_int(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH_INPUT_UID, 'i');
		set_int(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH_OUTPUT_UID, 'm');
		add_op(op);
		run_graph();
		EXPECT_COST(PRODUCT, TF32, 2.0 * ROWS * ROWS * 2 * WIDTH * masks[i].tiles / 16,
			4.0 * 4 * ROWS * WIDTH);
	}
	for (int i = 0; i < 4; i++)
		drop_tensor(&t[i]);
}

/* Without a product or convolution all steps count; the scalar is passed by value. */
static void test_pointwise(void)
{
	struct tensor x = floats(4, (const int[]){2, 3, 8, 8}), b = floats(4, (const int[]){1, 3, 1, 1});
	struct tensor y = floats(4, (const int[]){2, 3, 8, 8});
	float factor = 2;
	descriptor between;

	begin_graph();
	between = virtual_like(1, &y);
	add_pointwise(CUDNN_POINTWISE_MUL, graph_tensor('x', &x), scalar_tensor('f', 4, &factor), between);
	add_pointwise(CUDNN_POINTWISE_ADD, between, graph_tensor('b', &b), graph_tensor('y', &y));
	run_graph();
	EXPECT_COST(VECTOR, F32, 2 * 2 * 3 * 64, 4.0 * (2 * 2 * 3 * 64 + 3));
	drop_tensor(&x);
	drop_tensor(&b);
	drop_tensor(&y);
}

/* A layer norm that measures its rows, and one that is given what was measured. */
static void test_normalization(void)
{
	enum { COUNT = 3 * 5 * 7, ROWS = 3 };
	struct tensor x = floats(4, (const int[]){3, 5, 7, 1}), params = floats(4, (const int[]){1, 5, 7, 1});
	struct tensor stats = floats(4, (const int[]){3, 1, 1, 1});
	float epsilon = 1e-5f;

	for (int given = 0; given < 2; given++) {
		descriptor op;

		begin_graph();
		op = make(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
		set_enum(op, CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, CUDNN_LAYER_NORM);
		set_enum(op, CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE,
			CUDNN_NORM_FWD_INFERENCE);
		set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, graph_tensor('x', &x));
		set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, graph_tensor('s', &params));
		set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, graph_tensor('b', &params));
		set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, graph_tensor('y', &x));
		if (given) {
			set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, graph_tensor('m', &stats));
			set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC,
				graph_tensor('v', &stats));
		} else {
			set_part(op, CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC,
				scalar_tensor('e', 4, &epsilon));
		}
		add_op(op);
		run_graph();
		EXPECT_COST(VECTOR, F32, (given ? 2 : 5) * COUNT,
			4 * (2 * COUNT + 2 * 5 * 7 + (given ? 2 * ROWS : 0)));
	}
	drop_tensor(&x);
	drop_tensor(&params);
	drop_tensor(&stats);
}

static descriptor resample(void)
{
	static const int64_t window[] = {3, 2}, stride[] = {2, 2}, pad[] = {1, 0};
	const cudnnFraction_t fraction[] = {{3, 1}, {2, 1}};
	descriptor d = make(CUDNN_BACKEND_RESAMPLE_DESCRIPTOR);

	set_enum(d, CUDNN_ATTR_RESAMPLE_MODE, CUDNN_TYPE_RESAMPLE_MODE, CUDNN_RESAMPLE_MAXPOOL);
	set_enum(d, CUDNN_ATTR_RESAMPLE_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
	set_enum(d, CUDNN_ATTR_RESAMPLE_PADDING_MODE, CUDNN_TYPE_PADDING_MODE, CUDNN_NEG_INF_PAD);
	set_int(d, CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, 2);
	set_ints(d, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, 2, window);
	OK(cudnnBackendSetAttribute(d, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, CUDNN_TYPE_FRACTION, 2, fraction));
	set_ints(d, CUDNN_ATTR_RESAMPLE_STRIDES, 2, stride);
	set_ints(d, CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, 2, pad);
	set_ints(d, CUDNN_ATTR_RESAMPLE_POST_PADDINGS, 2, pad);
	return finalized(d);
}

static void test_resample_and_reduction(void)
{
	enum { LARGE = 2 * 6 * 8 * 8, SMALL = 2 * 6 * 4 * 4 };
	struct tensor x = floats(4, (const int[]){2, 6, 8, 8}), y = floats(4, (const int[]){2, 6, 4, 4});
	struct tensor sum = floats(4, (const int[]){1, 6, 1, 1});
	descriptor op, how;

	begin_graph();
	op = make(CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR);
	set_part(op, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, resample());
	set_part(op, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC, graph_tensor('x', &x));
	set_part(op, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC, graph_tensor('y', &y));
	add_op(op);
	run_graph();
	EXPECT_COST(VECTOR, F32, SMALL * 3 * 2, 4 * (LARGE + SMALL));
	begin_graph();
	how = make(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
	set_enum(how, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE,
		CUDNN_REDUCE_TENSOR_ADD);
	set_enum(how, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
	op = make(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
	set_part(op, CUDNN_ATTR_OPERATION_REDUCTION_DESC, finalized(how));
	set_part(op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, graph_tensor('x', &x));
	set_part(op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, graph_tensor('y', &sum));
	add_op(op);
	run_graph();
	EXPECT_COST(VECTOR, F32, LARGE, 4 * (LARGE + 6));
	drop_tensor(&x);
	drop_tensor(&y);
	drop_tensor(&sum);
}

int main(int argc, char **argv)
{
	computes = argc > 1 && strcmp(argv[1], "compute") == 0;
	begin_tests();
	test_fused_convolution();
	test_convolution_3d();
	test_matmul();
	test_attention();
	test_masks();
	test_pointwise();
	test_normalization();
	test_resample_and_reduction();
	expect_loaded("libdnnl");
	return end_tests() || cost_failures != 0;
}
