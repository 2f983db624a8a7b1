/*
 * Writing ranges, and their entries in the dictionary.
 *
 * Texts that programs make may have counters in them, and each would be a range of its own. "layer1" and
 * "layer2" are worth telling apart, step 4711 and step 4712 are not. So of texts that differ in their digits
 * alone the first ones have an entry each, and the others one together, without their digits; the number
 * behind PyTorch's own "ProfilerStep#" is always cut off.
 */
#include "range.h"

#include <errno.h>
#include <string.h>

#include "call/window.h"
#include "guest/clock.h"
#include "guest/guest.h"
#include "guest/state.h"
#include "trace/intern.h"
#include "trace/write.h"

#define NAME_BYTES 256 /* of a longer one the end is cut off */
#define ALIKE 128u     /* entries of texts that differ in their digits alone */
#define STEMS 1024u

static struct {
	_Atomic uint64_t stem; /* a hash; 0: free */
	_Atomic uint32_t count;
} stems[STEMS];

/* ---- names ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The text without its digits. False: it has none. */
static bool find_stem(const char *text, char stem[NAME_BYTES])
{
	size_t used = 0;
	bool any = false;

	for (; *text && used + 1 < NAME_BYTES; text++)
		if (is_digit(*text))
			any = true;
		else
			stem[used++] = *text;
	stem[used] = 0;
	return any;
}

/* Whether there are too many of the stem, with one more. */
static bool are_too_many(const char *stem)
{
	const uint64_t hash = pmh_hash(PM_ENTRY_RANGE, stem, strlen(stem)) | 1;
	unsigned i = (unsigned)(hash >> 40) % STEMS;

	for (unsigned tries = 0; tries < STEMS / 4; tries++, i = (i + 1) % STEMS) {
		uint64_t there = 0;

		if (atomic_compare_exchange_strong(&stems[i].stem, &there, hash) || there == hash)
			return atomic_fetch_add(&stems[i].count, 1) >= ALIKE;
	}
	return true;
}

/* The name as it goes into the trace. One that has come before stays as it is. */
static void cut_name(enum pm_range_scope scope, const char *name, char cut[NAME_BYTES])
{
	static const char step[] = "ProfilerStep#";
	const size_t length = strnlen(name, NAME_BYTES - 1);
	char stem[NAME_BYTES];

	memcpy(cut, name, length);
	cut[length] = 0;
	if (strncmp(name, step, sizeof step - 1) == 0)
		cut[sizeof step - 1] = 0;
	else if ((scope == PM_RANGE_USER || scope == PM_RANGE_NVTX) && !pmh_string_found(cut) &&
		 find_stem(cut, stem) && are_too_many(stem))
		memcpy(cut, stem, sizeof stem);
}

/* ---- numbers ---- */

static uint64_t hash_of(const struct pmh_range *r)
{
	const uint64_t words[] = {
		pmh_hash(PM_ENTRY_RANGE, r->name ? r->name : "", r->name ? strlen(r->name) : 0),
		r->scope | (uint64_t)r->domain << 32, r->module | (uint64_t)r->line << 32, r->color};

	return pmh_hash_words(PM_ENTRY_RANGE, words, 4);
}

struct new_range {
	struct pmh_range range;
	uint32_t number;
};

static void add(void *data)
{
	struct new_range *new = data;
	struct pmh_range *r = &new->range;
	struct pm_entry_range entry = {.scope = (uint16_t)r->scope,
		.domain = r->domain,
		.module = r->module,
		.line = r->line,
		.color = r->color};
	char name[NAME_BYTES];

	if (r->name) {
		cut_name(r->scope, r->name, name);
		r->name = name;
		entry.name = pmh_string(name);
	}
	new->number = pmh_range_entry(hash_of(r), &entry);
}

