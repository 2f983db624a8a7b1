/* OpenBLAS as cuBLAS's and cuBLASLt's stand-ins call it: see openblas.c. */
#ifndef CUBLAS_OPENBLAS_H
#define CUBLAS_OPENBLAS_H

#include <cblas.h>

#pragma GCC visibility push(hidden)

#define SG_OPENBLAS_CALLS(X) \
	X(cblas_dasum); \
	X(cblas_daxpy); \
	X(cblas_dcopy); \
	X(cblas_ddot); \
	X(cblas_dgemm); \
	X(cblas_dgemv); \
	X(cblas_dger); \
	X(cblas_dnrm2); \
	X(cblas_dscal); \
	X(cblas_dswap); \
	X(cblas_isamax); \
	X(cblas_isamin); \
	X(cblas_sasum); \
	X(cblas_saxpy); \
	X(cblas_scopy); \
	X(cblas_sdot); \
	X(cblas_sgemm); \
	X(cblas_sgemv); \
	X(cblas_sger); \
	X(cblas_snrm2); \
	X(cblas_sscal); \
	X(cblas_sswap); \
	X(openblas_set_num_threads)

/* OpenBLAS's own calls under their own names. */
struct sg_openblas {
#define SG_MEMBER(name) __typeof__(name) *name
	SG_OPENBLAS_CALLS(SG_MEMBER);
#undef SG_MEMBER
};

/* Filled in by sg_openblas_open(), and the same from then on. */
extern struct sg_openblas sg_blas;

/*
 * Loads OpenBLAS unless that has been done, or nothing will be computed. Before any work that uses it is
 * submitted; any thread. 0, or -1 when it cannot be loaded.
 */
int sg_openblas_open(void);

#pragma GCC visibility pop

#endif
