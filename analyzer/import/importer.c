/* The formats of other profilers: see importer.h. */
#include "importer.h"
#include "base/json.h"
#include "flight_recorder.h"
#include "inspector_log.h"
#include "memory_snapshot.h"
#include "pipeline_log.h"

#include <string.h>

static bool starts(const struct importer_head *head, const char *bytes, size_t length)
{
	return head->length >= length && memcmp(head->bytes, bytes, length) == 0;
}

const char *importer_text(const struct importer_head *head)
{
	return json_blank(head->bytes + (starts(head, "\xef\xbb\xbf", 3) ? 3 : 0));
}

bool importer_has(const struct importer_head *head, const char *word)
{
	return memmem(head->bytes, head->length, word, strlen(word)) != NULL;
}

static bool is_database(const struct importer_head *head)
{
	return starts(head, "SQLite format 3", 16);
}

static bool is_primus(const struct importer_head *head)
{
	return pipeline_log_is(head->path);
}

static bool is_primus_part(const struct importer_head *head)
{
	return pipeline_log_is_part(head->path);
}

/* An object or an array of objects: of its contents the reader says what they are. */
static bool is_chrome(const struct importer_head *head)
{
	const char *text = importer_text(head);

	return *text == '{' || *text == '[';
}

static const char *const database_names[] = {".sqlite.gz", ".sqlite3", ".sqlite", ".db", NULL};
static const char *const json_names[] = {
	".pt.trace.json.gz", ".pt.trace.json", ".trace.json.gz", ".json.gz", ".json", NULL};
static const char *const xplane_names[] = {".xplane.pb", NULL};
static const char *const no_names[] = {NULL};

static const struct importer importers[] = {
	{"rocprofv3's database (rocpd)", database_names, rocpd_sniff, rocpd_read, NULL},
	{"Nsight Systems' SQLite export", database_names, is_database, imported_read_nsys, NULL},
	{"AMD Primus' pipeline data (config.json)", no_names, is_primus, imported_read_pipeline, NULL},
	{"one stage of Primus' pipeline data", no_names, is_primus_part, NULL,
		"name its folder, or the config.json beside it"},
	{"a dump of PyTorch's Flight Recorder", no_names, flight_sniff, NULL, "pmanalyze hang reads it"},
	{"a memory snapshot of PyTorch", no_names, memory_snapshot_sniff, NULL, "pmanalyze memory reads it"},
	{"a log of NCCL Inspector", no_names, inspector_sniff, NULL, "pmanalyze comm reads it"},
	{"XPlane of JAX and TensorFlow (*.xplane.pb)", xplane_names, xplane_sniff, xplane_read, NULL},
	{"rocprofv3's JSON", json_names, rocprof_json_sniff, rocprof_json_read, NULL},
	{"Chrome-trace JSON of PyTorch's profiler, JAX, Ascend or labelled phases", json_names, is_chrome,
		imported_read_json, NULL},
};
#define IMPORTERS (sizeof(importers) / sizeof(*importers))

const struct importer *importer_find(const struct importer_head *head)
{
	for (size_t i = 0; i < IMPORTERS; i++)
		if (importers[i].sniff(head))
			return &importers[i];
	return NULL;
}

const struct importer *importer_of_file(const char *path)
{
	const struct importer *found = NULL;
	struct json json;

	if (json_open(&json, path) < 0)
		return NULL;
	found = importer_find(&(struct importer_head){path, json.next, (size_t)(json.end - json.next)});
	json_close(&json);
	return found;
}

const char *importer_suffix(const char *name)
{
	size_t length = strlen(name);
	const char *best = NULL;

	for (size_t i = 0; i < IMPORTERS; i++)
		for (const char *const *suffix = importers[i].suffix; *suffix; suffix++) {
			size_t bytes = strlen(*suffix);

			if (length >= bytes && strcmp(name + length - bytes, *suffix) == 0 &&
				(!best || bytes > strlen(best)))
				best = *suffix;
		}
	return best;
}

/* The suffix that comes n-th, those of all rows one after the other; NULL: there are not so many. */
static const char *suffix_at(size_t n)
{
	for (size_t i = 0; i < IMPORTERS; i++)
		for (const char *const *suffix = importers[i].suffix; *suffix; suffix++)
			if (n-- == 0)
				return *suffix;
	return NULL;
}

/* Is it there before, or does it end in another, which says as much? */
static bool is_said(size_t n)
{
	const char *suffix = suffix_at(n), *other;

	for (size_t i = 0; (other = suffix_at(i)); i++) {
		const size_t length = strlen(suffix), bytes = strlen(other);

		if (i != n && bytes <= length && strcmp(suffix + length - bytes, other) == 0 &&
			(bytes < length || i < n))
			return true;
	}
	return false;
}

const char *importer_suffixes(struct arena *arena)
{
	const char *text = "", *suffix;

	for (size_t i = 0; (suffix = suffix_at(i)); i++)
		if (!is_said(i))
			text = arena_format(arena, "%s%s%s", text, *text ? ", " : "", suffix);
	return text;
}

const char *importer_list(struct arena *arena)
{
	const char *text = "";

	for (size_t i = 0; i < IMPORTERS; i++)
		if (importers[i].read)
			text = arena_format(arena, "%s%s%s", text, *text ? "; " : "", importers[i].name);
	return text;
}

int importer_refuse(struct imported *imported, const struct importer_head *head)
{
	const char *like = importer_looks_like(head);

	if (head->length == 0)
		return imported_trouble(imported, "%s: byte 0: not a trace: %s", imported->path, like);
	return imported_trouble(imported,
		"%s: byte 0: not a trace: %s. Traces that are read: pmhook's own (*.pmtrace); %s",
		imported->path, like ? like : "of no format that is known",
		importer_list(&imported->strings.arena));
}
