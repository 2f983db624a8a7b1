/* The device addresses among a launch's arguments, unpacked: struct pm_touch says how they lie. */
#include "trace.h"

#include <string.h>

/* Bytes of slots that lie end to end, or of a list that they name. */
struct reader {
	const struct trace *trace;
	const unsigned char *slot;
	uint32_t slots; /* left, with this one */
	unsigned at;    /* in this one */
	struct trace_list list;
	bool is_list;
	bool broken; /* a number breaks off */
};

/* The next byte, or -1. */
static int next_byte(struct reader *reader)
{
	if (reader->is_list)
		return reader->at < reader->list.byte_count ? reader->list.bytes[reader->at++] : -1;
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

		if (byte < 0) {
			reader->broken = shift > 0;
			return false;
		}
		*token |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return true;
	}
	return false;
}

/* Goes on with the list that the slots name, if there is one and nothing was read of another. */
static bool enter_list(struct reader *reader, uint64_t number, size_t count)
{
	const struct trace *trace = reader->trace;

	if (reader->is_list || count > 0 || number == 0 || number >= trace->list_count ||
		!trace->lists[number].bytes)
		return false;
	reader->list = trace->lists[number];
	reader->is_list = true;
	reader->at = 0;
	return true;
}

static int64_t unfold(uint64_t n)
{
	return n & 1 ? -(int64_t)(n / 2) - 1 : (int64_t)(n / 2);
}

size_t trace_touches(const struct trace *trace, const struct trace_record *record,
	struct trace_touch *touches, bool *whole)
{
	struct reader reader = {.trace = trace, .slot = record->touches, .slots = record->touch_slots};
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
			if (!enter_list(&reader, n, count))
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
	*whole = !reader.broken && (reader.is_list ? reader.at == reader.list.byte_count : reader.slots == 0);
	return count;
}
