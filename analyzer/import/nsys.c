/*
 * SQLite exports of Nsight Systems. Versions differ in tables and columns, and an export has only the tables
 * for which something was recorded: what is there is looked up, and what is missing is read as NULL.
 *
 * A GPU as one process uses it is a worker. Times of the file are ns since the recording began; where the
 * export says when that was they become ns since 1970, so that reports of several machines lie on one axis.
 */
#include "imported_keyword.h"
#include "nsys_open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	struct imported *imported;
	unsigned wanted;
	struct nsys_base base;
	bool failed; /* the file is none of ours, as its trouble says */
	sqlite3_stmt *find_string;
	struct known_string {
		int64_t id;
		uint32_t number;
	} * strings; /* of StringIds, those asked for so far */
	size_t string_count, string_room;
	struct lookup string_lookup;
	struct lookup workers;
};

/* The process and thread in a global identifier: 8 bits of machine, 8 of VM, 24 of process, 24 of thread. */
#define PROCESS_OF(global) ((global) >> 24 & 0xffffff)
#define THREAD_OF(global) ((global)&0xffffff)

static bool has_column(struct reader *reader, const char *table, const char *column)
{
	static const char query[] = "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2";
	sqlite3_stmt *statement;
	bool found = false;

	if (sqlite3_prepare_v2(reader->base.base, query, -1, &statement, NULL) != SQLITE_OK)
		return false;
	sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
	sqlite3_bind_text(statement, 2, column, -1, SQLITE_STATIC);
	found = sqlite3_step(statement) == SQLITE_ROW;
	sqlite3_finalize(statement);
	return found;
}

/* Adds the first of the columns (separated by '|') that the table has to a query; NULL if it has none of
 * them. */
static size_t add_column(
	struct reader *reader, const char *table, const char *names, char *query, size_t room)
{
	while (*names) {
		size_t length = strcspn(names, "|");
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)length, names);
		if (has_column(reader, table, name))
			return (size_t)snprintf(query, room, "\"%s\"", name);
		names += length + (names[length] == '|');
	}
	return (size_t)snprintf(query, room, "NULL");
}

/* A query of the columns of a table; NULL: there is no such table. */
static sqlite3_stmt *select_columns(
	struct reader *reader, const char *table, const char *const *columns, const char *condition)
{
	sqlite3_stmt *statement;
	char query[1024] = "SELECT ";
	size_t length = strlen(query);

	if (reader->failed || !nsys_has_table(&reader->base, reader->imported, table, &reader->failed) ||
		!has_column(reader, table, columns[0]))
		return NULL;
	for (size_t i = 0; columns[i]; i++) {
		if (i > 0)
			length += (size_t)snprintf(query + length, sizeof(query) - length, ", ");
		length += add_column(reader, table, columns[i], query + length, sizeof(query) - length);
	}
	snprintf(query + length, sizeof(query) - length, " FROM \"%s\"%s", table, condition);
	if (sqlite3_prepare_v2(reader->base.base, query, -1, &statement, NULL) != SQLITE_OK)
		return NULL;
	return statement;
}

static bool next_row(struct reader *reader, sqlite3_stmt *statement)
{
	return !reader->failed && nsys_next(&reader->base, reader->imported, statement);
}

static uint32_t column_text(struct reader *reader, sqlite3_stmt *statement, int column)
{
	const unsigned char *text = sqlite3_column_text(statement, column);

	return text ? intern_text(&reader->imported->strings, (const char *)text, strlen((const char *)text))
		    : 0;
}

