/*
 * Checks the vector and the matrix-vector calls of the stand-in cuBLAS against direct loops in double
 * precision, with scalars and results in host and device memory and increments of both signs.
 */
#include "test_blas.h"

/* ---- matrix and vector ---- */

/* Where element i of a vector of n with increment inc lies. */
static size_t at(int i, int n, int inc)
{
	return (size_t)(inc > 0 ? i * inc : (i - n + 1) * inc);
}

static void test_gemv(
	cudaDataType type, cublasOperation_t op, int incx, int incy, double beta_value, bool on_device)
{
	const int m = 7, n = 5, lda = 9;
	int x_count = op == N ? n : m, y_count = op == N ? m : n;
	struct array a = make_array(type, lda * n), x = make_array(type, 40), y = make_array(type, 40);
	struct scalar alpha = make_scalar(type, 1.5, on_device),
		      beta = make_scalar(type, beta_value, on_device);
	void *al = address_of(&alpha), *be = address_of(&beta);

	case_name = "gemv";
	for (int i = 0; beta_value == 0 && i < y_count; i++)
		y.value[at(i, y_count, incy)] = NAN;
	upload(&y);
	OK(cublasSetPointerMode(handle, on_device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST));
	close_gate();
	arrive(&alpha);
	arrive(&beta);
	if (type == CUDA_R_64F)
		OK(cublasDgemv(handle, op, m, n, al, a.device, lda, x.device, incx, be, y.device, incy));
	else
		OK(cublasSgemv(handle, op, m, n, al, a.device, lda, x.device, incx, be, y.device, incy));
	memset(alpha.host, 0xff, sizeof(alpha.host));
	open_gate();
	for (int i = 0; i < y_count; i++) {
		double *out = &y.value[at(i, y_count, incy)];
		double sum = 0;

		for (int k = 0; k < x_count; k++)
			sum += a.value[op == N ? k * lda + i : i * lda + k] * x.value[at(k, x_count, incx)];
		*out = 1.5 * sum + (beta_value == 0 ? 0 : beta_value * *out);
	}
	COMPARE(&y, 32 * spacing_of(type));
	drop_array(&a);
	drop_array(&x);
	drop_array(&y);
	drop_scalar(&alpha);
	drop_scalar(&beta);
	OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
}

static void test_ger(cudaDataType type, int incx, int incy)
{
	const int m = 6, n = 4, lda = 8;
	struct array a = make_array(type, lda * n), x = make_array(type, 30), y = make_array(type, 30);
	struct scalar alpha = make_scalar(type, -0.5, false);

	case_name = "ger";
	close_gate();
	if (type == CUDA_R_64F)
		OK(cublasDger(
			handle, m, n, address_of(&alpha), x.device, incx, y.device, incy, a.device, lda));
	else
		OK(cublasSger(
			handle, m, n, address_of(&alpha), x.device, incx, y.device, incy, a.device, lda));
	open_gate();
	for (int j = 0; j < n; j++) {
		for (int i = 0; i < m; i++)
			a.value[j * lda + i] += -0.5 * x.value[at(i, m, incx)] * y.value[at(j, n, incy)];
	}
	COMPARE(&a, 8 * spacing_of(type));
	drop_array(&a);
	drop_array(&x);
	drop_array(&y);
}

static void test_geam(cudaDataType type, cublasOperation_t op_a, cublasOperation_t op_b)
{
	const int m = 5, n = 4, ld = 7;
	struct array a = make_array(type, ld * 8), b = make_array(type, ld * 8), c = make_array(type, ld * 8);
	struct scalar alpha = make_scalar(type, 2, false), beta = make_scalar(type, -0.5, false);

	case_name = "geam";
	close_gate();
	if (type == CUDA_R_64F)
		OK(cublasDgeam(handle, op_a, op_b, m, n, address_of(&alpha), a.device, ld, address_of(&beta),
			b.device, ld, c.device, ld));
	else
		OK(cublasSgeam(handle, op_a, op_b, m, n, address_of(&alpha), a.device, ld, address_of(&beta),
			b.device, ld, c.device, ld));
	open_gate();
	for (int j = 0; j < n; j++) {
		for (int i = 0; i < m; i++)
			c.value[j * ld + i] = 2 * a.value[op_a == N ? j * ld + i : i * ld + j] -
					      0.5 * b.value[op_b == N ? j * ld + i : i * ld + j];
	}
	COMPARE(&c, 8 * spacing_of(type));
	drop_array(&a);
	drop_array(&b);
	drop_array(&c);
}

