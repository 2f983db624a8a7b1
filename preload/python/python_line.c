/*
 * The line of Python that a thread is in, from the interpreter's own words: a few loads at each call, where a
 * look (python_process.c) would take a microsecond.
 *
 * A load faults where there is nothing, so it is done only where all that is read is there by construction:
 *  - By one thread: the process's first, while it is inside of Py_RunMain, by its stack. That thread runs the
 * program, then ends the interpreter itself, and no other may do that meanwhile. Other threads' states and
 * frames may go away under them: the interpreter frees those of threads that still run when it ends.
 *  - From its state, as the interpreter gives it to the thread at each call: NULL from the interpreter's end
 * on, before it is freed. So what is done after that, at exit, finds no frame.
 *  - To the innermost frame, which runs and cannot go before the call returns; the interpreter takes a frame
 * out of the list before it frees anything that the frame held. Of what it says to run, the type is read
 * first: every object has one.
 *  - Its layout is that of the version, and a look has found the same frame and code
 * (pmh_python_begin_lines).
 *
 * A pair of code and instruction stands for a line, whose text is found by a look when the pair is new. Code
 * objects come and go, and another may have the same address: so the key has what tells them apart, and the
 * number is that of the text, so that code which is made anew again and again makes no new operations. The
 * table is filled once.
 */
#include "python_line.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/guest.h"
#include "guest/thread.h"
#include "python_loads.h"
#include "python_process.h"
#include "trace/intern.h"

#define LINES_LOG 12
#define LINES (1u << LINES_LOG)
#define FULL (LINES / 4 * 3)
#define SHIMS_MAX 4           /* frames without code of their own: where C calls the interpreter */
#define TRIES 64              /* a thread may be on another stack for a while, or not in Python */
#define OUTER_BYTES 8192      /* of the stack, from the process's start to the program's */
#define STACK_MOST (1u << 27) /* bytes: the kernel puts nothing else so near to it */

/* What tells a line apart: of two code objects that had one address, one after the other, something differs,
 * or their lines have the same text. */
enum { CODE, INSTRUCTION, TABLE, NAME, FILE_NAME, FIRST_LINE, USED, WORDS };

struct pmh_python_reading pmh_python_loads;

/* The reading thread's alone; it may be in a signal's handler, which finds each line whole. */
static struct line {
	uint64_t words[WORDS]; /* USED is 1 in each, written last; 0: free */
	uint32_t number;
} lines[LINES];
static const struct line *last = &lines[0]; /* that of the last call: a line often makes several */
static unsigned line_count;
static bool ended; /* no new ones */
static int tries;

static void read_code(const struct pmh_python_offsets *at, uint64_t frame, uint64_t code, uint64_t *words)
{
	words[CODE] = code;
	words[INSTRUCTION] = at->code_instructions ? pmh_load(frame + at->frame_instruction)
						   : pmh_load_half(frame + at->frame_instruction);
	words[TABLE] = pmh_load(code + at->code_lines);
	words[NAME] = pmh_load(code + at->code_name);
	words[FILE_NAME] = pmh_load(code + at->code_file_name);
	words[FIRST_LINE] = pmh_load_half(code + at->code_first_line);
	words[USED] = 1;
}

/* Of the first frame from `frame` outwards that runs code. */
static bool read_frame(const struct pmh_python_offsets *at, uint64_t frame, uint64_t *words)
{
	for (int i = 0; frame && i < SHIMS_MAX; i++) {
		const uint64_t code = pmh_load(frame + at->frame_code) & ~(uint64_t)at->frame_tags;
		const bool is_shim = pmh_is_shim(at, frame);

		if (code && !is_shim && pmh_load(code + 8) == pmh_python_loads.code_type) {
			read_code(at, frame, code, words);
			return true;
		}
		frame = pmh_load(frame + at->frame_previous);
	}
	return false;
}

static bool read_words(uint64_t *words)
{
	const uint64_t frame = pmh_innermost_frame();

	return frame && read_frame(pmh_python_loads.at, frame, words);
}

struct new_line {
	const uint64_t *words;
	struct line *to;
};

static void add_line(void *data)
{
	const struct new_line *new = data;
	struct pmh_python_line line;
	struct line *to = new->to;

	if (pmh_python_look_line(&line) && line.code == new->words[CODE] &&
		line.instruction == new->words[INSTRUCTION])
		to->number = pmh_string(line.text);
	memcpy(to->words, new->words, USED * sizeof to->words[0]);
	to->words[USED] = 1;
	line_count++;
}

static __attribute__((noinline)) uint32_t new_line(const uint64_t *words, struct line *to)
{
	struct new_line new = {words, to};
	const int saved_errno = errno;
	struct pmh_moment begin;

	if (ended || line_count >= FULL)
		return 0;
	begin = pmh_moment();
	pmh_run_on_own_stack(add_line, &new);
	pmh_new_cost_since(&pmh_self.new_cost, begin);
	errno = saved_errno;
	last = to;
	return to->number;
}

static bool is_line(const struct line *line, const uint64_t *words)
{
	uint64_t different = 0;

	for (int i = 0; i < WORDS; i++)
		different |= words[i] ^ line->words[i];
	return !different;
}

static uint32_t find_line(const uint64_t *words)
{
	const uint64_t hash = pmh_hash_words(0, words, WORDS);

	for (unsigned i = (unsigned)(hash >> (64 - LINES_LOG));; i = (i + 1) % LINES) {
		if (is_line(&lines[i], words)) {
			last = &lines[i];
			return lines[i].number;
		}
		if (!lines[i].words[USED])
			return new_line(words, &lines[i]);
	}
}

