/*
 * Products with what comes after them: D = epilogue(alpha * op(A) * op(B) + beta * C).
 *
 * The one idea: OpenBLAS multiplies, straight into D where D is float or double; then one pass over D does
 * all the rest, element by element in double precision.
 */
#include "cublaslt_private.h"

#include "cublas/cost.h"
#include "cublas/openblas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* alpha or beta: a number, or numbers in device memory, one or one per row. */
struct factor {
	double value;
	const void *address; /* NULL: value holds */
	bool is_vector;
};

struct job {
	struct sg_matmul matmul;
	struct sg_layout a_layout, b_layout, c_layout, d_layout;
	struct factor alpha, beta;
	const void *a, *b, *c;
	void *d;
	int device;
};

/* ---- the product ---- */

/* A matrix as OpenBLAS takes it: float or double. */
struct operand {
	void *data;
	int ld;
	void *copy; /* what to free */
};

/* Scales of 8-bit numbers; `outer` counts rows of op(A) or columns of op(B), `inner` what is summed over. */
struct scales {
	const float *scale; /* NULL: none */
	int32_t mode;
	bool outer_is_line; /* of the matrix as it lies */
	int64_t outer_count, inner_count;
};

static struct scales scales_of(
	const void *scale, int32_t mode, const struct sg_layout *layout, int32_t op, bool is_a)
{
	bool by_rows = layout->order == CUBLASLT_ORDER_ROW;
	bool rows_are_outer = (op == CUBLAS_OP_N) == is_a;

	return (struct scales){scale, mode, rows_are_outer == by_rows,
		(int64_t)(rows_are_outer ? layout->rows : layout->columns),
		(int64_t)(rows_are_outer ? layout->columns : layout->rows)};
}

static float scale_at(const struct scales *scales, int64_t line, int64_t at)
{
	int64_t outer = scales->outer_is_line ? line : at, inner = scales->outer_is_line ? at : line;
	int64_t blocks = (scales->inner_count + 127) / 128;

	switch (scales->scale == NULL ? -1 : scales->mode) {
	case SG_SCALE_ONE:
		return scales->scale[0];
	case SG_SCALE_OUTER:
		return scales->scale[outer];
	case SG_SCALE_BLOCKS_OF_128:
		return scales->scale[inner / 128 * scales->outer_count + outer];
	case SG_SCALE_SQUARES_OF_128:
		return scales->scale[outer / 128 * ((blocks + 3) / 4 * 4) + inner / 128];
	default:
		return 1;
	}
}

/* A matrix of 16 or 8 bits becomes a packed float copy in the same order, with its scales in it. */
static bool take_operand(
	struct operand *operand, void *data, const struct sg_layout *layout, const struct scales *scales)
{
	bool by_rows = layout->order == CUBLASLT_ORDER_ROW;
	int64_t side = (int64_t)(by_rows ? layout->columns : layout->rows);
	int64_t lines = (int64_t)(by_rows ? layout->rows : layout->columns);
	float *copy;

	*operand = (struct operand){data, (int)layout->ld, NULL};
	if (layout->type == CUDA_R_32F || layout->type == CUDA_R_64F)
		return true;
	copy = malloc((size_t)(side * lines + 1) * sizeof(*copy));
	for (int64_t i = 0; copy != NULL && i < side * lines; i++)
		copy[i] = (float)sg_load(data, (cudaDataType)layout->type, i / side * layout->ld + i % side) *
			  scale_at(scales, i / side, i % side);
	*operand = (struct operand){copy, side > 0 ? (int)side : 1, copy};
	return copy != NULL;
}

/* In the order of D, a matrix of the other order is its own transpose. */
static CBLAS_TRANSPOSE transpose_of(const struct sg_layout *layout, int32_t op, const struct sg_layout *d)
{
	return (op != CUBLAS_OP_N) != (layout->order != d->order) ? CblasTrans : CblasNoTrans;
}

