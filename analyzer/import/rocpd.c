/*
 * rocpd: the SQLite database that AMD's rocprofv3 writes (schema 3). Each process's tables have a suffix of
 * its own; kernels, copies and host regions name texts, agents and threads by number. What a region started
 * has its stack number.
 *
 * A GPU as one process uses it is a worker. Views of the file are not used: they would compute (nsys_open.h).
 */
#include "importer.h"
#include "nsys_open.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUFFIX_BYTES 80
#define QUERY_BYTES 2048

struct rocpd {
	struct imported *imported;
	struct nsys_base base;
	char suffix[SUFFIX_BYTES]; /* of the tables that are read now */
};

bool rocpd_sniff(const struct importer_head *head)
{
	return head->length > 16 && memcmp(head->bytes, "SQLite format 3", 16) == 0 &&
	       importer_has(head, "rocpd_kernel_dispatch");
}

/* A query in which each $ stands for the suffix; NULL: the file has no such tables. */
static sqlite3_stmt *ask(struct rocpd *rocpd, const char *text)
{
	char query[QUERY_BYTES];
	sqlite3_stmt *statement;
	size_t used = 0;

	for (; *text && used + SUFFIX_BYTES < sizeof(query); text++)
		if (*text == '$')
			used += (size_t)snprintf(query + used, sizeof(query) - used, "%s", rocpd->suffix);
		else
			query[used++] = *text;
	query[used] = 0;
	return sqlite3_prepare_v2(rocpd->base.base, query, -1, &statement, NULL) == SQLITE_OK ? statement
											      : NULL;
}

static uint32_t text_at(struct rocpd *rocpd, sqlite3_stmt *row, int column)
{
	const char *text = (const char *)sqlite3_column_text(row, column);

	return text ? intern_text(&rocpd->imported->strings, text, strlen(text)) : 0;
}

static uint32_t worker_of(struct rocpd *rocpd, int64_t process, int32_t device, uint32_t label)
{
	struct imported *imported = rocpd->imported;

	for (uint32_t i = 0; i < imported->worker_count; i++)
		if (imported->workers[i].process == process && imported->workers[i].device == device)
			return i;
	*MEM_PUSH(imported->workers, imported->worker_count, imported->worker_room) =
		(struct imported_worker){.rank = -1,
			.process = process,
			.device = device,
			.label = label ? imported->strings.items[label] : NULL};
	return (uint32_t)imported->worker_count - 1;
}

/* Copies by the names that CUPTI's have, which everything else knows. */
static uint32_t copy_name(struct imported *imported, uint32_t name)
{
	static const struct {
		const char *part, *name;
	} known[] = {{"HOST_TO_DEVICE", "Memcpy HtoD"}, {"DEVICE_TO_HOST", "Memcpy DtoH"},
		{"DEVICE_TO_DEVICE", "Memcpy DtoD"}, {"HOST_TO_HOST", "Memcpy HtoH"}};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcasestr(imported->strings.items[name], known[i].part))
			return intern_text(&imported->strings, known[i].name, strlen(known[i].name));
	return name;
}

/* begin, end, name, process, device, stream, stack, agent's name */
static void read_events(struct rocpd *rocpd, const char *query, enum imported_activity activity)
{
	struct imported *imported = rocpd->imported;
	sqlite3_stmt *row = ask(rocpd, query);

	while (row && nsys_next(&rocpd->base, imported, row)) {
		int64_t begin_ns = sqlite3_column_int64(row, 0), end_ns = sqlite3_column_int64(row, 1);
		int32_t device = sqlite3_column_int(row, 4);
		uint32_t event, worker;

		if (begin_ns <= 0 || end_ns < begin_ns) {
			imported->refused++;
			continue;
		}
		worker = worker_of(rocpd, sqlite3_column_int64(row, 3), device, text_at(rocpd, row, 7));
		event = imported_add_event(imported);
		imported->events.begin_ns[event] = begin_ns;
		imported->events.end_ns[event] = end_ns;
		imported->events.name[event] = text_at(rocpd, row, 2);
		imported->events.queue[event] =
			imported_find_queue(imported, worker, device, sqlite3_column_int64(row, 5));
		imported->events.correlation[event] = (uint64_t)sqlite3_column_int64(row, 6);
		imported->events.activity[event] = (uint8_t)activity;
		if (activity == IMPORTED_COPY)
			imported->events.name[event] = copy_name(imported, imported->events.name[event]);
	}
	sqlite3_finalize(row);
}

