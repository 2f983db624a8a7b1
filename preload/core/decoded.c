/*
 * The calls whose meaning is not in their arguments: the execution of a cuDNN graph, which is recorded as
 * what its plan does (describe/backend_plan.c), and cublasLt's matrix product, which its descriptors tell
 * (describe/matmul.c).
 */
#include "call/turns.h"
#include "describe/backend.h"
#include "describe/matmul.h"
#include "device/place.h"
#include "guest/resolve.h"
#include "guest/thread.h"
#include "hook.h"

PMH_EXPORT cudnnStatus_t cudnnBackendExecute(
	cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack);
PMH_EXPORT cudnnStatus_t cudnnBackendExecute(
	cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack)
{
	__typeof__(&cudnnBackendExecute) real =
		(__typeof__(&cudnnBackendExecute))pmh_real(PM_CALL_cudnnBackendExecute);
	uint64_t words[BACKEND_VALUES] = {PM_CALL_cudnnBackendExecute_Graph};
	const struct backend_plan *known;
	uint64_t mark = PMH_MARK;
	cudnnStatus_t result;
	unsigned count = 4; /* of a graph that is not known, without addresses */

	if (!real)
		return CUDNN_STATUS_NOT_INITIALIZED;
	if (!pmh_wanted(&mark))
		return real(handle, plan, pack);
	if (pmh_rests(PM_KIND_COMPUTE, PM_ROLE_NONE)) {
		struct pmh_thread *const self = pmh_rest_begin(&mark);

		result = real(handle, plan, pack);
		pmh_rest_end(self, &mark);
		return result;
	}
	pmh_frame_begin(&mark);
	known = backend_plan_of(plan);
	if (known) {
		count = known->value_count;
		for (unsigned i = 0; i < count; i++)
			words[i] = known->is_pointer >> i & 1
					   ? (uint64_t)(uintptr_t)backend_address(pack, known->values[i])
					   : (uint64_t)known->values[i];
	}
	pmh_call_begin(pmh_place_of_handle(handle), words, count);
	result = real(handle, plan, pack);
	pmh_call_end(&mark, (enum pm_call)words[0], (int)result);
	return result;
}

PMH_EXPORT cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t matmul,
	const void *alpha, const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
	cublasLtMatrixLayout_t b_layout, const void *beta, const void *c, cublasLtMatrixLayout_t c_layout,
	void *d, cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo, void *workspace,
	size_t workspace_bytes, cudaStream_t stream);
PMH_EXPORT cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t matmul,
	const void *alpha, const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
	cublasLtMatrixLayout_t b_layout, const void *beta, const void *c, cublasLtMatrixLayout_t c_layout,
	void *d, cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo, void *workspace,
	size_t workspace_bytes, cudaStream_t stream)
{
	__typeof__(&cublasLtMatmul) real = (__typeof__(&cublasLtMatmul))pmh_real(PM_CALL_cublasLtMatmul);
	uint64_t mark = PMH_MARK;
	cublasStatus_t result;

	if (!real)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!pmh_wanted(&mark))
		return real(handle, matmul, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout,
			algo, workspace, workspace_bytes, stream);
	if (pmh_rests(PM_KIND_COMPUTE, PM_ROLE_NONE)) {
		struct pmh_thread *const self = pmh_rest_begin(&mark);

		result = real(handle, matmul, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout,
			algo, workspace, workspace_bytes, stream);
		pmh_rest_end(self, &mark);
		return result;
	}
	pmh_frame_begin(&mark);
	const struct pmh_matmul m = pmh_matmul(matmul, a_layout, d_layout, beta);
	/* in the order of the row's labels */
	const uint64_t words[] = {PM_CALL_cublasLtMatmul, (uint64_t)m.transa, (uint64_t)m.transb,
		(uint64_t)m.m, (uint64_t)m.n, (uint64_t)m.k, (uint64_t)m.batch, (uint64_t)m.epilogue, m.type,
		(uintptr_t)a, (uintptr_t)b, m.beta, (uintptr_t)c, (uintptr_t)d, m.bias, m.dbias, m.aux};

	pmh_call_begin(pmh_place_of_stream(stream), words, sizeof words / sizeof words[0]);
	result = real(handle, matmul, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout, algo,
		workspace, workspace_bytes, stream);
	pmh_call_end(&mark, PM_CALL_cublasLtMatmul, (int)result);
	return result;
}
