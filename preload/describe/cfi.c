/*
 * Call frame information as compilers write it for functions: the DWARF standard, section 6.4, in the form of
 * the Linux Standard Base (.eh_frame). Every read is checked against the segment's bounds, and what is not
 * one of the usual instructions makes the rule unknown.
 */
#include "cfi.h"

#include <string.h>

#define RBP 6 /* numbers of columns on x86-64 */
#define RSP 7
#define RETURN 16
#define RELATIVE_4 0x1b /* an address in four bytes, from where it stands */
#define STATES 8

struct reader {
	uint64_t at, end;
	bool failed;
};

static uint64_t read_bytes(struct reader *r, unsigned byte_count)
{
	uint64_t value = 0;

	if (r->failed || r->end - r->at < byte_count) {
		r->failed = true;
		return 0;
	}
	memcpy(&value, (const void *)(uintptr_t)r->at, byte_count);
	r->at += byte_count;
	return value;
}

/* Seven bits a byte, the lowest first. */
static uint64_t read_unsigned(struct reader *r)
{
	uint64_t value = 0, byte = 128;

	for (unsigned shift = 0; byte & 128 && !r->failed; shift += 7) {
		byte = read_bytes(r, 1);
		if (shift < 64)
			value |= (byte & 127) << shift;
	}
	return value;
}

static int64_t read_signed(struct reader *r)
{
	uint64_t value = 0, byte = 128;
	unsigned shift = 0;

	for (; byte & 128 && !r->failed; shift += 7) {
		byte = read_bytes(r, 1);
		if (shift < 64)
			value |= (byte & 127) << shift;
	}
	if (byte & 64 && shift < 64)
		value |= ~0ull << shift;
	return (int64_t)value;
}

static void skip(struct reader *r, uint64_t byte_count)
{
	if (r->failed || r->end - r->at < byte_count)
		r->failed = true;
	else
		r->at += byte_count;
}

/* ---- the rows ---- */

struct column {
	enum where { SAME, AT_OFFSET, UNDEFINED, OTHER } how;
	int64_t offset;
};

struct row {
	uint64_t cfa_column;
	int64_t cfa_offset;
	bool cfa_is_other;
	struct column rbp, return_address;
};

struct table {
	uint64_t code_unit;
	int64_t data_unit;
	struct row first, row;
	struct row kept[STATES];
	unsigned kept_count;
	bool failed;
};

static void set_column(struct row *row, uint64_t number, enum where how, int64_t offset)
{
	const struct column column = {how, offset};

	if (number == RBP)
		row->rbp = column;
	else if (number == RETURN)
		row->return_address = column;
}

static void restore_column(struct table *t, uint64_t number)
{
	if (number == RBP)
		t->row.rbp = t->first.rbp;
	else if (number == RETURN)
		t->row.return_address = t->first.return_address;
}

static void keep_row(struct table *t)
{
	t->failed |= t->kept_count == STATES;
	if (!t->failed)
		t->kept[t->kept_count++] = t->row;
}

static void take_row(struct table *t)
{
	t->failed |= t->kept_count == 0;
	if (!t->failed)
		t->row = t->kept[--t->kept_count];
}

/* How far an instruction goes on in the function, in units; 0: it is none of these. */
static uint64_t read_advance(struct reader *r, unsigned op)
{
	if (op >> 6 == 1)
		return op & 63;
	return op >= 2 && op <= 4 ? read_bytes(r, 1u << (op - 2)) : 0;
}

