/* Kernels that are communication: see imported_exchange.h. */
#include "imported_exchange.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 512 /* of a kernel's name: what follows is template arguments */
#define NAMED_MOST 3   /* kernels in the sentence */

/* Exchanges, in lower case and without separators; after "block" or "warp" they stay in one GPU. */
static const char *const exchanges[] = {"allreduce", "allgather", "reducescatter", "alltoall", "all2all",
	"sendrecv", "crossdevicereduce", NULL};
static const char *const inside[] = {"block", "warp", "cta", "thread", NULL};

/* Libraries: DeepEP; NVSHMEM; multimem instructions of symmetric memory; oneCCL; HCCL; MSCCL and MSCCL++;
 * Transformer Engine's user buffers. */
static const char *const libraries[] = {
	"deepep", "nvshmem", "multimem", "oneccl", "hcom", "mscclpp", "msccl", "userbuffers", NULL};

/* Of these libraries: kernels that only prepare. */
static const char *const preparing[] = {"layout", NULL};

/* Words that an exchange of somebody else's may have in its name. */
static const char *const doubtful[] = {"reduce", "exchange", "peer", "p2p", "comm", "dispatch", "combine",
	"gather", "scatter", "send", "recv", "put", "barrier", "broadcast", NULL};

/* The function's name in lower case without separators, up to its template arguments or parameters. */
static void normalise(const char *kernel, char *text)
{
	static const char anonymous[] = "(anonymous namespace)";
	size_t length = 0;

	for (; *kernel && length + 1 < NAME_BYTES; kernel++) {
		if (strncmp(kernel, anonymous, sizeof(anonymous) - 1) == 0) {
			kernel += sizeof(anonymous) - 2;
			continue;
		}
		if (*kernel == '<' || *kernel == '(')
			break;
		if (isalnum((unsigned char)*kernel))
			text[length++] = (char)tolower((unsigned char)*kernel);
	}
	text[length] = 0;
}

static bool has_one(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strstr(text, *words))
			return true;
	return false;
}

static bool ends_in_one(const char *text, size_t length, const char *const *words)
{
	for (; *words; words++) {
		size_t bytes = strlen(*words);

		if (length >= bytes && memcmp(text + length - bytes, *words, bytes) == 0)
			return true;
	}
	return false;
}

static bool names_exchange(const char *text)
{
	for (const char *const *word = exchanges; *word; word++)
		for (const char *at = text; (at = strstr(at, *word)); at++)
			if (!ends_in_one(text, (size_t)(at - text), inside))
				return true;
	return false;
}

bool imported_exchange_is(const char *kernel)
{
	char text[NAME_BYTES];

	normalise(kernel, text);
	return names_exchange(text) || (has_one(text, libraries) && !has_one(text, preparing));
}

void imported_exchange_apply(struct imported *imported)
{
	struct imported_events *events = &imported->events;
	uint8_t *found = mem_alloc(imported->strings.count, 1); /* 0: not asked yet, 1: no, 2: yes */

	for (size_t i = 0; i < events->count; i++) {
		uint8_t *answer = &found[events->name[i]];

		if (events->activity[i] != IMPORTED_KERNEL)
			continue;
		if (!*answer)
			*answer = imported_exchange_is(imported->strings.items[events->name[i]]) ? 2 : 1;
		if (*answer == 2 || events->collective[i] != IMPORTED_NONE)
			events->kind[i] = IMPORTED_COMMUNICATION;
	}
	free(found);
}

static void note_kernel(struct imported_exchange_doubt *doubt, const char *name, int64_t ns)
{
	uint32_t number = intern_text(&doubt->names, name, strlen(name));

	while (number >= doubt->time_count)
		*MEM_PUSH(doubt->times_ns, doubt->time_count, doubt->time_room) = 0;
	doubt->times_ns[number] += ns;
}

void imported_exchange_note(struct imported_exchange_doubt *doubt, const struct imported *imported)
{
	const struct imported_events *events = &imported->events;
	uint8_t *found = mem_alloc(imported->strings.count, 1); /* 0: not asked yet, 1: no, 2: yes */

	doubt->workers += imported->worker_count;
	if (imported->world > doubt->world)
		doubt->world = imported->world;
	for (size_t i = 0; i < events->count; i++) {
		uint8_t *answer = &found[events->name[i]];
		char text[NAME_BYTES];

		doubt->has = doubt->has || events->kind[i] == IMPORTED_COMMUNICATION ||
			     events->activity[i] == IMPORTED_LABELLED;
		if (doubt->has)
			break;
		if (!*answer) {
			normalise(imported->strings.items[events->name[i]], text);
			*answer = has_one(text, doubtful) ? 2 : 1;
		}
		if (*answer == 2)
			note_kernel(doubt, imported->strings.items[events->name[i]],
				events->end_ns[i] - events->begin_ns[i]);
	}
	free(found);
}

/* The costliest that is not named yet; UINT32_MAX: none. */
static uint32_t next_candidate(
	const struct imported_exchange_doubt *doubt, const uint32_t *named, size_t count)
{
	uint32_t best = UINT32_MAX;

	for (uint32_t i = 1; i < doubt->names.count; i++) {
		bool taken = false;

		for (size_t k = 0; k < count; k++)
			taken = taken || named[k] == i;
		if (!taken && (best == UINT32_MAX || doubt->times_ns[i] > doubt->times_ns[best]))
			best = i;
	}
	return best;
}

const char *imported_exchange_text(const struct imported_exchange_doubt *doubt, struct arena *arena)
{
	uint32_t named[NAMED_MOST], next;
	const char *list = "";
	size_t count = 0, ranks = doubt->world > (int32_t)doubt->workers ? (size_t)doubt->world : doubt->workers;

	if (doubt->has || ranks < 2)
		return NULL;
	while (count < NAMED_MOST && (next = next_candidate(doubt, named, count)) != UINT32_MAX) {
		list = arena_format(arena, "%s%s%.60s", list, count ? ", " : "", doubt->names.items[next]);
		named[count++] = next;
	}
	return arena_format(arena,
		"%zu ranks and no communication: no kernel is known as such, so its time counts as computing. %s%s "
		"(--comm-pattern REGEX names them)",
		ranks,
		count ? "By their names these may be communication: "
		      : "No kernel's name suggests any: it may not have been recorded",
		list);
}

void imported_exchange_free(struct imported_exchange_doubt *doubt)
{
	intern_free(&doubt->names);
	free(doubt->times_ns);
}
