/* What the null library says of the thread's last call. */
#ifndef NULL_LIBRARY_H
#define NULL_LIBRARY_H

#include <stddef.h>

#define NULL_BYTES 4096

#pragma GCC visibility push(default)
extern _Thread_local unsigned char null_bytes[NULL_BYTES]; /* arguments, one after another */
extern _Thread_local size_t null_used;
extern int null_answer; /* to return */
#pragma GCC visibility pop

#endif