/* The string with an id of StringIds, or with the text itself, as some columns have it. */
static uint32_t string_of(struct reader *reader, sqlite3_stmt *statement, int column)
{
	int64_t id = sqlite3_column_int64(statement, column);
	uint64_t hash = mem_hash(0, (uint64_t)id);
	uint32_t number = 0, i;

	if (sqlite3_column_type(statement, column) == SQLITE_TEXT)
		return column_text(reader, statement, column);
	if (sqlite3_column_type(statement, column) == SQLITE_NULL || !reader->find_string)
		return 0;
	for (size_t at = 0; (i = lookup_next(&reader->string_lookup, hash, &at)) != LOOKUP_NONE;)
		if (reader->strings[i].id == id)
			return reader->strings[i].number;
	sqlite3_reset(reader->find_string);
	sqlite3_bind_int64(reader->find_string, 1, id);
	if (sqlite3_step(reader->find_string) == SQLITE_ROW)
		number = column_text(reader, reader->find_string, 0);
	lookup_add(&reader->string_lookup, hash, (uint32_t)reader->string_count);
	*MEM_PUSH(reader->strings, reader->string_count, reader->string_room) =
		(struct known_string){id, number};
	return number;
}

static uint32_t worker_of(struct reader *reader, int64_t process, int32_t device)
{
	struct imported *imported = reader->imported;
	uint64_t hash = mem_hash(mem_hash(MEM_HASH_START, (uint64_t)process), (uint32_t)device);
	uint32_t i;

	for (size_t at = 0; (i = lookup_next(&reader->workers, hash, &at)) != LOOKUP_NONE;)
		if (imported->workers[i].process == process && imported->workers[i].device == device)
			return i;
	lookup_add(&reader->workers, hash, (uint32_t)imported->worker_count);
	*MEM_PUSH(imported->workers, imported->worker_count, imported->worker_room) =
		(struct imported_worker){.rank = -1, .process = process, .device = device};
	return (uint32_t)imported->worker_count - 1;
}

/* Calls of all processes share a column: the number of the process keeps their correlations apart. */
static uint64_t correlation_of(int64_t process, int64_t correlation)
{
	return correlation > 0 ? (uint64_t)process << 40 ^ (uint64_t)correlation : 0;
}

static void name_copy(struct reader *reader, uint32_t event, int64_t kind)
{
	static const char *const names[] = {"Memcpy", "Memcpy HtoD", "Memcpy DtoH", "Memcpy HtoA",
		"Memcpy AtoH", "Memcpy AtoA", "Memcpy AtoD", "Memcpy DtoA", "Memcpy DtoD", "Memcpy HtoH",
		"Memcpy PtoP"};
	const char *name =
		kind >= 0 && kind < (int64_t)(sizeof(names) / sizeof(*names)) ? names[kind] : names[0];

	reader->imported->events.name[event] = intern_text(&reader->imported->strings, name, strlen(name));
}

/* Kernels, copies or fills, whose columns are alike but for what names them. */
static void read_events(
	struct reader *reader, const char *table, const char *naming, enum imported_activity activity)
{
	struct imported *imported = reader->imported;
	const char *const columns[] = {
		"start", "end", "deviceId", "streamId", "correlationId", "globalPid", naming, NULL};
	sqlite3_stmt *rows = select_columns(reader, table, columns, "");

	while (rows && next_row(reader, rows)) {
		int64_t process = PROCESS_OF(sqlite3_column_int64(rows, 5));
		int32_t device = sqlite3_column_int(rows, 2);
		uint32_t event = imported_add_event(imported);
		int64_t *end_ns = &imported->events.end_ns[event];

		imported->events.begin_ns[event] = sqlite3_column_int64(rows, 0);
		*end_ns = sqlite3_column_int64(rows, 1);
		if (*end_ns < imported->events.begin_ns[event]) {
			imported->backward++;
			*end_ns = imported->events.begin_ns[event];
		}
		imported->events.queue[event] = imported_find_queue(
			imported, worker_of(reader, process, device), device, sqlite3_column_int64(rows, 3));
		imported->events.correlation[event] = correlation_of(process, sqlite3_column_int64(rows, 4));
		imported->events.activity[event] = (uint8_t)activity;
		if (activity == IMPORTED_KERNEL)
			imported->events.name[event] = string_of(reader, rows, 6);
		else if (activity == IMPORTED_COPY)
			name_copy(reader, event, sqlite3_column_int64(rows, 6));
		else
			imported->events.name[event] = intern_text(&imported->strings, "Memset", 6);
	}
	sqlite3_finalize(rows);
}

