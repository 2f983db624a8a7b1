/*
 * Matrix products, reductions and reshapes of the backend.
 *
 * The one idea: a product whose matrices have neighbours in memory along one of their dimensions goes to
 * oneDNN's sgemm, any other to a plain loop; sums go through one walk with the result standing still where it
 * is smaller.
 */
#include "backend.h"

#include "cost.h"
#include "onednn.h"

#include <math.h>

SG_VECTORIZE_LOOPS

/* ---- products ---- */

/* How sgemm sees a matrix: as it lies, or transposed; false where neither. */
static bool find_layout(
	const struct sg_matrix *matrix, int64_t rows, int64_t columns, char *transposed, int64_t *ld)
{
	if (matrix->column == 1 && (matrix->row >= columns || rows == 1)) {
		*transposed = 'N';
		*ld = matrix->row >= columns ? matrix->row : columns;
		return true;
	}
	if (matrix->row == 1 && (matrix->column >= rows || columns == 1)) {
		*transposed = 'T';
		*ld = matrix->column >= rows ? matrix->column : rows;
		return true;
	}
	return false;
}

static void multiply_plainly(int64_t m, int64_t n, int64_t k, const struct sg_matrix *a,
	const struct sg_matrix *b, const struct sg_matrix *c, bool adds)
{
	for (int64_t i = 0; i < m; i++) {
		for (int64_t j = 0; j < n; j++) {
			float *to = &c->data[i * c->row + j * c->column];
			float sum = adds ? *to : 0;

			for (int64_t l = 0; l < k; l++)
				sum += a->data[i * a->row + l * a->column] *
				       b->data[l * b->row + j * b->column];
			*to = sum;
		}
	}
}

int sg_multiply(int64_t m, int64_t n, int64_t k, const struct sg_matrix *a, const struct sg_matrix *b,
	const struct sg_matrix *c, bool adds)
{
	char a_as, b_as, c_as;
	int64_t a_ld, b_ld, c_ld;
	int before;
	dnnl_status_t status;

	if (!find_layout(c, m, n, &c_as, &c_ld) || !find_layout(a, m, k, &a_as, &a_ld) ||
		!find_layout(b, k, n, &b_as, &b_ld)) {
		multiply_plainly(m, n, k, a, b, c, adds);
		return 0;
	}
	if (sg_onednn_open() != 0)
		return -1;
	before = sg_onednn_threads(sg_threads());
	/* sgemm's result has its rows apart; one with its columns apart is the transpose of b' * a'. */
	if (c_as == 'N')
		status = sg_onednn.dnnl_sgemm(a_as, b_as, m, n, k, 1, a->data, a_ld, b->data, b_ld,
			adds ? 1.0f : 0.0f, c->data, c_ld);
	else
		status = sg_onednn.dnnl_sgemm(b_as == 'N' ? 'T' : 'N', a_as == 'N' ? 'T' : 'N', n, m, k, 1,
			b->data, b_ld, a->data, a_ld, adds ? 1.0f : 0.0f, c->data, c_ld);
	sg_onednn_threads(before);
	return status == dnnl_success ? 0 : -1;
}

/* The last two dimensions are the matrices'; those before them count the batch, in which a or b may be
 * repeated. */
cudnnStatus_t sg_matmul_op_finalize(struct sg_body *op)
{
	const struct sg_shape *a = sg_body_shape(op, SG_MATMUL_OP_A);
	const struct sg_shape *b = sg_body_shape(op, SG_MATMUL_OP_B);
	const struct sg_shape *c = sg_body_shape(op, SG_MATMUL_OP_C);
	int last = c->ndims - 1;

	if (c->ndims < 2 || a->ndims != c->ndims || b->ndims != c->ndims)
		return CUDNN_STATUS_BAD_PARAM;
	if (a->dim[last - 1] != c->dim[last - 1] || b->dim[last] != c->dim[last] ||
		a->dim[last] != b->dim[last - 1])
		return CUDNN_STATUS_BAD_PARAM;
	for (int d = 0; d < last - 1; d++) {
		if ((a->dim[d] != c->dim[d] && c->dim[d] % a->dim[d] != 0) ||
			(b->dim[d] != c->dim[d] && c->dim[d] % b->dim[d] != 0))
			return CUDNN_STATUS_BAD_PARAM;
	}
	return CUDNN_STATUS_SUCCESS;
}

