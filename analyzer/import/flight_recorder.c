/* Dumps of PyTorch's Flight Recorder: see flight_recorder.h. */
#include "flight_recorder.h"
#include "base/error_message.h"
#include "base/text_file.h"
#include "dump_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool flight_sniff(const struct importer_head *head)
{
	/* A profiler's trace lists the groups, too. */
	return (dump_is_pickle(head) ||
		       (*importer_text(head) == '{' && importer_has(head, "\"entries\"") &&
			       !importer_has(head, "\"traceEvents\""))) &&
	       (importer_has(head, "collective_seq_id") || importer_has(head, "pg_config") ||
		       importer_has(head, "nccl_comm_state"));
}

bool flight_is(const char *path)
{
	const struct importer *importer = importer_of_file(path);

	return importer && importer->sniff == flight_sniff;
}

static const char *keep(struct flight_dump *dump, const char *text)
{
	return text ? arena_text(&dump->arena, text, strlen(text)) : "";
}

/* A list, of lists or not, as the program would print it. */
static const char *list_text(struct flight_dump *dump, const cJSON *list, int depth)
{
	const char *text = "[";
	const cJSON *item;

	cJSON_ArrayForEach (item, list) {
		const char *before = item == list->child ? "" : ", ";

		if (cJSON_IsArray(item) && depth < 2)
			text = arena_format(
				&dump->arena, "%s%s%s", text, before, list_text(dump, item, depth + 1));
		else if (cJSON_IsNumber(item))
			text = arena_format(&dump->arena, "%s%s%.0f", text, before, item->valuedouble);
		else if (cJSON_IsString(item))
			text = arena_format(&dump->arena, "%s%s%.40s", text, before, item->valuestring);
		if (strlen(text) > 200)
			return arena_format(&dump->arena, "%.190s...]", text);
	}
	return arena_format(&dump->arena, "%s]", text);
}

static enum flight_state state_of(const cJSON *entry)
{
	const char *state = text_file_word(entry, "state");

	if (strcmp(state, "completed") == 0 ||
		cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(entry, "retired")))
		return FLIGHT_COMPLETED;
	return strcmp(state, "started") == 0 ? FLIGHT_STARTED : FLIGHT_SCHEDULED;
}

static void read_entry(struct flight_dump *dump, const cJSON *from)
{
	const cJSON *group = cJSON_GetObjectItemCaseSensitive(from, "process_group");
	struct flight_entry *entry = MEM_PUSH(dump->entries, dump->entry_count, dump->entry_room);
	const cJSON *name = cJSON_GetArrayItem(group, 0), *description = cJSON_GetArrayItem(group, 1);

	*entry = (struct flight_entry){.description = keep(dump, cJSON_GetStringValue(description)),
		.name = keep(dump, text_file_word(from, "profiling_name")),
		.sizes = list_text(dump, cJSON_GetObjectItemCaseSensitive(from, "input_sizes"), 0),
		.types = list_text(dump, cJSON_GetObjectItemCaseSensitive(from, "input_dtypes"), 0),
		.place = dump_place(&dump->arena, cJSON_GetObjectItemCaseSensitive(from, "frames")),
		.created_ns = dump_number(from, "time_created_ns", 0),
		.pairwise = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(from, "is_p2p")),
		.state = (uint8_t)state_of(from)};
	entry->group = cJSON_IsString(name)
			       ? keep(dump, name->valuestring)
			       : arena_format(&dump->arena, "%lld", (long long)dump_number(from, "pg_id", 0));
	/* Dumps before version 2 have one number for both. */
	entry->sequence = dump_number(
		from, entry->pairwise ? "p2p_seq_id" : "collective_seq_id", dump_number(from, "seq_id", -1));
}

/* "[0, 1, 2]", a text. */
static void read_ranks(struct flight_group *group, const char *text)
{
	while (*text) {
		char *end;
		long rank;

		text += strcspn(text, "0123456789");
		if (!*text)
			return;
		rank = strtol(text, &end, 10);
		if (rank > INT32_MAX)
			return;
		*MEM_PUSH(group->ranks, group->rank_count, group->rank_room) = (int32_t)rank;
		text = end;
	}
}

static void read_group(struct flight_dump *dump, const cJSON *from)
{
	struct flight_group *group = MEM_PUSH(dump->groups, dump->group_count, dump->group_room);

	*group = (struct flight_group){
		.name = keep(
			dump, *text_file_word(from, "name") ? text_file_word(from, "name") : from->string),
		.description = keep(dump, text_file_word(from, "desc"))};
	read_ranks(group, text_file_word(from, "ranks"));
}

static const char *read_root(struct flight_dump *dump, const cJSON *root)
{
	const cJSON *entries = cJSON_GetObjectItemCaseSensitive(root, "entries"), *item;

	if (!cJSON_IsObject(root) || (entries && !cJSON_IsArray(entries)))
		return error_message(
			"%s: no dump of PyTorch's Flight Recorder: expected a dictionary with a list "
			"\"entries\"",
			dump->path);
	cJSON_ArrayForEach (item, entries) {
		if (cJSON_IsObject(item))
			read_entry(dump, item);
	}
	cJSON_ArrayForEach (item, cJSON_GetObjectItemCaseSensitive(root, "pg_config")) {
		if (cJSON_IsObject(item) && item->string)
			read_group(dump, item);
	}
	return NULL;
}

/* The number at the end of its name: nccl_trace_rank_3, rank3.json. */
static int32_t rank_of(const char *path)
{
	bool sure;
	int32_t rank = imported_name_rank(path, &sure);
	const char *digits = path + strlen(path);

	if (rank >= 0)
		return rank;
	while (digits > path && isdigit((unsigned char)digits[-1]))
		digits--;
	return *digits && strlen(digits) < 7 ? (int32_t)strtol(digits, NULL, 10) : -1;
}

const char *flight_read(struct flight_dump *dump, const char *path)
{
	const char *wrong;
	struct pickle value;

	*dump = (struct flight_dump){.path = path, .rank = rank_of(path)};
	wrong = dump_read(&value, path);
	if (!wrong)
		wrong = read_root(dump, value.root);
	pickle_free(&value);
	return wrong;
}

void flight_free(struct flight_dump *dump)
{
	for (size_t i = 0; i < dump->group_count; i++)
		free(dump->groups[i].ranks);
	free(dump->groups);
	free(dump->entries);
	arena_free(&dump->arena);
	*dump = (struct flight_dump){0};
}
