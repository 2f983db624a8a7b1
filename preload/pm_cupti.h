/*
 * CUPTI as far as the project uses it, said in our own words: enumerators, prototypes, and the activity records of
 * CUDA 13.
 *
 * Records have grown at their ends only: what is read of them lies in the same place in the records of CUDA 11.6 and
 * everything after it up to CUDA 13 (API versions PM_CUPTI_OLDEST to PM_CUPTI_NEWEST). tests/cupti_layout.c compares all
 * of it with the vendor's header where that is at hand; with PM_HAVE_CUPTI this file is that header.
 */
#ifndef PM_CUPTI_H
#define PM_CUPTI_H

#include <stddef.h>
#include <stdint.h>

/* Versions that cuptiGetVersion answers whose records we know: 17 is CUDA 11.6, 28 is 12.9, then 13yyzz. */
#define PM_CUPTI_OLDEST 17u
#define PM_CUPTI_NEWEST 139999u
#define PM_CUPTI_VERSION 130001u /* what softgpu's says it is */

/* Enumerators: X(name, value), those in use. */
#define PM_CUPTI_RESULTS(X) \
	X(CUPTI_SUCCESS, 0) X(CUPTI_ERROR_INVALID_PARAMETER, 1) X(CUPTI_ERROR_INVALID_OPERATION, 7) \
	X(CUPTI_ERROR_OUT_OF_MEMORY, 8) X(CUPTI_ERROR_MAX_LIMIT_REACHED, 12) \
	X(CUPTI_ERROR_NOT_INITIALIZED, 15) X(CUPTI_ERROR_QUEUE_EMPTY, 18) \
	X(CUPTI_ERROR_INVALID_STREAM, 20) X(CUPTI_ERROR_INVALID_KIND, 21) \
	X(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, 39) X(CUPTI_ERROR_UNKNOWN, 999)

#define PM_CUPTI_KINDS(X) \
	X(CUPTI_ACTIVITY_KIND_INVALID, 0) X(CUPTI_ACTIVITY_KIND_MEMCPY, 1) X(CUPTI_ACTIVITY_KIND_MEMSET, 2) \
	X(CUPTI_ACTIVITY_KIND_KERNEL, 3) X(CUPTI_ACTIVITY_KIND_DRIVER, 4) X(CUPTI_ACTIVITY_KIND_RUNTIME, 5) \
	X(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 10) X(CUPTI_ACTIVITY_KIND_MEMCPY2, 22) \
	X(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, 39) X(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 51)

#define PM_CUPTI_COPY_KINDS(X) \
	X(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 1) X(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, 2) \
	X(CUPTI_ACTIVITY_MEMCPY_KIND_HTOA, 3) X(CUPTI_ACTIVITY_MEMCPY_KIND_ATOH, 4) \
	X(CUPTI_ACTIVITY_MEMCPY_KIND_ATOA, 5) X(CUPTI_ACTIVITY_MEMCPY_KIND_ATOD, 6) \
	X(CUPTI_ACTIVITY_MEMCPY_KIND_DTOA, 7) X(CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, 8) \
	X(CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, 9) X(CUPTI_ACTIVITY_MEMCPY_KIND_PTOP, 10)

#define PM_CUPTI_CORRELATION_KINDS(X) \
	X(CUPTI_EXTERNAL_CORRELATION_KIND_UNKNOWN, 1) X(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 3) \
	X(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1, 4) X(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, 5)

#define PM_CUPTI_FLAGS(X) X(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED, 1)

#define PM_CUPTI_DOMAINS(X) \
	X(CUPTI_CB_DOMAIN_INVALID, 0) X(CUPTI_CB_DOMAIN_DRIVER_API, 1) X(CUPTI_CB_DOMAIN_RUNTIME_API, 2) \
	X(CUPTI_CB_DOMAIN_RESOURCE, 3)

#define PM_CUPTI_SITES(X) X(CUPTI_API_ENTER, 0) X(CUPTI_API_EXIT, 1)

/* One more than the greatest number of a call of the driver's or the runtime's that CUPTI is asked about; vendors' headers end
 * below it. */
#define PM_CUPTI_CALLS 1024u

/* Calls that put work on the device and are no rows of pm_hooks.def, by CUPTI's numbers of them; with their variants for the
 * per-thread default stream. X(number) */
#define PM_CUPTI_OTHER_RUNTIME_LAUNCHES(X) \
	X(33) X(35) X(36) X(37) X(38) X(42) X(43) X(45) X(46) X(217) X(219) X(220) X(221) X(222) X(226) X(227) \
	X(229) X(230) X(272)
#define PM_CUPTI_OTHER_DRIVER_LAUNCHES(X) \
	X(282) X(283) X(284) X(285) X(286) X(292) X(293) X(400) X(401) X(402) X(403) X(404) X(419) X(420) \
	X(480) X(776) X(777) X(778) X(779) X(784) X(785) X(798) X(799)

