/*
 * Prints CUPTI's enumerators, and the sizes and offsets of its records and of what callbacks are given, as pm_cupti.h says them. Built twice,
 * with the vendor's header and with ours; the outputs must be equal. With the vendor's, prototypes must agree
 * too, and older records must have what we read in the same places.
 */
#include <stddef.h>
#include <stdio.h>

#include "pm_cupti.h"

/* Ours stand for several of the vendor's, which are a union or are padded: their names end with _. */
#define ENUMERATOR(name, value) printf("%s %d\n", #name, (int)name);
#define SIZE(record, fields) printf("%s %zu\n", #record, sizeof(record));
#define OFFSET(record, field) printf("%s.%s %zu\n", #record, #field, offsetof(record, field));

#ifdef PM_HAVE_CUPTI

#define PROTOTYPE(name, parameters) CUptiResult name parameters;
PM_CUPTI_FUNCTIONS(PROTOTYPE)

#define SAME(record, older, field) \
	_Static_assert(offsetof(record, field) == offsetof(older, field), #older " differs in " #field);
#define KERNEL(older) \
	SAME(CUpti_ActivityKernel10, older, start) \
	SAME(CUpti_ActivityKernel10, older, end) \
	SAME(CUpti_ActivityKernel10, older, deviceId) \
	SAME(CUpti_ActivityKernel10, older, streamId) \
	SAME(CUpti_ActivityKernel10, older, gridX) \
	SAME(CUpti_ActivityKernel10, older, blockZ) \
	SAME(CUpti_ActivityKernel10, older, dynamicSharedMemory) \
	SAME(CUpti_ActivityKernel10, older, correlationId) \
	SAME(CUpti_ActivityKernel10, older, name) \
	SAME(CUpti_ActivityKernel10, older, graphNodeId) \
	SAME(CUpti_ActivityKernel10, older, graphId)
KERNEL(CUpti_ActivityKernel9)
KERNEL(CUpti_ActivityKernel8)
KERNEL(CUpti_ActivityKernel7)
#define MEMORY(record, older) \
	SAME(record, older, start) \
	SAME(record, older, end) \
	SAME(record, older, bytes) \
	SAME(record, older, deviceId) \
	SAME(record, older, streamId) \
	SAME(record, older, correlationId) \
	SAME(record, older, graphNodeId) \
	SAME(record, older, graphId)
MEMORY(CUpti_ActivityMemcpy6, CUpti_ActivityMemcpy5)
MEMORY(CUpti_ActivityMemcpy6, CUpti_ActivityMemcpy4)
SAME(CUpti_ActivityMemcpy6, CUpti_ActivityMemcpy5, copyKind)
MEMORY(CUpti_ActivityMemcpyPtoP4, CUpti_ActivityMemcpyPtoP3)
MEMORY(CUpti_ActivityMemset4, CUpti_ActivityMemset3)

#endif

int main(void)
{
	PM_CUPTI_RESULTS(ENUMERATOR)
	PM_CUPTI_KINDS(ENUMERATOR)
	PM_CUPTI_COPY_KINDS(ENUMERATOR)
	PM_CUPTI_CORRELATION_KINDS(ENUMERATOR)
	PM_CUPTI_FLAGS(ENUMERATOR)
	PM_CUPTI_DOMAINS(ENUMERATOR)
	PM_CUPTI_SITES(ENUMERATOR)
	PM_CUPTI_RECORDS(SIZE)
	OFFSET(CUpti_ActivityKernel10, registersPerThread)
	OFFSET(CUpti_ActivityKernel10, start)
	OFFSET(CUpti_ActivityKernel10, end)
	OFFSET(CUpti_ActivityKernel10, completed)
	OFFSET(CUpti_ActivityKernel10, deviceId)
	OFFSET(CUpti_ActivityKernel10, contextId)
	OFFSET(CUpti_ActivityKernel10, streamId)
	OFFSET(CUpti_ActivityKernel10, gridX)
	OFFSET(CUpti_ActivityKernel10, blockX)
	OFFSET(CUpti_ActivityKernel10, blockZ)
	OFFSET(CUpti_ActivityKernel10, dynamicSharedMemory)
	OFFSET(CUpti_ActivityKernel10, correlationId)
	OFFSET(CUpti_ActivityKernel10, gridId)
	OFFSET(CUpti_ActivityKernel10, name)
	OFFSET(CUpti_ActivityKernel10, queued)
	OFFSET(CUpti_ActivityKernel10, launchType)
	OFFSET(CUpti_ActivityKernel10, sharedMemoryExecuted)
	OFFSET(CUpti_ActivityKernel10, graphNodeId)
	OFFSET(CUpti_ActivityKernel10, graphId)
	OFFSET(CUpti_ActivityKernel10, channelID)
	OFFSET(CUpti_ActivityKernel10, clusterX)
	OFFSET(CUpti_ActivityKernel10, localMemoryTotal_v2)
	OFFSET(CUpti_ActivityKernel10, maxActiveClusters)
	OFFSET(CUpti_ActivityMemcpy6, copyKind)
	OFFSET(CUpti_ActivityMemcpy6, flags)
	OFFSET(CUpti_ActivityMemcpy6, bytes)
	OFFSET(CUpti_ActivityMemcpy6, start)
	OFFSET(CUpti_ActivityMemcpy6, end)
	OFFSET(CUpti_ActivityMemcpy6, deviceId)
	OFFSET(CUpti_ActivityMemcpy6, streamId)
	OFFSET(CUpti_ActivityMemcpy6, correlationId)
	OFFSET(CUpti_ActivityMemcpy6, runtimeCorrelationId)
	OFFSET(CUpti_ActivityMemcpy6, graphNodeId)
	OFFSET(CUpti_ActivityMemcpy6, graphId)
	OFFSET(CUpti_ActivityMemcpy6, channelType)
	OFFSET(CUpti_ActivityMemcpy6, copyCount)
	OFFSET(CUpti_ActivityMemcpyPtoP4, copyKind)
	OFFSET(CUpti_ActivityMemcpyPtoP4, bytes)
	OFFSET(CUpti_ActivityMemcpyPtoP4, start)
	OFFSET(CUpti_ActivityMemcpyPtoP4, streamId)
	OFFSET(CUpti_ActivityMemcpyPtoP4, dstContextId)
	OFFSET(CUpti_ActivityMemcpyPtoP4, correlationId)
	OFFSET(CUpti_ActivityMemcpyPtoP4, graphNodeId)
	OFFSET(CUpti_ActivityMemcpyPtoP4, graphId)
	OFFSET(CUpti_ActivityMemset4, value)
	OFFSET(CUpti_ActivityMemset4, bytes)
	OFFSET(CUpti_ActivityMemset4, start)
	OFFSET(CUpti_ActivityMemset4, streamId)
	OFFSET(CUpti_ActivityMemset4, correlationId)
	OFFSET(CUpti_ActivityMemset4, memoryKind)
	OFFSET(CUpti_ActivityMemset4, graphNodeId)
	OFFSET(CUpti_ActivityMemset4, graphId)
	OFFSET(CUpti_ActivityAPI, cbid)
	OFFSET(CUpti_ActivityAPI, start)
	OFFSET(CUpti_ActivityAPI, threadId)
	OFFSET(CUpti_ActivityAPI, correlationId)
	OFFSET(CUpti_ActivityExternalCorrelation, externalKind)
	OFFSET(CUpti_ActivityExternalCorrelation, externalId)
	OFFSET(CUpti_ActivityExternalCorrelation, correlationId)
	SIZE(CUpti_CallbackData, )
#define CALLBACK_OFFSET(type, field) OFFSET(CUpti_CallbackData, field)
	PM_CUPTI_CALLBACK_DATA(CALLBACK_OFFSET)
	return 0;
}