static void test_dgmm(cublasSideMode_t side, int incx)
{
	const int m = 5, n = 4, ld = 6;
	struct array a = make_array(CUDA_R_32F, ld * n), x = make_array(CUDA_R_32F, 20),
		     c = make_array(CUDA_R_32F, ld * n);

	case_name = "dgmm";
	close_gate();
	OK(cublasSdgmm(handle, side, m, n, a.device, ld, x.device, incx, c.device, ld));
	open_gate();
	for (int j = 0; j < n; j++) {
		for (int i = 0; i < m; i++)
			c.value[j * ld + i] =
				a.value[j * ld + i] * (side == CUBLAS_SIDE_RIGHT ? x.value[at(j, n, incx)]
										 : x.value[at(i, m, incx)]);
	}
	COMPARE(&c, 1e-6);
	drop_array(&a);
	drop_array(&x);
	drop_array(&c);
}

/* ---- vectors ---- */

static void test_vectors(cudaDataType type, int incx, int incy)
{
	const int n = 9;
	const cudaDataType compute = type == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F;
	struct array x = make_array(type, 40), y = make_array(type, 40);
	struct scalar alpha = make_scalar(compute, 0.75, false);
	void *al = address_of(&alpha);
	/* 16 bits: computed exactly, then rounded to the nearest. */
	double tolerance = bytes_of(type) < 4 ? 0.26 * spacing_of(type) : 8 * spacing_of(type);

	case_name = "vectors";
	close_gate();
	if (type == CUDA_R_32F)
		OK(cublasSaxpy(handle, n, al, x.device, incx, y.device, incy));
	else if (type == CUDA_R_64F)
		OK(cublasDaxpy(handle, n, al, x.device, incx, y.device, incy));
	else
		OK(cublasAxpyEx(handle, n, al, compute, x.device, type, incx, y.device, type, incy, compute));
	open_gate();
	for (int i = 0; i < n; i++)
		y.value[at(i, n, incy)] += 0.75 * x.value[at(i, n, incx)];
	COMPARE(&y, tolerance);
	if (incx > 0) {
		close_gate();
		if (type == CUDA_R_32F)
			OK(cublasSscal(handle, n, al, x.device, incx));
		else if (type == CUDA_R_64F)
			OK(cublasDscal(handle, n, al, x.device, incx));
		else
			OK(cublasScalEx(handle, n, al, compute, x.device, type, incx, compute));
		open_gate();
		for (int i = 0; i < n; i++)
			x.value[i * incx] *= 0.75;
		COMPARE(&x, tolerance);
	}
	if (bytes_of(type) >= 4) {
		close_gate();
		if (type == CUDA_R_32F) {
			OK(cublasSswap(handle, n, x.device, incx, y.device, incy));
			OK(cublasScopy(handle, n, x.device, incx, y.device, incy));
		} else {
			OK(cublasDswap(handle, n, x.device, incx, y.device, incy));
			OK(cublasDcopy(handle, n, x.device, incx, y.device, incy));
		}
		open_gate();
		for (int i = 0; i < n; i++)
			x.value[at(i, n, incx)] = y.value[at(i, n, incy)];
		COMPARE(&x, tolerance);
		COMPARE(&y, tolerance);
	}
	drop_array(&x);
	drop_array(&y);
}

static void expect_result(cudaDataType type, struct scalar *result, double expected)
{
	unsigned char copy[8];

	if (result->on_device) {
		CUDA(cudaStreamSynchronize(stream));
		CUDA(cudaMemcpy(copy, result->device, sizeof(copy), cudaMemcpyDeviceToHost));
	} else {
		memcpy(copy, result->host, sizeof(copy));
	}
	EXPECT(fabs(get(copy, type, 0) - expected) <= 16 * spacing_of(type) * (1 + fabs(expected)));
}