/* Records: X(type, name), in order; all are packed and begin at multiples of 8. */
#define PM_CUPTI_KERNEL(X) \
	X(CUpti_ActivityKind, kind) \
	X(uint8_t, cacheConfig_) X(uint8_t, sharedMemoryConfig) X(uint16_t, registersPerThread) \
	X(uint32_t, partitionedGlobalCacheRequested) X(uint32_t, partitionedGlobalCacheExecuted) \
	X(uint64_t, start) X(uint64_t, end) X(uint64_t, completed) \
	X(uint32_t, deviceId) X(uint32_t, contextId) X(uint32_t, streamId) \
	X(int32_t, gridX) X(int32_t, gridY) X(int32_t, gridZ) \
	X(int32_t, blockX) X(int32_t, blockY) X(int32_t, blockZ) \
	X(int32_t, staticSharedMemory) X(int32_t, dynamicSharedMemory) \
	X(uint32_t, localMemoryPerThread) X(uint32_t, localMemoryTotal) X(uint32_t, correlationId) \
	X(int64_t, gridId) X(const char *, name) X(void *, reserved0) \
	X(uint64_t, queued) X(uint64_t, submitted) \
	X(uint8_t, launchType) X(uint8_t, isSharedMemoryCarveoutRequested) \
	X(uint8_t, sharedMemoryCarveoutRequested) X(uint8_t, padding) X(uint32_t, sharedMemoryExecuted) \
	X(uint64_t, graphNodeId) X(uint32_t, shmemLimitConfig) X(uint32_t, graphId) \
	X(void *, pAccessPolicyWindow) X(uint32_t, channelID) X(uint32_t, channelType) \
	X(uint32_t, clusterX) X(uint32_t, clusterY) X(uint32_t, clusterZ) \
	X(uint32_t, clusterSchedulingPolicy) X(uint64_t, localMemoryTotal_v2) \
	X(uint32_t, maxPotentialClusterSize) X(uint32_t, maxActiveClusters) \
	X(uint64_t, isDeviceLaunched_)

#define PM_CUPTI_MEMCPY(X) \
	X(CUpti_ActivityKind, kind) \
	X(uint8_t, copyKind) X(uint8_t, srcKind) X(uint8_t, dstKind) X(uint8_t, flags) \
	X(uint64_t, bytes) X(uint64_t, start) X(uint64_t, end) \
	X(uint32_t, deviceId) X(uint32_t, contextId) X(uint32_t, streamId) X(uint32_t, correlationId) \
	X(uint32_t, runtimeCorrelationId) X(uint32_t, pad) X(void *, reserved0) \
	X(uint64_t, graphNodeId) X(uint32_t, graphId) X(uint32_t, channelID) \
	X(uint32_t, channelType) X(uint32_t, isDeviceLaunched_) X(uint64_t, copyCount)

#define PM_CUPTI_PEER(X) \
	X(CUpti_ActivityKind, kind) \
	X(uint8_t, copyKind) X(uint8_t, srcKind) X(uint8_t, dstKind) X(uint8_t, flags) \
	X(uint64_t, bytes) X(uint64_t, start) X(uint64_t, end) \
	X(uint32_t, deviceId) X(uint32_t, contextId) X(uint32_t, streamId) \
	X(uint32_t, srcDeviceId) X(uint32_t, srcContextId) X(uint32_t, dstDeviceId) \
	X(uint32_t, dstContextId) X(uint32_t, correlationId) X(void *, reserved0) \
	X(uint64_t, graphNodeId) X(uint32_t, graphId) X(uint32_t, channelID) \
	X(uint32_t, channelType) X(uint32_t, unused_)

#define PM_CUPTI_MEMSET(X) \
	X(CUpti_ActivityKind, kind) X(uint32_t, value) \
	X(uint64_t, bytes) X(uint64_t, start) X(uint64_t, end) \
	X(uint32_t, deviceId) X(uint32_t, contextId) X(uint32_t, streamId) X(uint32_t, correlationId) \
	X(uint16_t, flags) X(uint16_t, memoryKind) X(uint32_t, pad) X(void *, reserved0) \
	X(uint64_t, graphNodeId) X(uint32_t, graphId) X(uint32_t, channelID) \
	X(uint32_t, channelType) X(uint32_t, isDeviceLaunched_)

#define PM_CUPTI_API(X) \
	X(CUpti_ActivityKind, kind) X(CUpti_CallbackId, cbid) \
	X(uint64_t, start) X(uint64_t, end) X(uint32_t, processId) X(uint32_t, threadId) \
	X(uint32_t, correlationId) X(uint32_t, returnValue)

#define PM_CUPTI_EXTERNAL(X) \
	X(CUpti_ActivityKind, kind) X(CUpti_ExternalCorrelationKind, externalKind) \
	X(uint64_t, externalId) X(uint32_t, correlationId) X(uint32_t, reserved)

