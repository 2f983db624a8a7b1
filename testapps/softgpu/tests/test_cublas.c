/*
 * Checks the matrix products of the stand-in cuBLAS against direct loops in double precision, in all types
 * and batched forms, with scalars in host and device memory; and what calls answer to wrong arguments.
 */
#include "test_blas.h"

/* The vendor's header declares these to C++ alone. */
cublasStatus_t cublasHgemm(cublasHandle_t own, cublasOperation_t transa, cublasOperation_t transb, int m,
	int n, int k, const void *alpha, const void *a, int lda, const void *b, int ldb, const void *beta,
	void *c, int ldc);
cublasStatus_t cublasHgemmStridedBatched(cublasHandle_t own, cublasOperation_t transa,
	cublasOperation_t transb, int m, int n, int k, const void *alpha, const void *a, int lda,
	long long stride_a, const void *b, int ldb, long long stride_b, const void *beta, void *c, int ldc,
	long long stride_c, int count);

/* ---- products ---- */

enum form { SINGLE, SINGLE_EX, BATCHED, BATCHED_EX, STRIDED, STRIDED_EX };

struct gemm_case {
	cublasOperation_t op_a, op_b;
	int m, n, k;
	int gap; /* rows that leading dimensions have more than needed */
	double alpha, beta;
};

static const struct gemm_case gemm_cases[] = {
	{N, N, 4, 5, 6, 0, 1, 0},
	{T, N, 7, 3, 5, 2, 1, 0},
	{N, T, 3, 8, 2, 1, 0.5, 1},
	{T, T, 6, 6, 6, 3, -1.5, 0.5},
	{C, C, 5, 4, 3, 0, 1, 2},
	{N, N, 120, 64, 400, 0, 1, 0},
	{T, N, 65, 33, 129, 1, 2, -1},
	{N, N, 1, 9, 4, 0, 1, 1},
	{N, N, 9, 1, 1, 2, 1, 0},
	{N, N, 4, 5, 0, 1, 1, 0.5},
	{N, N, 3, 3, 3, 0, 0, 0},
};

struct types {
	cudaDataType ab, c, scale;
	cublasComputeType_t compute;
};

static const struct types type_cases[] = {
	{CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F},
	{CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F},
	{CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F},
	{CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F},
	{CUDA_R_16F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F},
	{CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F},
	{CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F},
};

#define BATCH 3

static void *make_pointers(const struct array *a, size_t stride)
{
	void *pointers[BATCH];
	void *device = NULL;

	for (size_t i = 0; i < BATCH; i++)
		pointers[i] = (char *)a->device + i * stride * bytes_of(a->type);
	CUDA(cudaMalloc(&device, sizeof(pointers)));
	CUDA(cudaMemcpy(device, pointers, sizeof(pointers), cudaMemcpyHostToDevice));
	return device;
}