/* product = alpha * op(a) * op(b) + beta * product, in D's order. */
static void multiply(const struct job *job, const struct operand *a, const struct operand *b,
	const struct operand *product, double alpha, double beta)
{
	const struct sg_layout *d = &job->d_layout;
	CBLAS_ORDER order = d->order == CUBLASLT_ORDER_ROW ? CblasRowMajor : CblasColMajor;
	CBLAS_TRANSPOSE op_a = transpose_of(&job->a_layout, job->matmul.op_a, d);
	CBLAS_TRANSPOSE op_b = transpose_of(&job->b_layout, job->matmul.op_b, d);
	int m = (int)d->rows, n = (int)d->columns, k = (int)sg_columns_of(&job->a_layout, job->matmul.op_a);

	if (d->type == CUDA_R_64F)
		sg_blas.cblas_dgemm(order, op_a, op_b, m, n, k, alpha, a->data, a->ld, b->data, b->ld, beta,
			product->data, product->ld);
	else
		sg_blas.cblas_sgemm(order, op_a, op_b, m, n, k, (float)alpha, a->data, a->ld, b->data, b->ld,
			(float)beta, product->data, product->ld);
}

/* ---- what comes after ---- */

static double factor_at(const struct factor *factor, const struct job *job, int64_t batch, int64_t row)
{
	if (factor->address == NULL)
		return factor->value;
	return sg_load(factor->address, (cudaDataType)job->matmul.scale,
		factor->is_vector ? batch * job->matmul.alpha_stride + row : 0);
}

static double gelu(double x)
{
	return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

static double gelu_slope(double x)
{
	double t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));

	return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

static cudaDataType type_or(int32_t type, uint32_t otherwise)
{
	return (cudaDataType)(type == -1 ? (int32_t)otherwise : type);
}

/* Element (i, j) of the auxiliary matrix of one batch position: a bit of the mask, or a number. */
static int64_t aux_index(const struct job *job, int64_t batch, int64_t i, int64_t j)
{
	bool by_rows = job->d_layout.order == CUBLASLT_ORDER_ROW;

	return batch * job->matmul.aux_stride +
	       (by_rows ? i * job->matmul.aux_ld + j : j * job->matmul.aux_ld + i);
}

static void put_bit(void *mask, int64_t index, bool value)
{
	uint8_t *at = (uint8_t *)mask + index / 8;
	uint8_t bit = (uint8_t)(1u << index % 8);

	*at = (uint8_t)(value ? *at | bit : *at & ~bit);
}

static bool get_bit(const void *mask, int64_t index)
{
	return ((const uint8_t *)mask)[index / 8] >> index % 8 & 1;
}

/* One element: bias, activation or its slope. */
static double finish(const struct job *job, double value, int64_t batch, int64_t i, int64_t j)
{
	const struct sg_matmul *by = &job->matmul;
	cudaDataType bias_type = type_or(by->bias_type, job->d_layout.type);
	cudaDataType aux_type = type_or(by->aux_type, job->d_layout.type);
	int64_t at = by->epilogue & SG_EPILOGUE_AUX ? aux_index(job, batch, i, j) : 0;

	if (by->epilogue & SG_EPILOGUE_BIAS)
		value += sg_load(by->bias, bias_type, batch * by->bias_stride + i);
	if (by->epilogue & SG_EPILOGUE_RELU) {
		if (by->epilogue & SG_EPILOGUE_AUX)
			put_bit(by->aux, at, value > 0);
		value = value > 0 ? value : 0;
	} else if (by->epilogue & SG_EPILOGUE_GELU) {
		if (by->epilogue & SG_EPILOGUE_AUX)
			sg_store(by->aux, aux_type, at, value);
		value = gelu(value);
	} else if (by->epilogue & SG_EPILOGUE_RELU_SLOPE) {
		value = get_bit(by->aux, at) ? value : 0;
	} else if (by->epilogue & SG_EPILOGUE_GELU_SLOPE) {
		value *= gelu_slope(sg_load(by->aux, aux_type, at));
	}
	return value;
}

