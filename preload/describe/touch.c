/*
 * The arguments of launches, and tables that are copied to the device: scanned for device addresses, which
 * get numbers, of which the trace keeps differences.
 *
 * A long list is written once, and then named by its number. One that was looked at before, with the same
 * bytes of arguments and the same memory allocated, is not looked at again.
 *
 * What a list needs while it is made lies in one of some buffers that a thread takes at its first launch: a
 * launch may have thousands of addresses, too many for the stack or the storage of a thread that never
 * launches.
 */
#include "touch.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "budget.h"
#include "device_memory.h"
#include "guest/guest.h"
#include "guest/thread.h"
#include "kernel.h"
#include "python/python_process.h"
#include "trace/intern.h"

#define BUFFERS 64u
#define TRIES 4 /* to look while memory is allocated */
#define EXTRA_END 0
#define EXTRA_BUFFER 1
#define EXTRA_BYTES 2
#define FEW_SLOTS 2u     /* lists that take no more are not named */
#define LONG_BYTES 512u  /* of arguments: from here on it is quicker to know them again than to look */
#define KNOWN_LISTS 128u /* of a thread */

/* Arguments that were looked at: by their bytes, their kernel and what memory there was. */
struct known_list {
	uint64_t hash;
	uint32_t number; /* of the list; 0: none */
};

struct buffer {
	struct pmh_packed packed; /* first: what the thread points to */
	_Atomic bool taken;
	uint32_t count;
	uint64_t addresses[PM_TOUCH_WORDS];
	uint32_t numbers[PM_TOUCH_WORDS];
	uint16_t words[PM_TOUCH_WORDS]; /* of the arguments, in which they stand */
	uint64_t table[PM_TOUCH_WORDS]; /* of a copy to the device, as it was read */
	struct known_list known[KNOWN_LISTS];
};
static struct buffer buffers[BUFFERS];
static uint64_t generation; /* of the process: lists that its parent knew have other numbers here */

/* ---- buffers ---- */

static struct buffer *own_buffer(struct pmh_thread *self)
{
	if (self->packed)
		return (struct buffer *)(void *)self->packed;
	for (unsigned i = 0; i < BUFFERS; i++) {
		bool taken = false;

		if (atomic_compare_exchange_strong(&buffers[i].taken, &taken, true)) {
			self->packed = &buffers[i].packed;
			return &buffers[i];
		}
	}
	return NULL;
}

void pmh_touch_leave(struct pmh_thread *thread)
{
	struct buffer *b = (struct buffer *)(void *)thread->packed;

	thread->packed = NULL;
	if (b)
		atomic_store(&b->taken, false);
}

void pmh_touch_forget(void)
{
	for (unsigned i = 0; i < BUFFERS; i++)
		if (atomic_load(&buffers[i].taken))
			atomic_store(&buffers[i].taken, false);
	if (pmh_local.thread)
		pmh_self.packed = NULL;
	generation++;
	pmh_memory_forget();
}

/* ---- the scan ---- */

struct arguments {
	void **each;
	const char *packed; /* or all of them in one piece */
	size_t packed_bytes;
};

/* The driver's list: pairs of a number and a value. False: it has another number. */
static bool read_extra(struct arguments *a, void **extra)
{
	for (unsigned i = 0; i < 8; i += 2) {
		if ((uintptr_t)extra[i] == EXTRA_END)
			return true;
		if ((uintptr_t)extra[i] == EXTRA_BUFFER)
			a->packed = extra[i + 1];
		else if ((uintptr_t)extra[i] == EXTRA_BYTES && extra[i + 1])
			a->packed_bytes = *(const size_t *)extra[i + 1];
		else
			return false;
	}
	return false;
}

/* The bytes of an argument, or NULL. */
static const char *argument(const struct arguments *a, uint32_t i, struct pmh_param p)
{
	if (a->each)
		return a->each[i];
	return a->packed && (size_t)p.offset + p.byte_count <= a->packed_bytes ? a->packed + p.offset : NULL;
}

