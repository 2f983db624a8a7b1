/*
 * Promises of what a trace must say of a call, as literal text. The call is known by an address or size among
 * its values that no other has; AT(text) makes one:
 *
 *     cudaMemsetAsync(AT("queue=4:object"), 0, 1, stream);
 *
 * A record reads: NAME queue=DEVICE:STREAM result=N flags=N group=N label=value ...; a stream is 0, 1, 2 or
 * `object`; descriptors are {KIND value ...}, communicators RANK/SIZE on DEVICE #n seq=N (n: the ordinal of
 * the hash among those seen), strings as they are. A promise is a part of that, or parts with "..."
 * between them.
 */
#ifndef PROMISE_H
#define PROMISE_H

#include <stdint.h>

#include "peek.h"

uintptr_t promise(const char *text, int line);
#define PROMISE(text) promise(text, __LINE__)
#define AT(text) ((void *)PROMISE(text))

/* Objects that calls refer to: zeros at addresses of their own. */
void *new_object(void);

/* Reads the trace of this process and prints what is not as promised; returns how much. `also` sees each
 * record with its function. */
unsigned promises_broken(
	void (*also)(const struct peek *trace, const struct pm_entry_operation *op, const char *function));

#endif
