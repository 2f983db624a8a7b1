/* Opening a database that may be anybody's: see nsys_open.h. */
#include "nsys_open.h"
#include "base/json.h"
#include "base/limit.h"
#include "base/regular_file.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

#define HEAP_BYTES ((sqlite3_int64)96 << 20) /* of SQLite for all files that are open */
#define VALUE_BYTES (16 << 20)               /* a text or blob */
#define STEPS_APART 10000                    /* of SQLite's machine, between looks at the time */
#define ROWS_APART 1024

/* Unpacks a packed file into memory, where SQLite can read it too. */
static int open_packed(struct nsys_base *base, struct imported *imported)
{
	struct json file;
	size_t bytes;
	unsigned char *image;

	if (json_open(&file, imported->path) < 0)
		return imported_trouble(imported, "%s: cannot open", imported->path);
	image = json_all(&file, &bytes);
	base->limit = file.limit;
	if (file.break_off && !file.limit)
		imported_trouble(imported, "%s: %s", imported->path, file.break_off);
	json_close(&file);
	base->image = image;
	if (base->limit)
		return imported_trouble(imported, "%s", base->limit);
	if (sqlite3_open(":memory:", &base->base) != SQLITE_OK ||
		sqlite3_deserialize(base->base, "main", image, (sqlite3_int64)bytes, (sqlite3_int64)bytes,
			SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
		return imported_trouble(imported, "%s: %s", imported->path, sqlite3_errmsg(base->base));
	return 0;
}

static bool ends_in_gz(const char *path)
{
	size_t length = strlen(path);

	return length > 3 && strcmp(path + length - 3, ".gz") == 0;
}

/* Between steps of SQLite's machine: anything but 0 ends the query. */
static int look_at_time(void *context)
{
	struct nsys_base *base = context;

	if (!base->limit)
		base->limit = pm_limit_at(base->rows);
	return base->limit != NULL;
}

/* No more than plain tables need: nothing of the schema is run, and no value or query is large. */
static void harden(struct nsys_base *base)
{
	static const struct {
		int what, most;
	} limits[] = {{SQLITE_LIMIT_LENGTH, VALUE_BYTES}, {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
		{SQLITE_LIMIT_COLUMN, 256}, {SQLITE_LIMIT_EXPR_DEPTH, 32}, {SQLITE_LIMIT_COMPOUND_SELECT, 4},
		{SQLITE_LIMIT_VDBE_OP, 25000}, {SQLITE_LIMIT_FUNCTION_ARG, 8}, {SQLITE_LIMIT_ATTACHED, 0},
		{SQLITE_LIMIT_TRIGGER_DEPTH, 1}, {SQLITE_LIMIT_WORKER_THREADS, 0}};
	static const struct {
		int what, on;
	} settings[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1}, {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
		{SQLITE_DBCONFIG_ENABLE_VIEW, 0}, {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
		{SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}};

	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		sqlite3_limit(base->base, limits[i].what, limits[i].most);
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++)
		sqlite3_db_config(base->base, settings[i].what, settings[i].on, (int *)NULL);
	sqlite3_exec(base->base, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA query_only = ON",
		NULL, NULL, NULL);
	sqlite3_hard_heap_limit64(HEAP_BYTES);
	sqlite3_progress_handler(base->base, STEPS_APART, look_at_time, base);
}

int nsys_open(struct nsys_base *base, struct imported *imported)
{
	const char *wrong = regular_file_check(imported->path);
	int status = 0;

	*base = (struct nsys_base){0};
	if (wrong)
		status = imported_trouble(imported, "%s: %s", imported->path, wrong);
	else if (ends_in_gz(imported->path))
		status = open_packed(base, imported);
	else if (sqlite3_open_v2(imported->path, &base->base, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
			 NULL) != SQLITE_OK)
		status = imported_trouble(imported, "%s: %s", imported->path, sqlite3_errmsg(base->base));
	if (status == 0)
		harden(base);
	return status;
}

void nsys_close(struct nsys_base *base)
{
	sqlite3_close(base->base);
	free(base->image);
	*base = (struct nsys_base){0};
}

bool nsys_next(struct nsys_base *base, struct imported *imported, sqlite3_stmt *statement)
{
	int status;

	if (++base->rows % ROWS_APART == 0 && !base->limit)
		base->limit = pm_limit_at(base->rows);
	status = base->limit ? SQLITE_INTERRUPT : sqlite3_step(statement);
	if (status == SQLITE_ROW)
		return true;
	if (status != SQLITE_DONE && !base->limit) {
		imported->cut = true;
		imported_trouble(imported, "%s: %s: read only up to there", imported->path,
			sqlite3_errmsg(base->base));
	}
	return false;
}

bool nsys_has_table(struct nsys_base *base, struct imported *imported, const char *table, bool *fails)
{
	static const char query[] = "SELECT type, rootpage FROM sqlite_master WHERE name = ?1 COLLATE NOCASE "
				    "AND type IN ('table', 'view')";
	sqlite3_stmt *statement;
	bool found = false;

	*fails = false;
	if (sqlite3_prepare_v2(base->base, query, -1, &statement, NULL) != SQLITE_OK)
		return false;
	sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
	while (!*fails && nsys_next(base, imported, statement)) {
		const char *type = (const char *)sqlite3_column_text(statement, 0);

		found = type && strcmp(type, "table") == 0 && sqlite3_column_int64(statement, 1) > 0;
		*fails = !found;
	}
	if (*fails)
		imported_trouble(imported,
			"%s: %s is a view or a virtual table: expected a table, as nsys export writes it",
			imported->path, table);
	sqlite3_finalize(statement);
	return found && !*fails;
}
