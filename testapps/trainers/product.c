/* Products by cuBLASLt: see product.h. */
#include "product.h"

#include "check.h"

enum { WORKSPACE_LIMIT = 4 << 20 };

struct product {
	cublasLtMatmulDesc_t matmul;
	cublasLtMatrixLayout_t a, b, d;
	cublasLtMatmulAlgo_t algorithm;
	const float *bias; /* that the library knows of */
};

static cublasLtMatrixLayout_t layout(int rows, int columns)
{
	cublasLtMatrixLayout_t made;

	CHECK(cublasLtMatrixLayoutCreate(&made, CUDA_R_32F, (uint64_t)rows, (uint64_t)columns, rows));
	return made;
}

static cublasLtMatmulDesc_t describe(
	const struct product_shape *shape, cublasLtEpilogue_t epilogue, const float *bias)
{
	cublasLtMatmulDesc_t made;

	CHECK(cublasLtMatmulDescCreate(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F));
	CHECK(cublasLtMatmulDescSetAttribute(
		made, CUBLASLT_MATMUL_DESC_TRANSA, &shape->op_a, sizeof(shape->op_a)));
	CHECK(cublasLtMatmulDescSetAttribute(
		made, CUBLASLT_MATMUL_DESC_TRANSB, &shape->op_b, sizeof(shape->op_b)));
	CHECK(cublasLtMatmulDescSetAttribute(
		made, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue)));
	if (bias)
		CHECK(cublasLtMatmulDescSetAttribute(
			made, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias)));
	return made;
}

static void choose(cublasLtHandle_t lt, struct product *p, size_t *workspace_size)
{
	const uint64_t limit = WORKSPACE_LIMIT;
	cublasLtMatmulPreference_t preference;
	cublasLtMatmulHeuristicResult_t found;
	int count = 0;

	CHECK(cublasLtMatmulPreferenceCreate(&preference));
	CHECK(cublasLtMatmulPreferenceSetAttribute(
		preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit, sizeof(limit)));
	CHECK(cublasLtMatmulAlgoGetHeuristic(
		lt, p->matmul, p->a, p->b, p->d, p->d, preference, 1, &found, &count));
	CHECK(cublasLtMatmulPreferenceDestroy(preference));
	if (count == 0)
		errx(1, "cuBLASLt has no algorithm for a product of this shape");
	p->algorithm = found.algo;
	if (found.workspaceSize > *workspace_size)
		*workspace_size = found.workspaceSize;
}

struct product *product_create(cublasLtHandle_t lt, const struct product_shape *shape,
	cublasLtEpilogue_t epilogue, const float *bias, size_t *workspace_size)
{
	struct product *p = xcalloc(1, sizeof(*p));

	p->matmul = describe(shape, epilogue, bias);
	p->bias = bias;
	p->a = shape->op_a == CUBLAS_OP_N ? layout(shape->m, shape->k) : layout(shape->k, shape->m);
	p->b = shape->op_b == CUBLAS_OP_N ? layout(shape->k, shape->n) : layout(shape->n, shape->k);
	p->d = layout(shape->m, shape->n);
	choose(lt, p, workspace_size);
	return p;
}

void product_destroy(struct product *p)
{
	if (!p)
		return;
	CHECK(cublasLtMatmulDescDestroy(p->matmul));
	CHECK(cublasLtMatrixLayoutDestroy(p->a));
	CHECK(cublasLtMatrixLayoutDestroy(p->b));
	CHECK(cublasLtMatrixLayoutDestroy(p->d));
	free(p);
}

void product_run(cublasLtHandle_t lt, struct product *p, const float *a, const float *b, int adds, float *d,
	const float *bias, void *workspace, size_t workspace_size, cudaStream_t stream)
{
	const float one = 1, zero = 0;

	if (bias != p->bias)
		CHECK(cublasLtMatmulDescSetAttribute(
			p->matmul, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias)));
	p->bias = bias;
	CHECK(cublasLtMatmul(lt, p->matmul, &one, a, p->a, b, p->b, adds ? &one : &zero, d, p->d, d, p->d,
		&p->algorithm, workspace, workspace_size, stream));
}
