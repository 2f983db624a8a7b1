/*
 * Changes of layout: C = alpha * op(A) + beta * op(B), each matrix with an order and a type of its own.
 *
 * The one idea: element by element in double precision; nobody waits for it.
 */
#include "cublaslt_private.h"

#include "cublas/cost.h"

#include <limits.h>
#include <string.h>

cublasStatus_t sg_layout_check(const struct sg_layout *layout)
{
	uint64_t side = layout->order == CUBLASLT_ORDER_ROW ? layout->columns : layout->rows;

	if (layout->order < CUBLASLT_ORDER_COL || layout->order > CUBLASLT_ORDER_COL32_2R_4R4 ||
		layout->batch_count < 1)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (layout->order > CUBLASLT_ORDER_ROW || layout->plane_offset != 0 || layout->batch_mode != 0 ||
		sg_real_bytes((cudaDataType)layout->type) == 0 || layout->rows > INT_MAX ||
		layout->columns > INT_MAX || layout->ld > INT_MAX)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return layout->ld < 1 || (uint64_t)layout->ld < side ? CUBLAS_STATUS_INVALID_VALUE
							     : CUBLAS_STATUS_SUCCESS;
}

/* alpha or beta: a number, or where it will be. */
struct scalar {
	double value;
	const void *address; /* NULL: value holds */
};

struct transform_job {
	struct sg_transform transform;
	struct sg_layout a_layout, b_layout, c_layout;
	struct scalar alpha, beta;
	const void *a, *b;
	void *c;
};

static double element(
	const void *base, const struct sg_layout *layout, int32_t op, int64_t batch, int64_t i, int64_t j)
{
	int64_t row = op == CUBLAS_OP_N ? i : j, column = op == CUBLAS_OP_N ? j : i;

	return sg_load(sg_matrix_at(base, layout, batch), (cudaDataType)layout->type,
		row * sg_row_step(layout) + column * sg_column_step(layout));
}

static double value_of(const struct scalar *factor, int32_t type)
{
	return factor->address == NULL ? factor->value : sg_load(factor->address, (cudaDataType)type, 0);
}

static void run_transform(void *arg)
{
	const struct transform_job *job = arg;
	const struct sg_transform *by = &job->transform;
	const struct sg_layout *c = &job->c_layout;
	double alpha = value_of(&job->alpha, by->scale), beta = value_of(&job->beta, by->scale);

	for (int64_t batch = 0; batch < c->batch_count; batch++) {
		for (int64_t i = 0; i < (int64_t)c->rows; i++) {
			for (int64_t j = 0; j < (int64_t)c->columns; j++) {
				double value = alpha == 0 ? 0
							  : alpha * element(job->a, &job->a_layout, by->op_a,
									    batch, i, j);

				if (beta != 0)
					value +=
						beta * element(job->b, &job->b_layout, by->op_b, batch, i, j);
				sg_store(sg_matrix_at(job->c, c, batch), (cudaDataType)c->type,
					i * sg_row_step(c) + j * sg_column_step(c), value);
			}
		}
	}
}

static cublasStatus_t check_input(const struct sg_layout *layout, int32_t op, const struct sg_layout *c)
{
	cublasStatus_t status = sg_layout_check(layout);

	if (status != CUBLAS_STATUS_SUCCESS)
		return status;
	return sg_op_is_known(op) && sg_rows_of(layout, op) == c->rows &&
			       sg_columns_of(layout, op) == c->columns &&
			       layout->batch_count == c->batch_count
		       ? CUBLAS_STATUS_SUCCESS
		       : CUBLAS_STATUS_INVALID_VALUE;
}

static struct scalar take_scalar(const void *pointer, const struct sg_transform *transform)
{
	if (pointer == NULL)
		return (struct scalar){0};
	if (transform->pointer_mode == CUBLASLT_POINTER_MODE_DEVICE)
		return (struct scalar){0, pointer};
	return (struct scalar){sg_load(pointer, (cudaDataType)transform->scale, 0), NULL};
}

static double bytes_of(const struct sg_layout *layout)
{
	return (double)layout->rows * (double)layout->columns * layout->batch_count *
	       (double)sg_real_bytes((cudaDataType)layout->type);
}

static struct sg_cost cost_of(const struct transform_job *job)
{
	bool reads_b = job->b != NULL && (job->beta.address != NULL || job->beta.value != 0);
	double size = (double)job->c_layout.rows * (double)job->c_layout.columns * job->c_layout.batch_count;
	struct sg_cost cost = sg_cost_vector((cudaDataType)job->c_layout.type, reads_b ? size : 0, 0);

	cost.bytes = bytes_of(&job->a_layout) + bytes_of(&job->c_layout);
	cost.bytes += reads_b ? bytes_of(&job->b_layout) : 0;
	return cost;
}

cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t lightHandle,
	cublasLtMatrixTransformDesc_t transformDesc, const void *alpha, const void *A,
	cublasLtMatrixLayout_t Adesc, const void *beta, const void *B, cublasLtMatrixLayout_t Bdesc, void *C,
	cublasLtMatrixLayout_t Cdesc, cudaStream_t stream)
{
	struct transform_job job = {.a = A, .b = B, .c = C};
	struct sg_cost cost;
	cublasStatus_t status;

	SG_ENTER();
	if (lightHandle == NULL)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (transformDesc == NULL || Adesc == NULL || Cdesc == NULL || C == NULL || alpha == NULL ||
		A == NULL)
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy(&job.transform, transformDesc, sizeof(job.transform));
	memcpy(&job.a_layout, Adesc, sizeof(job.a_layout));
	memcpy(&job.c_layout, Cdesc, sizeof(job.c_layout));
	if (sg_real_bytes((cudaDataType)job.transform.scale) == 0)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	if (job.transform.pointer_mode > CUBLASLT_POINTER_MODE_DEVICE)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	status = sg_layout_check(&job.c_layout);
	if (status == CUBLAS_STATUS_SUCCESS)
		status = check_input(&job.a_layout, job.transform.op_a, &job.c_layout);
	job.alpha = take_scalar(alpha, &job.transform);
	if (status == CUBLAS_STATUS_SUCCESS && B != NULL) {
		if (Bdesc == NULL)
			return CUBLAS_STATUS_INVALID_VALUE;
		memcpy(&job.b_layout, Bdesc, sizeof(job.b_layout));
		status = check_input(&job.b_layout, job.transform.op_b, &job.c_layout);
		job.beta = take_scalar(beta, &job.transform);
	}
	if (status != CUBLAS_STATUS_SUCCESS)
		return status;
	cost = cost_of(&job);
	return sg_submit_cost(stream, &cost, run_transform, &job, sizeof(job)) == cudaSuccess
		       ? CUBLAS_STATUS_SUCCESS
		       : CUBLAS_STATUS_EXECUTION_FAILED;
}