/* The pass over one matrix; the product lies in `product`, of the type `type`. */
static void finish_all(const struct job *job, const struct operand *product, bool adds_c, int64_t batch)
{
	const struct sg_layout *c = &job->c_layout, *d = &job->d_layout;
	cudaDataType type = d->type == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F;
	cudaDataType bias_type = type_or(job->matmul.bias_type, d->type);
	bool by_rows = d->order == CUBLASLT_ORDER_ROW;
	const void *c_data = sg_matrix_at(job->c, c, batch);
	void *d_data = sg_matrix_at(job->d, d, batch);
	double c_scale = job->matmul.c_scale != NULL ? (double)*(const float *)job->matmul.c_scale : 1;
	double d_scale = job->matmul.d_scale != NULL ? (double)*(const float *)job->matmul.d_scale : 1;
	double largest = 0;

	for (int64_t i = 0; i < (int64_t)d->rows; i++) {
		double alpha = job->alpha.is_vector ? factor_at(&job->alpha, job, batch, i) : 1;
		double beta = adds_c ? factor_at(&job->beta, job, batch, i) : 0;
		double sum = 0;

		for (int64_t j = 0; j < (int64_t)d->columns; j++) {
			int64_t at = by_rows ? i * product->ld + j : j * (int64_t)product->ld + i;
			double value = alpha * sg_load(product->data, type, at);

			if (beta != 0)
				value += beta * c_scale *
					 sg_load(c_data, (cudaDataType)c->type,
						 i * sg_row_step(c) + j * sg_column_step(c));
			value = finish(job, value, batch, i, j);
			sum += value;
			largest = fmax(largest, fabs(value));
			sg_store(d_data, (cudaDataType)d->type, i * sg_row_step(d) + j * sg_column_step(d),
				value * d_scale);
		}
		if (job->matmul.epilogue & SG_EPILOGUE_BIAS_GRADIENT)
			sg_store(job->matmul.bias, bias_type, batch * job->matmul.bias_stride + i, sum);
	}
	if (job->matmul.amax != NULL)
		*(float *)job->matmul.amax =
			(float)(batch == 0 ? largest : fmax(largest, (double)*(float *)job->matmul.amax));
}

/* Sums of op(A)'s rows, or of op(B)'s columns, for a bias's gradient. */
static void sum_input(const struct job *job, const void *base, const struct sg_layout *layout,
	bool along_columns, int64_t batch)
{
	int64_t lines = (int64_t)(along_columns ? layout->rows : layout->columns);
	int64_t length = (int64_t)(along_columns ? layout->columns : layout->rows);
	int64_t line_step = along_columns ? sg_row_step(layout) : sg_column_step(layout);
	int64_t step = along_columns ? sg_column_step(layout) : sg_row_step(layout);
	const void *data = sg_matrix_at(base, layout, batch);

	for (int64_t line = 0; line < lines; line++) {
		double sum = 0;

		for (int64_t l = 0; l < length; l++)
			sum += sg_load(data, (cudaDataType)layout->type, line * line_step + l * step);
		sg_store(job->matmul.bias, type_or(job->matmul.bias_type, job->d_layout.type),
			batch * job->matmul.bias_stride + line, sum);
	}
}

static bool is_plain(const struct job *job)
{
	return job->matmul.epilogue == CUBLASLT_EPILOGUE_DEFAULT ||
	       (job->matmul.epilogue & (SG_EPILOGUE_SUM_A | SG_EPILOGUE_SUM_B));
}