/* Where in a tensor the matrices of one batch position begin; a smaller batch is repeated in groups. */
static float *find_matrix(
	const struct sg_shape *shape, float *data, const struct sg_shape *c, int64_t position)
{
	for (int d = c->ndims - 3; d >= 0; d--) {
		int64_t at = position % c->dim[d] / (c->dim[d] / shape->dim[d]);

		position /= c->dim[d];
		data += at * shape->stride[d];
	}
	return data;
}

/* All of a matrix. */
static void fill(const struct sg_matrix *matrix, int64_t rows, int64_t columns, float value)
{
	for (int64_t i = 0; i < rows; i++) {
		for (int64_t j = 0; j < columns; j++)
			matrix->data[i * matrix->row + j * matrix->column] = value;
	}
}

/* Where a batch position has lengths of its own, what is after them is not multiplied, nor read. */
static int run_matmul(const struct sg_step *step, const struct sg_operands *operands)
{
	struct sg_matrix matrix[3];
	const struct sg_shape *a = operands->shape[SG_MATMUL_OP_A];
	const struct sg_shape *c = operands->shape[SG_MATMUL_OP_C];
	int last = c->ndims - 1;
	int64_t count = sg_shape_count(c) / c->dim[last] / c->dim[last - 1];
	int status = 0;

	for (int64_t i = 0; status == 0 && i < count; i++) {
		int batches = last > 1 ? c->dim[0] : 1;
		int64_t batch = i / (count / batches);
		int64_t m = sg_length_at(operands, SG_MATMUL_OP_M, batch, batches, c->dim[last - 1]);
		int64_t n = sg_length_at(operands, SG_MATMUL_OP_N, batch, batches, c->dim[last]);
		int64_t k = sg_length_at(operands, SG_MATMUL_OP_K, batch, batches, a->dim[last]);

		for (int t = SG_MATMUL_OP_A; t <= SG_MATMUL_OP_C; t++) {
			const struct sg_shape *shape = operands->shape[t];

			matrix[t].data = find_matrix(shape, operands->data[t], c, i);
			matrix[t].row = shape->stride[last - 1];
			matrix[t].column = shape->stride[last];
		}
		if (m < c->dim[last - 1] || n < c->dim[last])
			fill(&matrix[SG_MATMUL_OP_C], c->dim[last - 1], c->dim[last], step->by.padding);
		if (k == 0)
			fill(&matrix[SG_MATMUL_OP_C], m, n, 0);
		else if (m > 0 && n > 0)
			status = sg_multiply(m, n, k, &matrix[SG_MATMUL_OP_A], &matrix[SG_MATMUL_OP_B],
				&matrix[SG_MATMUL_OP_C], false);
	}
	return status;
}

cudnnStatus_t sg_matmul_op_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step)
{
	const struct sg_shape *a = sg_build_stored(build, step, SG_MATMUL_OP_A);
	const struct sg_shape *c = sg_build_stored(build, step, SG_MATMUL_OP_C);

	if (sg_body_int(op, SG_MATMUL_OP_BATCHES) != 1)
		return CUDNN_STATUS_NOT_SUPPORTED;
	step->run = run_matmul;
	step->kind = SG_STEP_PRODUCT;
	step->by.padding = (float)sg_body_real(sg_body_at(op, SG_MATMUL_OP_DESC, 0), 1);
	step->cost =
		sg_cost_matmul(a, c, (cudnnDataType_t)sg_body_int(sg_body_at(op, SG_MATMUL_OP_DESC, 0), 0));
	return CUDNN_STATUS_SUCCESS;
}

/* ---- reductions ---- */

