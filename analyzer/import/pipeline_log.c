/* Schedules that AMD's Primus dumps: see pipeline_log.h. */
#include "pipeline_log.h"
#include "base/regular_file.h"
#include "base/json.h"
#include "base/limit.h"
#include "base/text_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONGEST_MS 1e9    /* of an iteration: more is damage */
#define ORIGIN_NS 1000000 /* where the first iteration is put: a time of 0 would mean "not known" */

static const struct {
	const char *name, *begins, *ends, *batches, *chunks;
} kinds[] = {
	[PIPELINE_LOG_FORWARD] = {"forward-compute", "fwd_start", "fwd_end", "fwd_minibatch", "fwd_chunk"},
	[PIPELINE_LOG_BACKWARD] = {"backward-compute", "bwd_start", "bwd_end", "bwd_minibatch", "bwd_chunk"},
	[PIPELINE_LOG_WEIGHT] = {"backward-wgrad", "wgrad_start", "wgrad_end", "wgrad_minibatch",
		"wgrad_chunk"},
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

const char *pipeline_log_name(unsigned kind)
{
	return kinds[kind].name;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *beside(struct arena *arena, const char *path, const char *name)
{
	return arena_format(arena, "%.*s%s", (int)(file_name(path) - path), path, name);
}

bool pipeline_log_is(const char *path)
{
	struct json json;
	struct json_text key;
	bool found = false;

	if (strcmp(file_name(path), "config.json") != 0 || json_open(&json, path) < 0)
		return false;
	for (const char *place = json_blank(json.next), *value;
		!found && place && *place && (value = json_member(place, &key)); place = json_skip(value))
		found = JSON_IS(key, "pp_size");
	json_close(&json);
	return found;
}

bool pipeline_log_is_part(const char *path)
{
	struct arena arena = {0};
	int stage, length = 0;
	bool part = sscanf(file_name(path), "pp_rank_%d.json%n", &stage, &length) == 1 && length > 0 &&
		    !file_name(path)[length] && pipeline_log_is(beside(&arena, path, "config.json"));

	arena_free(&arena);
	return part;
}

static int32_t small_number(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble <= 1e6
		       ? (int32_t)item->valuedouble
		       : -1;
}

/* ms of an iteration as ns; NaN: it cannot be. */
static double time_ns(const cJSON *item)
{
	return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble <= LONGEST_MS
		       ? round(item->valuedouble * 1e6)
		       : (double)NAN;
}

/* Items of a kind; false: arrays of different lengths, or no times. */
static bool take_kind(
	struct pipeline_log *log, const cJSON *iteration, unsigned kind, int32_t stage, int32_t number)
{
	const cJSON *begin = cJSON_GetObjectItemCaseSensitive(iteration, kinds[kind].begins);
	const cJSON *end = cJSON_GetObjectItemCaseSensitive(iteration, kinds[kind].ends);
	const cJSON *batch = cJSON_GetObjectItemCaseSensitive(iteration, kinds[kind].batches);
	const cJSON *chunk = cJSON_GetObjectItemCaseSensitive(iteration, kinds[kind].chunks);

	begin = begin ? begin->child : NULL;
	end = end ? end->child : NULL;
	batch = batch ? batch->child : NULL;
	chunk = chunk ? chunk->child : NULL;
	for (; begin && end; begin = begin->next, end = end->next) {
		double begin_ns = time_ns(begin), end_ns = time_ns(end);

		if (!(end_ns >= begin_ns))
			return false;
		*MEM_PUSH(log->items, log->count, log->room) =
			(struct pipeline_log_item){.begin_ns = (int64_t)begin_ns,
				.end_ns = (int64_t)end_ns,
				.stage = stage,
				.iteration = number,
				.batch = cJSON_IsNumber(batch) ? batch->valueint : -1,
				.chunk = cJSON_IsNumber(chunk) ? chunk->valueint : -1,
				.kind = (uint8_t)kind};
		log->weight_count += kind == PIPELINE_LOG_WEIGHT;
		batch = batch ? batch->next : NULL;
		chunk = chunk ? chunk->next : NULL;
	}
	return !begin && !end;
}

/* Forward and backward computing that ran interleaved is recorded as both, with the same times. */
static void divide(struct pipeline_log *log, size_t first)
{
	for (size_t f = first; f < log->count; f++) {
		struct pipeline_log_item *forward = &log->items[f];

		for (size_t b = f + 1; b < log->count && forward->kind == PIPELINE_LOG_FORWARD; b++) {
			struct pipeline_log_item *backward = &log->items[b];

			if (backward->kind != PIPELINE_LOG_BACKWARD ||
				backward->begin_ns != forward->begin_ns ||
				backward->end_ns != forward->end_ns || forward->begin_ns == forward->end_ns)
				continue;
			forward->end_ns = backward->begin_ns += (forward->end_ns - forward->begin_ns) / 2;
			log->together++;
			break;
		}
	}
}

/* How long an iteration took at most, over the stages; by number. */
struct lengths {
	double *ns;
	size_t count, room;
};

static const char *take_iteration(
	struct pipeline_log *log, const cJSON *iteration, int32_t stage, struct lengths *lengths)
{
	double total_ns = time_ns(cJSON_GetObjectItemCaseSensitive(iteration, "total"));
	size_t first = log->count;
	char *end;
	long number = strtol(iteration->string, &end, 10);

	if (*end || end == iteration->string || number < 0 || number > 10000000)
		return "expected numbers of iterations";
	for (unsigned kind = 0; kind < KINDS; kind++)
		if (!take_kind(log, iteration, kind, stage, (int32_t)number))
			return "has starts and ends that do not pair, or that are no times";
	divide(log, first);
	while (lengths->count <= (size_t)number)
		*MEM_PUSH(lengths->ns, lengths->count, lengths->room) = 0;
	for (size_t i = first; i < log->count; i++)
		lengths->ns[number] = fmax(lengths->ns[number], (double)log->items[i].end_ns);
	if (total_ns > lengths->ns[number])
		lengths->ns[number] = total_ns;
	return NULL;
}

static int take_stage(struct pipeline_log *log, const char *path, int32_t stage, struct lengths *lengths,
	const char **error)
{
	cJSON *root = NULL;
	const char *wrong = regular_file_check(path), *what = NULL;

	if (wrong) {
		*error = arena_format(&log->arena, "%s: %s", path, wrong);
		return -1;
	}
	wrong = text_file_json(path, &root);
	if (wrong) {
		*error = arena_format(&log->arena, "%s", wrong);
		return -1;
	}
	if (!cJSON_IsObject(root) || !root->child)
		what = "expected an object with one for each iteration";
	for (const cJSON *item = root->child; item && !what; item = item->next)
		if (!item->string || !cJSON_IsObject(item))
			what = "expected an object with one for each iteration";
		else if ((what = take_iteration(log, item, stage, lengths)))
			*error = arena_format(&log->arena, "%s: \"%s\" %s", path, item->string, what);
	if (what && !*error)
		*error = arena_format(&log->arena, "%s: %s", path, what);
	cJSON_Delete(root);
	return what ? -1 : 0;
}

/* Iterations one after the other. */
static void place(struct pipeline_log *log, const struct lengths *lengths)
{
	int64_t *begins_ns = mem_alloc(lengths->count + 1, sizeof(*begins_ns));

	begins_ns[0] = ORIGIN_NS;
	for (size_t i = 0; i < lengths->count; i++)
		begins_ns[i + 1] = begins_ns[i] + (int64_t)lengths->ns[i];
	for (size_t i = 0; i < log->count; i++) {
		log->items[i].begin_ns += begins_ns[log->items[i].iteration];
		log->items[i].end_ns += begins_ns[log->items[i].iteration];
	}
	free(begins_ns);
}

int pipeline_log_read(struct pipeline_log *log, const char *path, const char **error)
{
	struct lengths lengths = {0};
	cJSON *config = NULL;
	const char *wrong;
	int32_t absent = 0, first_absent = 0;
	int rc = 0;

	memset(log, 0, sizeof(*log));
	*error = NULL;
	wrong = text_file_json(path, &config);
	if (wrong) {
		*error = arena_format(&log->arena, "%s", wrong);
		return -1;
	}
	log->stage_count = small_number(config, "pp_size");
	cJSON_Delete(config);
	if (log->stage_count < 1 || log->stage_count > pm_limit_value(PM_LIMIT_RANKS)) {
		*error = arena_format(&log->arena, "%s: \"pp_size\" is no number of stages", path);
		return -1;
	}
	for (int32_t stage = 0; stage < log->stage_count && rc == 0; stage++) {
		const char *file =
			beside(&log->arena, path, arena_format(&log->arena, "pp_rank_%d.json", stage));

		if (access(file, R_OK) == 0)
			rc = take_stage(log, file, stage, &lengths, error);
		else if (absent++ == 0)
			first_absent = stage;
	}
	if (rc == 0 && absent == log->stage_count) {
		*error = arena_format(&log->arena,
			"%s: no pp_rank_0.json to pp_rank_%d.json beside it: copy the whole folder of Primus' pipeline data",
			path, log->stage_count - 1);
		rc = -1;
	}
	if (absent && rc == 0)
		log->missing =
			arena_format(&log->arena, "%s: %d of %d stages have no file, first pp_rank_%d.json",
				path, absent, log->stage_count, first_absent);
	place(log, &lengths);
	free(lengths.ns);
	return rc;
}

void pipeline_log_free(struct pipeline_log *log)
{
	free(log->items);
	arena_free(&log->arena);
	memset(log, 0, sizeof(*log));
}