/* Graphs that were recorded as wholes. */
static void read_graphs(struct reader *reader)
{
	static const char name[] = "CUDA graph";
	struct imported *imported = reader->imported;
	size_t first = imported->events.count;

	read_events(reader, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "", IMPORTED_KERNEL);
	for (size_t i = first; i < imported->events.count; i++)
		imported->events.name[i] = intern_text(&imported->strings, name, strlen(name));
}

static void read_calls(struct reader *reader, const char *table)
{
	static const char *const columns[] = {"start", "end", "globalTid", "correlationId", "nameId", NULL};
	struct imported *imported = reader->imported;
	sqlite3_stmt *rows = select_columns(reader, table, columns, "");

	while (rows && next_row(reader, rows)) {
		int64_t global = sqlite3_column_int64(rows, 2);
		uint32_t call = imported_add_call(imported);

		imported->calls.begin_ns[call] = sqlite3_column_int64(rows, 0);
		imported->calls.end_ns[call] = sqlite3_column_int64(rows, 1);
		imported->calls.name[call] = string_of(reader, rows, 4);
		imported->calls.thread[call] =
			imported_find_thread(imported, PROCESS_OF(global), THREAD_OF(global));
		imported->calls.correlation[call] =
			correlation_of(PROCESS_OF(global), sqlite3_column_int64(rows, 3));
	}
	sqlite3_finalize(rows);
}

/* NVTX ranges: nested ones and others. */
static void read_ranges(struct reader *reader)
{
	static const char *const columns[] = {"start", "end", "globalTid", "text", "textId", NULL};
	struct imported *imported = reader->imported;
	sqlite3_stmt *rows = select_columns(reader, "NVTX_EVENTS", columns,
		" WHERE \"end\" IS NOT NULL AND eventType IN (59, 60, 70, 71)");

	while (rows && next_row(reader, rows)) {
		int64_t global = sqlite3_column_int64(rows, 2);
		uint32_t span, name = column_text(reader, rows, 3);

		if (!name)
			name = string_of(reader, rows, 4);
		span = imported_add_span(imported);
		imported->spans.begin_ns[span] = sqlite3_column_int64(rows, 0);
		imported->spans.end_ns[span] = sqlite3_column_int64(rows, 1);
		imported->spans.name[span] = name;
		imported->spans.thread[span] =
			imported_find_thread(imported, PROCESS_OF(global), THREAD_OF(global));
		imported->spans.kind[span] = IMPORTED_ANNOTATION;
		imported_keyword_range(imported, span);
	}
	sqlite3_finalize(rows);
}

static int compare_workers(const void *a, const void *b)
{
	const struct imported_worker *one = a, *other = b;

	if (one->device != other->device)
		return one->device < other->device ? -1 : 1;
	return one->process < other->process ? -1 : one->process > other->process;
}

/* Workers in order of device, so that their ranks do not hang on which kernel ran first. One that is alone on
 * its device has no others beside it. */
static void order_workers(struct imported *imported)
{
	size_t count = imported->worker_count;
	struct imported_worker *sorted = mem_alloc(count, sizeof(*sorted));

	if (count) {
		memcpy(sorted, imported->workers, count * sizeof(*sorted));
		qsort(sorted, count, sizeof(*sorted), compare_workers);
	}
	for (size_t i = 0; i < imported->queue_count; i++) {
		const struct imported_worker *found = bsearch(&imported->workers[imported->queues[i].worker],
			sorted, count, sizeof(*sorted), compare_workers);

		imported->queues[i].worker = (uint32_t)(found - sorted);
	}
	for (size_t i = 0; i < count; i++) {
		bool alone = (i == 0 || sorted[i - 1].device != sorted[i].device) &&
			     (i + 1 == count || sorted[i + 1].device != sorted[i].device);

		sorted[i].label = alone ? arena_format(&imported->strings.arena, "GPU %d", sorted[i].device)
					: arena_format(&imported->strings.arena, "GPU %d of process %lld",
						  sorted[i].device, (long long)sorted[i].process);
	}
	free(imported->workers);
	imported->workers = sorted;
	imported->worker_room = count;
}

