/*
 * Kernels with awkward parameters, two variables, and a program that compares what softgpu says of them with where the host's compiler puts the members
 * of a struct of the same parameters. Built by nvcc (test_fatbin.sh), in each way that it can pack code.
 */
#include <cstddef>
#include <cstdio>
#include <cuda.h>
#include <cuda_runtime_api.h>

struct Odd {
	char c;
	double *p[3];
	short t;
};
struct Large { /* more than the 14 bits of the older attribute hold */
	float *p[3000];
	int n;
};
struct ByArchitecture {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
	double at[2];
#else
	double at[3];
#endif
};

__global__ void mixed(float *a, int n, Odd odd, const double *b, char c)
{
	a[n] = (float)(odd.p[1][0] + b[0] + c + odd.t);
}
__global__ void large(Large list, long *q)
{
	q[0] = (long)list.p[list.n][0];
}
template <int N> __global__ void named(short s, double *p)
{
	p[N] = s;
}
__global__ void none()
{
}
__global__ void by_architecture(ByArchitecture a, int *p)
{
	p[0] = (int)a.at[1];
}
template __global__ void named<3>(short, double *);

/* for test_fatbin.c */
__device__ int first_digits[3] = {3, 1, 4};
__device__ char zeros[1000];

static int failures;

struct place {
	size_t offset, bytes;
};

static void check(const char *name, const void *function, const place *places, size_t count)
{
	cudaKernel_t kernel;
	size_t offset, bytes, i;

	if (cudaGetKernel(&kernel, function) != cudaSuccess) {
		failures++;
		printf("%s: no kernel\n", name);
		return;
	}
	for (i = 0; cuKernelGetParamInfo((CUkernel)kernel, i, &offset, &bytes) == CUDA_SUCCESS; i++)
		if (i >= count || offset != places[i].offset || bytes != places[i].bytes) {
			failures++;
			printf("%s: parameter %zu at %zu, %zu bytes\n", name, i, offset, bytes);
		}
	if (i != count) {
		failures++;
		printf("%s: %zu parameters\n", name, i);
	}
}

#define AT(type, member) {offsetof(type, member), sizeof(type::member)}

int main(int argc, char **argv)
{
	struct M { float *a; int n; Odd odd; const double *b; char c; };
	struct L { Large list; long *q; };
	struct N { short s; double *p; };
	const place m[] = {AT(M, a), AT(M, n), AT(M, odd), AT(M, b), AT(M, c)};
	const place l[] = {AT(L, list), AT(L, q)}, n[] = {AT(N, s), AT(N, p)};
	/* the argument: doubles that the device's own code has */
	const size_t doubles = argc > 1 && argv[1][0] == '2' ? 2 : 3;
	const place b[] = {{0, 8 * doubles}, {8 * doubles, 8}};

	cudaFree(0);
	check("mixed", (const void *)mixed, m, 5);
	check("large", (const void *)large, l, 2);
	check("named", (const void *)named<3>, n, 2);
	check("none", (const void *)none, NULL, 0);
	check("by_architecture", (const void *)by_architecture, b, 2);
	return failures != 0;
}
