/*
 * Checks the stand-in cuBLASLt: products in both orders, transposed, in batches, in four types, with every
 * epilogue, against direct sums in double precision; epilogues' gradients by differences; changes of layout;
 * attributes and what the calls answer to wrong arguments.
 */
#include "test_blas.h"

#include <cublasLt.h>

static cublasLtHandle_t lt;

#define COL CUBLASLT_ORDER_COL
#define ROW CUBLASLT_ORDER_ROW

struct matrix {
	int rows, columns, order, ld, batch;
	struct array array;
};

static struct matrix make_matrix(cudaDataType type, int rows, int columns, int order, int batch)
{
	struct matrix m = {rows, columns, order, (order == ROW ? columns : rows) + 3, batch, {0}};

	m.array = make_array(type, (size_t)(batch * m.ld * (order == ROW ? rows : columns)));
	return m;
}

static double *at(const struct matrix *m, int batch, int i, int j)
{
	size_t each = m->array.count / (size_t)m->batch;

	return &m->array.value[(size_t)batch * each +
			       (size_t)(m->order == ROW ? i * m->ld + j : j * m->ld + i)];
}

static cublasLtMatrixLayout_t layout_of(const struct matrix *m)
{
	cublasLtMatrixLayout_t layout = NULL;
	int32_t order = m->order, batch = m->batch;
	int64_t stride = (int64_t)m->array.count / m->batch;

	OK(cublasLtMatrixLayoutCreate(
		&layout, m->array.type, (uint64_t)m->rows, (uint64_t)m->columns, m->ld));
	OK(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof(order)));
	OK(cublasLtMatrixLayoutSetAttribute(
		layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof(batch)));
	OK(cublasLtMatrixLayoutSetAttribute(
		layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride)));
	return layout;
}

/* Overwrites a descriptor before destroying it, so that it is of no use to anybody any more. */
static void spoil(cublasLtMatrixLayout_t layout)
{
	uint64_t rows = 1;

	OK(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof(rows)));
	OK(cublasLtMatrixLayoutDestroy(layout));
}

struct product {
	const char *name;
	cudaDataType in, out;
	cublasComputeType_t compute;
	cublasOperation_t op_a, op_b;
	int a_order, b_order, d_order;
	int batch;
	double alpha, beta;
	bool is_in_place, on_device;
	cublasLtEpilogue_t epilogue;
};

#define F CUDA_R_32F
#define F32 CUBLAS_COMPUTE_32F
#define NONE CUBLASLT_EPILOGUE_DEFAULT
enum { ROWS = 7, COLUMNS = 9, DEPTH = 11, AUX_LD = 128 };

