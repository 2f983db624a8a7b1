/*
 * Groups of NCCL's calls. Their work begins when the outermost group ends, so device times are taken around
 * its end: one interval a queue, which all calls of the group on that queue share.
 */
#include "group.h"

#include "device/capture.h"
#include "device/cupti_session.h"
#include "device/event_time.h"
#include "trace/write.h"

void pmh_group_launch(struct pmh_thread *self, struct pmh_frame *f)
{
	for (unsigned i = 0; i < self->grouped_count; i++)
		self->grouped[i].interval = (struct pmh_interval){0};
	f->pushed = pmh_cupti_group_begin(self->grouped, self->grouped_count);
	if (f->pushed)
		return;
	for (unsigned i = 0; i < self->grouped_count; i++) {
		struct pmh_grouped *g = &self->grouped[i];

		g->interval = pmh_device_begin(self, g->device, g->stream);
	}
}

void pmh_group_end(struct pmh_thread *self)
{
	for (unsigned i = 0; i < self->grouped_count; i++) {
		struct pmh_grouped *g = &self->grouped[i];

		if (g->interval.ring)
			pmh_device_end(
				g->interval, g->stream, g->op, g->correlation, g->queue, PM_FLAG_GROUP);
	}
	self->grouped_count = 0;
	self->group_count++;
	if (self->group_captured)
		pmh_captured_late(self->group_captured);
	self->group_captured = NULL;
}

void pmh_group_add(struct pmh_thread *self, const struct pmh_frame *f)
{
	for (unsigned i = 0; i < self->grouped_count; i++)
		if (self->grouped[i].queue == f->place.queue)
			return;
	if (self->grouped_count == PMH_GROUP) {
		pmh_lose(PM_LOSS_GROUPS, 1);
		return;
	}
	self->grouped[self->grouped_count++] = (struct pmh_grouped){.stream = f->place.stream,
		.device = f->place.device,
		.op = f->op,
		.correlation = f->correlation,
		.queue = f->place.queue};
}

void pmh_group_begin(void)
{
	if (pmh_self.group_depth++ == 0)
		pmh_self.grouped_count = 0;
}
