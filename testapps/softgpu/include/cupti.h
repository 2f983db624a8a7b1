/* CUPTI as far as this project calls it. */
#ifndef SOFTGPU_CUPTI_H
#define SOFTGPU_CUPTI_H

#include "pm_cupti.h"

#define PM_PROTOTYPE(name, parameters) CUptiResult name parameters;
PM_CUPTI_FUNCTIONS(PM_PROTOTYPE)
#undef PM_PROTOTYPE

/* What the hook never calls, and other profilers do. */
typedef enum {
	CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT = 0, /* pthread_self's */
	CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM = 1,  /* gettid's */
	CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE = 2
} CUpti_ActivityThreadIdType;
typedef enum { CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE = 0 } CUpti_ActivityAttribute; /* of which it has none */
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type);
CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type);
CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize, void *value);
CUptiResult cuptiGetContextId(CUcontext context, uint32_t *contextId);
CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *deviceId);
CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *pId);
CUptiResult cuptiGetGraphExecId(CUgraphExec graphExec, uint32_t *pId);
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name);

#endif
