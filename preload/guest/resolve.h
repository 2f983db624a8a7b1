/*
 * The rows of pm_hooks.def as a table, and the functions behind the wrappers. Any thread; errno stays. What
 * is sought for the first time takes the loader's lock.
 */
#ifndef RESOLVE_H
#define RESOLVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attribute.h"
#include "pm_format.h"
#include "pm_hooks.h"

/* A function's row, and the labels of its values: that of values[0] is empty. Texts are no pointers, each of
 * which would have to be relocated in each process. */
struct pmh_label {
	uint8_t value; /* enum pm_value */
	char label[47];
};
struct pmh_row {
	char name[62], library[10];
	uint8_t kind;   /* enum pm_kind */
	uint8_t role;   /* enum pm_role */
	uint8_t access; /* enum pm_access, together */
	char shape[6];  /* the label of the tensor whose elements its work goes by, or empty */
	uint8_t label_count;
	uint8_t changed; /* the major version of the library that changed its parameters, 0: none did */
	uint16_t since;  /* the version of CUDA with which the driver has it, 0: not looked up by version */
	uint16_t twin;   /* its twin for per-thread default streams (enum pm_call), or 0 */
	uint16_t callbacks[6]; /* CUPTI's numbers of it, then 0; none: no work for the device */
};
extern const struct pmh_row pmh_rows[PM_CALL_COUNT];
extern const struct pmh_label *const pmh_labels[PM_CALL_COUNT];

/* Whether work of this kind runs on the device, so that it has device time, a module and a device described.
 */
PMH_INLINE bool pmh_runs_on_device(enum pm_kind kind)
{
	switch (kind) {
	case PM_KIND_COPY:
	case PM_KIND_SET:
	case PM_KIND_FORWARD:
	case PM_KIND_BACKWARD:
	case PM_KIND_COMPUTE:
	case PM_KIND_LAUNCH:
	case PM_KIND_SEARCH:
	case PM_KIND_COMM:
		return true;
	default:
		return false;
	}
}

/* Asked again and again by a program that waits: its result says "not ready". */
PMH_INLINE bool pmh_queries(enum pm_role role)
{
	return role == PM_ROLE_QUERIES_STREAM || role == PM_ROLE_QUERIES_EVENT;
}

/* The real function behind a wrapper, or NULL where its library is not loaded. Async-signal-safe once found.
 */
extern _Atomic(void *) pmh_functions[PM_CALL_COUNT];
void *pmh_find_real(enum pm_call call);
static inline void *pmh_real(enum pm_call call)
{
	void *f = atomic_load_explicit(&pmh_functions[call], memory_order_acquire);

	return __builtin_expect(f != NULL, 1) ? f : pmh_find_real(call);
}

/* Functions that the hook calls and does not hook, like cudaGetLastError; NULL where there is none. */
void *pmh_real_cudart(const char *name);
void *pmh_real_driver(const char *name);
void *pmh_real_nccl(const char *name);

/* Whether a file's name (without folders) is that of a library of the table, or of any of the vendor's. */
bool pmh_is_library(const char *library, const char *file);
bool pmh_is_vendors(const char *file);

/* Whether an address lies in this library. */
bool pmh_is_ours(const void *address);

/* Keeps the library that a function lies in loaded for ever; false: it cannot be. */
bool pmh_keep(const void *function);

#endif
