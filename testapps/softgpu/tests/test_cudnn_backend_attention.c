/*
 * Checks attention of the stand-in cuDNN's backend API with all that frontends put between its products,
 * against the definition in double precision: masks of a band, lengths, packed sequences, pages, sinks;
 * written with pointwise operations, with a node for the softmax and the mask, and as one operation with a
 * subgraph; and the random numbers of dropout.
 */
#include "test_cudnn_backend.h"

#include "cudnn/backend_later.h"

enum { BATCH = 2, HEADS = 4, OWN_HEADS = 2, QUERIES = 6, KEYS = 8, WIDTH = 4, PAGE = 3, PAGES = 3 };
enum { NO_BOUND = -1000 };

enum writing { POINTWISE, NODES, ONE_OPERATION };

struct attention {
	const char *name;
	int left, right; /* how far a row sees beside the diagonal */
	bool is_at_end;  /* the diagonal ends where the sequences do */
	bool has_lengths, is_packed, is_paged, has_sink;
};

static const struct attention cases[] = {
	{"plain", NO_BOUND, NO_BOUND, 0, 0, 0, 0, 0},
	{"causal", NO_BOUND, 0, 0, 0, 0, 0, 0},
	{"causal to the end", NO_BOUND, 0, 1, 0, 0, 0, 0},
	{"window", 3, 1, 0, 0, 0, 0, 0},
	{"window to the end", 3, 0, 1, 0, 0, 0, 0},
	{"lengths", NO_BOUND, NO_BOUND, 0, 1, 0, 0, 0},
	{"lengths, causal to the end", NO_BOUND, 0, 1, 1, 0, 0, 0},
	{"packed", NO_BOUND, NO_BOUND, 0, 1, 1, 0, 0},
	{"pages", NO_BOUND, NO_BOUND, 0, 1, 0, 1, 0},
	{"sink", NO_BOUND, 0, 0, 0, 0, 0, 1},
};

static const int q_length[BATCH] = {6, 4}, kv_length[BATCH] = {8, 6};
static int64_t next_uid;

/* ---- by the definition ---- */

static bool sees(const struct attention *a, int batch, int i, int j)
{
	int shift = !a->is_at_end ? 0 : a->has_lengths ? kv_length[batch] - q_length[batch] : KEYS - QUERIES;

	if (a->has_lengths && (i >= q_length[batch] || j >= kv_length[batch]))
		return false;
	return (a->right == NO_BOUND || j <= i + shift + a->right) &&
	       (a->left == NO_BOUND || j + a->left > i + shift);
}

static void attend(const struct attention *a, const struct tensor *q, const struct tensor *k,
	const struct tensor *v, const struct tensor *sink, struct tensor *o, struct tensor *stats,
	double scale)
{
	for (int r = 0; r < BATCH * HEADS * QUERIES; r++) {
		int i = r % QUERIES, head = r / QUERIES % HEADS, n = r / QUERIES / HEADS;
		int own = n * OWN_HEADS + head / (HEADS / OWN_HEADS);
		double p[KEYS], sum = a->has_sink ? exp(*element(sink, head)) : 0;

		for (int j = 0; j < KEYS; j++) {
			double score = 0;

			for (int c = 0; c < WIDTH; c++)
				score += *element(q, (int64_t)r * WIDTH + c) *
					 *element(k, (own * KEYS + j) * WIDTH + c);
			p[j] = sees(a, n, i, j) ? exp(scale * score) : 0;
			sum += p[j];
		}
		for (int c = 0; c < WIDTH; c++) {
			double value = 0;

			for (int j = 0; j < KEYS; j++)
				value += sum > 0 ? p[j] / sum * *element(v, (own * KEYS + j) * WIDTH + c) : 0;
			*element(o, (int64_t)r * WIDTH + c) = value;
		}
		*element(stats, r) = sum > 0 ? log(sum) : -INFINITY;
	}
}

/* ---- tensors ---- */

