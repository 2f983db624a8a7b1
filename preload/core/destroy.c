/* Streams and contexts that a call destroys: see destroy.h. */
#include "destroy.h"

#include "device/capture.h"
#include "device/cuda_functions.h"
#include "device/event_time.h"
#include "device/place.h"

void pmh_before_stream_destroy(struct pmh_frame *f, const uint64_t *values)
{
	cudaStream_t stream = (cudaStream_t)values[1];

	pmh_stream_gone(stream);
	f->place.stream = pmh_capture_forgotten(stream) ? stream : NULL;
}

void pmh_before_context_destroy(
	struct pmh_frame *f, struct pmh_thread *self, enum pm_role role, const uint64_t *values)
{
	f->place.device = role == PM_ROLE_RESETS_DEVICE      ? self->device
			  : role == PM_ROLE_DESTROYS_CONTEXT ? pmh_context_device((const void *)values[1])
							     : (int)values[1];
	pmh_device_going(self, f->place.device);
}

void pmh_after_context_destroy(const struct pmh_frame *f, enum pm_role role, int result)
{
	bool gone = result == 0 &&
		    !(role == PM_ROLE_RELEASES_PRIMARY && pmh_primary_context_active(f->place.device));

	pmh_device_went(f->place.device, gone);
	if (!gone)
		return;
	pmh_streams_gone(f->place.device);
	pmh_capture_device_gone(f->place.device);
	if (role == PM_ROLE_DESTROYS_CONTEXT)
		pmh_context_popped();
}
