/*
 * Writing ranges, and their entries in the dictionary.
 *
 * Texts that programs make may have counters in them, and each would be a range of its own. "layer1" and
 * "layer2" are worth telling apart, step 4711 and step 4712 are not. So of texts that differ in their digits
 * alone the first ones have an entry each, and the others one together, without their digits; the number
 * after PyTorch's own "ProfilerStep#" is always cut off. NVTX's texts come so already (nvtx_name.c).
 */
#include "range.h"

#include <errno.h>
#include <string.h>

#include "call/window.h"
#include "guest/clock.h"
#include "guest/guest.h"
#include "guest/state.h"
#include "nvtx_name.h"
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
	else if (scope == PM_RANGE_USER && !pmh_string_found(cut) && find_stem(cut, stem) &&
		 are_too_many(stem))
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

static void range_add(void *data)
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

	pmh_run_on_own_stack(range_add, &new);
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
bool pmh_range_may_end(const struct pmh_thread *self)
{
	return self->depth == 0 && self->interrupted_count == 0 && !pmh_local.quiet &&
	       atomic_load_explicit(&pmh_state, memory_order_acquire) == PMH_RECORDING;
}

bool pmh_range_may_write(const struct pmh_thread *self)
{
	return pmh_range_may_end(self) && pmh_window_open;
}

static void pay_owed(struct pmh_thread *self, uint64_t ticks)
{
	while (self->ranges.owed && pmh_append_range(self, ticks, 0, PM_RANGE_NO_SEQUENCE, 0, 0))
		self->ranges.owed--;
}

static bool begin(struct pmh_thread *self, uint64_t ticks, uint32_t range, uint32_t sequence, uint16_t thread,
	uint8_t flags)
{
	if (__builtin_expect((self->ranges.owed | self->ranges.pending) != 0, 0))
		pmh_range_catch_up(self);
	if (self->number == 0)
		pmh_thread_begin();
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

/* ---- ends ---- */

/* The end of the innermost range that has none, written now or before the next begin. */
static void end_range(struct pmh_thread *self, struct pmh_open_range *range, bool may_write)
{
	struct pmh_ranges *ranges = &self->ranges;

	ranges->pending -= range->is_pending;
	range->is_pending = false;
	if (!range->is_written)
		return;
	range->is_written = false;
	if (!may_write || ranges->owed || !pmh_range_end(self, PM_RANGE_NO_SEQUENCE, 0))
		ranges->owed++;
}

static void take_out(struct pmh_ranges *ranges, unsigned at)
{
	ranges->nvtx_count -= ranges->open[at].is_nvtx;
	ranges->open_count--;
	memmove(&ranges->open[at], &ranges->open[at + 1], (ranges->open_count - at) * sizeof ranges->open[0]);
}

/* A range ends, and those inside of it. NVTX's wait for their pops, which would be those of others without. */
static void end_from(struct pmh_thread *self, unsigned at, bool may_write)
{
	static const struct pmh_open_range none;
	struct pmh_ranges *ranges = &self->ranges;
	const struct pmh_open_range outer = at ? ranges->open[at - 1] : none;

	for (unsigned i = ranges->open_count; i-- > at;) {
		struct pmh_open_range *range = &ranges->open[i];

		end_range(self, range, may_write);
		if (i == at || !range->is_nvtx) {
			take_out(ranges, i);
			continue;
		}
		range->is_over = true;
		range->is_in_operator = outer.is_in_operator;
		range->is_in_node = outer.is_in_node;
	}
}

void pmh_range_close_slowly(struct pmh_thread *self, const void *of)
{
	const bool may_write = pmh_range_may_end(self);
	uint64_t mark = PMH_MARK;
	unsigned at = self->ranges.open_count;

	while (at > 0 && self->ranges.open[at - 1].of != of)
		at--;
	if (at == 0)
		return;
	if (self->ranges.open[at - 1].is_over) {
		take_out(&self->ranges, at - 1);
		return;
	}
	if (may_write)
		pmh_frame_begin(&mark);
	end_from(self, at - 1, may_write);
	if (may_write)
		pmh_range_leave(self);
}

/* ---- NVTX ---- */

void pmh_range_catch_up(struct pmh_thread *self)
{
	struct pmh_ranges *ranges = &self->ranges;

	if (self->number == 0)
		pmh_thread_begin();
	if (ranges->owed)
		pay_owed(self, pmh_ticks());
	for (unsigned i = 0; ranges->pending && i < ranges->open_count; i++) {
		struct pmh_open_range *range = &ranges->open[i];
		uint32_t number;

		if (!range->is_pending)
			continue;
		range->is_pending = false;
		ranges->pending--;
		number = ranges->owed ? 0 : pmh_nvtx_number(range->nvtx_name);
		range->is_written =
			number && pmh_append_range(self, range->ticks, number, PM_RANGE_NO_SEQUENCE, 0, 0);
	}
}

static void write_pending(struct pmh_thread *self)
{
	uint64_t mark = PMH_MARK;

	if (pmh_range_enter(self, &mark)) {
		pmh_range_catch_up(self);
		pmh_range_leave(self);
	} else {
		self->is_ready = false;
	}
}

void pmh_range_push(struct pmh_thread *self, const void *domain, uint16_t name)
{
	struct pmh_ranges *ranges = &self->ranges;
	const struct pmh_open_range *outer = pmh_range_innermost(self);
	const bool is_pending = name && self->depth == 0;

	if (ranges->nvtx_beyond || ranges->nvtx_count == PMH_NVTX_RANGES || ranges->open_count == PMH_RANGES) {
		ranges->nvtx_beyond++;
		pmh_lose(PM_LOSS_RANGES, 1);
		return;
	}
	ranges->open[ranges->open_count] = (struct pmh_open_range){.of = domain,
		.ticks = pmh_ticks(),
		.nvtx_name = name,
		.is_nvtx = true,
		.is_pending = is_pending,
		.is_in_operator = outer->is_in_operator,
		.is_in_node = outer->is_in_node};
	ranges->open_count++;
	ranges->nvtx_count++;
	ranges->pending += is_pending;
	if (is_pending)
		write_pending(self);
}

void pmh_range_pop(struct pmh_thread *self, const void *domain)
{
	if (self->ranges.nvtx_beyond)
		self->ranges.nvtx_beyond--;
	else
		pmh_range_close_slowly(self, domain);
}

/* ---- after fork ---- */

/* The parent's operators are none here; a range of NVTX goes on, with a begin in the child's trace. */
static void keep_nvtx(struct pmh_ranges *ranges)
{
	ranges->pending = ranges->owed = 0;
	for (unsigned i = ranges->open_count; i-- > 0;) {
		struct pmh_open_range *range = &ranges->open[i];

		if (!range->is_nvtx) {
			take_out(ranges, i);
			continue;
		}
		range->is_written = range->is_in_operator = range->is_in_node = false;
		range->is_pending = range->nvtx_name && !range->is_over;
		ranges->pending += range->is_pending;
	}
}

void pmh_range_forget(struct pmh_thread *self)
{
	if (self)
		keep_nvtx(&self->ranges);
	memset((void *)stems, 0, sizeof stems);
}
