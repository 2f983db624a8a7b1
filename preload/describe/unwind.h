/*
 * The frames above a place, by libunwind, which is loaded late and only if it is there.
 *
 * libunwind's own way of unwinding its process keeps a pipe open to probe memory with, takes the loader's
 * lock at each step, and reads what broken unwind information points to. So it is used as a debugger uses it,
 * for a foreign address space, and what it asks for is answered here: registers as they were, memory of the
 * stack that the thread is on and of unwind tables, nothing else.
 */
#ifndef UNWIND_H
#define UNWIND_H

#include "guest/guest.h"

/* Loads libunwind. Takes the loader's lock, so no lock of ours may be held. */
void pmh_unwind_init(void);

/*
 * Calls visit for each caller of the code that `from` was taken in, innermost first, with the address after
 * the call and the stack pointer there, until visit returns false or there are no more. False: there is no
 * unwinder. Inside pmh_run_on_own_stack.
 */
typedef bool pmh_visit(uint64_t address, uint64_t stack, void *data);
bool pmh_unwind(const struct pmh_context *from, pmh_visit *visit, void *data);

/* The mapped object (program, library) that an address lies in; false: none, or it is not known without a
 * lock. `map` is a struct link_map; NULL where the C library is too old to say. */
struct pmh_mapped {
	uint64_t start, end;
	const void *map;
};
bool pmh_mapped_at(uint64_t address, struct pmh_mapped *found);

/* Whether the address is where a signal's handler returns to: the frame of that is the signal's, and the next
 * one what it interrupted. Inside pmh_run_on_own_stack. */
bool pmh_is_signal_return(uint64_t address);

void pmh_unwind_forget(void);

#endif