static bool run_one(const struct job *job, int64_t batch)
{
	const struct sg_layout *d = &job->d_layout;
	bool is_vector = job->alpha.is_vector || job->beta.is_vector;
	double alpha = job->alpha.is_vector ? 1 : factor_at(&job->alpha, job, batch, 0);
	double beta = job->beta.is_vector ? 1 : factor_at(&job->beta, job, batch, 0);
	bool is_real = d->type == CUDA_R_32F || d->type == CUDA_R_64F;
	bool is_in_place = job->c == job->d && !is_vector && job->c_layout.order == d->order &&
			   job->c_layout.ld == d->ld && job->c_layout.batch_stride == d->batch_stride;
	/* The product may go to D at once unless C is still to be read there. */
	bool is_direct = is_real && (beta == 0 || is_in_place || job->c != job->d);
	bool blends = is_direct && is_in_place && beta != 0;
	struct operand a = {0}, b = {0}, product = {0};
	const struct scales a_scales = scales_of(
		job->matmul.a_scale, job->matmul.a_scale_mode, &job->a_layout, job->matmul.op_a, true);
	const struct scales b_scales = scales_of(
		job->matmul.b_scale, job->matmul.b_scale_mode, &job->b_layout, job->matmul.op_b, false);
	bool done =
		take_operand(&a, sg_matrix_at(job->a, &job->a_layout, batch), &job->a_layout, &a_scales) &&
		take_operand(&b, sg_matrix_at(job->b, &job->b_layout, batch), &job->b_layout, &b_scales);

	if (is_direct) {
		product = (struct operand){sg_matrix_at(job->d, d, batch), (int)d->ld, NULL};
	} else {
		product.data = product.copy = malloc((size_t)(d->rows * d->columns + 1) * 8);
		product.ld = (int)(d->order == CUBLASLT_ORDER_ROW ? d->columns : d->rows);
		done = done && product.data != NULL;
	}
	if (done) {
		multiply(job, &a, &b, &product, alpha, blends ? beta : 0);
		if (!is_direct || is_vector || !is_plain(job) || (beta != 0 && !blends))
			finish_all(job, &product, beta != 0 && !blends, batch);
	}
	free(a.copy);
	free(b.copy);
	free(product.copy);
	return done;
}

static void run_matmul(void *arg)
{
	const struct job *job = arg;

	for (int64_t batch = 0; batch < job->d_layout.batch_count; batch++) {
		/* Before D, which may be one of them. */
		if (job->matmul.epilogue & SG_EPILOGUE_SUM_A)
			sum_input(job, job->a, &job->a_layout, job->matmul.op_a == CUBLAS_OP_N, batch);
		if (job->matmul.epilogue & SG_EPILOGUE_SUM_B)
			sum_input(job, job->b, &job->b_layout, job->matmul.op_b != CUBLAS_OP_N, batch);
		if (!run_one(job, batch)) {
			sg_async_error(job->device, cudaErrorMemoryAllocation);
			return;
		}
	}
}

/* ---- calls ---- */

static void take_factors(struct job *job, const void *alpha, const void *beta)
{
	int32_t mode = job->matmul.pointer_mode;
	cudaDataType type = (cudaDataType)job->matmul.scale;

	if (mode == CUBLASLT_POINTER_MODE_HOST)
		job->alpha.value = sg_load(alpha, type, 0);
	else
		job->alpha = (struct factor){0, alpha, mode != CUBLASLT_POINTER_MODE_DEVICE};
	if (mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO)
		job->beta.value = 0;
	else if (mode == CUBLASLT_POINTER_MODE_HOST ||
		 mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST)
		job->beta.value = sg_load(beta, type, 0);
	else
		job->beta = (struct factor){0, beta, mode == CUBLASLT_POINTER_MODE_DEVICE_VECTOR};
}

static bool may_add(const struct factor *beta)
{
	return beta->address != NULL || beta->value != 0;
}

/* Beside the product: what the epilogue reads and writes. C is as large as D and of its type. */
static double extra_bytes(const struct job *job)
{
	const struct sg_matmul *by = &job->matmul;
	const struct sg_layout *d = &job->d_layout;
	const uint32_t with_bias = SG_EPILOGUE_BIAS | SG_EPILOGUE_BIAS_GRADIENT | SG_EPILOGUE_SUM_A;
	double bias_bytes = (double)sg_real_bytes(type_or(by->bias_type, d->type));
	double size = (double)d->rows * (double)d->columns;
	bool is_mask = by->epilogue & (SG_EPILOGUE_RELU | SG_EPILOGUE_RELU_SLOPE);
	double bytes = 0;

	if (by->epilogue & with_bias)
		bytes += (double)d->rows * bias_bytes;
	if (by->epilogue & SG_EPILOGUE_SUM_B)
		bytes += (double)d->columns * bias_bytes;
	if (by->epilogue & SG_EPILOGUE_AUX)
		bytes += is_mask ? size / 8 : size * (double)sg_real_bytes(type_or(by->aux_type, d->type));
	return bytes * d->batch_count;
}

