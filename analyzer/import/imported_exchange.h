/*
 * Which kernels are communication, beyond the names that HolisticTraceAnalysis knows (imported_kind.h): those
 * for which the profiler recorded a collective; those that call themselves after an exchange
 * ("multimem_all_reduce_kernel"); and those of libraries whose kernels do not (DeepEP, NVSHMEM, MSCCL++). The
 * figures of `window` are HTA's and do not use it.
 */
#ifndef IMPORT_IMPORTED_EXCHANGE_H
#define IMPORT_IMPORTED_EXCHANGE_H

#include "imported.h"

/* Is a kernel of that name communication? Template arguments and parameters do not count. */
bool imported_exchange_is(const char *kernel);

/* Sets the kind of those events. */
void imported_exchange_apply(struct imported *imported);

/* Kernels of a job, for one that has several ranks and no communication. All zero: empty. */
struct imported_exchange_doubt {
	bool has;     /* some communication, or labels instead of kernels */
	size_t workers;
	int32_t world; /* as the files say; 0: they do not */
	struct intern names;
	int64_t *times_ns; /* by name: of kernels that may be communication */
	size_t time_count, time_room;
};

/* After imported_exchange_apply and the user's patterns. */
void imported_exchange_note(struct imported_exchange_doubt *doubt, const struct imported *imported);

/* A sentence, in the arena; NULL: no reason to doubt. */
const char *imported_exchange_text(const struct imported_exchange_doubt *doubt, struct arena *arena);
void imported_exchange_free(struct imported_exchange_doubt *doubt);

#endif