/* Puts the device addresses into the buffer; how many. */
static uint32_t scan(struct buffer *b, struct pmh_memory_look *look, const struct pmh_layout *layout,
	const struct arguments *a)
{
	uint32_t count = 0;

	pmh_memory_look(look);
	for (uint32_t i = 0; i < layout->count; i++) {
		const struct pmh_param p = layout->params[i];
		const unsigned first = -(unsigned)p.offset & 7;
		const char *bytes;

		if (p.byte_count < first + 8 || !(bytes = argument(a, i, p)))
			continue;
		for (unsigned at = first; at + 8 <= p.byte_count && count < PM_TOUCH_WORDS; at += 8) {
			uint64_t word;

			memcpy(&word, bytes + at, sizeof word);
			if (!pmh_memory_holds(look, word))
				continue;
			b->words[count] = (uint16_t)((p.offset + at) / 8);
			b->addresses[count++] = word;
		}
	}
	return count;
}

/* ---- packing ---- */

/* A varint of the token's kind and a number; false: no room. */
static bool put(struct pmh_packed *p, unsigned kind, uint64_t n)
{
	uint64_t token = n << 2 | kind;

	if (p->used + 10 > sizeof p->bytes)
		return false;
	for (; token >= 128; token >>= 7)
		p->bytes[p->used++] = (uint8_t)(token | 128);
	p->bytes[p->used++] = (uint8_t)token;
	return true;
}

static void pack_number(struct pmh_packed *p, uint32_t number)
{
	p->used = 0;
	put(p, 3, number);
}

static void pack(struct pmh_packed *p, const struct buffer *b)
{
	uint32_t last = 0, word = 0;
	uint64_t again = 0, last_token = UINT64_MAX;
	bool fits = true;

	p->used = 0;
	for (uint32_t i = 0; i < b->count && fits; i++) {
		const int64_t difference = (int64_t)b->numbers[i] - last;
		const uint64_t token =
			difference < 0 ? (uint64_t)-difference * 2 - 1 : (uint64_t)difference * 2;

		last = b->numbers[i];
		if (b->words[i] == word && token == last_token) {
			again++;
		} else {
			if (again)
				fits = put(p, 1, again);
			again = 0;
			if (fits && b->words[i] != word)
				fits = put(p, 2, (uint64_t)b->words[i] - word);
			fits = fits && put(p, 0, token);
		}
		last_token = token;
		word = b->words[i] + 1u;
	}
	if (fits && again)
		fits = put(p, 1, again);
	if (!fits)
		p->bytes[p->used++] = 3;
}

/* Names the list instead, where it is long; the number, or 0. */
static uint32_t name_list(struct pmh_packed *p)
{
	const uint32_t number =
		p->used > FEW_SLOTS * PM_TOUCH_BYTES ? pmh_touches_number(p->bytes, p->used) : 0;

	if (number)
		pack_number(p, number);
	return number;
}

/* ---- lists that come again ---- */

/* The place of what is known of these arguments; NULL: they are few. Sets the hash that it has then, with the
 * memory of the look that it begins. */
static struct known_list *find_list(struct buffer *b, const struct pmh_layout *layout,
	const struct arguments *a, struct pmh_memory_look *look, uint64_t *hash)
{
	const struct pmh_param last = layout->params[layout->count - 1];
	uint64_t seed[3];

	if ((unsigned)last.offset + last.byte_count < LONG_BYTES)
		return NULL;
	pmh_memory_look(look);
	seed[0] = (uint64_t)(uintptr_t)layout;
	seed[1] = look->change;
	seed[2] = generation;
	*hash = pmh_hash(0, seed, sizeof seed);
	for (uint32_t i = 0; i < layout->count; i++) {
		const char *bytes = argument(a, i, layout->params[i]);

		*hash = pmh_hash(*hash, bytes, bytes ? layout->params[i].byte_count : 0);
	}
	return &b->known[*hash % KNOWN_LISTS];
}

static void name_addresses(void *data)
{
	const struct buffer *b = data;
	struct pmh_python_names python;

	pmh_python_names(true, &python);
	if (python.module[0])
		pmh_address_modules(b->numbers, b->count, python.module);
}

/* A kernel is one operation for all modules that launch it, but each of them has memory of its own. */
static void find_modules(struct buffer *b)
{
	const int saved_errno = errno;
	struct pmh_moment begin;

	if (!pmh_python_is_running() || !pmh_address_asks(b->numbers, b->count) || !pmh_budget_left())
		return;
	begin = pmh_moment();
	pmh_run_on_own_stack(name_addresses, b);
	pmh_budget_spent(begin);
	errno = saved_errno;
}

