/*
 * Checks products of 8-bit numbers of the stand-in cuBLASLt against direct sums in double precision: what
 * each code stands for, how results are rounded, scales in all their layouts, and what is refused.
 */
#include "test_blas.h"

#include <cublasLt.h>

#define E4M3 ((cudaDataType)28)
#define E5M2 ((cudaDataType)29)

enum { ROWS = 144, COLUMNS = 160, DEPTH = 320, BLOCKS = 3, LINE_OF_BLOCKS = 4 };
enum { ONE = 0, UNKNOWN = 1, OUTER = 3, BLOCKS_OF_128 = 4, SQUARES_OF_128 = 5 };

static cublasLtHandle_t lt;

/* By the definition; NAN where a code is no number. */
static double value_of(cudaDataType type, int code)
{
	int fraction_bits = type == E4M3 ? 3 : 2, bias = type == E4M3 ? 7 : 15;
	int exponent = (code & 127) >> fraction_bits, fraction = code & ((1 << fraction_bits) - 1);
	double size = exponent == 0 ? ldexp(fraction, 1 - bias - fraction_bits)
				    : ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);

	if ((type == E4M3 && (code & 127) == 127) || (type == E5M2 && exponent == 31))
		return NAN;
	return code & 128 ? -size : size;
}

/* The number that is nearest, with the even code where two are. */
static double nearest(cudaDataType type, double value)
{
	double found = NAN;
	int at = 0;

	for (int code = 0; code < 256; code++) {
		double one = value_of(type, code);
		double nearer = fabs(one - value) - fabs(found - value);

		if (isnan(one) || nearer > 0 || (nearer == 0 && at % 2 == 0))
			continue;
		found = one;
		at = code;
	}
	return found;
}

/* A transposed, so that both lie along the sum; codes and what they stand for. */
struct operand {
	cudaDataType type;
	int outer, inner;
	unsigned char *code;
	double *value;
	float *scale; /* in device memory too, as all is here */
	int mode;
};

static struct operand make_operand(cudaDataType type, int outer, int inner, int mode)
{
	size_t count = (size_t)outer * (size_t)inner;
	struct operand o = {type, outer, inner, NULL, malloc(count * sizeof(double)), NULL, mode};
	int scales = mode == ONE ? 1 : mode == OUTER ? outer : outer * LINE_OF_BLOCKS;

	CUDA(cudaMalloc((void **)&o.code, count));
	CUDA(cudaMalloc((void **)&o.scale, (size_t)scales * sizeof(float)));
	for (size_t i = 0; i < count; i++) {
		/* of a middle size, lest some be all of the sum */
		int code = 32 + (int)(48 * fabs(next_random())) + (next_random() < 0 ? 128 : 0);

		o.code[i] = (unsigned char)code;
		o.value[i] = value_of(type, code);
	}
	for (int i = 0; i < scales; i++)
		o.scale[i] = (float)(1.5 + next_random());
	return o;
}

static void drop_operand(struct operand *o)
{
	CUDA(cudaFree(o->code));
	CUDA(cudaFree(o->scale));
	free(o->value);
}

static double scaled(const struct operand *o, int outer, int inner)
{
	double value = o->value[outer * o->inner + inner];

	switch (o->mode) {
	case ONE:
		return value * (double)o->scale[0];
	case OUTER:
		return value * (double)o->scale[outer];
	case BLOCKS_OF_128:
		return value * (double)o->scale[inner / 128 * o->outer + outer];
	default:
		return value * (double)o->scale[outer / 128 * LINE_OF_BLOCKS + inner / 128];
	}
}

static cublasLtMatmulDesc_t describe(const struct operand *a, const struct operand *b)
{
	cublasLtMatmulDesc_t desc = NULL;
	const int32_t transposed = CUBLAS_OP_T, modes[] = {a->mode, b->mode};

	OK(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
	OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, 4));
	OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &a->scale, 8));
	OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &b->scale, 8));
	OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, &modes[0], 4));
	OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, &modes[1], 4));
	return desc;
}

