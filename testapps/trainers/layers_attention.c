/*
 * Attention over places: see layers.h.
 *
 * To cuBLAS, which counts along columns, a sample of `maps` maps of `places` numbers is a places x maps
 * matrix: Q, K, V and the output O. The weights A, kept for backward, have a column per query: A = softmax(K
 * Q^T) along columns, O = A^T V. All products are batched over the samples.
 */
#include "layers_kind.h"

#include "check.h"

static int places_of(const struct nn_layer *l)
{
	return l->in.d * l->in.h * l->in.w;
}

/* Each sample's c (rows x columns) = op(a) op(b), `inner` being summed over. */
static void products(struct nn *nn, const struct nn_layer *l, cublasOperation_t op_a, cublasOperation_t op_b,
	int columns, int inner, const float *a, int a_columns, const float *b, int b_columns, int adds,
	float *c)
{
	const int rows = places_of(l);

	CHECK(cublasSgemmStridedBatched(nn->cublas, op_a, op_b, rows, columns, inner, &layers_one, a, rows,
		(long long)rows * a_columns, b, rows, (long long)rows * b_columns, layers_beta(adds), c, rows,
		(long long)rows * columns, l->in.n));
}

void attention_create(struct nn *nn, struct nn_layer *l)
{
	const int places = places_of(l);

	l->aux_desc = layers_tensor(2, (struct nn_shape){l->in.n * places, places, 1, 1, 1});
	layers_need_scratch(nn, (size_t)l->in.n * (size_t)places * (size_t)places);
}

void attention_forward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	const int places = places_of(l), narrow = l->in.c, maps = l->out.c;
	float *weights = (float *)run->saved;

	products(nn, l, CUBLAS_OP_N, CUBLAS_OP_T, places, narrow, run->x[1], narrow, run->x[0], narrow, 0,
		nn->scratch);
	CHECK(cudnnSoftmaxForward(nn->cudnn, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE, &layers_one,
		l->aux_desc, nn->scratch, &layers_zero, l->aux_desc, weights));
	products(nn, l, CUBLAS_OP_T, CUBLAS_OP_N, maps, places, weights, places, run->x[2], maps, 0, run->y);
}

/* dV = A dO; dA = V dO^T, from it through the softmax dE, in its place; dQ = dE^T K; dK = dE Q. */
void attention_backward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	const int places = places_of(l), narrow = l->in.c, maps = l->out.c;
	float *weights = (float *)run->saved, *energy = nn->scratch;

	products(nn, l, CUBLAS_OP_N, CUBLAS_OP_T, places, maps, run->x[2], maps, l->dy, maps, 0, energy);
	CHECK(cudnnSoftmaxBackward(nn->cudnn, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE,
		&layers_one, l->aux_desc, weights, l->aux_desc, energy, &layers_zero, l->aux_desc, energy));
	if (run->dx[0])
		products(nn, l, CUBLAS_OP_T, CUBLAS_OP_N, narrow, places, energy, places, run->x[1], narrow,
			l->adds[0], run->dx[0]);
	if (run->dx[1])
		products(nn, l, CUBLAS_OP_N, CUBLAS_OP_N, narrow, places, energy, places, run->x[0], narrow,
			l->adds[1], run->dx[1]);
	if (run->dx[2])
		products(nn, l, CUBLAS_OP_N, CUBLAS_OP_N, maps, places, weights, places, l->dy, maps,
			l->adds[2], run->dx[2]);
}