static int alignment_of(const struct job *job)
{
	const struct sg_layout *const layouts[] = {&job->a_layout, &job->b_layout, &job->d_layout};
	const void *const addresses[] = {job->a, job->b, job->d};
	int alignment = 16;

	for (int i = 0; i < 3; i++)
		alignment = sg_cost_alignment(
			alignment, (cudaDataType)layouts[i]->type, layouts[i]->ld, addresses[i]);
	return alignment;
}

static struct sg_cost cost_of(const struct job *job)
{
	const struct sg_layout *a = &job->a_layout, *b = &job->b_layout, *d = &job->d_layout;
	double count = d->batch_count;
	const struct sg_product product = {(double)d->rows, (double)d->columns,
		(double)sg_columns_of(a, job->matmul.op_a), count, a->batch_stride == 0 ? 1 : count,
		b->batch_stride == 0 ? 1 : count, (cudaDataType)a->type, (cudaDataType)b->type,
		(cudaDataType)d->type, may_add(&job->beta), alignment_of(job)};
	struct sg_cost cost = sg_cost_product(&product,
		sg_is_8f(a->type) ? SG_COST_F8
				  : sg_cost_product_type((cudaDataType)a->type,
					    (cublasComputeType_t)job->matmul.compute, CUBLAS_DEFAULT_MATH));

	cost.bytes += extra_bytes(job);
	return cost;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t computeDesc,
	const void *alpha, const void *A, cublasLtMatrixLayout_t Adesc, const void *B,
	cublasLtMatrixLayout_t Bdesc, const void *beta, const void *C, cublasLtMatrixLayout_t Cdesc, void *D,
	cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t *algo, void *workspace,
	size_t workspaceSizeInBytes, cudaStream_t stream)
{
	struct job job = {.a = A, .b = B, .c = C, .d = D};
	struct sg_cost cost;
	cublasStatus_t status;

	(void)workspace;
	(void)workspaceSizeInBytes;
	SG_ENTER();
	if (lightHandle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (computeDesc == NULL || Adesc == NULL || Bdesc == NULL || Cdesc == NULL || Ddesc == NULL ||
		alpha == NULL ||
		(algo != NULL && ((const struct sg_algorithm *)algo)->is_set != SG_ALGORITHM_SET))
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy(&job.matmul, computeDesc, sizeof(job.matmul));
	memcpy(&job.a_layout, Adesc, sizeof(job.a_layout));
	memcpy(&job.b_layout, Bdesc, sizeof(job.b_layout));
	memcpy(&job.c_layout, Cdesc, sizeof(job.c_layout));
	memcpy(&job.d_layout, Ddesc, sizeof(job.d_layout));
	status = sg_matmul_check(&job.matmul, &job.a_layout, &job.b_layout, &job.c_layout, &job.d_layout);
	if (status == CUBLAS_STATUS_SUCCESS && (job.matmul.epilogue & SG_EPILOGUE_ANY_BIAS) &&
		job.matmul.bias == NULL)
		status = CUBLAS_STATUS_INVALID_VALUE;
	if (status != CUBLAS_STATUS_SUCCESS)
		return status;
	if (beta == NULL && job.matmul.pointer_mode != CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO)
		return CUBLAS_STATUS_INVALID_VALUE;
	take_factors(&job, alpha, beta);
	if (A == NULL || B == NULL || D == NULL || (C == NULL && may_add(&job.beta)))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (sg_openblas_open() != 0)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	job.device = sg_stream_device(stream);
	cost = cost_of(&job);
	return sg_submit_cost(stream, &cost, run_matmul, &job, sizeof(job)) == cudaSuccess
		       ? CUBLAS_STATUS_SUCCESS
		       : CUBLAS_STATUS_EXECUTION_FAILED;
}
