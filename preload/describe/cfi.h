/*
 * How a function's frame is left, from the unwind table of its library: what a walk over the stack needs
 * again and again, without a lock, memory of its own or a system call. x86-64 only, and only what compilers
 * write for ordinary functions.
 */
#ifndef CFI_H
#define CFI_H

#include <stdbool.h>
#include <stdint.h>

/* The caller's stack pointer is a register plus cfa_offset; the address to return to lies 8 bytes below it.
 */
struct pmh_cfi_rule {
	enum pmh_cfi_from {
		PMH_CFI_UNKNOWN, /* it is not known here: libunwind may know */
		PMH_CFI_FROM_RSP,
		PMH_CFI_FROM_RBP,
		PMH_CFI_OUTERMOST, /* there is no caller */
	} from;
	int32_t cfa_offset;
	int32_t rbp_offset; /* where the caller's rbp is, from its stack pointer; 0: still in the register */
};

/*
 * The rule at an address. `header` is the table's header (PT_GNU_EH_FRAME), which lies in the segment [start,
 * end) with all that it refers to; nothing else is read.
 */
struct pmh_cfi_rule pmh_cfi_find(uint64_t address, uint64_t header, uint64_t start, uint64_t end);

#endif
