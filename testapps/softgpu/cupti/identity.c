/*
 * What a client asks of CUPTI by handle: the numbers that records have for contexts, devices and graphs,
 * names of calls; and the settings of records that change nothing here.
 */
#include "cupti_private.h"

#include <stdatomic.h>

static _Atomic unsigned thread_id_type;

CUptiResult cuptiGetContextId(CUcontext context, uint32_t *contextId)
{
	uint32_t device;
	CUptiResult result = cuptiGetDeviceId(context, &device);

	if (contextId == NULL)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (result == CUPTI_SUCCESS)
		*contextId = CUPTI_CONTEXT + device;
	return result;
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *deviceId)
{
	int device = sg_context_device(context);

	if (deviceId == NULL)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (device < 0)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*deviceId = (uint32_t)device;
	return CUPTI_SUCCESS;
}

/* Graphs have one numbering, instantiated or not. None has 0: clients ask for the graph among a launch's
 * parameters, which callbacks have as zeros. */
static CUptiResult number_of_graph(const void *graph, uint32_t *number)
{
	if (number == NULL)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*number = graph != NULL ? sg_graph_number(graph) : 0;
	return graph == NULL || *number != 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *pId)
{
	return number_of_graph(graph, pId);
}

CUptiResult cuptiGetGraphExecId(CUgraphExec graphExec, uint32_t *pId)
{
	return number_of_graph(graphExec, pId);
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
	if (name == NULL)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*name = cupti_call_name(domain, cbid);
	return *name != NULL ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
	if (type != CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT && type != CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
		return CUPTI_NOT_SUPPORTED;
	atomic_store(&thread_id_type, (unsigned)type);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
	if (type == NULL)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*type = (CUpti_ActivityThreadIdType)atomic_load(&thread_id_type);
	return CUPTI_SUCCESS;
}

/* Sizes and numbers of the device's buffers: there are none, so any will do. */
CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize, void *value)
{
	(void)attr;
	return valueSize != NULL && value != NULL && *valueSize > 0 ? CUPTI_SUCCESS
								    : CUPTI_ERROR_INVALID_PARAMETER;
}