/* D of a type; C is as D, or a half where D is of 8 bits. */
static cublasStatus_t call(cublasLtMatmulDesc_t desc, const struct operand *a, const struct operand *b,
	cudaDataType type, void *d)
{
	cublasLtMatrixLayout_t layout[4] = {NULL};
	cudaDataType c_type = type == E4M3 || type == E5M2 ? CUDA_R_16F : type;
	const float alpha = 1, beta = 0;
	cublasStatus_t status;

	OK(cublasLtMatrixLayoutCreate(&layout[0], a->type, (uint64_t)a->inner, (uint64_t)a->outer, a->inner));
	OK(cublasLtMatrixLayoutCreate(&layout[1], b->type, (uint64_t)b->inner, (uint64_t)b->outer, b->inner));
	OK(cublasLtMatrixLayoutCreate(&layout[2], c_type, (uint64_t)a->outer, (uint64_t)b->outer, a->outer));
	OK(cublasLtMatrixLayoutCreate(&layout[3], type, (uint64_t)a->outer, (uint64_t)b->outer, a->outer));
	status = cublasLtMatmul(lt, desc, &alpha, a->code, layout[0], b->code, layout[1], &beta, d, layout[2],
		d, layout[3], NULL, NULL, 0, stream);
	CUDA(cudaStreamSynchronize(stream));
	for (int i = 0; i < 4; i++)
		OK(cublasLtMatrixLayoutDestroy(layout[i]));
	return status;
}

/* Times one, each code gives what it stands for. */
static void test_codes(cudaDataType type)
{
	struct operand a = make_operand(type, 16, 16, ONE), b = make_operand(E4M3, 16, 16, ONE);
	cublasLtMatmulDesc_t desc = describe(&a, &b);
	float *d;

	case_name = "codes";
	CUDA(cudaMalloc((void **)&d, 256 * sizeof(*d)));
	a.scale[0] = b.scale[0] = 1;
	for (int i = 0; i < 256; i++) {
		a.code[i] = (unsigned char)(isnan(value_of(type, i)) ? 0 : i);
		b.code[i] = i / 16 == i % 16 ? 0x38 : 0;
	}
	OK(call(desc, &a, &b, CUDA_R_32F, d));
	for (int i = 0; i < 256; i++)
		EXPECT((double)d[i % 16 * 16 + i / 16] == value_of(type, a.code[i]));
	OK(cublasLtMatmulDescDestroy(desc));
	CUDA(cudaFree(d));
	drop_operand(&a);
	drop_operand(&b);
}

static void test_scales(int a_mode, int b_mode)
{
	struct operand a = make_operand(E4M3, ROWS, DEPTH, a_mode),
		       b = make_operand(E5M2, COLUMNS, DEPTH, b_mode);
	cublasLtMatmulDesc_t desc = describe(&a, &b);
	float *d;

	case_name = "scales";
	CUDA(cudaMalloc((void **)&d, (size_t)ROWS * COLUMNS * sizeof(*d)));
	OK(call(desc, &a, &b, CUDA_R_32F, d));
	for (int i = 0; i < ROWS * COLUMNS; i++) {
		double sum = 0, size = 0;

		for (int k = 0; k < DEPTH; k++) {
			double one = scaled(&a, i % ROWS, k) * scaled(&b, i / ROWS, k);

			sum += one;
			size += fabs(one);
		}
		EXPECT(fabs((double)d[i] - sum) < 1e-5 * size);
	}
	OK(cublasLtMatmulDescDestroy(desc));
	CUDA(cudaFree(d));
	drop_operand(&a);
	drop_operand(&b);
}

