/*
 * Profiles whose processes are named after devices, as JAX's and Ascend's profilers write them: a process
 * "/device:GPU:0" or "Ascend Hardware" with a thread for each stream, and others for the host. What is
 * recorded as spans of those threads (IMPORTED_PHASE) becomes device events, calls and annotations.
 *
 * Besides the device's own work such files have rows that are derived from it ("XLA Modules", "Steps",
 * "Overlap Analysis"), which are none.
 */
#ifndef IMPORT_IMPORTED_DEVICE_H
#define IMPORT_IMPORTED_DEVICE_H

#include "imported.h"

/* Is a process of that name a device's, or the host's beside one? */
bool imported_device_names(const char *process);

/*
 * After all spans, processes and threads are read: fills events, calls and workers, a worker for each device,
 * and drops what is derived. A span's `external` is the number that ties a call to what it launched, its
 * `shapes` what the framework calls the operation ("jit(step)/jvp(MLP)/dot_general"), from which come phase
 * and layer. -1 with `trouble`: the file has no device.
 */
int imported_device_settle(struct imported *imported);

#endif
