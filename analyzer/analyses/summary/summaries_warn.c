/* What is not as it should be in a job's summaries: see summaries.h. Of thousands of ranks, those with the
 * same share one. */
#include "summaries.h"

#include <stdlib.h>
#include <string.h>

#define MOST_NAMED 8 /* ranks in a sentence */

struct texts {
	const char **items;
	size_t count, room;
};

/* Ranks that have the same to be said of them. */
struct same {
	const char *text;
	bool counted; /* the text goes after the sum */
	const char *ranks;
	size_t count;
	uint64_t sum;
};

static void note(struct summaries *job, struct same *same, const struct summary *summary, uint64_t number)
{
	if (same->count++ < MOST_NAMED)
		same->ranks = arena_format(&job->names.arena, "%s%s%d", same->ranks ? same->ranks : "",
			same->ranks ? ", " : "", summary->rank);
	same->sum += number;
}

static void warn_of(struct summaries *job, struct texts *texts, const struct same *same)
{
	struct arena *arena = &job->names.arena;
	const char *what;

	if (same->count == 0)
		return;
	what = same->counted ? arena_format(arena, "%llu %s", (unsigned long long)same->sum, same->text)
			     : same->text;
	*MEM_PUSH(texts->items, texts->count, texts->room) = arena_format(arena, "%s (%s %s%s)", what,
		same->count == 1 ? "rank" : "ranks", same->ranks,
		same->count > MOST_NAMED ? arena_format(arena, " and %zu more", same->count - MOST_NAMED)
					 : "");
}

static void warn_of_processes(struct summaries *job, struct texts *texts)
{
	enum {
		ENDED,
		RECORDS,
		TIMES,
		OPERATIONS,
		REFUSED,
		UNJOINED,
		UNSEEN,
		GRAPHS,
		NO_DEVICE,
		NO_ITERATION,
		UNSURE,
		KINDS
	};
	struct same same[KINDS] = {
		[ENDED] =
			{.text = "the end is missing: the process was killed, ended by _exit or exec, or still running"},
		[RECORDS] = {.text = "records were lost: times below may be too short", .counted = true},
		[TIMES] = {.text = "device times were lost: host times are used instead", .counted = true},
		[OPERATIONS] = {.text = "calls were recorded without their details: layers may be wrong",
			.counted = true},
		[REFUSED] = {.text = "records have no description and were skipped", .counted = true},
		[UNJOINED] = {.text = "device intervals belong to no call and were skipped", .counted = true},
		[UNSEEN] = {.text = "functions could not be intercepted: their calls are missing",
			.counted = true},
		[GRAPHS] = {.text = "the captured graphs have too many operations to resolve their launches"},
		[NO_DEVICE] = {.text = "no device times: the host time of each call is used instead"},
		[NO_ITERATION] = {.text = "no iterations found: the call sequence does not repeat"},
		[UNSURE] = {.text = "less than 90% of the computations are in iterations of the usual "
				    "kind: the figures may not be representative"},
	};

	for (size_t i = 0; i < job->list.count; i++) {
		const struct summary *item = &job->list.items[i];
		const uint64_t losses[] = {[RECORDS] = item->lost_records,
			[TIMES] = item->lost_device_times,
			[OPERATIONS] = item->lost_operations,
			[REFUSED] = item->refused_records,
			[UNJOINED] = item->unjoined_intervals,
			[UNSEEN] = item->unseen_calls};
		bool used = false, unsure = false;

		for (size_t w = 0; w < item->worker_count; w++) {
			used |= item->workers[w].used > 0;
			unsure |= item->workers[w].used > 0 && item->workers[w].confidence < 0.9;
		}
		if (!item->ended)
			note(job, &same[ENDED], item, 0);
		for (int l = RECORDS; l <= UNSEEN; l++)
			if (losses[l])
				note(job, &same[l], item, losses[l]);
		if (item->graphs_left)
			note(job, &same[GRAPHS], item, 0);
		if (item->device_source == PM_DEVICE_NONE)
			note(job, &same[NO_DEVICE], item, 0);
		if (!used)
			note(job, &same[NO_ITERATION], item, 0);
		if (unsure)
			note(job, &same[UNSURE], item, 0);
	}
	for (int k = 0; k < KINDS; k++)
		warn_of(job, texts, &same[k]);
}

static void warn_of_missing(struct summaries *job, struct texts *texts)
{
	struct arena *arena = &job->names.arena;
	const char *ranks = "";
	size_t named = 0, missing;
	int32_t next = 0;

	/* A rank may be a process or a GPU of one. */
	if (job->world <= 0 || job->rank_count >= (size_t)job->world ||
		job->worker_count >= (size_t)job->world)
		return;
	missing = (size_t)job->world - job->rank_count;
	for (size_t i = 0; i <= job->list.count && named < MOST_NAMED; i++) {
		int32_t rank = i < job->list.count ? job->list.items[i].rank : job->world;

		for (; next < rank && named < MOST_NAMED; next++, named++)
			ranks = arena_format(arena, "%s%s%d", ranks, named ? ", " : "", next);
		if (rank >= next)
			next = rank + 1;
	}
	*MEM_PUSH(texts->items, texts->count, texts->room) = arena_format(arena,
		"summaries of %zu of %d ranks: %s%s missing", job->rank_count, job->world, ranks,
		missing > named ? arena_format(arena, " and %zu more are", missing - named)
		: missing == 1  ? " is"
				: " are");
}

const char **summaries_warnings(struct summaries *job)
{
	struct texts texts = {0};
	const char **kept;

	for (size_t i = 0; i < job->trouble_count; i++)
		*MEM_PUSH(texts.items, texts.count, texts.room) = job->troubles[i];
	for (size_t i = 0, reported = 0; i < job->list.count && reported < MOST_NAMED; i++)
		if (job->list.items[i].trouble[0]) {
			*MEM_PUSH(texts.items, texts.count, texts.room) = job->list.items[i].trouble;
			reported++;
		}
	warn_of_missing(job, &texts);
	warn_of_processes(job, &texts);
	kept = arena_alloc(&job->names.arena, texts.count + 1, sizeof(*kept));
	if (texts.count)
		memcpy(kept, texts.items, texts.count * sizeof(*kept));
	free(texts.items);
	return kept;
}