/* Neighbours may be reduced in groups, as heads that share keys are: y's dimensions divide x's. */
cudnnStatus_t sg_reduction_op_finalize(struct sg_body *op)
{
	const struct sg_shape *x = sg_body_shape(op, SG_REDUCTION_OP_X);
	const struct sg_shape *y = sg_body_shape(op, SG_REDUCTION_OP_Y);
	int groups = 0;

	if (x->ndims != y->ndims)
		return CUDNN_STATUS_BAD_PARAM;
	for (int d = 0; d < x->ndims; d++) {
		if (x->dim[d] % y->dim[d] != 0)
			return CUDNN_STATUS_BAD_PARAM;
		groups += y->dim[d] > 1 && y->dim[d] < x->dim[d];
	}
	return x->ndims + groups <= SG_DIMS_MAX ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

/* Gives each dimension that is reduced in groups another one beside it, of the places in a group. */
static void split_groups(struct sg_shape *x, struct sg_shape *y)
{
	for (int d = 0; d < x->ndims; d++) {
		int group = x->dim[d] / y->dim[d];

		if (y->dim[d] == 1 || group == 1)
			continue;
		for (int e = x->ndims; e > d + 1; e--) {
			x->dim[e] = x->dim[e - 1], x->stride[e] = x->stride[e - 1];
			y->dim[e] = y->dim[e - 1], y->stride[e] = y->stride[e - 1];
		}
		x->ndims = ++y->ndims;
		x->dim[d + 1] = group, x->stride[d + 1] = x->stride[d];
		y->dim[d + 1] = 1, y->stride[d + 1] = y->stride[d];
		x->dim[d] = y->dim[d], x->stride[d] *= group;
	}
}

/* What goes on to the result that was there: sums in double where a whole row goes into one number. */
static inline float reduce_two(cudnnReduceTensorOp_t op, float y, float x)
{
	switch (op) {
	case CUDNN_REDUCE_TENSOR_MUL:
		return y * x;
	case CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS:
		return x == 0 ? y : y * x;
	case CUDNN_REDUCE_TENSOR_MIN:
		return x < y ? x : y;
	case CUDNN_REDUCE_TENSOR_MAX:
		return x > y ? x : y;
	case CUDNN_REDUCE_TENSOR_AMAX:
		return fabsf(x) > y ? fabsf(x) : y;
	case CUDNN_REDUCE_TENSOR_NORM1:
		return y + fabsf(x);
	case CUDNN_REDUCE_TENSOR_NORM2:
		return y + x * x;
	default:
		return y + x;
	}
}

/* Operands: y, x. */
static void row_reduce(int64_t n, void *const *at, const int64_t *step, const void *context)
{
	cudnnReduceTensorOp_t op = *(const cudnnReduceTensorOp_t *)context;
	float *y = at[0];
	const float *x = at[1];

	if (step[0] == 0 && (op == CUDNN_REDUCE_TENSOR_ADD || op == CUDNN_REDUCE_TENSOR_AVG)) {
		double sum = 0;

		for (int64_t i = 0; i < n; i++)
			sum += (double)x[i * step[1]];
		*y += (float)sum;
		return;
	}
	for (int64_t i = 0; i < n; i++)
		y[i * step[0]] = reduce_two(op, y[i * step[0]], x[i * step[1]]);
}

static void row_set(int64_t n, void *const *at, const int64_t *step, const void *context)
{
	for (int64_t i = 0; i < n; i++)
		((float *)at[0])[i * step[0]] = *(const float *)context;
}

static void row_root(int64_t n, void *const *at, const int64_t *step, const void *context)
{
	(void)context;
	for (int64_t i = 0; i < n; i++)
		((float *)at[0])[i * step[0]] = sqrtf(((const float *)at[0])[i * step[0]]);
}

static void row_scale(int64_t n, void *const *at, const int64_t *step, const void *context)
{
	for (int64_t i = 0; i < n; i++)
		((float *)at[0])[i * step[0]] *= *(const float *)context;
}

static void walk_one(const struct sg_shape *shape, float *data, sg_row *row, const void *context)
{
	struct sg_loop loop;

	sg_loop_init(&loop, shape, 1, &shape);
	sg_loop_run(&loop, (void *const[]){data}, row, context);
}

static float identity_of(cudnnReduceTensorOp_t op)
{
	switch (op) {
	case CUDNN_REDUCE_TENSOR_MUL:
	case CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS:
		return 1;
	case CUDNN_REDUCE_TENSOR_MIN:
		return INFINITY;
	case CUDNN_REDUCE_TENSOR_MAX:
		return -INFINITY;
	default:
		return 0;
	}
}

void sg_reduce_floats(cudnnReduceTensorOp_t op, const struct sg_shape *x_shape, const float *x,
	const struct sg_shape *y_shape, float *y)
{
	const struct sg_shape *const shapes[] = {y_shape, x_shape};
	float first = identity_of(op);
	float share = (float)sg_shape_count(y_shape) / (float)sg_shape_count(x_shape);
	struct sg_loop loop;

	walk_one(y_shape, y, row_set, &first);
	sg_loop_init(&loop, x_shape, 2, shapes);
	sg_loop_run(&loop, (void *const[]){y, (void *)(uintptr_t)x}, row_reduce, &op);
	if (op == CUDNN_REDUCE_TENSOR_AVG)
		walk_one(y_shape, y, row_scale, &share);
	if (op == CUDNN_REDUCE_TENSOR_NORM2)
		walk_one(y_shape, y, row_root, NULL);
}

static int run_reduction(const struct sg_step *step, const struct sg_operands *operands)
{
	struct sg_shape x = *operands->shape[SG_REDUCTION_OP_X], y = *operands->shape[SG_REDUCTION_OP_Y];

	split_groups(&x, &y);
	sg_reduce_floats(step->by.reduction, &x, operands->data[SG_REDUCTION_OP_X], &y,
		operands->data[SG_REDUCTION_OP_Y]);
	return 0;
}

cudnnStatus_t sg_reduction_op_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step)
{
	step->run = run_reduction;
	step->cost = sg_build_elements(build, step, SG_REDUCTION_OP_X, SG_FLOPS_ONE);
	step->by.reduction = (cudnnReduceTensorOp_t)sg_body_int(
		sg_body_at(op, SG_REDUCTION_OP_DESC, 0), SG_REDUCTION_OPERATOR);
	return CUDNN_STATUS_SUCCESS;
}

