/* Losses and their words: see losses.h. */
#include "losses.h"

#include <inttypes.h>
#include <stdbool.h>

static const struct {
	const char *words;
	enum pm_loss_class loss_class;
} causes[] = {
#define PM_FIELD(name, class, words) {words, PM_LOSS_OF_##class},
	PM_FORMAT_LOSSES(PM_FIELD)
#undef PM_FIELD
};

static const char *const class_words[] = {
#define PM_FIELD(name, words) words,
	PM_FORMAT_LOSS_CLASSES(PM_FIELD)
#undef PM_FIELD
};

const char *losses_class(enum pm_loss_class loss_class)
{
	return class_words[loss_class];
}

uint64_t losses_of(const uint64_t losses[PM_LOSS_ROOM], enum pm_loss_class loss_class)
{
	uint64_t sum = 0;

	for (int i = 0; i < PM_LOSS_COUNT; i++)
		sum += causes[i].loss_class == loss_class ? losses[i] : 0;
	return sum;
}

uint64_t losses_unknown(const uint64_t losses[PM_LOSS_ROOM])
{
	uint64_t sum = 0;

	for (int i = PM_LOSS_COUNT; i < PM_LOSS_ROOM; i++)
		sum += losses[i];
	return sum;
}

/* The cause of the class with most losses that comes after `last` (-1: the first); -1: there is none. */
static int next_cause(const uint64_t losses[PM_LOSS_ROOM], enum pm_loss_class loss_class, int last)
{
	int most = -1;

	for (int i = 0; i < PM_LOSS_COUNT; i++) {
		bool behind = last < 0 || losses[i] < losses[last] || (losses[i] == losses[last] && i > last);

		if (causes[i].loss_class == loss_class && losses[i] && behind &&
			(most < 0 || losses[i] > losses[most]))
			most = i;
	}
	return most;
}

const char *losses_causes(
	const uint64_t losses[PM_LOSS_ROOM], enum pm_loss_class loss_class, struct arena *arena)
{
	const char *text = "";

	for (int i = -1; (i = next_cause(losses, loss_class, i)) >= 0;)
		text = arena_format(
			arena, "%s%s%" PRIu64 ": %s", text, *text ? "; " : " (", losses[i], causes[i].words);
	return *text ? arena_format(arena, "%s)", text) : text;
}

void losses_json(const uint64_t losses[PM_LOSS_ROOM], cJSON *object)
{
	cJSON *list = NULL;

	for (int i = 0; i < PM_LOSS_ROOM; i++) {
		cJSON *item;

		if (!losses[i])
			continue;
		if (!list)
			list = cJSON_AddArrayToObject(object, "losses");
		item = cJSON_CreateObject();
		cJSON_AddStringToObject(
			item, "what", i < PM_LOSS_COUNT ? class_words[causes[i].loss_class] : "unknown");
		cJSON_AddStringToObject(item, "cause", i < PM_LOSS_COUNT ? causes[i].words : "unknown");
		cJSON_AddNumberToObject(item, "count", (double)losses[i]);
		cJSON_AddItemToArray(list, item);
	}
}