static void test_gemm(const struct gemm_case *s, const struct types *types, enum form form, bool on_device)
{
	int batch = form >= BATCHED ? BATCH : 1;
	int lda = (s->op_a == N ? s->m : s->k) + s->gap, ldb = (s->op_b == N ? s->k : s->n) + s->gap,
	    ldc = s->m + s->gap;
	size_t sa, sb, sc;
	struct array a, b, c;
	struct scalar alpha = make_scalar(types->scale, s->alpha, on_device);
	struct scalar beta = make_scalar(types->scale, s->beta, on_device);
	const void *al = address_of(&alpha), *be = address_of(&beta);
	void *pa = NULL, *pb = NULL, *pc = NULL;
	cudaDataType ab = types->ab;
	const cublasGemmAlgo_t algo = CUBLAS_GEMM_DEFAULT;

	case_name = "gemm";
	lda = lda > 0 ? lda : 1;
	ldb = ldb > 0 ? ldb : 1;
	sa = (size_t)lda * (size_t)((s->op_a == N ? s->k : s->m) + 1);
	sb = (size_t)ldb * (size_t)((s->op_b == N ? s->n : s->k) + 1);
	sc = (size_t)ldc * (size_t)(s->n + 1);
	a = make_array(ab, sa * BATCH);
	b = make_array(ab, sb * BATCH);
	c = make_array(types->c, sc * BATCH);
	/* What is there must not matter when beta is 0. */
	for (int i = 0; s->beta == 0 && bytes_of(types->c) >= 4 && i < batch * s->n * s->m; i++)
		c.value[(size_t)(i / (s->n * s->m)) * sc + (size_t)(i / s->m % s->n * ldc + i % s->m)] = NAN;
	upload(&c);
	if (form == BATCHED || form == BATCHED_EX) {
		pa = make_pointers(&a, sa);
		pb = make_pointers(&b, sb);
		pc = make_pointers(&c, sc);
	}
	OK(cublasSetPointerMode(handle, on_device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST));
	close_gate();
	arrive(&alpha);
	arrive(&beta);
	if (form == SINGLE && ab == CUDA_R_32F)
		OK(cublasSgemm(handle, s->op_a, s->op_b, s->m, s->n, s->k, al, a.device, lda, b.device, ldb,
			be, c.device, ldc));
	else if (form == SINGLE && ab == CUDA_R_64F)
		OK(cublasDgemm(handle, s->op_a, s->op_b, s->m, s->n, s->k, al, a.device, lda, b.device, ldb,
			be, c.device, ldc));
	else if (form == SINGLE && types->scale == CUDA_R_16F)
		OK(cublasHgemm(handle, s->op_a, s->op_b, s->m, s->n, s->k, al, a.device, lda, b.device, ldb,
			be, c.device, ldc));
	else if (form == SINGLE && types->scale == CUDA_R_32F)
		OK(cublasSgemmEx(handle, s->op_a, s->op_b, s->m, s->n, s->k, al, a.device, ab, lda, b.device,
			ab, ldb, be, c.device, types->c, ldc));
	else if (form == BATCHED && ab == CUDA_R_32F)
		OK(cublasSgemmBatched(handle, s->op_a, s->op_b, s->m, s->n, s->k, al, pa, lda, pb, ldb, be,
			pc, ldc, batch));
	else if (form == BATCHED && ab == CUDA_R_64F)
		OK(cublasDgemmBatched(handle, s->op_a, s->op_b, s->m, s->n, s->k, al, pa, lda, pb, ldb, be,
			pc, ldc, batch));
	else if (form == STRIDED && ab == CUDA_R_32F)
		OK(cublasSgemmStridedBatched(handle, s->op_a, s->op_b, s->m, s->n, s->k, al, a.device, lda,
			(long long)sa, b.device, ldb, (long long)sb, be, c.device, ldc, (long long)sc,
			batch));
	else if (form == STRIDED && ab == CUDA_R_64F)
		OK(cublasDgemmStridedBatched(handle, s->op_a, s->op_b, s->m, s->n, s->k, al, a.device, lda,
			(long long)sa, b.device, ldb, (long long)sb, be, c.device, ldc, (long long)sc,
			batch));
	else if (form == STRIDED && types->scale == CUDA_R_16F)
		OK(cublasHgemmStridedBatched(handle, s->op_a, s->op_b, s->m, s->n, s->k, al, a.device, lda,
			(long long)sa, b.device, ldb, (long long)sb, be, c.device, ldc, (long long)sc,
			batch));
	else if (form == BATCHED || form == BATCHED_EX)
		OK(cublasGemmBatchedEx(handle, s->op_a, s->op_b, s->m, s->n, s->k, al, pa, ab, lda, pb, ab,
			ldb, be, pc, types->c, ldc, batch, types->compute, algo));
	else if (form == STRIDED || form == STRIDED_EX)
		OK(cublasGemmStridedBatchedEx(handle, s->op_a, s->op_b, s->m, s->n, s->k, al, a.device, ab,
			lda, (long long)sa, b.device, ab, ldb, (long long)sb, be, c.device, types->c, ldc,
			(long long)sc, batch, types->compute, algo));
	else
		OK(cublasGemmEx(handle, s->op_a, s->op_b, s->m, s->n, s->k, al, a.device, ab, lda, b.device,
			ab, ldb, be, c.device, types->c, ldc, types->compute, algo));
	memset(alpha.host, 0xff, sizeof(alpha.host));
	memset(beta.host, 0xff, sizeof(beta.host));
	open_gate();
	for (size_t p = 0; p < (size_t)batch; p++) {
		for (int j = 0; j < s->n; j++) {
			for (int i = 0; i < s->m; i++) {
				double *out = &c.value[p * sc + (size_t)(j * ldc + i)];
				double sum = 0;

				for (int k = 0; k < s->k; k++)
					sum += a.value[p * sa +
						       (size_t)(s->op_a == N ? k * lda + i : i * lda + k)] *
					       b.value[p * sb +
						       (size_t)(s->op_b == N ? j * ldb + k : k * ldb + j)];
				*out = s->alpha * sum + (s->beta == 0 ? 0 : s->beta * *out);
			}
		}
	}
	COMPARE(&c, spacing_of(types->c) * 2 +
			    spacing_of(CUDA_R_32F) * (types->c == CUDA_R_64F ? 1e-8 : 1) * (8 + s->k));
	drop_array(&a);
	drop_array(&b);
	drop_array(&c);
	drop_scalar(&alpha);
	drop_scalar(&beta);
	if (pa != NULL) {
		CUDA(cudaFree(pa));
		CUDA(cudaFree(pb));
		CUDA(cudaFree(pc));
	}
	OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
}

