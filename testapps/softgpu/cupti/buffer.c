/*
 * The buffers of activity records: requested from the application, filled, and delivered by a thread of their
 * own.
 *
 * The one idea: a buffer is in one place at a time: being filled (one for each family), in the list of what
 * is to be delivered, or the application's.
 */
#include "cupti_private.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct buffer {
	struct buffer *next;
	uint8_t *bytes;
	size_t size_bytes, used_bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static struct buffer *filling[CUPTI_FAMILIES];
static struct buffer *waiting, **waiting_end = &waiting;
static uint64_t handed_count, delivered_count;
static size_t dropped_count;
static int delivering;

static void *deliver(void *unused)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		CUpti_BuffersCallbackCompleteFunc function = complete;
		struct buffer *buffer = waiting;

		if (buffer == NULL) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		waiting = buffer->next;
		if (waiting == NULL)
			waiting_end = &waiting;
		pthread_mutex_unlock(&lock);
		function(NULL, 0, buffer->bytes, buffer->size_bytes, buffer->used_bytes);
		free(buffer);
		pthread_mutex_lock(&lock);
		delivered_count++;
		pthread_cond_broadcast(&changed);
	}
	return unused;
}

/* Under the lock, as all below. Signals stay with the application's threads. */
static void start_delivering(void)
{
	pthread_t thread;
	sigset_t all, before;

	if (delivering)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, deliver, NULL) == 0) {
		pthread_setname_np(thread, "softgpu.cupti");
		pthread_detach(thread);
		delivering = 1;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void hand_over(enum cupti_family family)
{
	struct buffer *buffer = filling[family];

	if (buffer == NULL)
		return;
	filling[family] = NULL;
	buffer->next = NULL;
	*waiting_end = buffer;
	waiting_end = &buffer->next;
	handed_count++;
	pthread_cond_broadcast(&changed);
}

static struct buffer *new_buffer(void)
{
	struct buffer *buffer = calloc(1, sizeof(*buffer));
	size_t record_count = 0;

	if (buffer == NULL || request == NULL)
		goto none;
	request(&buffer->bytes, &buffer->size_bytes, &record_count);
	if (buffer->bytes != NULL)
		return buffer;
none:
	free(buffer);
	return NULL;
}

void cupti_append(enum cupti_family family, const void *records, size_t size_bytes)
{
	struct buffer *buffer;

	pthread_mutex_lock(&lock);
	buffer = filling[family];
	if (buffer != NULL && buffer->used_bytes + size_bytes > buffer->size_bytes) {
		hand_over(family);
		buffer = NULL;
	}
	if (buffer == NULL)
		buffer = filling[family] = new_buffer();
	if (buffer == NULL || size_bytes > buffer->size_bytes) {
		dropped_count++;
	} else {
		memcpy(buffer->bytes + buffer->used_bytes, records, size_bytes);
		buffer->used_bytes += size_bytes;
	}
	pthread_mutex_unlock(&lock);
}

void cupti_buffers_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_cond_init(&changed, NULL);
	memset(filling, 0, sizeof(filling));
	waiting = NULL;
	waiting_end = &waiting;
	handed_count = delivered_count = 0;
	delivering = 0;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
	CUpti_BuffersCallbackCompleteFunc funcBufferCompleted)
{
	if (sg_fault(__func__))
		return CUPTI_ERROR_UNKNOWN;
	if (funcBufferRequested == NULL || funcBufferCompleted == NULL)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	request = funcBufferRequested;
	complete = funcBufferCompleted;
	start_delivering();
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

/* SOFTGPU_CUPTI=hang: a flush that never comes back, as happens with the vendor's when a device is stuck. */
static void hang_if_asked(void)
{
	const char *text = getenv("SOFTGPU_CUPTI");

	while (text != NULL && strcmp(text, "hang") == 0)
		pause();
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	uint64_t until;

	(void)flag; /* a record is appended when its work is done, so none is ever incomplete */
	if (sg_fault(__func__))
		return CUPTI_ERROR_UNKNOWN;
	hang_if_asked();
	pthread_mutex_lock(&lock);
	if (complete == NULL) {
		pthread_mutex_unlock(&lock);
		return CUPTI_ERROR_INVALID_OPERATION;
	}
	hand_over(CUPTI_ACTIVITIES);
	hand_over(CUPTI_CALLS);
	until = handed_count;
	while (delivering && delivered_count < until)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushPeriod(uint32_t time)
{
	(void)time; /* full buffers are delivered at once */
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t streamId, size_t *dropped)
{
	(void)context, (void)streamId;
	if (dropped == NULL)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	*dropped = dropped_count;
	dropped_count = 0;
	pthread_mutex_unlock(&lock);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t validBufferSizeBytes, CUpti_Activity **record)
{
	static const size_t sizes[] = {
		[CUPTI_ACTIVITY_KIND_MEMCPY] = sizeof(CUpti_ActivityMemcpy6),
		[CUPTI_ACTIVITY_KIND_MEMSET] = sizeof(CUpti_ActivityMemset4),
		[CUPTI_ACTIVITY_KIND_KERNEL] = sizeof(CUpti_ActivityKernel10),
		[CUPTI_ACTIVITY_KIND_DRIVER] = sizeof(CUpti_ActivityAPI),
		[CUPTI_ACTIVITY_KIND_RUNTIME] = sizeof(CUpti_ActivityAPI),
		[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = sizeof(CUpti_ActivityKernel10),
		[CUPTI_ACTIVITY_KIND_MEMCPY2] = sizeof(CUpti_ActivityMemcpyPtoP4),
		[CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION] = sizeof(CUpti_ActivityExternalCorrelation),
	};
	uint8_t *next = buffer;

	if (buffer == NULL || record == NULL)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (*record != NULL)
		next = (uint8_t *)*record + sizes[(*record)->kind];
	if (next >= buffer + validBufferSizeBytes)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)(void *)next;
	if ((size_t)(*record)->kind >= sizeof(sizes) / sizeof(sizes[0]) || sizes[(*record)->kind] == 0)
		return CUPTI_ERROR_INVALID_KIND;
	return CUPTI_SUCCESS;
}