/* X(record's type, its fields) */
#define PM_CUPTI_RECORDS(X) \
	X(CUpti_ActivityKernel10, PM_CUPTI_KERNEL) X(CUpti_ActivityMemcpy6, PM_CUPTI_MEMCPY) \
	X(CUpti_ActivityMemcpyPtoP4, PM_CUPTI_PEER) X(CUpti_ActivityMemset4, PM_CUPTI_MEMSET) \
	X(CUpti_ActivityAPI, PM_CUPTI_API) X(CUpti_ActivityExternalCorrelation, PM_CUPTI_EXTERNAL)

/* What a callback of the domains of the driver and the runtime is given. X(type, name), laid out as C does. */
#define PM_CUPTI_CALLBACK_DATA(X) \
	X(CUpti_ApiCallbackSite, callbackSite) X(const char *, functionName) X(const void *, functionParams) \
	X(void *, functionReturnValue) X(const char *, symbolName) X(CUcontext, context) \
	X(uint32_t, contextUid) X(uint64_t *, correlationData) X(uint32_t, correlationId)

#ifdef PM_HAVE_CUPTI

#include <cupti.h>

#else

#define PM_ENUMERATOR(name, value) name = value,
typedef enum { PM_CUPTI_RESULTS(PM_ENUMERATOR) } CUptiResult;
typedef enum { PM_CUPTI_KINDS(PM_ENUMERATOR) } CUpti_ActivityKind;
typedef enum { PM_CUPTI_COPY_KINDS(PM_ENUMERATOR) } CUpti_ActivityMemcpyKind;
typedef enum { PM_CUPTI_CORRELATION_KINDS(PM_ENUMERATOR) } CUpti_ExternalCorrelationKind;
typedef enum { PM_CUPTI_DOMAINS(PM_ENUMERATOR) } CUpti_CallbackDomain;
typedef enum { PM_CUPTI_SITES(PM_ENUMERATOR) } CUpti_ApiCallbackSite;
enum { PM_CUPTI_FLAGS(PM_ENUMERATOR) };
#undef PM_ENUMERATOR

typedef uint32_t CUpti_CallbackId;
typedef struct CUpti_Subscriber_st *CUpti_SubscriberHandle;
typedef void (*CUpti_CallbackFunc)(void *, CUpti_CallbackDomain, CUpti_CallbackId, const void *);
typedef struct CUpti_SubscriberParams CUpti_SubscriberParams; /* only passed on */
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUgraphNode_st *CUgraphNode;

typedef struct {
	CUpti_ActivityKind kind;
} CUpti_Activity;

#define PM_FIELD(type, name) type name;
#define PM_STRUCT(record, fields) \
	typedef struct __attribute__((packed, aligned(8))) { \
		fields(PM_FIELD) \
	} record;
PM_CUPTI_RECORDS(PM_STRUCT)
typedef struct {
	PM_CUPTI_CALLBACK_DATA(PM_FIELD)
} CUpti_CallbackData;
#undef PM_STRUCT
#undef PM_FIELD

typedef void (*CUpti_BuffersCallbackRequestFunc)(uint8_t **, size_t *, size_t *);
typedef void (*CUpti_BuffersCallbackCompleteFunc)(CUcontext, uint32_t, uint8_t *, size_t, size_t);
typedef uint64_t (*CUpti_TimestampCallbackFunc)(void);

#endif

/* Prototypes: X(name, parameters) */
#define PM_CUPTI_FUNCTIONS(X) \
	X(cuptiGetVersion, (uint32_t *)) \
	X(cuptiGetTimestamp, (uint64_t *)) \
	X(cuptiGetResultString, (CUptiResult, const char **)) \
	X(cuptiSubscribe, (CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *)) \
	X(cuptiUnsubscribe, (CUpti_SubscriberHandle)) \
	X(cuptiEnableCallback, (uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId)) \
	X(cuptiEnableDomain, (uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain)) \
	X(cuptiActivityEnable, (CUpti_ActivityKind)) \
	X(cuptiActivityDisable, (CUpti_ActivityKind)) \
	X(cuptiActivityEnableRuntimeApi, (CUpti_CallbackId, uint8_t)) \
	X(cuptiActivityEnableDriverApi, (CUpti_CallbackId, uint8_t)) \
	X(cuptiActivityRegisterCallbacks, \
		(CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc)) \
	X(cuptiActivityRegisterTimestampCallback, (CUpti_TimestampCallbackFunc)) \
	X(cuptiActivityGetNextRecord, (uint8_t *, size_t, CUpti_Activity **)) \
	X(cuptiActivityGetNumDroppedRecords, (CUcontext, uint32_t, size_t *)) \
	X(cuptiActivityFlushAll, (uint32_t)) \
	X(cuptiActivityFlushPeriod, (uint32_t)) \
	X(cuptiActivityPushExternalCorrelationId, (CUpti_ExternalCorrelationKind, uint64_t)) \
	X(cuptiActivityPopExternalCorrelationId, (CUpti_ExternalCorrelationKind, uint64_t *)) \
	X(cuptiGetStreamIdEx, (CUcontext, CUstream, uint8_t, uint32_t *)) \
	X(cuptiGetGraphNodeId, (CUgraphNode, uint64_t *)) \
	X(cuptiFinalize, (void))

#endif
