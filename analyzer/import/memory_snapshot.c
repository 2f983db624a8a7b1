/* PyTorch's memory snapshots: see memory_snapshot.h. */
#include "memory_snapshot.h"
#include "base/error_message.h"
#include "base/lookup.h"
#include "base/text_file.h"
#include "dump_file.h"

#include <stdlib.h>
#include <string.h>

#define DEVICES 1024

bool memory_snapshot_sniff(const struct importer_head *head)
{
	return (dump_is_pickle(head) || *importer_text(head) == '{') && importer_has(head, "segments") &&
	       (importer_has(head, "device_traces") || importer_has(head, "allocated_size"));
}

/* An address that is or was allocated. */
struct block {
	int64_t address;
	double bytes;
	const cJSON *frames;
	bool live;
};

struct replay {
	struct memory_snapshot *snapshot;
	const cJSON *history, *segments;
	int64_t device;
	struct block *blocks, *olds; /* olds: there before the first event, and to the end */
	size_t count, room, old_count, old_room;
	struct lookup addresses;
	double now, reserved; /* allocated, from the driver */
	double unseen,
		reserved_before; /* allocated before the first event and freed since; from the driver, then */
	bool settled;            /* these are known */
};

static const cJSON *member(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

static double size_of(const cJSON *object, const char *key)
{
	return (double)dump_number(object, key, 0);
}

static struct block *block_at(struct replay *replay, int64_t address)
{
	const uint64_t hash = mem_hash(MEM_HASH_START, (uint64_t)address);
	uint32_t i;

	for (size_t at = 0; (i = lookup_next(&replay->addresses, hash, &at)) != LOOKUP_NONE;)
		if (replay->blocks[i].address == address)
			return &replay->blocks[i];
	lookup_add(&replay->addresses, hash, (uint32_t)replay->count);
	*MEM_PUSH(replay->blocks, replay->count, replay->room) = (struct block){.address = address};
	return &replay->blocks[replay->count - 1];
}

/* Allocated memory is given back when it is asked for, not when streams are done with it. */
static void take_event(struct replay *replay, const cJSON *event)
{
	const char *action = text_file_word(event, "action");
	struct block *block;

	if (strcmp(action, "alloc") == 0) {
		block = block_at(replay, dump_number(event, "addr", 0));
		replay->now += size_of(event, "size") - (block->live ? block->bytes : 0);
		*block =
			(struct block){block->address, size_of(event, "size"), member(event, "frames"), true};
	} else if (strcmp(action, "free_requested") == 0) {
		block = block_at(replay, dump_number(event, "addr", 0));
		if (!block->live && !replay->settled)
			replay->unseen += size_of(event, "size");
		replay->now -= block->live ? block->bytes : size_of(event, "size");
		block->live = false;
	} else if (strcmp(action, "segment_alloc") == 0 || strcmp(action, "segment_map") == 0) {
		replay->reserved += size_of(event, "size");
	} else if (strcmp(action, "segment_free") == 0 || strcmp(action, "segment_unmap") == 0) {
		replay->reserved -= size_of(event, "size");
	}
}

/* As it was before the first event. */
static void restart(struct replay *replay)
{
	lookup_free(&replay->addresses);
	replay->count = 0;
	replay->now = replay->unseen;
	replay->reserved = replay->reserved_before;
	for (size_t i = 0; i < replay->old_count; i++) {
		*block_at(replay, replay->olds[i].address) = replay->olds[i];
		replay->now += replay->olds[i].bytes;
	}
}

static bool is_own(const struct replay *replay, const cJSON *segment)
{
	return dump_number(segment, "device", 0) == replay->device;
}

/* What the snapshot holds and no event allocated was there before the first. */
static void take_old(struct replay *replay, const cJSON *held, int64_t address)
{
	if (!block_at(replay, address)->live)
		*MEM_PUSH(replay->olds, replay->old_count, replay->old_room) =
			(struct block){address, size_of(held, "size"), member(held, "frames"), true};
}

/* Blocks of older versions have no address of their own: they lie one after the other. */
static void take_olds(struct replay *replay)
{
	const cJSON *segment, *block;

	cJSON_ArrayForEach (segment, replay->segments) {
		int64_t next = dump_number(segment, "address", 0);

		if (!is_own(replay, segment))
			continue;
		cJSON_ArrayForEach (block, member(segment, "blocks")) {
			const int64_t address = dump_number(block, "address", next);

			if (strcmp(text_file_word(block, "state"), "active_allocated") == 0)
				take_old(replay, block, address);
			next = (int64_t)((uint64_t)address + (uint64_t)dump_number(block, "size", 0));
		}
	}
}

static double held_bytes(const struct replay *replay)
{
	const cJSON *segment;
	double sum = 0;

	cJSON_ArrayForEach (segment, replay->segments)
		sum += is_own(replay, segment) ? size_of(segment, "total_size") : 0;
	return sum;
}

/* ---- the peak ---- */

/* Goes through the history: answers the number of events up to the most that is allocated. */
static size_t find_peak(struct replay *replay, struct memory_peak *peak)
{
	size_t number = 0, most = 0;
	int64_t first_us = -1;
	const cJSON *event;

	restart(replay);
	peak->bytes = peak->before = replay->now;
	peak->reserved = replay->reserved;
	peak->at_us = peak->span_us = -1;
	cJSON_ArrayForEach (event, replay->history) {
		const int64_t us = dump_number(event, "time_us", -1);

		take_event(replay, event);
		number++;
		first_us = first_us < 0 ? us : first_us;
		if (us >= first_us && first_us >= 0)
			peak->span_us = us - first_us;
		if (strcmp(text_file_word(event, "action"), "oom") == 0) {
			peak->failures++;
			peak->failed_bytes = size_of(event, "size");
		}
		if (replay->now <= peak->bytes)
			continue;
		most = number;
		peak->bytes = replay->now;
		peak->reserved = replay->reserved;
		peak->at_us = peak->span_us;
	}
	peak->events = number;
	peak->end = replay->now;
	return most;
}

/* The innermost frame in torch.nn's modules. */
static const char *module_of(struct arena *arena, const cJSON *frames)
{
	const cJSON *frame;

	cJSON_ArrayForEach (frame, frames) {
		const char *file = text_file_word(frame, "filename"),
			   *found = strstr(file, "/torch/nn/modules/");

		if (found && !strstr(found, "/module.py") && !strstr(found, "/container.py"))
			return arena_format(arena, "%.80s:%lld in %.80s",
				found + strlen("/torch/nn/modules/"),
				(long long)dump_number(frame, "line", 0), text_file_word(frame, "name"));
	}
	return "";
}

static void add_place(
	struct memory_peak *peak, struct lookup *places, const char *line, const char *module, double bytes)
{
	const uint64_t hash = mem_hash_text(mem_hash_text(MEM_HASH_START, line), module);
	struct memory_place *place = NULL;
	uint32_t i;

	for (size_t at = 0; !place && (i = lookup_next(places, hash, &at)) != LOOKUP_NONE;)
		if (strcmp(peak->places[i].line, line) == 0 && strcmp(peak->places[i].module, module) == 0)
			place = &peak->places[i];
	if (!place) {
		lookup_add(places, hash, (uint32_t)peak->place_count);
		place = MEM_PUSH(peak->places, peak->place_count, peak->place_room);
		*place = (struct memory_place){.line = line, .module = module};
	}
	place->bytes += bytes;
	place->blocks++;
}

static int compare_places(const void *left, const void *right)
{
	const struct memory_place *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return strcmp(a->line, b->line) ? strcmp(a->line, b->line) : strcmp(a->module, b->module);
}

/* What is allocated after so many events, by place. What was there before has the frames that the snapshot
 * has of it, or none. */
static void find_places(struct replay *replay, struct memory_peak *peak, size_t events)
{
	struct arena *arena = &replay->snapshot->arena;
	struct lookup places = {0};
	const cJSON *event;
	double known = 0;

	restart(replay);
	cJSON_ArrayForEach (event, replay->history) {
		if (events-- == 0)
			break;
		take_event(replay, event);
	}
	for (size_t i = 0; i < replay->count; i++) {
		const struct block *block = &replay->blocks[i];

		if (!block->live)
			continue;
		known += block->bytes;
		add_place(peak, &places, dump_place(arena, block->frames), module_of(arena, block->frames),
			block->bytes);
	}
	if (peak->bytes > known)
		add_place(peak, &places, "(before the history)", "", peak->bytes - known);
	if (peak->place_count)
		qsort(peak->places, peak->place_count, sizeof(*peak->places), compare_places);
	lookup_free(&places);
}

static void find_device(
	struct memory_snapshot *snapshot, const cJSON *history, const cJSON *segments, int64_t device)
{
	struct replay replay = {
		.snapshot = snapshot, .history = history, .segments = segments, .device = device};
	struct memory_peak peak = {.device = device, .has_history = cJSON_GetArraySize(history) > 0};
	const cJSON *event;
	size_t events;

	cJSON_ArrayForEach (event, history)
		take_event(&replay, event);
	take_olds(&replay);
	replay.reserved_before = held_bytes(&replay) - replay.reserved;
	replay.settled = true;
	events = find_peak(&replay, &peak);
	find_places(&replay, &peak, events);
	if (peak.has_history || peak.place_count || peak.reserved > 0)
		*MEM_PUSH(snapshot->devices, snapshot->device_count, snapshot->device_room) = peak;
	else
		free(peak.places);
	free(replay.blocks);
	free(replay.olds);
	lookup_free(&replay.addresses);
}

static const char *read_root(struct memory_snapshot *snapshot, const char *path, const cJSON *root)
{
	const cJSON *segments = member(root, "segments"), *traces = member(root, "device_traces"), *segment;
	int64_t devices = cJSON_GetArraySize(traces);

	if (!cJSON_IsArray(segments))
		return error_message(
			"%s: no memory snapshot of PyTorch: expected a dictionary with a list \"segments\"",
			path);
	cJSON_ArrayForEach (segment, segments)
		if (dump_number(segment, "device", 0) >= devices)
			devices = dump_number(segment, "device", 0) + 1;
	if (devices > DEVICES)
		return error_message(
			"%s: a device %lld: expected fewer than %d", path, (long long)devices - 1, DEVICES);
	for (int64_t device = 0; device < devices; device++)
		find_device(snapshot, cJSON_GetArrayItem(traces, (int)device), segments, device);
	return NULL;
}

const char *memory_snapshot_read(struct memory_snapshot *snapshot, const char *path)
{
	const char *wrong;
	struct pickle value;

	*snapshot = (struct memory_snapshot){0};
	wrong = dump_read(&value, path);
	if (!wrong)
		wrong = read_root(snapshot, path, value.root);
	pickle_free(&value);
	return wrong;
}

void memory_snapshot_free(struct memory_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->device_count; i++)
		free(snapshot->devices[i].places);
	free(snapshot->devices);
	arena_free(&snapshot->arena);
	*snapshot = (struct memory_snapshot){0};
}