/* Results of 8 bits are the nearest number after their own scale, at most the largest; amax is before it. */
static void test_results(cudaDataType type)
{
	struct operand a = make_operand(E4M3, 32, 32, ONE), b = make_operand(E4M3, 32, 32, ONE);
	cublasLtMatmulDesc_t desc = describe(&a, &b);
	unsigned char *d;
	float *d_scale, *amax;
	double largest = 0, most = type == E4M3 ? 448 : 57344;

	case_name = "results";
	CUDA(cudaMalloc((void **)&d, 32 * 32));
	CUDA(cudaMalloc((void **)&d_scale, sizeof(float)));
	CUDA(cudaMalloc((void **)&amax, sizeof(float)));
	a.scale[0] = b.scale[0] = 1;
	*d_scale = type == E4M3 ? 256 : 32768;
	OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, &d_scale, 8));
	OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, &amax, 8));
	OK(call(desc, &a, &b, type, d));
	for (int i = 0; i < 32 * 32; i++) {
		double sum = 0, want;

		for (int k = 0; k < 32; k++)
			sum += a.value[i % 32 * 32 + k] * b.value[i / 32 * 32 + k];
		largest = fmax(largest, fabs(sum));
		want = sum * (double)*d_scale;
		EXPECT(value_of(type, d[i]) == nearest(type, fmax(fmin(want, most), -most)));
	}
	EXPECT(fabs((double)*amax - largest) < 1e-6 * largest && largest * (double)*d_scale > most);
	OK(cublasLtMatmulDescDestroy(desc));
	CUDA(cudaFree(d));
	CUDA(cudaFree(d_scale));
	CUDA(cudaFree(amax));
	drop_operand(&a);
	drop_operand(&b);
}

static void test_refused(void)
{
	struct operand a = make_operand(E4M3, 32, 32, ONE), b = make_operand(E4M3, 32, 32, ONE);
	cublasLtMatmulDesc_t desc = describe(&a, &b);
	const int32_t plain = CUBLAS_OP_N, transposed = CUBLAS_OP_T, unknown = UNKNOWN, one = ONE;
	float *d;

	case_name = "refused";
	CUDA(cudaMalloc((void **)&d, 32 * 32 * sizeof(float)));
	EXPECT_STATUS(CUBLAS_STATUS_SUCCESS, call(desc, &a, &b, CUDA_R_16BF, d));
	EXPECT_STATUS(CUBLAS_STATUS_NOT_SUPPORTED, call(desc, &a, &b, CUDA_R_64F, d));
	a.type = b.type = E5M2;
	EXPECT_STATUS(CUBLAS_STATUS_NOT_SUPPORTED, call(desc, &a, &b, CUDA_R_32F, d));
	a.type = b.type = CUDA_R_16F;
	EXPECT_STATUS(CUBLAS_STATUS_INVALID_VALUE, call(desc, &a, &b, CUDA_R_32F, d));
	a.type = b.type = E4M3;
	OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &plain, 4));
	EXPECT_STATUS(CUBLAS_STATUS_NOT_SUPPORTED, call(desc, &a, &b, CUDA_R_32F, d));
	OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, 4));
	OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, &unknown, 4));
	EXPECT_STATUS(CUBLAS_STATUS_NOT_SUPPORTED, call(desc, &a, &b, CUDA_R_32F, d));
	OK(cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, &one, 4));
	a.inner = b.inner = 24;
	EXPECT_STATUS(CUBLAS_STATUS_NOT_SUPPORTED, call(desc, &a, &b, CUDA_R_32F, d));
	OK(cublasLtMatmulDescDestroy(desc));
	CUDA(cudaFree(d));
	drop_operand(&a);
	drop_operand(&b);
}

int main(void)
{
	begin_tests();
	OK(cublasLtCreate(&lt));
	test_codes(E4M3);
	test_codes(E5M2);
	test_scales(ONE, ONE);
	test_scales(OUTER, OUTER);
	test_scales(BLOCKS_OF_128, BLOCKS_OF_128);
	test_scales(BLOCKS_OF_128, SQUARES_OF_128);
	test_scales(SQUARES_OF_128, BLOCKS_OF_128);
	test_results(E4M3);
	test_results(E5M2);
	test_refused();
	OK(cublasLtDestroy(lt));
	return end_tests();
}
