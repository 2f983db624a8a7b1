/* Which of the builds of kernel.c runs here. */
#include "kernel.h"

#include <string.h>

#define DECLARE(name) \
	void kernel_cost_##name(const struct kernel_plan *, const double *, double *, double *, double *); \
	void kernel_gram_##name(const double *, const double *, size_t, size_t, double *);

DECLARE(baseline)
#ifdef PM_KERNEL_X86
DECLARE(avx2)
DECLARE(avx512)
#endif

#define KERNEL(name) \
	{ \
#name, kernel_cost_##name, kernel_gram_##name \
	}

const struct kernel *kernel_choose(const char *name)
{
	static const struct kernel kernels[] = {
#ifdef PM_KERNEL_X86
		KERNEL(avx512), KERNEL(avx2),
#endif
		KERNEL(baseline)};
	int runs[] = {
#ifdef PM_KERNEL_X86
		__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"),
		__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"),
#endif
		1};

	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
		if (runs[i] && (!name || strcmp(name, kernels[i].name) == 0))
			return &kernels[i];
	return NULL;
}
