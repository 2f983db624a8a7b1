/* Checks what XLA's and PyTorch's profilers ask of the stand-in CUPTI beside records: numbers of contexts,
 * devices and graphs, names of calls, settings; and that a callback has the caller's context and parameters
 * to look at. */
#include <string.h>

#include <cupti.h>

#include "core/sg.h"
#include "test_common.h"

#define LAUNCH_KERNEL 307 /* cuLaunchKernel */

static void check_settings(void)
{
	CUpti_ActivityThreadIdType type = CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;
	size_t size = sizeof(type);

	OK(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM));
	OK(cuptiGetThreadIdType(&type));
	CHECK(type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
	CHECK(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE) != CUPTI_SUCCESS);
	OK(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &type));
	EXPECT(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, NULL),
		CUPTI_ERROR_INVALID_PARAMETER);
}

static void check_numbers(void)
{
	CUcontext context = (CUcontext)sg_context_of_thread();
	uint32_t number = 9;
	cudaGraph_t graph;

	OK(cuptiGetDeviceId(context, &number));
	CHECK(number == 0);
	OK(cuptiGetContextId(context, &number));
	CHECK(number == 1);
	EXPECT(cuptiGetDeviceId(NULL, &number), CUPTI_ERROR_INVALID_PARAMETER);
	OK(cudaGraphCreate(&graph, 0));
	OK(cuptiGetGraphId((CUgraph)(void *)graph, &number));
	CHECK(number != 0);
	OK(cuptiGetGraphExecId(NULL, &number));
	CHECK(number == 0);
	OK(cudaGraphDestroy(graph));
	EXPECT(cuptiGetGraphId((CUgraph)(void *)graph, &number), CUPTI_ERROR_INVALID_PARAMETER);
}

static void check_names(void)
{
	const char *name = NULL;

	OK(cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, LAUNCH_KERNEL, &name));
	CHECK(strcmp(name, "cuLaunchKernel") == 0);
	OK(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, 20, &name));
	CHECK(strcmp(name, "cudaMalloc") == 0);
	EXPECT(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, 0, &name), CUPTI_ERROR_INVALID_PARAMETER);
}

static unsigned called;

static void look(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *what)
{
	const CUpti_CallbackData *call = what;
	uint64_t first;

	(void)data;
	(void)domain;
	(void)cbid;
	memcpy(&first, call->functionParams, sizeof(first));
	if (call->context == (CUcontext)sg_context_of_thread() && call->contextUid == 1 && first == 0)
		called++;
}

static void check_callback(void *memory)
{
	CUpti_SubscriberHandle subscriber;

	OK(cuptiSubscribe(&subscriber, (CUpti_CallbackFunc)look, NULL));
	OK(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
	OK(cudaMemset(memory, 0, 64));
	CHECK(called == 2); /* enters and leaves the driver */
	OK(cuptiUnsubscribe(subscriber));
}

int main(void)
{
	void *memory;

	OK(cudaMalloc(&memory, 64));
	check_settings();
	check_numbers();
	check_names();
	check_callback(memory);
	OK(cudaFree(memory));
	return 0;
}