static void read_start(struct reader *reader)
{
	static const char *const columns[] = {"utcEpochNs", NULL};
	sqlite3_stmt *rows = select_columns(reader, "TARGET_INFO_SESSION_START_TIME", columns, "");

	if (rows && next_row(reader, rows))
		reader->imported->base_ns = sqlite3_column_int64(rows, 0);
	sqlite3_finalize(rows);
}

static void read_devices(struct reader *reader)
{
	static const char *const columns[] = {"id", "name", "computeMajor|ccMajor", "computeMinor|ccMinor",
		"smCount|numMultiprocessors", "totalMemory|globalMemory", NULL};
	sqlite3_stmt *rows = select_columns(reader, "TARGET_INFO_GPU", columns, "");
	struct imported *imported = reader->imported;

	while (rows && next_row(reader, rows)) {
		const char *name = (const char *)sqlite3_column_text(rows, 1);
		struct imported_device device = {.device = sqlite3_column_int(rows, 0),
			.capability_major = sqlite3_column_int(rows, 2),
			.capability_minor = sqlite3_column_int(rows, 3),
			.multiprocessors = sqlite3_column_int64(rows, 4),
			.memory_bytes = sqlite3_column_int64(rows, 5)};

		if (name)
			device.name = arena_text(&imported->strings.arena, name, strlen(name));
		*MEM_PUSH(imported->devices, imported->device_count, imported->device_room) = device;
	}
	sqlite3_finalize(rows);
}

static void read_tables(struct reader *reader)
{
	read_events(reader, "CUPTI_ACTIVITY_KIND_KERNEL", "demangledName|shortName|mangledName|name",
		IMPORTED_KERNEL);
	read_events(reader, "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "demangledName|shortName|name",
		IMPORTED_KERNEL);
	read_events(reader, "CUPTI_ACTIVITY_KIND_MEMCPY", "copyKind", IMPORTED_COPY);
	read_events(reader, "CUPTI_ACTIVITY_KIND_MEMSET", "", IMPORTED_SET);
	read_graphs(reader);
	read_calls(reader, "CUPTI_ACTIVITY_KIND_RUNTIME");
	read_calls(reader, "CUPTI_ACTIVITY_KIND_DRIVER");
	if (reader->wanted & (IMPORTED_WANT_LABELS | IMPORTED_WANT_OPERATORS))
		read_ranges(reader);
	read_start(reader);
	read_devices(reader);
	order_workers(reader->imported);
	imported_add_base(reader->imported);
}

/* Finds texts by their numbers, where the export has them apart. */
static void find_strings(struct reader *reader)
{
	if (nsys_has_table(&reader->base, reader->imported, "StringIds", &reader->failed) &&
		sqlite3_prepare_v2(reader->base.base, "SELECT value FROM StringIds WHERE id = ?1", -1,
			&reader->find_string, NULL) != SQLITE_OK)
		reader->find_string = NULL;
}

int imported_read_nsys(struct imported *imported, unsigned wanted)
{
	struct reader reader = {.imported = imported, .wanted = wanted};
	int status = nsys_open(&reader.base, imported);

	imported->format = IMPORTED_NSYS;
	if (status == 0) {
		find_strings(&reader);
		read_tables(&reader);
		if (reader.base.limit)
			status = imported_trouble(imported, "%s", reader.base.limit);
		else if (reader.failed)
			status = -1;
		else if (imported->events.count == 0 && !imported->trouble)
			status = imported_trouble(imported,
				"%s: no table of kernels, copies or fills with rows: expected an export of "
				"Nsight Systems (nsys export --type sqlite) of a program that used a GPU",
				imported->path);
		sqlite3_finalize(reader.find_string);
	}
	nsys_close(&reader.base);
	lookup_free(&reader.string_lookup);
	free(reader.strings);
	lookup_free(&reader.workers);
	return status;
}