static __attribute__((noinline)) uint32_t new_number(const struct pmh_range *range)
{
	struct new_range new = {*range, 0};
	const struct pmh_moment begin = pmh_moment();
	const int saved_errno = errno;

	pmh_rarely(add, &new);
	pmh_new_cost_since(&pmh_self.new_cost, begin);
	errno = saved_errno;
	return new.number;
}

uint32_t pmh_range_number(const struct pmh_range *range)
{
	const uint64_t hash = hash_of(range);
	const uint32_t number = pmh_found(hash);

	return __builtin_expect(number != 0, 1) ? number : new_number(range);
}

/* ---- slots ---- */

/* In no call, its own or one that a handler has interrupted. */
static bool is_free(const struct pmh_thread *self)
{
	return self->depth == 0 && self->interrupted_count == 0 && !pmh_local.quiet &&
	       atomic_load_explicit(&pmh_state, memory_order_relaxed) == PMH_RECORDING;
}

bool pmh_range_may_write(const struct pmh_thread *self)
{
	return is_free(self) && pmh_window_open;
}

static void pay_owed(struct pmh_thread *self, uint64_t ticks)
{
	while (self->ranges.owed && pmh_append_range(self, ticks, 0, PM_RANGE_NO_SEQUENCE, 0, 0))
		self->ranges.owed--;
}

static bool begin(struct pmh_thread *self, uint64_t ticks, uint32_t range, uint32_t sequence, uint16_t thread,
	uint8_t flags)
{
	if (self->number == 0)
		pmh_thread_begin();
	if (__builtin_expect(self->ranges.owed != 0, 0))
		pay_owed(self, ticks);
	return !self->ranges.owed && pmh_append_range(self, ticks, range, sequence, thread, flags);
}

bool pmh_range_begin(
	struct pmh_thread *self, uint32_t range, uint32_t sequence, uint16_t thread, uint8_t flags)
{
	return begin(self, pmh_ticks(), range, sequence, thread, flags);
}

bool pmh_range_end(struct pmh_thread *self, uint32_t sequence, uint8_t flags)
{
	return pmh_append_range(self, pmh_ticks(), 0, sequence, 0, flags);
}

void pmh_range_open(struct pmh_thread *self, const void *of, enum pm_range_scope scope, uint32_t range,
	uint32_t sequence, uint16_t thread, uint64_t ticks)
{
	struct pmh_ranges *ranges = &self->ranges;
	const struct pmh_open_range *outer = pmh_range_innermost(self);
	struct pmh_open_range *open;

	if (ranges->open_count == PMH_RANGES)
		return;
	open = &ranges->open[ranges->open_count];
	*open = (struct pmh_open_range){.of = of,
		.is_in_operator =
			scope == PM_RANGE_OPERATOR || (scope != PM_RANGE_NODE && outer->is_in_operator),
		.is_in_node = scope == PM_RANGE_NODE || outer->is_in_node};
	open->is_written = range && begin(self, ticks, range, sequence, thread, 0);
	ranges->open_count++;
}

/* The end of the innermost range, written now or before the next begin. */
static void close_innermost(struct pmh_thread *self, bool may_write)
{
	if (!self->ranges.open[--self->ranges.open_count].is_written)
		return;
	if (!may_write || self->ranges.owed || !pmh_range_end(self, PM_RANGE_NO_SEQUENCE, 0))
		self->ranges.owed++;
}

void pmh_range_close_slowly(struct pmh_thread *self, const void *of)
{
	uint64_t mark = PMH_MARK;
	const bool may_write = is_free(self);
	bool is_last = false;

	if (may_write)
		pmh_frame_begin(&mark);
	while (!is_last && self->ranges.open_count) {
		is_last = pmh_range_innermost(self)->of == of;
		close_innermost(self, may_write);
	}
	if (may_write)
		pmh_range_leave(self);
}

void pmh_range_forget(struct pmh_thread *self)
{
	if (self)
		self->ranges.open_count = self->ranges.owed = 0;
	memset((void *)stems, 0, sizeof stems);
}
