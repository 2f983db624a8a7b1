/* What the null library says of its last call. */
#ifndef NULL_LIBRARY_H
#define NULL_LIBRARY_H

#include <stddef.h>

#define NULL_BYTES 4096

extern __attribute__((
	visibility("default"))) unsigned char null_bytes[NULL_BYTES]; /* arguments, one behind another */
extern __attribute__((visibility("default"))) size_t null_used;
extern __attribute__((visibility("default"))) int null_answer; /* to return */

#endif