static descriptor between(int a, int b, int c, int d, bool is_turned)
{
	const int dim[] = {a, b, c, d}, stride[] = {b * c * d, c * d, is_turned ? 1 : d, is_turned ? c : 1};
	descriptor made = open_tensor(++next_uid, CUDNN_DATA_FLOAT, 4, dim, stride);

	set_bool(made, CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
	return finalized(made);
}

static descriptor scores(void)
{
	return between(BATCH, HEADS, QUERIES, KEYS, false);
}

/* Whole numbers on the device, to be freed; they need no alignment but their own. */
static descriptor numbers(int count, int trailing, const int *value, void **device)
{
	const int dim[] = {count / trailing, 1, trailing, 1}, stride[] = {trailing, trailing, 1, 1};
	descriptor made = open_tensor(++next_uid, CUDNN_DATA_INT32, 4, dim, stride);

	CUDA(cudaMalloc(device, (size_t)(count + 1) * sizeof(int)));
	CUDA(cudaMemcpy((int *)*device + 1, value, (size_t)count * sizeof(int), cudaMemcpyHostToDevice));
	bind(next_uid, (int *)*device + 1);
	set_int(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 16);
	return finalized(made);
}

/* By value, of one dimension alone, as frontends have them. */
static descriptor whole_scalar(int *value)
{
	static const int one[] = {1};
	descriptor d = open_tensor(++next_uid, CUDNN_DATA_INT32, 1, one, one);

	set_bool(d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
	bind(next_uid, value);
	return finalized(d);
}

static descriptor real_scalar(float *value)
{
	return scalar_tensor(++next_uid, 4, value);
}

/* What a case's graph reads and writes: q, k, v, o as the definition has them, and as they lie on the device.
 */
enum { Q, K, V, O, TENSORS };
struct data {
	struct tensor t[TENSORS], kept[TENSORS], stats, sink;
	void *offsets[TENSORS], *lengths[2], *pages;
	descriptor d_stats, d_sink, d_lengths[2], d_pages;
	float scale, otherwise;
	int left, right, queries, keys;
};

static const int page_table[BATCH * PAGES] = {4, 0, 3, 1, 5, 2};

/* Where in packed memory a row of a head is: after those of the sequences before. */
static int packed_at(int heads, const int *length, int batch, int head, int row)
{
	int rows = row;

	for (int n = 0; n < batch; n++)
		rows += length[n];
	return (rows * heads + head) * WIDTH;
}

static const int *length_of(int which)
{
	return which == K || which == V ? kv_length : q_length;
}

/* Copies what there is of a tensor to where it lies. */
static void lay(const struct attention *a, int which, struct data *d)
{
	const struct tensor *from = &d->t[which];
	struct tensor *to = &d->kept[which];

	for (int i = 0; i < count_of(from); i++) {
		int c = i % WIDTH, row = i / WIDTH % from->dim[2];
		int head = i / WIDTH / from->dim[2] % from->dim[1],
		    n = i / WIDTH / from->dim[2] / from->dim[1];
		int page = n * PAGES + row / PAGE;

		if (to->ndims == 1 && row < length_of(which)[n])
			to->value[packed_at(from->dim[1], length_of(which), n, head, row) + c] =
				*element(from, i);
		else if (to->dim[0] == BATCH * PAGES && a->is_paged)
			*element(to, ((page_table[page] * OWN_HEADS + head) * PAGE + row % PAGE) * WIDTH +
					     c) = *element(from, i);
		else if (to->ndims == 4)
			*element(to, i) = *element(from, i);
	}
}

static void make_data(const struct attention *a, struct data *d)
{
	static const int heads[] = {HEADS, OWN_HEADS, OWN_HEADS, HEADS},
			 rows[] = {QUERIES, KEYS, KEYS, QUERIES};

	*d = (struct data){.scale = 0.75f,
		.otherwise = -INFINITY,
		.left = a->left,
		.right = a->right,
		.queries = QUERIES,
		.keys = KEYS};
	for (int i = 0; i < TENSORS; i++) {
		d->t[i] = make_4d(CUDNN_DATA_FLOAT, PACKED, BATCH, heads[i], rows[i], WIDTH);
		if (a->is_packed)
			d->kept[i] = make_tensor(CUDNN_DATA_FLOAT, PACKED, 1,
				(const int[]){BATCH * heads[i] * rows[i] * WIDTH});
		else if (a->is_paged && (i == K || i == V))
			d->kept[i] = make_4d(CUDNN_DATA_FLOAT, PACKED, BATCH * PAGES, heads[i], PAGE, WIDTH);
		else
			d->kept[i] = make_4d(CUDNN_DATA_FLOAT, PACKED, BATCH, heads[i], rows[i], WIDTH);
		lay(a, i, d);
		upload(&d->kept[i]);
	}
	d->stats = make_4d(CUDNN_DATA_FLOAT, PACKED, BATCH, HEADS, QUERIES, 1);
	d->sink = make_4d(CUDNN_DATA_FLOAT, PACKED, 1, HEADS, 1, 1);
}

static void drop_data(struct data *d)
{
	for (int i = 0; i < TENSORS; i++) {
		drop_tensor(&d->t[i]);
		drop_tensor(&d->kept[i]);
		CUDA(cudaFree(d->offsets[i]));
	}
	drop_tensor(&d->stats);
	drop_tensor(&d->sink);
	CUDA(cudaFree(d->lengths[0]));
	CUDA(cudaFree(d->lengths[1]));
	CUDA(cudaFree(d->pages));
}

/* Keys that products take have their last two dimensions exchanged. */
static descriptor operand(const struct attention *a, struct data *d, int which, bool is_turned)
{
	const struct tensor *t = &d->t[which];
	int heads = t->dim[1], rows = t->dim[2], offset[BATCH + 1];
	int along = a->is_packed ? heads * WIDTH : WIDTH, across = a->is_packed ? WIDTH : rows * WIDTH;
	const int dim[] = {BATCH, heads, is_turned ? WIDTH : rows, is_turned ? rows : WIDTH};
	const int stride[] = {heads * rows * WIDTH, across, is_turned ? 1 : along, is_turned ? along : 1};
	descriptor made, offsets = NULL;

	for (int n = 0; n <= BATCH; n++)
		offset[n] = packed_at(heads, length_of(which), n, 0, 0);
	if (a->is_packed)
		offsets = numbers(BATCH + 1, 1, offset, &d->offsets[which]);
	bind(++next_uid, d->kept[which].device);
	made = open_tensor(next_uid, CUDNN_DATA_FLOAT, 4, dim, stride);
	if (offsets != NULL)
		set_part(made, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_DESC, offsets);
	return finalized(made);
}

static void describe_rest(const struct attention *a, struct data *d)
{
	d->d_stats = graph_tensor(++next_uid, &d->stats);
	d->d_sink = a->has_sink ? graph_tensor(++next_uid, &d->sink) : NULL;
	if (a->has_lengths) {
		d->d_lengths[0] = numbers(BATCH, 1, q_length, &d->lengths[0]);
		d->d_lengths[1] = numbers(BATCH, 1, kv_length, &d->lengths[1]);
	}
	if (a->is_paged)
		d->d_pages = numbers(BATCH * PAGES, PAGES, page_table, &d->pages);
}

/* ---- operations ---- */

static void add_product(descriptor a, descriptor b, descriptor c, descriptor m, descriptor n, descriptor k)
{
	descriptor matmul = make(CUDNN_BACKEND_MATMUL_DESCRIPTOR), op;

	set_enum(matmul, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
	op = make(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
	set_part(op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
	set_part(op, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
	set_part(op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
	set_part(op, CUDNN_ATTR_OPERATION_MATMUL_DESC, finalized(matmul));
	if (m != NULL)
		set_part(op, CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, m);
	if (n != NULL)
		set_part(op, CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, n);
	if (k != NULL)
		set_part(op, CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, k);
	add_op(op);
}

static descriptor index_of(descriptor like, int axis)
{
	descriptor mode = pointwise(CUDNN_POINTWISE_GEN_INDEX), to = scores();

	set_int(mode, CUDNN_ATTR_POINTWISE_AXIS, axis);
	add_op(pointwise_op(finalized(mode), like, NULL, NULL, to));
	return to;
}

static descriptor two(cudnnPointwiseMode_t mode, descriptor x, descriptor b)
{
	descriptor to = scores();

	add_pointwise(mode, x, b, to);
	return to;
}

static descriptor choose(descriptor x, descriptor otherwise, descriptor condition)
{
	descriptor to = scores();

	add_op(pointwise_op(
		finalized(pointwise(CUDNN_POINTWISE_BINARY_SELECT)), x, otherwise, condition, to));
	return to;
}

/* One side of the band: row + (keys - queries) + right >= column, or column + left - (keys - queries) > row.
 */
static descriptor add_side(const struct attention *a, enum writing writing, struct data *d, descriptor x,
	bool is_left, descriptor otherwise)
{
	descriptor bound = whole_scalar(is_left ? &d->left : &d->right), op, to;
	descriptor keys = !a->is_at_end ? NULL : a->has_lengths ? d->d_lengths[1] : whole_scalar(&d->keys);
	descriptor queries = !a->is_at_end    ? NULL
			     : a->has_lengths ? d->d_lengths[0]
					      : whole_scalar(&d->queries);

	if (writing == POINTWISE) {
		descriptor row = index_of(x, 2), column = index_of(x, 3);
		descriptor moved = two(CUDNN_POINTWISE_ADD, is_left ? column : row, bound);

		if (a->is_at_end) {
			moved = two(is_left ? CUDNN_POINTWISE_SUB : CUDNN_POINTWISE_ADD, moved, keys);
			moved = two(is_left ? CUDNN_POINTWISE_ADD : CUDNN_POINTWISE_SUB, moved, queries);
		}
		return choose(x, otherwise,
			is_left ? two(CUDNN_POINTWISE_CMP_GT, moved, row)
				: two(CUDNN_POINTWISE_CMP_GE, moved, column));
	}
	to = scores();
	op = make(CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR);
	set_part(op, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_XDESC, x);
	set_part(op, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_BDESC, otherwise);
	set_part(op, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_YDESC, to);
	set_part(op,
		is_left ? CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_LEFT_BOUND_DESC
			: CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_SHIFT_RIGHT_BOUND_DESC,
		bound);
	if (a->is_at_end) {
		set_part(op, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_SEQ_LEN_KVDESC, keys);
		set_part(op, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_SEQ_LEN_QDESC, queries);
	}
	set_enum(op, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_COMPARISON_MODE, CUDNN_TYPE_POINTWISE_MODE,
		is_left ? CUDNN_POINTWISE_CMP_GT : CUDNN_POINTWISE_CMP_GE);
	add_op(op);
	return to;
}

static descriptor add_masks(const struct attention *a, enum writing writing, struct data *d, descriptor x)
{
	descriptor otherwise = real_scalar(&d->otherwise);

	/* One operation sees by itself where sequences end. */
	if (a->has_lengths && writing != ONE_OPERATION)
		x = choose(x, otherwise,
			two(CUDNN_POINTWISE_LOGICAL_AND,
				two(CUDNN_POINTWISE_CMP_LT, index_of(x, 2), d->d_lengths[0]),
				two(CUDNN_POINTWISE_CMP_LT, index_of(x, 3), d->d_lengths[1])));
	if (a->right != NO_BOUND)
		x = add_side(a, writing, d, x, false, otherwise);
	if (a->left != NO_BOUND)
		x = add_side(a, writing, d, x, true, otherwise);
	return x;
}

static descriptor softmax_op(struct data *d, descriptor x, descriptor y)
{
	descriptor op = make(CUDNN_BACKEND_OPERATION_SOFTMAX_DESCRIPTOR);

	set_part(op, CUDNN_ATTR_OPERATION_SOFTMAX_XDESC, x);
	set_part(op, CUDNN_ATTR_OPERATION_SOFTMAX_YDESC, y);
	set_part(op, CUDNN_ATTR_OPERATION_SOFTMAX_STATS_DESC, d->d_stats);
	if (d->d_sink != NULL)
		set_part(op, CUDNN_ATTR_OPERATION_SOFTMAX_SINK_DESC, d->d_sink);
	return op;
}

static descriptor reduce(cudnnReduceTensorOp_t operator, descriptor x)
{
	descriptor reduction = make(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
	descriptor op = make(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
	descriptor y = between(BATCH, HEADS, QUERIES, 1, false);

	set_enum(reduction, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, (int)operator);
	set_part(op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
	set_part(op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
	set_part(op, CUDNN_ATTR_OPERATION_REDUCTION_DESC, finalized(reduction));
	add_op(op);
	return y;
}

static descriptor add_softmax(enum writing writing, struct data *d, descriptor x)
{
	descriptor y = scores(), largest, sum, log_sum;

	if (writing == NODES) {
		add_op(softmax_op(d, x, y));
		return y;
	}
	largest = reduce(CUDNN_REDUCE_TENSOR_MAX, x);
	x = two(CUDNN_POINTWISE_SUB, x, largest);
	add_pointwise(CUDNN_POINTWISE_EXP, x, NULL, y);
	sum = reduce(CUDNN_REDUCE_TENSOR_ADD, y);
	log_sum = between(BATCH, HEADS, QUERIES, 1, false);
	add_pointwise(CUDNN_POINTWISE_LOG, sum, NULL, log_sum);
	add_pointwise(CUDNN_POINTWISE_ADD, largest, log_sum, d->d_stats);
	return two(CUDNN_POINTWISE_DIV, y, sum);
}

/* Keys and values of pages without them. */
static descriptor add_load(struct data *d, const struct tensor *container, bool is_turned)
{
	descriptor op = make(CUDNN_BACKEND_OPERATION_PAGED_CACHE_LOAD_DESCRIPTOR);
	descriptor y = is_turned ? between(BATCH, OWN_HEADS, WIDTH, KEYS, true)
				 : between(BATCH, OWN_HEADS, KEYS, WIDTH, false);

	set_part(op, CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_CONTAINER_DESC,
		graph_tensor(++next_uid, container));
	set_part(op, CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_YDESC, y);
	set_part(op, CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_SEQUENCE_DESC, d->d_lengths[1]);
	set_part(op, CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_PAGE_TABLE_DESC, d->d_pages);
	add_op(op);
	return y;
}

static void add_parts(const struct attention *a, enum writing writing, struct data *d)
{
	descriptor *length = d->d_lengths, product = scores(), p;
	descriptor q = operand(a, d, Q, false), o = operand(a, d, O, false);
	descriptor k = a->is_paged ? add_load(d, &d->kept[K], true) : operand(a, d, K, true);
	descriptor v = a->is_paged ? add_load(d, &d->kept[V], false) : operand(a, d, V, false);

	add_product(q, k, product, length[0], length[1], NULL);
	p = two(CUDNN_POINTWISE_MUL, product, real_scalar(&d->scale));
	p = add_softmax(writing, d, add_masks(a, writing, d, p));
	add_product(p, v, o, length[0], NULL, length[1]);
}

/* The operations since `first` as a graph of their own, without a handle. */
static descriptor cut_subgraph(int64_t first)
{
	descriptor d = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);

	OK(cudnnBackendSetAttribute(d, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
		graph.op_count - first, graph.op + first));
	graph.op_count = first;
	return finalized(d);
}

static void add_one_operation(const struct attention *a, struct data *d)
{
	descriptor op, in = scores(), out;
	int64_t in_uid = next_uid, out_uid;

	out = add_masks(a, ONE_OPERATION, d, in);
	out_uid = next_uid;
	op = make(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
	if (out != in) {
		set_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH, cut_subgraph(0));
		set_int(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH_INPUT_UID, in_uid);
		set_int(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SUBGRAPH_OUTPUT_UID, out_uid);
	}
	set_part(
		op, CUDNN_ATTR_OPERATION_SDPA_FWD_SOFTMAX_DESC, finalized(softmax_op(d, scores(), scores())));
	set_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, real_scalar(&d->scale));
	set_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, operand(a, d, Q, false));
	set_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, operand(a, d, O, false));
	set_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC,
		a->is_paged ? graph_tensor(++next_uid, &d->kept[K]) : operand(a, d, K, false));
	set_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC,
		a->is_paged ? graph_tensor(++next_uid, &d->kept[V]) : operand(a, d, V, false));
	if (a->is_paged) {
		set_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_KDESC, d->d_pages);
		set_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_VDESC, d->d_pages);
	}
	if (a->has_lengths) {
		set_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_QDESC, d->d_lengths[0]);
		set_part(op, CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_KVDESC, d->d_lengths[1]);
	}
	add_op(op);
}

/* Of rows after a sequence's end nothing is said. */
static void check_stats(const struct attention *a, struct data *d)
{
	double *got = download(&d->stats);

	for (int r = 0; r < BATCH * HEADS * QUERIES; r++) {
		if (!a->has_lengths || r % QUERIES < q_length[r / QUERIES / HEADS])
			EXPECT(fabs(got[r] - *element(&d->stats, r)) < 1e-5);
	}
	free(got);
}

static void test_forward(const struct attention *a, enum writing writing)
{
	struct data d;

	case_name = a->name;
	next_uid = 0;
	make_data(a, &d);
	begin_graph();
	describe_rest(a, &d);
	if (writing == ONE_OPERATION)
		add_one_operation(a, &d);
	else
		add_parts(a, writing, &d);
	run_graph();
	attend(a, &d.t[Q], &d.t[K], &d.t[V], &d.sink, &d.t[O], &d.stats, (double)d.scale);
	lay(a, O, &d);
	COMPARE(&d.kept[O], 1e-5);
	check_stats(a, &d);
	drop_data(&d);
}

/* ---- dropout ---- */

static void draw(struct tensor *y, int64_t *seed, int64_t *offset)
{
	static const int ones[] = {1, 1, 1, 1};
	descriptor rng, op;

	begin_graph();
	rng = make(CUDNN_BACKEND_RNG_DESCRIPTOR);
	set_enum(rng, CUDNN_ATTR_RNG_DISTRIBUTION, CUDNN_TYPE_RNG_DISTRIBUTION,
		CUDNN_RNG_DISTRIBUTION_BERNOULLI);
	set_double(rng, CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY, 0.75);
	op = make(CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR);
	set_part(op, CUDNN_ATTR_OPERATION_RNG_DESC, finalized(rng));
	set_part(op, CUDNN_ATTR_OPERATION_RNG_YDESC, graph_tensor('y', y));
	if (offset == NULL) {
		set_int(op, CUDNN_ATTR_OPERATION_RNG_SEED, *seed);
	} else {
		bind('s', seed);
		bind('o', offset);
		set_part(op, CUDNN_ATTR_OPERATION_RNG_SEED,
			finalized(open_tensor('s', CUDNN_DATA_INT64, 4, ones, ones)));
		set_part(op, CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC,
			finalized(open_tensor('o', CUDNN_DATA_INT64, 4, ones, ones)));
	}
	add_op(op);
	run_graph();
}

/* Seeds that differ in their last bit alone, of more bits than a float has, draw other numbers. */
static void test_random(void)
{
	struct tensor y = make_4d(CUDNN_DATA_FLOAT, PACKED, 2, 3, 32, 64);
	int64_t *seed, *offset, big = INT64_C(0x123456789abcdef0);
	double *drawn[5];
	double kept = 0;
	bool same[5] = {true, true, true, true, true};

	case_name = "random numbers";
	CUDA(cudaMalloc((void **)&seed, sizeof(*seed)));
	CUDA(cudaMalloc((void **)&offset, sizeof(*offset)));
	for (int i = 0; i < 5; i++) {
		int64_t s = big + (i == 2), o = i == 3;

		CUDA(cudaMemcpy(seed, &s, sizeof(s), cudaMemcpyHostToDevice));
		CUDA(cudaMemcpy(offset, &o, sizeof(o), cudaMemcpyHostToDevice));
		draw(&y, i == 4 ? &big : seed, i == 4 ? NULL : offset);
		drawn[i] = download(&y);
		for (int64_t e = 0; e < count_of(&y); e++)
			same[i] = same[i] && drawn[i][e] == drawn[0][e];
	}
	for (int64_t e = 0; e < count_of(&y); e++) {
		EXPECT(drawn[0][e] == 0 || drawn[0][e] == 1);
		kept += drawn[0][e] / (double)count_of(&y);
	}
	EXPECT(fabs(kept - 0.75) < 0.02);
	EXPECT(same[1] && !same[2] && !same[3] && same[4]);
	for (int i = 0; i < 5; i++)
		free(drawn[i]);
	CUDA(cudaFree(seed));
	CUDA(cudaFree(offset));
	drop_tensor(&y);
}

int main(void)
{
	begin_tests();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		test_forward(&cases[i], NODES);
		test_forward(&cases[i], ONE_OPERATION);
		if (!cases[i].has_sink)
			test_forward(&cases[i], POINTWISE);
	}
	test_random();
	return end_tests();
}
