/* Stragglers of the runs that an advice is made from: see advise_straggler.h. */
#include "advise_straggler.h"
#include "base/memory.h"
#include "base/text_file.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct delayed {
	double ns, most_ns; /* of all of the rank's findings, and of the costliest */
	const char *title;  /* of that */
};

static double number(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static bool counts(const cJSON *finding)
{
	const char *kind = text_file_word(finding, "kind");

	return (strcmp(kind, "straggler") == 0 || strcmp(kind, "slow_link") == 0) && number(finding, "gain_ns") > 0 &&
	       strcmp(text_file_word(finding, "strength"), "weak") != 0;
}

/* "rank 2" of "rank 2, conv2"; one for each rank, found or added. -1: there are too many. */
static int place_of(struct advise_stragglers *stragglers, const char *subject)
{
	const size_t length = strcspn(subject, ",");
	int i = 0;

	while (i < stragglers->rank_count && (strncmp(stragglers->ranks[i], subject, length) != 0 ||
						     stragglers->ranks[i][length] != '\0'))
		i++;
	if (i == ADVISE_STRAGGLER_RANKS)
		return -1;
	if (i == stragglers->rank_count) {
		stragglers->ranks[i] = mem_alloc(length + 1, 1);
		memcpy(stragglers->ranks[i], subject, length);
		stragglers->rank_count++;
	}
	return i;
}

/* The others wait once for all that one rank is late by, and for several ranks once as well. */
const char *advise_stragglers_read(struct advise_stragglers *stragglers, const char *path)
{
	struct delayed delayed[ADVISE_STRAGGLER_RANKS] = {{0}};
	const cJSON *finding;
	cJSON *root = NULL;
	const char *bad, *title = NULL;

	*stragglers = (struct advise_stragglers){0};
	bad = text_file_json(path, &root);
	if (bad)
		return bad;
	cJSON_ArrayForEach (finding, cJSON_GetObjectItemCaseSensitive(root, "findings")) {
		const int at = counts(finding) ? place_of(stragglers, text_file_word(finding, "subject")) : -1;
		const double ns = number(finding, "gain_ns");

		if (at < 0)
			continue;
		delayed[at].ns += ns;
		if (ns > delayed[at].most_ns) {
			delayed[at].most_ns = ns;
			delayed[at].title = text_file_word(finding, "title");
		}
	}
	for (int i = 0; i < stragglers->rank_count; i++)
		if (delayed[i].ns > stragglers->delay) {
			stragglers->delay = delayed[i].ns;
			title = delayed[i].title;
		}
	stragglers->text = title ? strdup(title) : NULL;
	cJSON_Delete(root);
	return NULL;
}

void advise_stragglers_free(struct advise_stragglers *stragglers)
{
	for (int i = 0; i < stragglers->rank_count; i++)
		free(stragglers->ranks[i]);
	free(stragglers->text);
	*stragglers = (struct advise_stragglers){0};
}

static bool has_straggler(const struct advise_stragglers *stragglers, const cJSON *layer)
{
	char rank[32], device[64];

	snprintf(rank, sizeof(rank), "rank %.0f", number(layer, "rank"));
	snprintf(device, sizeof(device), "%s gpu %.0f", rank, number(layer, "device"));
	for (int i = 0; i < stragglers->rank_count; i++)
		if (strcmp(stragglers->ranks[i], rank) == 0 || strcmp(stragglers->ranks[i], device) == 0)
			return true;
	return false;
}

static bool is_of(const cJSON *layer, const cJSON *first)
{
	return (long)number(layer, "rank") == (long)number(first, "rank") &&
	       (long)number(layer, "device") == (long)number(first, "device");
}

/* NULL: each rank has one. */
static const cJSON *first_without(const struct advise_stragglers *stragglers, const cJSON *layers)
{
	const cJSON *layer;

	cJSON_ArrayForEach (layer, layers)
		if (!has_straggler(stragglers, layer))
			return layer;
	return cJSON_GetArrayItem(layers, 0);
}

const char *advise_stragglers_leave(const struct advise_stragglers *stragglers, const char *path)
{
	const cJSON *first;
	cJSON *root = NULL, *layers, *layer, *next, *one;
	const char *bad = text_file_json(path, &root);
	char *text;
	FILE *file;

	if (bad)
		return bad;
	layers = cJSON_GetObjectItemCaseSensitive(root, "layers");
	first = first_without(stragglers, layers);
	one = first ? cJSON_Duplicate(first, true) : NULL;
	for (layer = layers ? layers->child : NULL; layer && one; layer = next) {
		next = layer->next;
		if (is_of(layer, one)) {
			cJSON_DeleteItemFromObjectCaseSensitive(layer, "rank");
			cJSON_DeleteItemFromObjectCaseSensitive(layer, "device");
		} else {
			cJSON_Delete(cJSON_DetachItemViaPointer(layers, layer));
		}
	}
	cJSON_Delete(one);
	text = cJSON_PrintUnformatted(root);
	cJSON_Delete(root);
	file = text ? fopen(path, "we") : NULL;
	if (!file || fputs(text, file) < 0)
		bad = "cannot be written again";
	if (file && fclose(file) != 0)
		bad = "cannot be written again";
	free(text);
	return bad;
}
