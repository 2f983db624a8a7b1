/* Messages of protocol buffers: see protobuf.h. */
#include "protobuf.h"

#include <string.h>

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

static bool fail(struct protobuf *message)
{
	message->broken = true;
	message->next = message->end;
	return false;
}

static bool read_varint(struct protobuf *message, uint64_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift < 64 && message->next < message->end; shift += 7) {
		const uint8_t byte = *message->next++;

		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return fail(message);
}

static bool read_fixed(struct protobuf *message, size_t bytes, uint64_t *value)
{
	*value = 0;
	if ((size_t)(message->end - message->next) < bytes)
		return fail(message);
	memcpy(value, message->next, bytes); /* little-endian, as this machine */
	message->next += bytes;
	return true;
}

bool protobuf_next(struct protobuf *message, struct protobuf_field *field)
{
	uint64_t key, length;

	*field = (struct protobuf_field){0};
	if (message->next >= message->end || !read_varint(message, &key))
		return false;
	field->number = (uint32_t)(key >> 3);
	if (field->number == 0 || key >> 3 > UINT32_MAX >> 3)
		return fail(message);
	switch ((enum wire)(key & 7)) {
	case WIRE_VARINT:
		return read_varint(message, &field->value);
	case WIRE_64:
		return read_fixed(message, 8, &field->value);
	case WIRE_32:
		return read_fixed(message, 4, &field->value);
	case WIRE_BYTES:
		if (!read_varint(message, &length))
			return false;
		if (length > (uint64_t)(message->end - message->next))
			return fail(message);
		field->inner = (struct protobuf){message->next, message->next + length, false};
		message->next += length;
		return true;
	}
	return fail(message);
}
