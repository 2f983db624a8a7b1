/*
 * Asking the driver where kernels' arguments are.
 *
 * Layouts lie one after another in one array, for the path of a call allocates nothing; a framework launches
 * some hundreds of its tens of thousands of kernels.
 */
#include "layout.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "guest/guest.h"
#include "guest/resolve.h"
#include "pm_abi.h"

#define ROOM (1u << 18)   /* words: counts, and parameters */
#define PARAMS_MOST 4096u /* no kernel has more bytes than 32764 */
#define BYTES_MOST (1u << 15)

_Static_assert(sizeof(struct pmh_param) == sizeof(uint32_t), "one word each");

typedef CUresult param_info(const void *handle, size_t number, size_t *offset, size_t *byte_count);

static uint32_t words[ROOM];
static _Atomic uint32_t used;
static const struct pmh_layout unknown;

struct question {
	const void *handle;
	enum pmh_function kind;
	const struct pmh_layout *answer;
};

/* The runtime's handle of a host function. False: it cannot be had; *again: but later perhaps. */
static bool find_handle(struct question *q, bool *again)
{
	cudaError_t (*get_kernel)(void **, const void *);
	cudaError_t (*last_error)(void) = NULL, (*peek_error)(void) = NULL;
	void *handle = NULL;
	cudaError_t error;

	*(void **)&get_kernel = pmh_real(PM_CALL_cudaGetKernel);
	*(void **)&last_error = pmh_real_cudart("cudaGetLastError");
	*(void **)&peek_error = pmh_real_cudart("cudaPeekAtLastError");
	if (!get_kernel || !last_error || !peek_error)
		return false;
	if (peek_error() != cudaSuccess) {
		*again = true;
		return false;
	}
	error = get_kernel(&handle, q->handle);
	if (error != cudaSuccess)
		last_error();
	q->handle = handle;
	q->kind = PMH_CU_KERNEL;
	return error == cudaSuccess && handle;
}

/* A parameter's place; false: there is no such parameter, or it lies where none can. */
static bool read_param(param_info *info, const void *handle, uint32_t i, struct pmh_param *param)
{
	size_t offset, byte_count;

	if (info(handle, i, &offset, &byte_count) != CUDA_SUCCESS || offset >= BYTES_MOST ||
		byte_count > BYTES_MOST - offset)
		return false;
	*param = (struct pmh_param){(uint16_t)offset, (uint16_t)byte_count};
	return true;
}

/* Two threads that ask for the same kernel at once may each keep an answer. */
static const struct pmh_layout *keep_params(param_info *info, const void *handle)
{
	struct pmh_layout *layout;
	struct pmh_param param;
	uint32_t count = 0, at;

	while (count < PARAMS_MOST && read_param(info, handle, count, &param))
		count++;
	at = atomic_load(&used);
	do
		if (!count || ROOM - at <= count)
			return &unknown;
	while (!atomic_compare_exchange_weak(&used, &at, at + 1 + count));
	layout = (struct pmh_layout *)(void *)&words[at];
	for (uint32_t i = 0; i < count; i++)
		if (!read_param(info, handle, i, &layout->params[i]))
			return &unknown;
	layout->count = count;
	return layout;
}

static void ask(void *data)
{
	struct question *q = data;
	param_info *info;
	bool again = false;

	if (q->kind == PMH_HOST_FUNCTION && !find_handle(q, &again)) {
		q->answer = again ? NULL : &unknown;
		return;
	}
	*(void **)&info =
		pmh_real_driver(q->kind == PMH_CU_FUNCTION ? "cuFuncGetParamInfo" : "cuKernelGetParamInfo");
	q->answer = info ? keep_params(info, q->handle) : &unknown;
}

const struct pmh_layout *pmh_layout_read(const void *function, enum pmh_function kind)
{
	struct question q = {function, kind, NULL};
	const int saved_errno = errno;

	pmh_run_on_own_stack(ask, &q);
	errno = saved_errno;
	return q.answer;
}
