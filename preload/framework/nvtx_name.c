/*
 * Names in the order in which they came, and a table of fixed size from a hash to a name: a slot is filled
 * once, after its name, so that a look-up takes no lock. Nothing is allocated; memory that no name needs is
 * never touched.
 */
#include "nvtx_name.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/guest.h"
#include "range.h"
#include "nvtx_text.h"
#include "trace/intern.h"
#include "trace/write.h"

#define SLOTS (1u << 15)
#define NAMES (SLOTS / 2) /* as many ranges as a trace has room for */
#define DOMAINS 64u

static struct nvtx_domain {
	char text[PMH_TEXT_BYTES]; /* of the default domain: empty */
} domains[DOMAINS];
static _Atomic unsigned domain_count = 1;

static struct nvtx_string {
	_Atomic uint32_t number; /* of its PM_ENTRY_RANGE; 0: not written yet */
	uint32_t color;
	uint16_t domain;
	bool is_ignored;
	unsigned char variants; /* of a stem: texts that differ from it in their numbers */
	char text[PMH_TEXT_BYTES];
} names[NAMES];
static unsigned name_count = 1; /* the first is none */

/* The hash of a name's domain and text, but for the lowest bits, which are the name's number; 0: free. */
#define NUMBER_MASK ((uint64_t)UINT16_MAX)
static _Atomic uint64_t slots[SLOTS];
static pmh_lock lock = ATOMIC_FLAG_INIT;

struct wanted {
	const char *text;
	size_t text_bytes;
	unsigned domain;
	uint32_t color;
};

static uint64_t hash_of(const struct wanted *w)
{
	return pmh_hash(w->domain + 1, w->text, w->text_bytes);
}

/* The slot of a hash, or the free one where it would be. */
static _Atomic uint64_t *slot_of(uint64_t hash)
{
	for (unsigned i = (unsigned)(hash >> 40) % SLOTS;; i = (i + 1) % SLOTS) {
		const uint64_t there = atomic_load_explicit(&slots[i], memory_order_acquire);

		if (there == 0 || ((there ^ hash) & ~NUMBER_MASK) == 0)
			return &slots[i];
	}
}

/* 0: it is new. */
static unsigned number_in(_Atomic uint64_t *slot)
{
	return (unsigned)(atomic_load_explicit(slot, memory_order_acquire) & NUMBER_MASK);
}

static unsigned found(const struct wanted *w)
{
	return number_in(slot_of(hash_of(w)));
}

/* Under the lock. 0: there are too many. */
static unsigned keep(const struct wanted *w)
{
	const uint64_t hash = hash_of(w);
	_Atomic uint64_t *slot = slot_of(hash);
	struct nvtx_string *name = &names[name_count];

	if (number_in(slot))
		return number_in(slot);
	if (name_count == NAMES)
		return 0;
	memcpy(name->text, w->text, w->text_bytes + 1);
	name->domain = (uint16_t)w->domain;
	name->color = w->color;
	name->is_ignored = strncmp(w->text, "XlaPass", 7) == 0;
	atomic_store_explicit(slot, (hash & ~NUMBER_MASK) | name_count, memory_order_release);
	return name_count++;
}

/* Likewise: of a text with numbers, which may be one of too many; then it is its stem. */
static unsigned keep_variant(const struct wanted *w)
{
	char text[PMH_TEXT_BYTES];
	struct wanted stem = *w;
	unsigned of_all;

	if (found(w) || pmh_nvtx_is_exact(w->text) || !pmh_nvtx_stem(text, w->text))
		return keep(w);
	stem.text = text;
	stem.text_bytes = strlen(text);
	of_all = keep(&stem);
	if (!of_all || names[of_all].variants == PMH_TEXT_VARIANTS)
		return of_all;
	names[of_all].variants++;
	return keep(w);
}

static unsigned find(const struct wanted *w)
{
	unsigned number = found(w);

	if (number)
		return number;
	pmh_acquire(&lock);
	number = keep_variant(w);
	pmh_release(&lock);
	return number;
}