/* Calls of HIP and ranges of roctx; what HIP calls of HSA in turn says nothing more. */
static void read_regions(struct rocpd *rocpd)
{
	struct imported *imported = rocpd->imported;
	sqlite3_stmt *row = ask(rocpd,
		"SELECT r.start, r.end, s.string, p.pid, t.tid, e.stack_id, c.string FROM \"rocpd_region$\" r "
		"JOIN \"rocpd_string$\" s ON s.id = r.name_id JOIN \"rocpd_info_process$\" p ON p.id = r.pid "
		"JOIN \"rocpd_info_thread$\" t ON t.id = r.tid LEFT JOIN \"rocpd_event$\" e ON e.id = r.event_id "
		"LEFT JOIN \"rocpd_string$\" c ON c.id = e.category_id");

	while (row && nsys_next(&rocpd->base, imported, row)) {
		int64_t begin_ns = sqlite3_column_int64(row, 0), end_ns = sqlite3_column_int64(row, 1);
		const char *category = (const char *)sqlite3_column_text(row, 6);
		uint32_t thread = imported_find_thread(
			imported, sqlite3_column_int64(row, 3), sqlite3_column_int64(row, 4));
		uint32_t name = text_at(rocpd, row, 2);

		if (category && strncmp(category, "HIP", 3) == 0) {
			uint32_t call = imported_add_call(imported);

			imported->calls.begin_ns[call] = begin_ns;
			imported->calls.end_ns[call] = end_ns;
			imported->calls.name[call] = name;
			imported->calls.thread[call] = thread;
			imported->calls.correlation[call] = (uint64_t)sqlite3_column_int64(row, 5);
		} else if (category && strncmp(category, "MARKER", 6) == 0) {
			uint32_t span = imported_add_span(imported);

			imported->spans.begin_ns[span] = begin_ns;
			imported->spans.end_ns[span] = end_ns;
			imported->spans.name[span] = name;
			imported->spans.thread[span] = thread;
			imported->spans.kind[span] = IMPORTED_ANNOTATION;
		}
	}
	sqlite3_finalize(row);
}

static void read_tables(struct rocpd *rocpd)
{
	read_events(rocpd,
		"SELECT k.start, k.end, coalesce(s.display_name, s.kernel_name), p.pid, a.absolute_index, k.stream_id, "
		"e.stack_id, a.name FROM \"rocpd_kernel_dispatch$\" k "
		"JOIN \"rocpd_info_kernel_symbol$\" s ON s.id = k.kernel_id "
		"JOIN \"rocpd_info_process$\" p ON p.id = k.pid JOIN \"rocpd_info_agent$\" a ON a.id = k.agent_id "
		"LEFT JOIN \"rocpd_event$\" e ON e.id = k.event_id",
		IMPORTED_KERNEL);
	/* A copy is of the GPU at one of its ends. */
	read_events(rocpd,
		"SELECT m.start, m.end, s.string, p.pid, coalesce(d.absolute_index, o.absolute_index), "
		"coalesce(m.stream_id, 0), e.stack_id, coalesce(d.name, o.name) FROM \"rocpd_memory_copy$\" m "
		"JOIN \"rocpd_string$\" s ON s.id = m.name_id JOIN \"rocpd_info_process$\" p ON p.id = m.pid "
		"LEFT JOIN \"rocpd_info_agent$\" d ON d.id = m.dst_agent_id AND d.type = 'GPU' "
		"LEFT JOIN \"rocpd_info_agent$\" o ON o.id = m.src_agent_id AND o.type = 'GPU' "
		"LEFT JOIN \"rocpd_event$\" e ON e.id = m.event_id WHERE d.id IS NOT NULL OR o.id IS NOT NULL",
		IMPORTED_COPY);
	read_regions(rocpd);
}

/* Letters, digits and underscores alone, as they come into a query. */
static bool take_suffix(struct rocpd *rocpd, const char *suffix)
{
	size_t length = strlen(suffix);

	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)suffix[i]) && suffix[i] != '_')
			return false;
	if (length >= sizeof(rocpd->suffix))
		return false;
	memcpy(rocpd->suffix, suffix, length + 1);
	return true;
}

int rocpd_read(struct imported *imported, unsigned wanted)
{
	static const char table[] = "rocpd_kernel_dispatch";
	struct rocpd rocpd = {.imported = imported};
	int status = nsys_open(&rocpd.base, imported);
	sqlite3_stmt *row = NULL;

	(void)wanted; /* there are no operators */
	imported->format = IMPORTED_ROCPROF;
	if (status == 0 &&
		sqlite3_prepare_v2(rocpd.base.base,
			"SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name LIKE "
			"'rocpd_kernel_dispatch%' ORDER BY name",
			-1, &row, NULL) == SQLITE_OK)
		while (nsys_next(&rocpd.base, imported, row)) {
			const char *name = (const char *)sqlite3_column_text(row, 0);

			if (name && strncmp(name, table, strlen(table)) == 0 &&
				take_suffix(&rocpd, name + strlen(table)))
				read_tables(&rocpd);
		}
	sqlite3_finalize(row);
	if (status == 0 && rocpd.base.limit)
		status = imported_trouble(imported, "%s", rocpd.base.limit);
	else if (status == 0 && imported->events.count == 0 && !imported->trouble)
		status = imported_trouble(imported,
			"%s: no kernel or copy in the database: expected what rocprofv3 --kernel-trace --hip-trace writes",
			imported->path);
	nsys_close(&rocpd.base);
	return status;
}
