/*
 * Stepping through messages of protocol buffers in memory: fields of any schema, one after the other, with no
 * tree and no allocation. Bytes that are no message end the stepping, and `broken` says so.
 */
#ifndef IMPORT_PROTOBUF_H
#define IMPORT_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct protobuf {
	const uint8_t *next, *end;
	bool broken; /* what follows is no field, or ends too early */
};

/* `number` is the field's; of a scalar `value`, of a string or message `inner` to step through. */
struct protobuf_field {
	uint32_t number;
	uint64_t value;
	struct protobuf inner; /* empty for scalars */
};

/* The next field; false: there is none, or `broken`. */
bool protobuf_next(struct protobuf *message, struct protobuf_field *field);

#endif