static pmh_nvtx_name name_of(const struct wanted *w)
{
	const int saved_errno = errno;
	const unsigned number = w->text_bytes ? find(w) : 0;

	if (!number && w->text_bytes)
		pmh_lose(PM_LOSS_RANGES, 1);
	errno = saved_errno;
	return names[number].is_ignored ? 0 : (pmh_nvtx_name)number;
}

pmh_nvtx_name pmh_nvtx_name_of(unsigned domain, uint32_t color, const char *text)
{
	char kept[PMH_TEXT_BYTES];
	const size_t n = text ? pmh_nvtx_text(kept, text) : 0;

	return name_of(&(struct wanted){kept, n, domain, color});
}

pmh_nvtx_name pmh_nvtx_name_of_wide(unsigned domain, uint32_t color, const wchar_t *text)
{
	char kept[PMH_TEXT_BYTES];
	const size_t n = text ? pmh_nvtx_wide_text(kept, text) : 0;

	return name_of(&(struct wanted){kept, n, domain, color});
}

/* ---- handles ---- */

/*
 * XLA registers the text of each instruction that it compiles, of which few are launched, so a text takes a
 * slot when a range has it. Until then it is here, in memory that is mapped with the first and filled from
 * its start: what is not filled takes none.
 */
#define REGISTERED_BYTES (128u << 20)
#define REGISTERED_MARK 0x67657270u

struct registered {
	uint32_t mark;
	uint16_t domain;
	_Atomic uint16_t name; /* 0: not looked for yet, or there is none */
	char text[];
};
static unsigned char *_Atomic registered;
static size_t registered_bytes;

/* Under the lock. */
static struct registered *room_for(size_t text_bytes)
{
	const size_t bytes = (sizeof(struct registered) + text_bytes + 1 + 7) / 8 * 8;
	unsigned char *memory = atomic_load_explicit(&registered, memory_order_relaxed);
	long address;

	if (!memory) {
		address = syscall(SYS_mmap, NULL, (size_t)REGISTERED_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (address == -1)
			return NULL;
		memory = (unsigned char *)address; /* NOLINT */
		atomic_store_explicit(&registered, memory, memory_order_release);
	}
	if (bytes > REGISTERED_BYTES - registered_bytes)
		return NULL;
	registered_bytes += bytes;
	return (struct registered *)(memory + registered_bytes - bytes);
}

/* What has no room any more takes no name from ranges, but for XLA's programs, which launches are in. */
static pmh_nvtx_name beyond(const struct wanted *w)
{
	if (w->text_bytes && strncmp(w->text, "XlaModule:", 10) == 0)
		return name_of(w);
	if (w->text_bytes)
		pmh_lose(PM_LOSS_RANGES, 1);
	return 0;
}

static const struct nvtx_string *register_text(unsigned domain, const char *text, size_t text_bytes)
{
	const int saved_errno = errno;
	struct registered *r = NULL;

	if (text_bytes) {
		pmh_acquire(&lock);
		r = room_for(text_bytes);
		pmh_release(&lock);
	}
	errno = saved_errno;
	if (!r)
		return &names[beyond(&(struct wanted){text, text_bytes, domain, 0})];
	r->domain = (uint16_t)domain;
	memcpy(r->text, text, text_bytes + 1);
	r->mark = REGISTERED_MARK;
	return (const struct nvtx_string *)r;
}

const struct nvtx_string *pmh_nvtx_register(unsigned domain, const char *text)
{
	char kept[PMH_TEXT_BYTES];

	return register_text(domain, kept, text ? pmh_nvtx_text(kept, text) : 0);
}

const struct nvtx_string *pmh_nvtx_register_wide(unsigned domain, const wchar_t *text)
{
	char kept[PMH_TEXT_BYTES];

	return register_text(domain, kept, text ? pmh_nvtx_wide_text(kept, text) : 0);
}

/* The registered text that an address is, NULL: it is none. */
static struct registered *registered_at(const void *address)
{
	unsigned char *memory = atomic_load_explicit(&registered, memory_order_acquire);
	const size_t offset = (uintptr_t)address - (uintptr_t)memory;
	struct registered *r;

