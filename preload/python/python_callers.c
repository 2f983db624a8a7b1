/*
 * The functions and lines that a thread is in, innermost first.
 */
#include "python_frames.h"

#include <stdio.h>
#include <string.h>

#define CALLERS 3
#define OUTER 4

/* A table of bytes, read a piece at a time. */
struct bytes {
	uint64_t at, end; /* what is left of it */
	unsigned char piece[64];
	unsigned next, count; /* in the piece */
};

/* False: there is none, or it cannot be read. */
static bool peek_byte(struct pmh_python_look *look, struct bytes *b, uint8_t *byte)
{
	if (b->next == b->count) {
		const uint64_t left = b->end - b->at;

		b->next = 0;
		b->count = left < sizeof b->piece ? (unsigned)left : (unsigned)sizeof b->piece;
		if (!b->count || !pmh_python_bytes(look, b->at, b->piece, b->count)) {
			b->count = 0;
			return false;
		}
		b->at += b->count;
	}
	*byte = b->piece[b->next];
	return true;
}

/* Reads a number of 6 bits a byte, the lowest first, bit 6 set where another follows. */
static uint32_t read_number(struct pmh_python_look *look, struct bytes *b)
{
	uint32_t number = 0;
	uint8_t byte;

	for (unsigned shift = 0; shift < 30 && peek_byte(look, b, &byte); shift += 6) {
		b->next++;
		number |= (uint32_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return number;
}

/*
 * The line of an instruction, so many bytes after the first one. A table of lines has an entry for each few
 * instructions: a byte with bit 7 set, the form in bits 3 to 6 and in bits 0 to 2 how many units of 2 bytes,
 * less one; then what goes by the form, without bit 7. Forms 10 to 12 are that many lines less 10 further on,
 * 13 and 14 are followed by a signed number of lines, 15 has no line, others stay on the line.
 */
static uint32_t read_lines(
	struct pmh_python_look *look, uint64_t table, uint64_t instruction, uint32_t first_line)
{
	struct bytes b = {.at = table + look->python->at->bytes_first};
	uint32_t line = first_line;
	uint64_t passed = 0;
	uint8_t head;

	b.end = b.at + pmh_python_word(look, table + 16);
	while (peek_byte(look, &b, &head)) {
		const unsigned form = head >> 3 & 15;

		b.next++;
		if (form == 13 || form == 14) {
			uint32_t number = read_number(look, &b);

			line += number & 1 ? 0 - (number >> 1) : number >> 1;
		} else if (form >= 10 && form <= 12) {
			line += form - 10;
		}
		passed += 2u * ((head & 7u) + 1);
		if (instruction < passed)
			return form == 15 ? 0 : line;
		while (peek_byte(look, &b, &head) && !(head & 0x80))
			b.next++;
	}
	return 0;
}

/* The line of the frame's last instruction, 0: not known (and so before 3.11). */
static uint32_t find_line(struct pmh_python_look *look, const struct pmh_python_frame *frame)
{
	const struct pmh_python_offsets *at = look->python->at;
	struct pmh_python_place place = {.table = pmh_python_word(look, frame->code + at->code_lines),
		.first_line = pmh_python_half(look, frame->code + at->code_first_line)};
	struct pmh_python_place *known;

	if (!at->code_instructions || pmh_python_type(look, place.table) != look->python->bytes_type)
		return 0;
	place.instruction = pmh_python_word(look, frame->address + at->frame_instruction) -
			    (frame->code + at->code_instructions);
	known = &look->places[(place.table / 16 + place.instruction / 2) % PMH_PYTHON_LINES];
	if (known->table == place.table && known->instruction == place.instruction &&
		known->first_line == place.first_line)
		return known->line;
	place.line = read_lines(look, place.table, place.instruction, place.first_line);
	if (!look->failed)
		*known = place;
	return place.line;
}

/*
 * A method "step" of PyTorch's optimizers, or "update_parameters" of its means of parameters: of all its
 * frames those that say something of the program, that its work is an update, or what an update evaluates.
 */
static bool is_optimizer(struct pmh_python_look *look, const struct pmh_python_frame *frame)
{
	const bool before = pmh_python_own_begin(look);
	const bool is_update = pmh_python_is_word(look, frame->name, "step", NULL) ||
			       pmh_python_is_word(look, frame->name, "update_parameters", NULL);
	char file[PMH_PYTHON_PATH];

	pmh_python_own_end(look, before);
	return is_update && pmh_python_file(look, frame, file) && strstr(file, "/optim/");
}

/* Appends "Net.forward (net.py:12)" after `between`. False: the frame is left out. */
static bool append_frame(struct pmh_python_look *look, const struct pmh_python_frame *frame,
	const char *between, char *text, size_t text_bytes, size_t *used)
{
	char name[PMH_PYTHON_NAME], file[PMH_PYTHON_PATH], where[32] = "";
	const bool before = pmh_python_own_begin(look);
	const bool named = pmh_python_text(look,
		pmh_python_word(look, frame->code + look->python->at->code_qualified_name), name,
		sizeof name);
	const char *base;
	uint32_t line;
	int n;

	line = named ? find_line(look, frame) : 0;
	pmh_python_own_end(look, before);
	if (!named || !pmh_python_file(look, frame, file))
		return false;
	if (line)
		snprintf(where, sizeof where, ":%u", line);
	base = strrchr(file, '/');
	n = snprintf(text + *used, text_bytes - *used, "%s%s (%s%s)", *used ? between : "", name,
		base ? base + 1 : file, where);
	if (look->failed || n < 0 || (size_t)n >= text_bytes - *used) {
		text[*used] = 0;
		return false;
	}
	*used += (size_t)n;
	return true;
}

bool pmh_python_find_callers(struct pmh_python_look *look, uint64_t thread, char *text, size_t text_bytes)
{
	struct pmh_python_frame frame;
	unsigned passed, wanted = CALLERS;
	size_t used = 0;

	text[0] = 0;
	for (bool more = pmh_python_first_frame(look, thread, &passed, &frame); more && wanted > 0;
		more = pmh_python_next_frame(look, &passed, &frame))
		if ((!pmh_python_is_pytorch(look, &frame) || is_optimizer(look, &frame)) &&
			append_frame(look, &frame, " < ", text, text_bytes, &used))
			wanted--;
	return used > 0;
}

bool pmh_python_find_stack(struct pmh_python_look *look, uint64_t thread, char *text, size_t text_bytes)
{
	struct pmh_python_frame frame;
	unsigned passed;
	size_t used = 0;

	text[0] = 0;
	for (bool more = pmh_python_first_frame(look, thread, &passed, &frame); more;
		more = pmh_python_next_frame(look, &passed, &frame))
		if (!append_frame(look, &frame, " < ", text, text_bytes, &used))
			break;
	return used > 0;
}

/* The interpreter's own, that runs the program: "<frozen runpy>". */
static bool is_frozen(struct pmh_python_look *look, const struct pmh_python_frame *frame)
{
	char name[PMH_PYTHON_PATH];

	return pmh_python_file(look, frame, name) && strncmp(name, "<frozen", 7) == 0;
}

bool pmh_python_find_outer(struct pmh_python_look *look, uint64_t thread, char *text, size_t text_bytes)
{
	struct pmh_python_frame frame, last[OUTER];
	unsigned passed, count = 0;
	size_t used = 0;
	bool any = false;

	text[0] = 0;
	for (bool more = pmh_python_first_frame(look, thread, &passed, &frame); more;
		more = pmh_python_next_frame(look, &passed, &frame)) {
		any = true;
		if (!pmh_python_is_pytorch(look, &frame) && !is_frozen(look, &frame))
			last[count++ % OUTER] = frame;
	}
	for (unsigned i = 0; i < OUTER && i < count && !look->failed; i++)
		append_frame(look, &last[(count - 1 - i) % OUTER], " > ", text, text_bytes, &used);
	return any && !look->failed;
}

static bool take_line(
	struct pmh_python_look *look, const struct pmh_python_frame *frame, struct pmh_python_line *line)
{
	const struct pmh_python_offsets *at = look->python->at;
	const bool before = pmh_python_own_begin(look);
	size_t used = 0;

	line->frame = frame->address;
	line->code = frame->code;
	line->instruction = at->code_instructions
				    ? pmh_python_word(look, frame->address + at->frame_instruction)
				    : pmh_python_half(look, frame->address + at->frame_instruction);
	pmh_python_own_end(look, before);
	return append_frame(look, frame, "", line->text, sizeof line->text, &used);
}

bool pmh_python_find_line(struct pmh_python_look *look, uint64_t thread, struct pmh_python_line *line)
{
	struct pmh_python_frame frame;
	unsigned passed;

	line->text[0] = 0;
	return pmh_python_first_frame(look, thread, &passed, &frame) && take_line(look, &frame, line);
}

bool pmh_python_find_program(struct pmh_python_look *look, uint64_t thread, struct pmh_python_line *line,
	uint64_t passed[PMH_PYTHON_PASSED], unsigned *passed_count)
{
	struct pmh_python_frame frame;
	unsigned frames;

	line->text[0] = 0;
	*passed_count = 0;
	for (bool more = pmh_python_first_frame(look, thread, &frames, &frame); more;
		more = pmh_python_next_frame(look, &frames, &frame)) {
		if (!pmh_python_is_pytorch(look, &frame) && !is_frozen(look, &frame))
			return !look->failed && take_line(look, &frame, line);
		if (*passed_count < PMH_PYTHON_PASSED)
			passed[(*passed_count)++] = frame.code;
	}
	return false;
}
