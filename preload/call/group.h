/*
 * Groups of NCCL's calls: their work begins when the outermost group ends. In the calling thread.
 */
#ifndef GROUP_H
#define GROUP_H

#include "guest/thread.h"

/* ncclGroupStart. */
void pmh_group_begin(void);

/* A call of the group: of those on a queue the first stands for all, and has their device time. */
void pmh_group_add(struct pmh_thread *self, const struct pmh_frame *frame);

/* Before and after the outermost ncclGroupEnd. What the group holds is gone after it. */
void pmh_group_launch(struct pmh_thread *self, struct pmh_frame *frame);
void pmh_group_end(struct pmh_thread *self);

#endif