	if (!memory || offset >= REGISTERED_BYTES || offset % 8)
		return NULL;
	r = (struct registered *)(memory + offset);
	return r->mark == REGISTERED_MARK ? r : NULL;
}

/* The number of the item of a table that an address is; 0: it is none. */
static unsigned item_at(const void *address, const void *table, size_t table_bytes, size_t item_bytes)
{
	const size_t offset = (uintptr_t)address - (uintptr_t)table;

	return offset < table_bytes && offset % item_bytes == 0 ? (unsigned)(offset / item_bytes) : 0;
}

pmh_nvtx_name pmh_nvtx_name_of_handle(const struct nvtx_string *handle)
{
	struct registered *r = registered_at(handle);
	pmh_nvtx_name name;

	if (r) {
		name = atomic_load_explicit(&r->name, memory_order_relaxed);
		if (!name) {
			name = name_of(&(struct wanted){r->text, strlen(r->text), r->domain, 0});
			atomic_store_explicit(&r->name, name, memory_order_relaxed);
		}
		return name;
	}
	return (pmh_nvtx_name)item_at(handle, names, sizeof names, sizeof names[0]);
}

unsigned pmh_nvtx_domain_number(const struct nvtx_domain *domain)
{
	return item_at(domain, domains, sizeof domains, sizeof domains[0]);
}

const struct nvtx_domain *pmh_nvtx_domain(unsigned number)
{
	return &domains[number];
}

/* ---- domains ---- */

/* Under the lock. */
static unsigned keep_domain(const char *text, size_t text_bytes)
{
	const unsigned count = atomic_load_explicit(&domain_count, memory_order_relaxed);
	unsigned i = 1;

	while (i < count && strcmp(domains[i].text, text) != 0)
		i++;
	if (i < count)
		return i;
	if (count == DOMAINS)
		return DOMAINS - 1;
	if (count == DOMAINS - 1)
		text = "(other domains)", text_bytes = strlen(text);
	memcpy(domains[count].text, text, text_bytes + 1);
	atomic_store_explicit(&domain_count, count + 1, memory_order_release);
	return count;
}

static struct nvtx_domain *domain_of(const char *text, size_t text_bytes)
{
	const int saved_errno = errno;
	unsigned number;

	if (!text_bytes)
		return domains;
	pmh_acquire(&lock);
	number = keep_domain(text, text_bytes);
	pmh_release(&lock);
	errno = saved_errno;
	return &domains[number];
}

struct nvtx_domain *pmh_nvtx_domain_of(const char *text)
{
	char kept[PMH_TEXT_BYTES];

	return domain_of(kept, text ? pmh_nvtx_text(kept, text) : 0);
}

struct nvtx_domain *pmh_nvtx_domain_of_wide(const wchar_t *text)
{
	char kept[PMH_TEXT_BYTES];

	return domain_of(kept, text ? pmh_nvtx_wide_text(kept, text) : 0);
}

/* ---- numbers ---- */

uint32_t pmh_nvtx_number(pmh_nvtx_name name)
{
	struct nvtx_string *of = &names[name];
	uint32_t number = atomic_load_explicit(&of->number, memory_order_relaxed);

	if (number || !name)
		return number;
	number = pmh_range_number(&(struct pmh_range){.scope = PM_RANGE_NVTX,
		.name = of->text,
		.domain = of->domain ? pmh_string(domains[of->domain].text) : 0,
		.color = of->color});
	atomic_store_explicit(&of->number, number, memory_order_relaxed);
	return number;
}

void pmh_nvtx_names_forget(void)
{
	pmh_lock_forget(&lock);
	for (unsigned i = 1; i < name_count; i++)
		atomic_store_explicit(&names[i].number, 0, memory_order_relaxed);
}