/* What the stack pointer of the caller is reckoned from. False: the instruction is of another kind. */
static bool set_cfa(struct table *t, struct reader *r, unsigned op)
{
	switch (op) {
	case 0x0c: /* def_cfa */
		t->row.cfa_column = read_unsigned(r);
		t->row.cfa_offset = (int64_t)read_unsigned(r);
		t->row.cfa_is_other = false;
		return true;
	case 0x12: /* def_cfa_sf */
		t->row.cfa_column = read_unsigned(r);
		t->row.cfa_offset = read_signed(r) * t->data_unit;
		t->row.cfa_is_other = false;
		return true;
	case 0x0d: /* def_cfa_register */
		t->row.cfa_column = read_unsigned(r);
		return true;
	case 0x0e: /* def_cfa_offset */
		t->row.cfa_offset = (int64_t)read_unsigned(r);
		return true;
	case 0x13: /* def_cfa_offset_sf */
		t->row.cfa_offset = read_signed(r) * t->data_unit;
		return true;
	case 0x0f: /* def_cfa_expression */
		skip(r, read_unsigned(r));
		t->row.cfa_is_other = true;
		return true;
	default:
		return false;
	}
}

/* Where a register of the caller is. */
static void set_register(struct table *t, struct reader *r, unsigned op)
{
	const uint64_t number = op >> 6 ? op & 63 : read_unsigned(r);

	if (op >> 6 == 2 || op == 0x05) { /* offset, offset_extended */
		set_column(&t->row, number, AT_OFFSET, (int64_t)read_unsigned(r) * t->data_unit);
	} else if (op >> 6 == 3 || op == 0x06) { /* restore, restore_extended */
		restore_column(t, number);
	} else if (op == 0x07) { /* undefined */
		set_column(&t->row, number, UNDEFINED, 0);
	} else if (op == 0x08) { /* same_value */
		set_column(&t->row, number, SAME, 0);
	} else if (op == 0x11) { /* offset_extended_sf */
		set_column(&t->row, number, AT_OFFSET, read_signed(r) * t->data_unit);
	} else if (op == 0x10 || op == 0x16) { /* expression, val_expression */
		skip(r, read_unsigned(r));
		set_column(&t->row, number, OTHER, 0);
	} else if (op == 0x09 || op == 0x14) { /* register, val_offset */
		read_unsigned(r);
		set_column(&t->row, number, OTHER, 0);
	} else {
		t->failed = true;
	}
}

/* Runs instructions until one that goes beyond `distance` bytes. */
static void run(struct table *t, struct reader *r, uint64_t distance)
{
	uint64_t passed = 0;

	while (r->at < r->end && !r->failed && !t->failed) {
		const unsigned op = (unsigned)read_bytes(r, 1);
		const bool advances = op >> 6 == 1 || (op >= 2 && op <= 4);

		if (advances)
			passed += read_advance(r, op) * t->code_unit;
		else if (op == 0x0a)
			keep_row(t);
		else if (op == 0x0b)
			take_row(t);
		else if (op == 0x2e) /* GNU_args_size */
			read_unsigned(r);
		else if (op != 0 && !set_cfa(t, r, op))
			set_register(t, r, op);
		if (passed > distance)
			return;
	}
	t->failed |= r->failed;
}

/* ---- entries ---- */

/* Skips what goes by the letters of the augmentation. False: the entry is not a plain function's. */
static bool read_augmentation(struct reader *r, uint64_t letters, unsigned letter_count)
{
	bool is_relative = false;
	uint64_t form;

	for (unsigned i = 1; i < letter_count; i++)
		switch (*(const char *)(uintptr_t)(letters + i)) {
		case 'R':
			is_relative = read_bytes(r, 1) == RELATIVE_4;
			break;
		case 'L':
			read_bytes(r, 1);
			break;
		case 'P':
			form = read_bytes(r, 1) & 15;
			skip(r, form == 2 || form == 10 ? 2 : form == 3 || form == 11 ? 4 : 8);
			break;
		default: /* 'S' is a signal's frame */
			return false;
		}
	return is_relative && !r->failed;
}