/* The comparison is guessed by the processor, so that the common case waits for none of the words. */
uint32_t pmh_python_read_line(void)
{
	const struct line *before = last;
	uint64_t words[WORDS];

	if (!read_words(words))
		return 0;
	return is_line(before, words) ? before->number : find_line(words);
}

/* ---- all frames ---- */

#define FRAMES_MAX 400
#define CELLS_MAX 8

/* What tells objects apart; of a cell what it refers to, which may not be there any more and is not read. */
static uint64_t hash_object(const struct pmh_python_offsets *at, uint64_t hash, uint64_t object)
{
	const uint64_t type = pmh_load(object + 8);
	const uint64_t words[] = {
		object, type, type == pmh_python_loads.cell_type ? pmh_load(object + at->cell_content) : 0};

	return pmh_hash_words(hash, words, 3);
}

/* The first argument. Before 3.11 it may have moved to a cell, after the other variables. */
static uint64_t hash_self(const struct pmh_python_offsets *at, uint64_t hash, uint64_t frame, uint64_t code)
{
	const uint64_t locals = frame + at->frame_locals,
		       local_count = pmh_load_half(code + at->code_local_count);
	const uint64_t first = local_count ? pmh_load(locals) & ~(uint64_t)at->frame_tags : 0;
	uint64_t cells, cell_count;

	if (first)
		return hash_object(at, hash, first);
	if (!local_count || !at->code_cell_names)
		return hash;
	cells = pmh_load(code + at->code_cell_names);
	cell_count = cells && pmh_load(cells + 8) == pmh_python_loads.tuple_type ? pmh_load(cells + 16) : 0;
	for (uint64_t i = 0; i < cell_count && i < CELLS_MAX; i++) {
		const uint64_t cell = pmh_load(locals + 8 * (local_count + i));

		if (cell)
			hash = hash_object(at, hash, cell);
	}
	return hash;
}

uint64_t pmh_python_stack(void)
{
	const struct pmh_python_offsets *at = pmh_python_loads.at;
	uint64_t frame, hash = 0, words[WORDS];

	if (!pmh_self.reads_python || !(frame = pmh_innermost_frame()))
		return 0;
	for (int i = 0; frame; i++) {
		const bool is_shim = pmh_is_shim(at, frame);
		const uint64_t code =
			is_shim ? 0 : pmh_load(frame + at->frame_code) & ~(uint64_t)at->frame_tags;

		if (i == FRAMES_MAX)
			return 0;
		if (code && pmh_load(code + 8) == pmh_python_loads.code_type) {
			read_code(at, frame, code, words);
			hash = hash_self(at, pmh_hash_words(hash, words, WORDS), frame, code);
		}
		frame = pmh_load(frame + at->frame_previous);
	}
	return hash;
}

/* ---- the thread that is read ---- */

/* Whether the word is an address after a call in the code of one of Python's main functions. */
static bool returns_to_main(uint64_t word)
{
	for (size_t i = 0; i < sizeof pmh_python_loads.mains / sizeof pmh_python_loads.mains[0]; i++) {
		const struct pmh_python_code *code = &pmh_python_loads.mains[i];
#if defined(__x86_64__)
		const unsigned char *behind = (const unsigned char *)(uintptr_t)word;

		if (word >= code->start + 7 && word < code->end &&
			(behind[-5] == 0xe8 || behind[-2] == 0xff || behind[-6] == 0xff))
			return true;
#elif defined(__aarch64__)
		uint32_t before;

		if (word < code->start + 4 || word >= code->end || word % 4 != 0)
			continue;
		memcpy(&before, (const void *)(uintptr_t)(word - 4), sizeof before);
		if (before >> 26 == 0x25 || (before & 0xfffffc1f) == 0xd63f0000)
			return true;
#else
		(void)code;
#endif
	}
	(void)word;
	return false;
}

static uint64_t stack_pointer(void)
{
	const struct pmh_context *from = pmh_came_from();

#if defined(__x86_64__)
	return from ? from->rsp : 0;
#elif defined(__aarch64__)
	return from ? from->sp : 0;
#else
	(void)from;
	return 0;
#endif
}

/*
 * Whether the process's first thread is inside of one of Python's main functions: at its outer end the stack
 * has what such a function returns to. All of it between the stack's pointer and its end is there.
 */
__attribute__((no_sanitize("address", "thread"))) static bool is_in_main(void)
{
	const uint64_t pointer = (stack_pointer() + 7) & ~(uint64_t)7,
		       end = pmh_python_loads.stack_end & ~(uint64_t)7;

	if (pointer == 0 || pointer >= end || end - pointer > STACK_MOST)
		return false;
	for (uint64_t at = end - 8; at >= pointer && end - at <= OUTER_BYTES; at -= 8)
		if (returns_to_main(pmh_load(at)))
			return true;
	return false;
}

void pmh_python_begin_lines(void)
{
	struct pmh_python_line line;
	uint64_t words[WORDS];

	if (pmh_self.reads_python || pmh_self.ours || pmh_self.never_reads_python || tries >= TRIES)
		return;
	/* asked once, not for each operation: and pmh_python_loads is the first thread's */
	pmh_self.never_reads_python =
		syscall(SYS_gettid) != getpid() || !pmh_python_reading(&pmh_python_loads);
	if (pmh_self.never_reads_python)
		return;
	tries++;
	/* a look says that the words are there, so loads may follow */
	if (!is_in_main() || !pmh_python_look_line(&line) || !read_words(words))
		return;
	pmh_self.reads_python = line.code == words[CODE] && line.instruction == words[INSTRUCTION];
}

void pmh_python_end_lines(void)
{
	ended = true;
}

void pmh_python_forget_lines(void)
{
	if (line_count)
		memset(lines, 0, sizeof lines);
	last = &lines[0];
	line_count = 0;
	ended = false;
	tries = 0;
	pmh_self.never_reads_python = false;
}