/* ---- reshapes ---- */

cudnnStatus_t sg_reshape_op_finalize(struct sg_body *op)
{
	return sg_shape_count(sg_body_shape(op, SG_RESHAPE_X)) ==
			       sg_shape_count(sg_body_shape(op, SG_RESHAPE_Y))
		       ? CUDNN_STATUS_SUCCESS
		       : CUDNN_STATUS_BAD_PARAM;
}

static int64_t offset_of(const struct sg_shape *shape, int64_t element)
{
	int64_t offset = 0;

	for (int d = shape->ndims - 1; d >= 0; d--) {
		offset += element % shape->dim[d] * shape->stride[d];
		element /= shape->dim[d];
	}
	return offset;
}

/* Finds for each dimension of y the one of x that it is; false where y is not x with its dimensions
 * exchanged. */
static bool find_view(const struct sg_shape *x, const struct sg_shape *y, int *from)
{
	unsigned taken = 0;

	for (int d = 0; x->ndims == y->ndims && d < y->ndims; d++) {
		int e = 0;

		while (e < x->ndims &&
			(taken >> e & 1 || x->dim[e] != y->dim[d] || x->stride[e] != y->stride[d]))
			e++;
		if (e == x->ndims)
			return false;
		taken |= 1u << e;
		from[d] = e;
	}
	return x->ndims == y->ndims;
}

static void row_copy(int64_t n, void *const *at, const int64_t *step, const void *context)
{
	(void)context;
	for (int64_t i = 0; i < n; i++)
		((float *)at[1])[i * step[1]] = ((const float *)at[0])[i * step[0]];
}

/* Elements of a view stay in their places; else they keep their number in the order of the dimensions. */
static int run_reshape(const struct sg_step *step, const struct sg_operands *operands)
{
	const struct sg_shape *x = operands->shape[SG_RESHAPE_X], *y = operands->shape[SG_RESHAPE_Y];
	struct sg_shape seen = *y;
	const struct sg_shape *const shapes[] = {&seen, y};
	struct sg_loop loop;

	if (!step->by.reshape.is_view) {
		for (int64_t i = 0; i < sg_shape_count(x); i++)
			operands->data[SG_RESHAPE_Y][offset_of(y, i)] =
				operands->data[SG_RESHAPE_X][offset_of(x, i)];
		return 0;
	}
	for (int d = 0; d < y->ndims; d++)
		seen.stride[d] = x->stride[step->by.reshape.from[d]];
	sg_loop_init(&loop, y, 2, shapes);
	sg_loop_run(&loop, (void *const[]){operands->data[SG_RESHAPE_X], operands->data[SG_RESHAPE_Y]},
		row_copy, NULL);
	return 0;
}

cudnnStatus_t sg_reshape_op_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step)
{
	bool is_logical = op->value[SG_RESHAPE_MODE].count > 0 && sg_body_int(op, SG_RESHAPE_MODE) == 1;

	step->run = run_reshape;
	step->cost = sg_build_elements(build, step, SG_RESHAPE_X, SG_FLOPS_MOVE);
	step->by.reshape.is_view =
		!is_logical && find_view(sg_build_stored(build, step, SG_RESHAPE_X),
				       sg_build_stored(build, step, SG_RESHAPE_Y), step->by.reshape.from);
	return CUDNN_STATUS_SUCCESS;
}
