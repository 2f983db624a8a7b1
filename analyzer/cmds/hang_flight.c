/* pmanalyze hang of Flight Recorder's dumps. */
#include "hang_flight.h"
#include "analyses/hang/hang_flight.h"

#include <err.h>
#include <stdio.h>
#include <string.h>

static const char *const states[] = {"scheduled", "started", "completed"};

static void rows_table(const struct hang_flight *hang, struct print_table *table)
{
	size_t group = print_column(table, "group", "group", PRINT_WORD);
	size_t rank = print_column(table, "rank", "rank", PRINT_WORD);
	size_t entered = print_column(table, "entered", "entered", PRINT_COUNT);
	size_t completed = print_column(table, "completed", "completed", PRINT_COUNT);
	size_t last = print_column(table, "last", "last", PRINT_WORD);
	size_t state = print_column(table, "state", "state", PRINT_WORD);
	size_t place = print_column(table, "place", "from", PRINT_WORD);

	for (size_t i = 0; i < hang->row_count; i++) {
		const struct hang_flight_row *row = &hang->rows[i];

		print_row(table);
		print_word(table, group, print_clean(table->arena, row->group));
		print_word(table, rank, arena_format(table->arena, "%d", row->rank));
		if (row->entered >= 0)
			print_number(table, entered, (double)row->entered);
		if (row->completed >= 0)
			print_number(table, completed, (double)row->completed);
		if (!row->last)
			continue;
		print_word(table, last, print_clean(table->arena, row->last->name));
		print_word(table, state, states[row->last->state]);
		print_word(table, place, print_clean(table->arena, row->last->place));
	}
}

static cJSON *texts_json(const char *const *texts, size_t count)
{
	cJSON *list = cJSON_CreateArray();

	for (size_t i = 0; i < count; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(texts[i]));
	return list;
}

static void print_sentences(struct hang_flight *hang, FILE *out)
{
	print_heading(arena_format(&hang->arena, "%zu dump%s of PyTorch's Flight Recorder: %s",
			      hang->dump_count, hang->dump_count == 1 ? "" : "s",
			      hang->found ? "ranks wait" : "no rank is behind the others"),
		out);
	for (size_t i = 0; i < hang->sentence_count; i++)
		print_paragraph(print_clean(&hang->arena, hang->sentences[i]), 2, out);
}

/* Into `object`, or to standard output where that is NULL. */
static void print_flight(struct hang_flight *hang, enum print_form form, cJSON *object)
{
	struct print_table table;

	if (object) {
		cJSON_AddBoolToObject(object, "found", hang->found);
		cJSON_AddItemToObject(object, "sentences", texts_json(hang->sentences, hang->sentence_count));
	} else if (form == PRINT_TEXT && hang->dump_count) {
		print_sentences(hang, stdout);
	}
	print_init(&table, &hang->arena);
	rows_table(hang, &table);
	if (form != PRINT_TEXT || table.row_count)
		print_part(&table, form, object, "ranks", "Collectives in the dumps", form == PRINT_TEXT,
			stdout);
	print_free(&table);
}

static int find(struct hang_flight *hang, char **paths, size_t path_count, bool *found)
{
	hang_flight_find(hang, paths, path_count);
	for (size_t i = 0; i < hang->unread_count; i++)
		warnx("%s", hang->unread[i]);
	*found = hang->found;
	return hang->dump_count == 0 || hang->unread_count > 0;
}

int hang_flight_run(char **paths, size_t path_count, enum print_form form, bool *found)
{
	struct hang_flight hang;
	cJSON *object = form == PRINT_JSON ? cJSON_CreateObject() : NULL;
	const int status = find(&hang, paths, path_count, found);

	print_flight(&hang, form, object);
	if (object)
		print_json_end(object, stdout);
	hang_flight_free(&hang);
	return status;
}

int hang_flight_beside(char **paths, size_t path_count, enum print_form form, cJSON *object)
{
	struct hang_flight hang;
	bool found;
	const int status = find(&hang, paths, path_count, &found);

	if (!object)
		fputc('\n', stdout);
	print_flight(&hang, form, object ? cJSON_AddObjectToObject(object, "flight_recorder") : NULL);
	hang_flight_free(&hang);
	return status;
}

size_t hang_flight_divide(char **paths, size_t path_count)
{
	size_t dumps = 0;

	for (size_t i = 0; i < path_count; i++) {
		char *path = paths[i];

		if (!hang_flight_is(&path, 1))
			continue;
		memmove(paths + dumps + 1, paths + dumps, (i - dumps) * sizeof(*paths));
		paths[dumps++] = path;
	}
	return dumps;
}