uint8_t pmh_touches_sampled(const void *function, void **arguments, void **extra)
{
	struct pmh_thread *self = &pmh_self;
	const struct pmh_layout *layout = pmh_kernel_layout(function);
	struct arguments a = {.each = arguments};
	struct pmh_memory_look look;
	struct known_list *known;
	uint64_t hash = 0;
	struct buffer *b;
	uint32_t count, number;
	int tries = 0;

	if (!layout || !layout->count || !pmh_sample_take() || (b = own_buffer(self)) == NULL)
		return 0;
	if (!arguments && (!extra || !read_extra(&a, extra)))
		return 0;
	known = find_list(b, layout, &a, &look, &hash);
	if (known && known->number && known->hash == hash && pmh_memory_is_whole(&look)) {
		pack_number(&b->packed, known->number);
		return PM_FLAG_TOUCHES;
	}
	do
		count = scan(b, &look, layout, &a);
	while (!pmh_memory_is_whole(&look) && ++tries < TRIES);
	if (tries == TRIES)
		return 0;
	if (!pmh_address_numbers(b->addresses, b->numbers, count)) {
		pmh_sample_end_kernels();
		return 0;
	}
	b->count = count;
	find_modules(b);
	pack(&b->packed, b);
	number = name_list(&b->packed);
	if (known && tries == 0)
		*known = (struct known_list){hash, number};
	return PM_FLAG_TOUCHES;
}

/* ---- tables ---- */

/* Puts the device addresses of the table into the buffer; how many. */
static uint32_t keep_addresses(struct buffer *b, struct pmh_memory_look *look, uint32_t word_count)
{
	uint32_t count = 0;

	pmh_memory_look(look);
	for (uint32_t i = 0; i < word_count; i++)
		if (pmh_memory_holds(look, b->table[i])) {
			b->words[count] = (uint16_t)i;
			b->addresses[count++] = b->table[i];
		}
	return count;
}

/* Whether the bytes are on the thread's stack, between here and its end: then they are there. */
static bool is_on_stack(uint64_t from, size_t byte_count)
{
	const struct pmh_thread *self = &pmh_self;
	const uint64_t here = (uintptr_t)__builtin_frame_address(0);

	return here >= self->stack_start && here < self->stack_end && from > here && from < self->stack_end &&
	       byte_count <= self->stack_end - from;
}

/* A sanitizer knows of each variable on the stack which bytes are the program's. */
__attribute__((no_sanitize("address", "thread"))) static void load_words(
	uint64_t *words, const void *source, size_t byte_count)
{
	const volatile unsigned char *from = source;

	for (size_t i = 0; i < byte_count; i++)
		((unsigned char *)words)[i] = from[i];
}

/* Reads our own memory, which may not be there. */
static bool read_words(uint64_t *words, const void *source, size_t byte_count)
{
	const int saved_errno = errno;
	struct iovec local = {.iov_base = words, .iov_len = byte_count};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)source, .iov_len = byte_count};
	bool ok;

	if (is_on_stack((uintptr_t)source, byte_count)) {
		load_words(words, source, byte_count);
		return true;
	}
	ok = process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)byte_count;
	errno = saved_errno;
	return ok;
}

uint8_t pmh_table_sampled(const void *source, size_t byte_count)
{
	const uint32_t word_count = (uint32_t)(byte_count / sizeof(uint64_t));
	struct pmh_memory_look look;
	struct buffer *b;
	uint32_t count;
	int tries = 0;

	if (!word_count || !pmh_sample_take() || (b = own_buffer(&pmh_self)) == NULL ||
		!read_words(b->table, source, word_count * sizeof(uint64_t)))
		return 0;
	do
		count = keep_addresses(b, &look, word_count);
	while (!pmh_memory_is_whole(&look) && ++tries < TRIES);
	if (tries == TRIES || !count)
		return 0;
	if (!pmh_address_numbers(b->addresses, b->numbers, count)) {
		pmh_sample_end_kernels();
		return 0;
	}
	b->count = count;
	pack(&b->packed, b);
	name_list(&b->packed);
	return PM_FLAG_TOUCHES;
}