static void expect_index(struct scalar *result, int expected)
{
	int got;

	if (result->on_device) {
		CUDA(cudaStreamSynchronize(stream));
		CUDA(cudaMemcpy(&got, result->device, sizeof(got), cudaMemcpyDeviceToHost));
	} else {
		memcpy(&got, result->host, sizeof(got));
	}
	EXPECT(got == expected);
}

static void test_results(cudaDataType type, int n, int incx, bool on_device)
{
	const cudaDataType compute = type == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F;
	struct array x = make_array(type, (size_t)(n * incx + 1)), y = make_array(type, (size_t)(n * 2 + 1));
	struct scalar result = make_scalar(type, 77, on_device);
	void *to = address_of(&result);
	double dot = 0, squares = 0, sum = 0;
	int largest = 0, smallest = 0;

	case_name = "results";
	for (int i = 0; i < n; i++) {
		double value = fabs(x.value[i * incx]);

		dot += x.value[i * incx] * y.value[at(i, n, -2)];
		squares += value * value;
		sum += value;
		if (value > fabs(x.value[largest * incx]))
			largest = i;
		if (value < fabs(x.value[smallest * incx]))
			smallest = i;
	}
	OK(cublasSetPointerMode(handle, on_device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST));
	if (type == CUDA_R_32F)
		OK(cublasSdot(handle, n, x.device, incx, y.device, -2, to));
	else if (type == CUDA_R_64F)
		OK(cublasDdot(handle, n, x.device, incx, y.device, -2, to));
	else
		OK(cublasDotEx(handle, n, x.device, type, incx, y.device, type, -2, to, type, compute));
	expect_result(type, &result, dot);
	if (type == CUDA_R_32F)
		OK(cublasSnrm2(handle, n, x.device, incx, to));
	else if (type == CUDA_R_64F)
		OK(cublasDnrm2(handle, n, x.device, incx, to));
	else
		OK(cublasNrm2Ex(handle, n, x.device, type, incx, to, type, compute));
	expect_result(type, &result, sqrt(squares));
	if (type == CUDA_R_64F) {
		OK(cublasDasum(handle, n, x.device, incx, to));
		expect_result(type, &result, sum);
	}
	if (type == CUDA_R_32F) {
		OK(cublasSasum(handle, n, x.device, incx, to));
		expect_result(type, &result, sum);
		OK(cublasIsamax(handle, n, x.device, incx, to));
		expect_index(&result, n > 0 ? largest + 1 : 0);
		OK(cublasIsamin(handle, n, x.device, incx, to));
		expect_index(&result, n > 0 ? smallest + 1 : 0);
	}
	OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
	drop_scalar(&result);
	drop_array(&x);
	drop_array(&y);
}

int main(void)
{
	static const cudaDataType types[] = {CUDA_R_32F, CUDA_R_64F, CUDA_R_16F, CUDA_R_16BF};

	begin_tests();
	for (int t = 0; t < 2; t++) {
		cudaDataType type = t == 0 ? CUDA_R_32F : CUDA_R_64F;

		for (int op = 0; op <= 2; op++) {
			test_gemv(type, (cublasOperation_t)op, 1, 1, 0, false);
			test_gemv(type, (cublasOperation_t)op, 2, 3, 0.5, true);
			test_gemv(type, (cublasOperation_t)op, -1, -2, 1, false);
			test_gemv(type, (cublasOperation_t)op, 1, -1, 0, true);
			test_geam(type, (cublasOperation_t)op, N);
			test_geam(type, (cublasOperation_t)op, T);
		}
		test_ger(type, 1, 1);
		test_ger(type, 3, -2);
	}
	test_dgmm(CUBLAS_SIDE_LEFT, 1);
	test_dgmm(CUBLAS_SIDE_RIGHT, 2);
	test_dgmm(CUBLAS_SIDE_LEFT, -2);
	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
		cudaDataType type = types[t];

		test_vectors(type, 1, 1);
		test_vectors(type, 2, 3);
		test_vectors(type, -2, 1);
		for (int on_device = 0; on_device < 2; on_device++) {
			test_results(type, 9, 1, on_device);
			test_results(type, 200, 3, on_device);
			test_results(type, 0, 1, on_device);
		}
	}
	return end_tests();
}