static const struct product products[] = {
	{"plain", F, F, F32, N, N, COL, COL, COL, 1, 1, 0, false, false, NONE},
	{"blended", F, F, F32, N, T, COL, COL, COL, 1, 1.5, -0.5, false, false, NONE},
	{"in place", F, F, F32, T, N, COL, COL, COL, 1, 2, 0.5, true, false, NONE},
	{"factors on the device", F, F, F32, T, T, COL, COL, COL, 1, 2, 0.5, false, true, NONE},
	{"rows", F, F, F32, N, N, ROW, ROW, ROW, 1, 1, 1, false, false, NONE},
	{"rows, transposed, in place", F, F, F32, T, N, ROW, ROW, ROW, 1, 1, 1, true, false, NONE},
	{"orders mixed", F, F, F32, N, T, ROW, COL, COL, 1, 1, 1, false, false, NONE},
	{"orders mixed otherwise", F, F, F32, T, N, COL, ROW, ROW, 1, 1, 0, false, false, NONE},
	{"batch", F, F, F32, N, T, COL, COL, COL, 3, 1, 0.25, false, false, NONE},
	{"doubles", CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, N, N, COL, COL, COL, 2, 1, 2, false, false,
		NONE},
	{"halves", CUDA_R_16F, CUDA_R_16F, F32, T, N, COL, COL, COL, 2, 1, 1, true, false, NONE},
	{"halves to floats", CUDA_R_16F, F, F32, N, N, COL, COL, ROW, 1, 1, 1, false, false, NONE},
	{"bfloats", CUDA_R_16BF, CUDA_R_16BF, F32, N, N, ROW, COL, COL, 1, 1, 0, false, false, NONE},
	{"bias", F, F, F32, T, N, COL, COL, COL, 1, 1, 0, false, false, CUBLASLT_EPILOGUE_BIAS},
	{"bias, batch, blended", F, F, F32, T, N, COL, COL, COL, 2, 1, 1, true, false,
		CUBLASLT_EPILOGUE_BIAS},
	{"relu", F, F, F32, N, N, COL, COL, COL, 1, 1, 0, false, false, CUBLASLT_EPILOGUE_RELU},
	{"bias, relu", F, F, F32, T, N, COL, COL, COL, 1, 1, 0, false, false, CUBLASLT_EPILOGUE_RELU_BIAS},
	{"bias, relu, rows", F, F, F32, T, N, ROW, ROW, ROW, 1, 1, 0, false, false,
		CUBLASLT_EPILOGUE_RELU_BIAS},
	{"relu, mask", F, F, F32, N, N, COL, COL, COL, 2, 1, 0, false, false, CUBLASLT_EPILOGUE_RELU_AUX},
	{"bias, relu, mask", F, F, F32, N, N, COL, COL, COL, 1, 1, 1, false, false,
		CUBLASLT_EPILOGUE_RELU_AUX_BIAS},
	{"gelu", F, F, F32, N, N, COL, COL, COL, 1, 1, 0, false, false, CUBLASLT_EPILOGUE_GELU},
	{"bias, gelu", F, F, F32, N, N, COL, COL, COL, 1, 1, 0, false, false, CUBLASLT_EPILOGUE_GELU_BIAS},
	{"bias, gelu, halves", CUDA_R_16F, CUDA_R_16F, F32, N, N, COL, COL, COL, 1, 1, 0, false, false,
		CUBLASLT_EPILOGUE_GELU_BIAS},
	{"gelu, input kept", F, F, F32, N, N, COL, COL, COL, 2, 1, 0, false, false,
		CUBLASLT_EPILOGUE_GELU_AUX},
	{"bias, gelu, input kept", F, F, F32, N, N, COL, COL, COL, 1, 1, 0, false, false,
		CUBLASLT_EPILOGUE_GELU_AUX_BIAS},
	{"relu's gradient", F, F, F32, N, N, COL, COL, COL, 1, 1, 0, false, false, CUBLASLT_EPILOGUE_DRELU},
	{"relu's and bias's", F, F, F32, N, N, COL, COL, COL, 2, 1, 0, false, false,
		CUBLASLT_EPILOGUE_DRELU_BGRAD},
	{"gelu's gradient", F, F, F32, N, N, COL, COL, COL, 1, 1, 0, false, false, CUBLASLT_EPILOGUE_DGELU},
	{"gelu's and bias's", F, F, F32, N, N, COL, COL, COL, 1, 1, 0, false, false,
		CUBLASLT_EPILOGUE_DGELU_BGRAD},
	{"sums of A", F, F, F32, N, T, COL, COL, COL, 1, 1, 0, false, false, CUBLASLT_EPILOGUE_BGRADA},
	{"sums of A transposed", F, F, F32, T, N, ROW, COL, COL, 1, 1, 0, false, false,
		CUBLASLT_EPILOGUE_BGRADA},
	{"sums of B", F, F, F32, N, T, COL, COL, COL, 2, 1, 0, false, false, CUBLASLT_EPILOGUE_BGRADB},
};

