/*
 * Fields of a message in the wire format of protocol buffers, one after another. Nothing is copied, and
 * nothing is believed: whatever a length says, no byte after the end is read, and what breaks off or has an
 * unknown form ends the message.
 */
#ifndef PROTO_H
#define PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/attribute.h"

/* What is left of a message, or the bytes of a field. */
struct pmh_proto {
	const unsigned char *at, *end;
	bool is_broken; /* it did not end where a field does */
};

struct pmh_proto_field {
	uint64_t number;
	bool is_bytes;          /* a text, a message, or packed numbers */
	uint64_t value;         /* of a number */
	struct pmh_proto bytes; /* else */
};

/* A number of one to ten bytes. False: it breaks off. */
PMH_INLINE bool pmh_proto_number(struct pmh_proto *p, uint64_t *value)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && p->at < p->end; shift += 7) {
		const unsigned char byte = *p->at++;

		v |= (uint64_t)(byte & 127) << shift;
		if (!(byte & 128)) {
			*value = v;
			return true;
		}
	}
	p->is_broken = true;
	return false;
}

/* Takes so many bytes. False: there are not so many. */
PMH_INLINE bool pmh_proto_take(struct pmh_proto *p, uint64_t byte_count, struct pmh_proto *bytes)
{
	if (byte_count > (uint64_t)(p->end - p->at)) {
		p->is_broken = true;
		return false;
	}
	*bytes = (struct pmh_proto){p->at, p->at + byte_count, false};
	p->at += byte_count;
	return true;
}

/* The next field. False: there is none, or it is broken. */
PMH_INLINE bool pmh_proto_next(struct pmh_proto *p, struct pmh_proto_field *field)
{
	enum { NUMBER, EIGHT_BYTES, BYTES, FOUR_BYTES = 5 };
	uint64_t key, length = 0;

	if (p->at >= p->end || p->is_broken || !pmh_proto_number(p, &key))
		return false;
	*field = (struct pmh_proto_field){.number = key >> 3, .is_bytes = (key & 7) == BYTES};
	switch (key & 7) {
	case NUMBER:
		return pmh_proto_number(p, &field->value);
	case EIGHT_BYTES:
		return pmh_proto_take(p, 8, &field->bytes);
	case BYTES:
		return pmh_proto_number(p, &length) && pmh_proto_take(p, length, &field->bytes);
	case FOUR_BYTES:
		return pmh_proto_take(p, 4, &field->bytes);
	default:
		p->is_broken = true;
		return false;
	}
}

/* The numbers of a repeated field, of which each may stand alone or all in one: appended to `numbers`, which
 * has room for `most`. False: there are more. */
PMH_INLINE bool pmh_proto_numbers(
	const struct pmh_proto_field *field, uint64_t *numbers, size_t *count, size_t most)
{
	struct pmh_proto packed = field->bytes;

	if (!field->is_bytes) {
		if (*count >= most)
			return false;
		numbers[(*count)++] = field->value;
		return true;
	}
	while (packed.at < packed.end) {
		if (*count >= most || !pmh_proto_number(&packed, &numbers[*count]))
			return false;
		(*count)++;
	}
	return true;
}

#endif
