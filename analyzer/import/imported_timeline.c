/*
 * Files of other profilers into one timeline: see imported_timeline.h. Files are parsed side by side; each
 * then waits for its turn to be added, so that the timeline does not hang on who was faster.
 */
#include "imported_timeline.h"
#include "base/limit.h"
#include "imported_exchange.h"
#include "imported_kind.h"
#include "imported_meet.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	struct timeline *timeline;
	const regex_t *communication;
	struct progress *progress;
	pthread_mutex_t lock;
	pthread_cond_t turn;
	size_t next;                 /* file whose turn it is */
	struct arrivals_rank *ranks; /* by process */
	size_t rank_count, rank_room;
	const char **notes;
	size_t note_count, note_room;
	struct imported_exchange_doubt doubt;
	const char *limit; /* the sentence of one that was met by a file's ranks, or NULL */
};

static void note(struct reader *reader, const char *text)
{
	*MEM_PUSH(reader->notes, reader->note_count, reader->note_room) = text;
}

static void note_file(struct reader *reader, const struct imported *imported)
{
	struct arena *arena = &reader->timeline->arena;

	reader->timeline->cut |= imported->cut;
	if (imported->trouble)
		note(reader, arena_text(arena, imported->trouble, strlen(imported->trouble)));
	if (imported->refused)
		note(reader,
			arena_format(arena,
				"%s: %" PRIu64 " events lack a time, a stream, their start or end and were "
				"skipped",
				imported->path, imported->refused));
	if (imported->untimed)
		note(reader, arena_format(arena,
				     "%s: %" PRIu64 " device events have no time (0): skipped, and their launches "
				     "count as lost",
				     imported->path, imported->untimed));
	if (imported->backward)
		note(reader, arena_format(arena,
				     "%s: %" PRIu64 " events end before they start: taken as zero duration",
				     imported->path, imported->backward));
}

/* Each rank of a file costs a walk over all of it. */
static bool look_at_time(struct reader *reader, uint32_t worker)
{
	const char *met = pm_limit_at(worker);

	if (met)
		reader->limit = arena_text(&reader->timeline->arena, met, strlen(met));
	return met != NULL;
}

static void imported_timeline_add(
	struct reader *reader, struct imported *imported, const struct imported_attribution *attribution)
{
	size_t first = reader->timeline->process_count;
	struct imported_join join;

	imported_join_begin(&join, imported, attribution);
	for (uint32_t i = 0; i < imported->worker_count && !look_at_time(reader, i); i++) {
		struct arrivals_rank *rank;

		imported_join_add(&join, i, reader->timeline);
		rank = MEM_PUSH(reader->ranks, reader->rank_count, reader->rank_room);
		arrivals_take(imported, i, rank);
	}
	imported_join_end(&join);
	if (imported->format == IMPORTED_CHROME)
		imported_steps_of_job(reader->timeline, first);
}

static void done(void *context, size_t index, struct imported *imported, int status)
{
	struct reader *reader = context;
	struct imported_attribution attribution = {0};
	bool met = false;

	if (status == 0)
		imported_exchange_apply(imported);
	if (status == 0 && reader->communication)
		imported_kind_apply(imported, reader->communication);
	pm_limit_begin(imported->path, 0, "rank");
	for (uint32_t i = 0; status == 0 && i < imported->worker_count && !met; i++) {
		imported_attribute(imported, i, &attribution);
		met = pm_limit_at(i) != NULL;
	}
	pthread_mutex_lock(&reader->lock);
	while (reader->next != index)
		pthread_cond_wait(&reader->turn, &reader->lock);
	note_file(reader, imported);
	if (status == 0 && imported->worker_count == 0)
		note(reader,
			arena_format(&reader->timeline->arena,
				"%s: no work of a device in it, and no labelled phases", imported->path));
	if (status == 0) {
		imported_exchange_note(&reader->doubt, imported);
		imported_timeline_add(reader, imported, &attribution);
	}
	pm_limit_end();
	reader->next++;
	progress_step(reader->progress);
	pthread_cond_broadcast(&reader->turn);
	pthread_mutex_unlock(&reader->lock);
	imported_attribution_free(&attribution);
}

static const char **keep_notes(struct reader *reader)
{
	const char **kept = arena_alloc(&reader->timeline->arena, reader->note_count + 1, sizeof(*kept));

	if (reader->note_count)
		memcpy(kept, reader->notes, reader->note_count * sizeof(*kept));
	free(reader->notes);
	return kept;
}

int imported_timeline_read(struct timeline *timeline, const char *const *paths, size_t path_count,
	const regex_t *communication, struct progress *progress, const char **error, const char ***warnings)
{
	struct reader reader = {.timeline = timeline, .communication = communication, .progress = progress};
	const char **files;
	size_t file_count;

	*error = NULL;
	*warnings = NULL;
	if (!imported_files(
		    &timeline->arena, (char **)(uintptr_t)paths, path_count, &files, &file_count, error))
		return -1;
	progress_expect(progress, file_count);
	pthread_mutex_init(&reader.lock, NULL);
	pthread_cond_init(&reader.turn, NULL);
	imported_read_all(files, file_count,
		IMPORTED_WANT_STEPS | IMPORTED_WANT_LABELS | IMPORTED_WANT_OPERATORS | IMPORTED_WANT_PYTHON |
			IMPORTED_WANT_MODULES | IMPORTED_WANT_CALLS,
		0, done, &reader);
	pthread_mutex_destroy(&reader.lock);
	pthread_cond_destroy(&reader.turn);
	if (reader.limit)
		*error = reader.limit;
	else if (timeline->process_count == 0)
		*error = reader.note_count ? reader.notes[0] : "no trace given";
	else if (!imported_meet(timeline, reader.ranks))
		note(&reader, "several files claim the same rank: ranks are numbered in file order");
	if (imported_exchange_text(&reader.doubt, &timeline->arena))
		note(&reader, imported_exchange_text(&reader.doubt, &timeline->arena));
	imported_exchange_free(&reader.doubt);
	for (size_t i = 0; i < reader.rank_count; i++)
		arrivals_rank_free(&reader.ranks[i]);
	free(reader.ranks);
	*warnings = keep_notes(&reader);
	return timeline->process_count && !reader.limit ? 0 : -1;
}
