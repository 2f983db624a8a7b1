/* The device addresses among a launch's arguments, unpacked: struct pm_touch says how they lie. */
#include "trace.h"

#include <string.h>

/* Bytes of slots that lie end to end. */
struct reader {
	const struct trace *trace;
	const unsigned char *slot;
	uint32_t slots; /* left, with this one */
	unsigned at;    /* in this one */
};

/* The next byte, or -1. */
static int next_byte(struct reader *reader)
{
	while (reader->slots > 0) {
		unsigned used = reader->slot[offsetof(struct pm_touch, used)];

		if (used > PM_TOUCH_BYTES)
			return -1;
		if (reader->at < used)
			return reader->slot[reader->at++];
		reader->slot += reader->trace->header.record_bytes;
		reader->slots--;
		reader->at = 0;
	}
	return -1;
}

/* False: there is none, or it does not fit into 64 bits. */
static bool next_token(struct reader *reader, uint64_t *token)
{
	*token = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		int byte = next_byte(reader);

		if (byte < 0)
			return false;
		*token |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return true;
	}
	return false;
}

static int64_t unfold(uint64_t n)
{
	return n & 1 ? -(int64_t)(n / 2) - 1 : (int64_t)(n / 2);
}

size_t trace_touches(const struct trace *trace, const struct trace_record *record,
	struct trace_touch *touches, bool *whole)
{
	struct reader reader = {trace, record->touches, record->touch_slots, 0};
	uint64_t word = 0, token;
	int64_t number = 0, difference = 0;
	size_t count = 0;

	*whole = false;
	while (next_token(&reader, &token)) {
		uint64_t n = token >> 2, again = 0;

		switch (token & 3) {
		case 0:
			difference = unfold(n);
			again = 1;
			break;
		case 1:
			again = n;
			break;
		case 2:
			if (n >= PM_TOUCH_WORDS)
				return count;
			word += n;
			break;
		default:
			return count;
		}
		for (; again > 0; again--) {
			if (word >= PM_TOUCH_WORDS || difference > UINT32_MAX ||
				difference < -(int64_t)UINT32_MAX)
				return count;
			number += difference;
			if (number <= 0 || (uint64_t)number >= trace->address_count)
				return count;
			touches[count++] = (struct trace_touch){trace->addresses[number], (uint16_t)word++};
		}
	}
	*whole = reader.slots == 0;
	return count;
}