/* Two groups, of one product and of two, whose sizes are gone when they are computed. */
static void test_groups(const struct types *types)
{
	enum { GROUPS = 2, EACH = 64 };
	cublasOperation_t op_a[] = {N, T}, op_b[] = {T, N};
	int m[] = {3, 5}, n[] = {4, 2}, k[] = {6, 7}, lda[] = {4, 7}, ldb[] = {4, 8}, ldc[] = {3, 6},
	    size[] = {1, 2};
	double factors[][GROUPS] = {{1, -1.5}, {0.5, 0}};
	uint64_t packed[2][GROUPS] = {{0}};
	struct array a = make_array(types->ab, EACH * BATCH), b = make_array(types->ab, EACH * BATCH);
	struct array c = make_array(types->c, EACH * BATCH);
	void *pa = make_pointers(&a, EACH), *pb = make_pointers(&b, EACH), *pc = make_pointers(&c, EACH);

	case_name = "groups";
	for (size_t i = 0; i < 2 * GROUPS; i++)
		put(packed[i / GROUPS], types->scale, i % GROUPS, factors[i / GROUPS][i % GROUPS]);
	close_gate();
	if (types->ab == CUDA_R_32F)
		OK(cublasSgemmGroupedBatched(handle, op_a, op_b, m, n, k, (const float *)packed[0], pa, lda,
			pb, ldb, (const float *)packed[1], pc, ldc, GROUPS, size));
	else if (types->ab == CUDA_R_64F)
		OK(cublasDgemmGroupedBatched(handle, op_a, op_b, m, n, k, (const double *)packed[0], pa, lda,
			pb, ldb, (const double *)packed[1], pc, ldc, GROUPS, size));
	else
		OK(cublasGemmGroupedBatchedEx(handle, op_a, op_b, m, n, k, packed[0], pa, types->ab, lda, pb,
			types->ab, ldb, packed[1], pc, types->c, ldc, GROUPS, size, types->compute));
	memset(packed, 0xff, sizeof(packed));
	for (int p = 0; p < BATCH; p++) {
		int g = p == 0 ? 0 : 1;

		for (int at = 0; at < m[g] * n[g]; at++) {
			int i = at % m[g], j = at / m[g];
			double *out = &c.value[p * EACH + j * ldc[g] + i], sum = 0;

			for (int l = 0; l < k[g]; l++)
				sum += a.value[p * EACH + (op_a[g] == N ? l * lda[g] + i : i * lda[g] + l)] *
				       b.value[p * EACH + (op_b[g] == N ? j * ldb[g] + l : l * ldb[g] + j)];
			*out = factors[0][g] * sum + factors[1][g] * *out;
		}
	}
	memset(m, 0xff, sizeof(m));
	memset(lda, 0xff, sizeof(lda));
	open_gate();
	COMPARE(&c, spacing_of(types->c) * 2 + spacing_of(CUDA_R_32F) * 16);
	m[0] = m[1] = lda[0] = lda[1] = 8;
	EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE,
		cublasGemmGroupedBatchedEx(handle, op_a, op_b, m, n, k, packed[0], pa, types->ab, lda, pb,
			types->ab, NULL, packed[1], pc, types->c, ldc, GROUPS, size, types->compute));
	drop_array(&a);
	drop_array(&b);
	drop_array(&c);
	CUDA(cudaFree(pa));
	CUDA(cudaFree(pb));
	CUDA(cudaFree(pc));
}

/* ---- handles and errors ---- */

