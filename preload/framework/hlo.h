/*
 * A program that XLA has compiled, into the trace: what each of its instructions is (struct
 * pm_entry_hlo_instruction).
 */
#ifndef HLO_H
#define HLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory beside the module's own that it takes to read it. */
#define PMH_HLO_SCRATCH(byte_count) (8 * (byte_count) + (64u << 10))

/*
 * Writes the entries of a module, a serialized HloModuleProto, or with its configuration around it
 * (`is_wrapped`). The bytes may be anything: what cannot be read is passed over, and the module's entry says
 * so. scratch: PMH_HLO_SCRATCH(byte_count) bytes, of which few pages are touched. Outside of locks, while
 * recording; any thread. False: there is no module in it.
 */
bool pmh_hlo_record(const void *module, size_t byte_count, bool is_wrapped, void *scratch);

/* In a child after fork. */
void pmh_hlo_forget(void);

#endif