/* Closed forms, and a slope by differences of them. */
static double gelu(double x)
{
	return x / (1 + exp(-2 * sqrt(2 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

static double gelu_slope(double x)
{
	return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5;
}

struct operands {
	struct matrix a, b, c, d;
	struct array bias, aux; /* aux: numbers, or a mask in their bytes */
	bool takes_mask, takes_input;
};

static bool has(const struct product *p, int bits)
{
	return ((int)p->epilogue & bits) == bits;
}

static bool get_bit(const unsigned char *mask, size_t i)
{
	return mask[i / 8] >> i % 8 & 1;
}

/* The host's copy of D, of the bias and of the auxiliary matrix as they should become. */
static void expect(const struct product *p, struct operands *o, unsigned char *mask)
{
	bool writes_bias = has(p, 16) || has(p, 256) || has(p, 512);
	int count = has(p, 512) ? COLUMNS : ROWS;

	for (int i = 0; writes_bias && i < count * p->batch; i++)
		o->bias.value[i] = 0;
	for (int i = 0; i < p->batch * ROWS * COLUMNS; i++) {
		int j = i % COLUMNS, row = i / COLUMNS % ROWS, n = i / COLUMNS / ROWS;
		double sum = 0, *to = at(&o->d, n, row, j);
		double c = *at(p->is_in_place ? &o->d : &o->c, n, row, j);
		size_t bias_at = (size_t)(n * count), aux = (size_t)((n * COLUMNS + j) * AUX_LD + row);

		for (int k = 0; k < DEPTH; k++)
			sum += (p->op_a == N ? *at(&o->a, n, row, k) : *at(&o->a, n, k, row)) *
			       (p->op_b == N ? *at(&o->b, n, k, j) : *at(&o->b, n, j, k));
		*to = p->alpha * sum + p->beta * c;
		if (has(p, CUBLASLT_EPILOGUE_BIAS))
			*to += o->bias.value[bias_at + (size_t)row];
		if (has(p, CUBLASLT_EPILOGUE_RELU)) {
			if (has(p, 128))
				mask[aux / 8] = (unsigned char)((mask[aux / 8] & ~(1 << aux % 8)) |
								(*to > 0) << aux % 8);
			*to = *to > 0 ? *to : 0;
		}
		if (has(p, CUBLASLT_EPILOGUE_GELU)) {
			if (has(p, 128))
				o->aux.value[aux] = *to;
			*to = gelu(*to);
		}
		if (has(p, CUBLASLT_EPILOGUE_DRELU))
			*to *= get_bit(mask, aux);
		if (has(p, CUBLASLT_EPILOGUE_DGELU))
			*to *= gelu_slope(o->aux.value[aux]);
		if (has(p, 16))
			o->bias.value[bias_at + (size_t)row] += *to;
	}
	for (int i = 0; (has(p, 256) || has(p, 512)) && i < p->batch * count * DEPTH; i++) {
		int k = i % DEPTH, line = i / DEPTH % count, n = i / DEPTH / count;
		double *a = p->op_a == N ? at(&o->a, n, line % ROWS, k) : at(&o->a, n, k, line % ROWS);
		double *b = p->op_b == N ? at(&o->b, n, k, line) : at(&o->b, n, line, k);

		o->bias.value[n * count + line] += has(p, 256) ? *a : *b;
	}
}

static cublasLtMatmulDesc_t describe(const struct product *p, const struct operands *o)
{
	cublasLtMatmulDesc_t matmul = NULL;
	int32_t op_a = (int32_t)p->op_a, op_b = (int32_t)p->op_b,
		mode = p->on_device ? CUBLASLT_POINTER_MODE_DEVICE : 0;
	int64_t aux_ld = AUX_LD, aux_stride = AUX_LD * COLUMNS, bias_stride = has(p, 512) ? COLUMNS : ROWS;
	cudaDataType scale = p->compute == F32 ? F : CUDA_R_64F;

	OK(cublasLtMatmulDescCreate(&matmul, p->compute, scale));
#define SET(name, value) \
	OK(cublasLtMatmulDescSetAttribute(matmul, CUBLASLT_MATMUL_DESC_##name, &(value), sizeof(value)))
	SET(TRANSA, op_a);
	SET(TRANSB, op_b);
	SET(POINTER_MODE, mode);
	SET(EPILOGUE, p->epilogue);
	SET(BIAS_POINTER, o->bias.device);
	SET(BIAS_BATCH_STRIDE, bias_stride);
	SET(EPILOGUE_AUX_POINTER, o->aux.device);
	SET(EPILOGUE_AUX_LD, aux_ld);
	SET(EPILOGUE_AUX_BATCH_STRIDE, aux_stride);
#undef SET
	return matmul;
}

/* Each call comes with an algorithm from the heuristics or with none, in turn. */
static void call(const struct product *p, const struct operands *o)
{
	static int turn;
	cudaDataType scale = p->compute == F32 ? F : CUDA_R_64F;
	struct scalar alpha = make_scalar(scale, p->alpha, p->on_device);
	struct scalar beta = make_scalar(scale, p->beta, p->on_device);
	const struct matrix *c = p->is_in_place ? &o->d : &o->c;
	cublasLtMatrixLayout_t layout[] = {
		layout_of(&o->a), layout_of(&o->b), layout_of(c), layout_of(&o->d)};
	cublasLtMatmulDesc_t matmul = describe(p, o);
	cublasLtMatmulPreference_t preference = NULL;
	cublasLtMatmulHeuristicResult_t found;
	int count = 0;

	OK(cublasLtMatmulPreferenceCreate(&preference));
	OK(cublasLtMatmulAlgoGetHeuristic(
		lt, matmul, layout[0], layout[1], layout[2], layout[3], preference, 1, &found, &count));
	EXPECT(count == 1 && found.state == CUBLAS_STATUS_SUCCESS);
	OK(cublasLtMatmulPreferenceDestroy(preference));
	close_gate();
	arrive(&alpha);
	arrive(&beta);
	OK(cublasLtMatmul(lt, matmul, address_of(&alpha), o->a.array.device, layout[0], o->b.array.device,
		layout[1], address_of(&beta), c->array.device, layout[2], o->d.array.device, layout[3],
		turn++ % 2 ? &found.algo : NULL, NULL, 0, stream));
	memset(alpha.host, 0xff, sizeof(alpha.host));
	memset(beta.host, 0xff, sizeof(beta.host));
	for (int i = 0; i < 4; i++)
		spoil(layout[i]);
	OK(cublasLtMatmulDescDestroy(matmul));
	open_gate();
	drop_scalar(&alpha);
	drop_scalar(&beta);
}

static void test_product(const struct product *p)
{
	struct operands o = {
		.a = p->op_a == N ? make_matrix(p->in, ROWS, DEPTH, p->a_order, p->batch)
				  : make_matrix(p->in, DEPTH, ROWS, p->a_order, p->batch),
		.b = p->op_b == N ? make_matrix(p->in, DEPTH, COLUMNS, p->b_order, p->batch)
				  : make_matrix(p->in, COLUMNS, DEPTH, p->b_order, p->batch),
		.c = make_matrix(p->out, ROWS, COLUMNS, COL, p->batch),
		.d = make_matrix(p->out, ROWS, COLUMNS, p->d_order, p->batch),
		.bias = make_array(p->out, (size_t)(p->batch * COLUMNS)),
		.aux = make_array(F, (size_t)(p->batch * AUX_LD * COLUMNS)),
	};
	size_t mask_bytes = (size_t)(p->batch * AUX_LD * COLUMNS / 8);
	unsigned char *mask = malloc(mask_bytes), *got = malloc(mask_bytes);
	double tolerance = 40 * spacing_of(p->out == p->in ? p->in : F) * (p->out == F && p->in != F ? 4 : 1);

	case_name = p->name;
	if (mask == NULL || got == NULL)
		abort();
	CUDA(cudaMemcpy(mask, o.aux.device, mask_bytes, cudaMemcpyDeviceToHost));
	/* What is there must not matter when beta is 0. */
	if (p->beta == 0 && p->is_in_place)
		abort();
	call(p, &o);
	expect(p, &o, mask);
	COMPARE(&o.d.array, has(p, CUBLASLT_EPILOGUE_GELU) || has(p, CUBLASLT_EPILOGUE_DGELU) ? 4 * tolerance
											      : tolerance);
	COMPARE(&o.bias, 4 * tolerance);
	if (has(p, CUBLASLT_EPILOGUE_RELU_AUX)) {
		CUDA(cudaMemcpy(got, o.aux.device, mask_bytes, cudaMemcpyDeviceToHost));
		EXPECT(memcmp(got, mask, mask_bytes) == 0);
	} else {
		COMPARE(&o.aux, tolerance);
	}
	free(mask);
	free(got);
	drop_array(&o.a.array);
	drop_array(&o.b.array);
	drop_array(&o.c.array);
	drop_array(&o.d.array);
	drop_array(&o.bias);
	drop_array(&o.aux);
}

/* alpha per row in device memory, beta none or a number on the host. */
static void test_vectors(int mode, bool is_in_place)
{
	struct product p = {"alpha by rows", F, F, F32, N, N, COL, COL, COL, 1, 1, 0, false, false, NONE};
	struct operands o = {.a = make_matrix(F, ROWS, DEPTH, COL, 1),
		.b = make_matrix(F, DEPTH, COLUMNS, COL, 1),
		.c = make_matrix(F, ROWS, COLUMNS, COL, 1),
		.d = make_matrix(F, ROWS, COLUMNS, COL, 1),
		.bias = make_array(F, ROWS),
		.aux = make_array(F, AUX_LD * COLUMNS)};
	struct array alpha = make_array(F, ROWS);
	cublasLtMatrixLayout_t layout[] = {
		layout_of(&o.a), layout_of(&o.b), layout_of(&o.c), layout_of(&o.d)};
	cublasLtMatmulDesc_t matmul = describe(&p, &o);
	float beta = 0.5f;
	int32_t value = mode;

	case_name = p.name;
	OK(cublasLtMatmulDescSetAttribute(matmul, CUBLASLT_MATMUL_DESC_POINTER_MODE, &value, sizeof(value)));
	OK(cublasLtMatmul(lt, matmul, alpha.device, o.a.array.device, layout[0], o.b.array.device, layout[1],
		mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO ? NULL : &beta,
		(is_in_place ? o.d : o.c).array.device, layout[2], o.d.array.device, layout[3], NULL, NULL, 0,
		stream));
	CUDA(cudaStreamSynchronize(stream));
	if (is_in_place)
		memcpy(o.c.array.value, o.d.array.value, o.c.array.count * sizeof(double));
	expect(&p, &o, NULL);
	for (int i = 0; i < ROWS * COLUMNS; i++) {
		double c = mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO ? 0 : 0.5;
		double *d = at(&o.d, 0, i % ROWS, i / ROWS);

		*d = alpha.value[i % ROWS] * *d + c * *at(&o.c, 0, i % ROWS, i / ROWS);
	}
	COMPARE(&o.d.array, 1e-5);
	for (int i = 0; i < 4; i++)
		spoil(layout[i]);
	OK(cublasLtMatmulDescDestroy(matmul));
	drop_array(&o.a.array);
	drop_array(&o.b.array);
	drop_array(&o.c.array);
	drop_array(&o.d.array);
	drop_array(&o.bias);
	drop_array(&o.aux);
	drop_array(&alpha);
}

/* c = 2 * a' + 0.5 * b, from columns to rows and from half to float. */
static void test_transform(void)
{
	struct matrix a = make_matrix(CUDA_R_16F, COLUMNS, ROWS, COL, 2),
		      b = make_matrix(F, ROWS, COLUMNS, COL, 2);
	struct matrix c = make_matrix(F, ROWS, COLUMNS, ROW, 2);
	cublasLtMatrixLayout_t layout[] = {layout_of(&a), layout_of(&b), layout_of(&c)};
	cublasLtMatrixTransformDesc_t transform = NULL;
	int32_t op = T;
	float alpha = 2, beta = 0.5f;

	case_name = "transform";
	OK(cublasLtMatrixTransformDescCreate(&transform, F));
	OK(cublasLtMatrixTransformDescSetAttribute(
		transform, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, &op, sizeof(op)));
	close_gate();
	OK(cublasLtMatrixTransform(lt, transform, &alpha, a.array.device, layout[0], &beta, b.array.device,
		layout[1], c.array.device, layout[2], stream));
	EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE,
		cublasLtMatrixTransform(lt, transform, &alpha, b.array.device, layout[1], NULL, NULL, NULL,
			c.array.device, layout[2], stream));
	alpha = beta = NAN;
	for (int i = 0; i < 3; i++)
		spoil(layout[i]);
	OK(cublasLtMatrixTransformDescDestroy(transform));
	open_gate();
	for (int i = 0; i < 2 * ROWS * COLUMNS; i++) {
		int n = i / (ROWS * COLUMNS), row = i % ROWS, column = i / ROWS % COLUMNS;

		*at(&c, n, row, column) = 2 * *at(&a, n, column, row) + 0.5 * *at(&b, n, row, column);
	}
	COMPARE(&c.array, 1e-6);
	drop_array(&a.array);
	drop_array(&b.array);
	drop_array(&c.array);
}

static void test_attributes(void)
{
	cublasLtMatmulDescOpaque_t own;
	cublasLtMatrixLayoutOpaque_t own_layout;
	cublasLtMatmulPreferenceOpaque_t own_preference;
	uint32_t epilogue = 0;
	uint64_t rows = 0;
	int64_t wide = 0;
	int32_t type = 0;
	size_t written = 0;

	case_name = "attributes";
	EXPECT_STATUS(
		CUBLAS_STATUS_ALLOC_FAILED, cublasLtMatmulDescInit_internal(&own, sizeof(own) - 1, F32, F));
	OK(cublasLtMatmulDescInit_internal(&own, sizeof(own), F32, F));
	OK(cublasLtMatmulDescGetAttribute(&own, CUBLASLT_MATMUL_DESC_EPILOGUE, NULL, 0, &written));
	EXPECT(written == sizeof(epilogue));
	OK(cublasLtMatmulDescGetAttribute(
		&own, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue), &written));
	EXPECT(epilogue == CUBLASLT_EPILOGUE_DEFAULT);
	OK(cublasLtMatmulDescGetAttribute(
		&own, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof(type), NULL));
	EXPECT(type == -1);
#define BAD(call) EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, call)
	BAD(cublasLtMatmulDescGetAttribute(&own, CUBLASLT_MATMUL_DESC_EPILOGUE, NULL, 0, NULL));
	BAD(cublasLtMatmulDescGetAttribute(
		&own, CUBLASLT_MATMUL_DESC_EPILOGUE, &wide, sizeof(wide), &written));
	BAD(cublasLtMatmulDescSetAttribute(&own, CUBLASLT_MATMUL_DESC_EPILOGUE, &wide, sizeof(wide)));
	BAD(cublasLtMatmulDescSetAttribute(&own, CUBLASLT_MATMUL_DESC_EPILOGUE, NULL, sizeof(epilogue)));
	BAD(cublasLtMatmulDescSetAttribute(
		&own, (cublasLtMatmulDescAttributes_t)77, &epilogue, sizeof(epilogue)));
	OK(cublasLtMatrixLayoutInit_internal(&own_layout, sizeof(own_layout), F, 5, 6, 7));
	OK(cublasLtMatrixLayoutGetAttribute(
		&own_layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof(rows), &written));
	EXPECT(rows == 5);
	OK(cublasLtMatmulPreferenceInit_internal(&own_preference, sizeof(own_preference)));
	OK(cublasLtMatmulPreferenceGetAttribute(&own_preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
		&epilogue, sizeof(epilogue), NULL));
	EXPECT(epilogue == 256);
	EXPECT(cublasLtGetVersion() == CUBLAS_VERSION);
	EXPECT(strcmp(cublasLtGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED") ==
		0);
}

static void test_algorithms(void)
{
	cublasLtMatmulAlgo_t algo;
	int ids[4] = {-1, -1, -1, -1}, count = 0;
	int32_t number = 3;
	uint32_t tile = 0;
	size_t written = 0;

	case_name = "algorithms";
	OK(cublasLtMatmulAlgoGetIds(lt, F32, F, F, F, F, F, 4, ids, &count));
	EXPECT(count == 1 && ids[0] >= 0);
	BAD(cublasLtMatmulAlgoGetIds(lt, F32, F, F, F, F, F, 0, ids, &count));
	BAD(cublasLtMatmulAlgoInit(lt, F32, F, F, F, F, F, 99, &algo));
	EXPECT_STATUS(CUBLAS_STATUS_NOT_SUPPORTED,
		cublasLtMatmulAlgoInit(lt, F32, F, CUDA_R_8I, F, F, F, ids[0], &algo));
	OK(cublasLtMatmulAlgoInit(lt, F32, F, F, F, F, F, ids[0], &algo));
	OK(cublasLtMatmulAlgoConfigSetAttribute(
		&algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &number, sizeof(number)));
	OK(cublasLtMatmulAlgoConfigGetAttribute(
		&algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, sizeof(tile), &written));
	EXPECT(tile == 3 && written == sizeof(tile));
	BAD(cublasLtMatmulAlgoConfigSetAttribute(&algo, CUBLASLT_ALGO_CONFIG_ID, &number, sizeof(number)));
	OK(cublasLtMatmulAlgoCapGetAttribute(
		&algo, CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT, &number, sizeof(number), &written));
	EXPECT(number == 1);
}

static void test_errors(void)
{
	struct product p = products[0];
	struct operands o = {.a = make_matrix(F, ROWS, DEPTH, COL, 1),
		.b = make_matrix(F, DEPTH, COLUMNS, COL, 1),
		.c = make_matrix(F, ROWS, COLUMNS, COL, 1),
		.d = make_matrix(F, ROWS, COLUMNS, COL, 1)};
	cublasLtMatrixLayout_t layout[] = {
		layout_of(&o.a), layout_of(&o.b), layout_of(&o.c), layout_of(&o.d)};
	cublasLtMatmulDesc_t matmul = describe(&p, &o);
	cublasLtMatmulHeuristicResult_t found;
	cublasLtMatmulAlgo_t nonsense;
	cublasLtMatmulPreference_t preference = NULL;
	const float one = 1, zero = 0;
	uint32_t epilogue = CUBLASLT_EPILOGUE_BIAS;
	int32_t order = CUBLASLT_ORDER_COL32;
	int64_t ld = 100;
	int count = 7;

	case_name = "errors";
#define MATMUL(handle_, alpha_, a_, algo_) \
	cublasLtMatmul(handle_, matmul, alpha_, a_, layout[0], o.b.array.device, layout[1], &zero, NULL, \
		layout[2], o.d.array.device, layout[3], algo_, NULL, 0, stream)
	memset(&nonsense, 0xff, sizeof(nonsense));
	EXPECT_STATUS(CUBLAS_STATUS_NOT_INITIALIZED, MATMUL(NULL, &one, o.a.array.device, NULL));
	BAD(MATMUL(lt, NULL, o.a.array.device, NULL));
	BAD(MATMUL(lt, &one, NULL, NULL));
	BAD(MATMUL(lt, &one, o.a.array.device, &nonsense));
	BAD(cublasLtMatmul(lt, matmul, &one, o.a.array.device, layout[0], o.b.array.device, layout[1], &one,
		NULL, layout[2], o.d.array.device, layout[3], NULL, NULL, 0, stream));
	/* Matrices that do not fit together. */
	BAD(cublasLtMatmul(lt, matmul, &one, o.a.array.device, layout[0], o.b.array.device, layout[0], &zero,
		NULL, layout[2], o.d.array.device, layout[3], NULL, NULL, 0, stream));
	OK(cublasLtMatmulPreferenceCreate(&preference));
	BAD(cublasLtMatmulAlgoGetHeuristic(
		lt, matmul, layout[0], layout[0], layout[2], layout[3], preference, 1, &found, &count));
	EXPECT(count == 0);
	BAD(cublasLtMatmulAlgoGetHeuristic(
		lt, matmul, layout[0], layout[1], layout[2], layout[3], preference, 0, &found, &count));
	/* Epilogues without what they need. */
	OK(cublasLtMatmulDescSetAttribute(
		matmul, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue)));
	BAD(MATMUL(lt, &one, o.a.array.device, NULL));
	/* The heuristics can be asked before there is a bias. */
	OK(cublasLtMatmulAlgoGetHeuristic(
		lt, matmul, layout[0], layout[1], layout[2], layout[3], preference, 1, &found, &count));
	EXPECT(count == 1);
	epilogue = CUBLASLT_EPILOGUE_GELU_AUX;
	OK(cublasLtMatmulDescSetAttribute(
		matmul, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue)));
	OK(cublasLtMatmulDescSetAttribute(
		matmul, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &o.c.array.device, sizeof(void *)));
	OK(cublasLtMatmulDescSetAttribute(matmul, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &ld, sizeof(ld)));
	BAD(MATMUL(lt, &one, o.a.array.device, NULL)); /* not a multiple of 8 */
	epilogue = 3;
	OK(cublasLtMatmulDescSetAttribute(
		matmul, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue)));
	BAD(MATMUL(lt, &one, o.a.array.device, NULL));
	epilogue = CUBLASLT_EPILOGUE_DEFAULT;
	OK(cublasLtMatmulDescSetAttribute(
		matmul, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue)));
	OK(cublasLtMatrixLayoutSetAttribute(layout[0], CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof(order)));
	EXPECT_STATUS(CUBLAS_STATUS_NOT_SUPPORTED, MATMUL(lt, &one, o.a.array.device, NULL));
	EXPECT_STATUS(
		CUBLAS_STATUS_NOT_SUPPORTED, cublasLtMatmulAlgoGetHeuristic(lt, matmul, layout[0], layout[1],
						     layout[2], layout[3], preference, 1, &found, &count));
	order = COL;
	ld = 3;
	OK(cublasLtMatrixLayoutSetAttribute(layout[0], CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof(order)));
	OK(cublasLtMatrixLayoutSetAttribute(layout[0], CUBLASLT_MATRIX_LAYOUT_LD, &ld, sizeof(ld)));
	BAD(MATMUL(lt, &one, o.a.array.device, NULL));
	BAD(cublasLtCreate(NULL));
	EXPECT_STATUS(CUBLAS_STATUS_NOT_INITIALIZED, cublasLtDestroy(NULL));
	OK(cublasLtMatmulPreferenceDestroy(preference));
	OK(cublasLtMatmulDescDestroy(matmul));
	for (int i = 0; i < 4; i++)
		OK(cublasLtMatrixLayoutDestroy(layout[i]));
	drop_array(&o.a.array);
	drop_array(&o.b.array);
	drop_array(&o.c.array);
	drop_array(&o.d.array);
}

int main(void)
{
	begin_tests();
	OK(cublasLtCreate(&lt));
	for (size_t i = 0; i < sizeof(products) / sizeof(products[0]); i++)
		test_product(&products[i]);
	test_vectors(CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO, false);
	test_vectors(CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST, false);
	test_vectors(CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST, true);
	test_transform();
	test_attributes();
	test_algorithms();
	test_errors();
	OK(cublasLtDestroy(lt));
	return end_tests();
}