static void test_errors(void)
{
	const float one = 1;
	const int half_one = 0x3c00;
	float *a = NULL;
	float result;
	int version = 0;
	cublasPointerMode_t mode = CUBLAS_POINTER_MODE_DEVICE;
	cudaStream_t got = NULL;

	case_name = "errors";
	CUDA(cudaMalloc((void **)&a, 1024));
#define GEMM_STATUS(status, ...) EXPECT_STATUS(status, cublasSgemm(__VA_ARGS__))
	GEMM_STATUS(CUBLAS_STATUS_NOT_INITIALIZED, NULL, N, N, 2, 2, 2, &one, a, 2, a, 2, &one, a, 2);
	GEMM_STATUS(CUBLAS_STATUS_INVALID_VALUE, handle, N, N, -1, 2, 2, &one, a, 2, a, 2, &one, a, 2);
	GEMM_STATUS(CUBLAS_STATUS_INVALID_VALUE, handle, N, N, 2, 2, 2, &one, a, 1, a, 2, &one, a, 2);
	GEMM_STATUS(CUBLAS_STATUS_INVALID_VALUE, handle, T, N, 2, 2, 3, &one, a, 2, a, 3, &one, a, 2);
	GEMM_STATUS(CUBLAS_STATUS_INVALID_VALUE, handle, N, T, 2, 3, 2, &one, a, 2, a, 2, &one, a, 2);
	GEMM_STATUS(CUBLAS_STATUS_INVALID_VALUE, handle, N, N, 2, 2, 2, &one, a, 2, a, 2, &one, a, 1);
	GEMM_STATUS(CUBLAS_STATUS_INVALID_VALUE, handle, N, N, 2, 2, 2, NULL, a, 2, a, 2, &one, a, 2);
	GEMM_STATUS(CUBLAS_STATUS_INVALID_VALUE, handle, (cublasOperation_t)9, N, 2, 2, 2, &one, a, 2, a, 2,
		&one, a, 2);
	GEMM_STATUS(CUBLAS_STATUS_SUCCESS, handle, N, N, 0, 2, 2, &one, a, 1, a, 2, &one, a, 1);
	EXPECT_STATUS(CUBLAS_STATUS_NOT_SUPPORTED,
		cublasGemmEx(handle, N, N, 2, 2, 2, &one, a, CUDA_R_8I, 2, a, CUDA_R_8I, 2, &one, a,
			CUDA_R_32I, 2, CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT));
	EXPECT_STATUS(CUBLAS_STATUS_NOT_SUPPORTED,
		cublasGemmEx(handle, N, N, 2, 2, 2, &half_one, a, CUDA_R_32F, 2, a, CUDA_R_32F, 2, &half_one,
			a, CUDA_R_32F, 2, CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT));
	EXPECT_STATUS(
		CUBLAS_STATUS_INVALID_VALUE, cublasSgemv(handle, N, 2, 2, &one, a, 1, a, 1, &one, a, 1));
	EXPECT_STATUS(
		CUBLAS_STATUS_INVALID_VALUE, cublasSgemv(handle, N, 2, 2, &one, a, 2, a, 0, &one, a, 1));
	EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasSger(handle, 2, 2, &one, a, 1, a, 1, a, 1));
	EXPECT_STATUS(
		CUBLAS_STATUS_INVALID_VALUE, cublasSgeam(handle, T, N, 2, 2, &one, a, 2, &one, a, 2, a, 2));
	EXPECT_STATUS(CUBLAS_STATUS_NOT_INITIALIZED, cublasSaxpy(NULL, 2, &one, a, 1, a, 1));
	EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasSaxpy(handle, 2, NULL, a, 1, a, 1));
	EXPECT_STATUS(CUBLAS_STATUS_NOT_INITIALIZED, cublasSdot(NULL, 2, a, 1, a, 1, &result));
	EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasSdot(handle, 2, a, 1, a, 1, NULL));
	EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasSetPointerMode(handle, (cublasPointerMode_t)5));
	EXPECT_STATUS(CUBLAS_STATUS_NOT_INITIALIZED, cublasDestroy(NULL));
	EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasCreate(NULL));
	/* a part of a larger buffer, as XLA has it */
	EXPECT_STATUS(CUBLAS_STATUS_SUCCESS, cublasSetWorkspace(handle, a + 32, 512));
	EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasSetWorkspace(handle, a + 1, 512));
	EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, cublasSetWorkspace(handle, NULL, 512));
	EXPECT_STATUS(CUBLAS_STATUS_SUCCESS, cublasSetWorkspace(handle, NULL, 0));
	OK(cublasGetPointerMode(handle, &mode));
	EXPECT(mode == CUBLAS_POINTER_MODE_HOST);
	OK(cublasGetStream(handle, &got));
	EXPECT(got == stream);
	OK(cublasGetVersion(handle, &version));
	EXPECT(version == CUBLAS_VERSION);
	EXPECT(strcmp(cublasGetStatusName(CUBLAS_STATUS_INVALID_VALUE), "CUBLAS_STATUS_INVALID_VALUE") == 0);
	EXPECT(strlen(cublasGetStatusString(CUBLAS_STATUS_INVALID_VALUE)) > 0);
	CUDA(cudaFree(a));
}

int main(void)
{
	begin_tests();
	for (size_t i = 0; i < sizeof(gemm_cases) / sizeof(gemm_cases[0]); i++) {
		for (size_t t = 0; t < sizeof(type_cases) / sizeof(type_cases[0]); t++) {
			/* Large ones of 16 bits take long, for our own rounding is slow. */
			if (gemm_cases[i].k > 100 && bytes_of(type_cases[t].ab) < 4)
				continue;
			for (int form = SINGLE; form <= STRIDED_EX; form++)
				test_gemm(&gemm_cases[i], &type_cases[t], (enum form)form, (i + t) % 3 == 0);
		}
	}
	for (size_t t = 0; t < sizeof(type_cases) / sizeof(type_cases[0]); t++)
		test_groups(&type_cases[t]);
	test_errors();
	return end_tests();
}