/* What entries share: units, and the instructions that all begin with. */
static bool read_common(struct table *t, uint64_t at, uint64_t end)
{
	struct reader r = {.at = at, .end = end};
	const uint64_t byte_count = read_bytes(&r, 4);
	uint64_t letters, version, after;
	unsigned letter_count = 0;

	if (r.failed || byte_count > end - r.at)
		return false;
	r.end = r.at + byte_count;
	if (read_bytes(&r, 4) != 0)
		return false;
	version = read_bytes(&r, 1);
	letters = r.at;
	while (read_bytes(&r, 1) && !r.failed)
		letter_count++;
	t->code_unit = read_unsigned(&r);
	t->data_unit = read_signed(&r);
	if ((version == 1 ? read_bytes(&r, 1) : read_unsigned(&r)) != RETURN ||
		(version != 1 && version != 3) || r.failed || letter_count == 0 ||
		*(const char *)(uintptr_t)letters != 'z')
		return false;
	after = read_unsigned(&r);
	after += r.at;
	if (!read_augmentation(&r, letters, letter_count) || after < r.at || after > r.end)
		return false;
	r.at = after;
	run(t, &r, UINT64_MAX);
	t->first = t->row;
	return !t->failed;
}

static bool read_function(struct table *t, uint64_t address, uint64_t at, uint64_t start, uint64_t end)
{
	struct reader r = {.at = at, .end = end};
	const uint64_t byte_count = read_bytes(&r, 4);
	uint64_t common, begin, length;

	if (r.failed || byte_count < 4 || byte_count > end - r.at)
		return false;
	r.end = r.at + byte_count;
	common = r.at;
	common -= read_bytes(&r, 4);
	if (common < start || common >= end || !read_common(t, common, end))
		return false;
	begin = r.at;
	begin += (uint64_t)(int64_t)(int32_t)read_bytes(&r, 4);
	length = read_bytes(&r, 4);
	if (address - begin >= length)
		return false;
	skip(&r, read_unsigned(&r));
	run(t, &r, address - begin);
	return !t->failed && !r.failed;
}

/* The entry of the last function that begins at or before the address, 0: none. */
static uint64_t find_entry(uint64_t address, uint64_t header, uint64_t end)
{
	static const unsigned char usual[4] = {1, RELATIVE_4, 0x03, 0x3b};
	uint32_t entry_count, low = 0, high;
	int32_t pair[2];

	if (end - header < 12 || memcmp((const void *)(uintptr_t)header, usual, sizeof usual) != 0)
		return 0;
	memcpy(&entry_count, (const void *)(uintptr_t)(header + 8), sizeof entry_count);
	if (entry_count > (end - header - 12) / sizeof pair)
		return 0;
	for (high = entry_count; low < high;) {
		const uint32_t middle = low + (high - low) / 2;

		memcpy(pair, (const void *)(uintptr_t)(header + 12 + middle * sizeof pair), sizeof pair);
		if (header + (uint64_t)(int64_t)pair[0] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return 0;
	memcpy(pair, (const void *)(uintptr_t)(header + 12 + (low - 1) * sizeof pair), sizeof pair);
	return header + (uint64_t)(int64_t)pair[1];
}

struct pmh_cfi_rule pmh_cfi_find(uint64_t address, uint64_t header, uint64_t start, uint64_t end)
{
	const struct pmh_cfi_rule unknown = {.from = PMH_CFI_UNKNOWN};
	const uint64_t entry = find_entry(address, header, end);
	struct table t = {.kept_count = 0};
	struct pmh_cfi_rule rule;

	if (entry < start || entry >= end || !read_function(&t, address, entry, start, end))
		return unknown;
	if (t.row.return_address.how == UNDEFINED)
		return (struct pmh_cfi_rule){.from = PMH_CFI_OUTERMOST};
	if (t.row.cfa_is_other || (t.row.cfa_column != RSP && t.row.cfa_column != RBP) ||
		t.row.return_address.how != AT_OFFSET || t.row.return_address.offset != -8 ||
		(t.row.rbp.how != SAME && t.row.rbp.how != AT_OFFSET))
		return unknown;
	rule = (struct pmh_cfi_rule){
		.from = t.row.cfa_column == RSP ? PMH_CFI_FROM_RSP : PMH_CFI_FROM_RBP,
		.cfa_offset = (int32_t)t.row.cfa_offset,
		.rbp_offset = t.row.rbp.how == SAME ? 0 : (int32_t)t.row.rbp.offset,
	};
	return rule.cfa_offset == t.row.cfa_offset ? rule : unknown;
}
