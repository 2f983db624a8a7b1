/*
 * Prints what imported_attribute says of a file, as JSON: time and number of events by phase and by what
 * attributed it, and of each layer. Further arguments are begins of labels, which are taken out first, so
 * that the rest has to do without them: what it then says can be checked against the labels.
 */
#include "import/imported_attribute.h"
#include "timeline/phase_name.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_to(cJSON *object, const char *key, double more)
{
	cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	if (item)
		cJSON_SetNumberValue(item, item->valuedouble + more);
	else
		cJSON_AddNumberToObject(object, key, more);
}

static cJSON *object_of(cJSON *object, const char *key)
{
	cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return item ? item : cJSON_AddObjectToObject(object, key);
}

static void hide(struct imported *imported, const char *begin)
{
	for (size_t i = 0; i < imported->spans.count; i++)
		if (strncmp(imported->strings.items[imported->spans.name[i]], begin, strlen(begin)) == 0) {
			imported->spans.kind[i] = IMPORTED_ANNOTATION;
			imported->spans.name[i] = intern_text(&imported->strings, "hidden", 6);
		}
}

static void count_event(const struct imported *imported, const struct imported_attribution *attributed,
	uint32_t event, cJSON *phases, cJSON *layers)
{
	double ns = (double)(imported->events.end_ns[event] - imported->events.begin_ns[event]);
	const char *phase = attributed->phase[event] ? phase_keys[attributed->phase[event] - 1] : "unknown";
	cJSON *entry = object_of(phases, phase);

	add_to(entry, "ns", ns);
	add_to(entry, "events", 1);
	if (attributed->part[event])
		add_to(entry, "again_ns", ns);
	if (imported->events.call[event] == IMPORTED_NONE)
		add_to(entry, "unlaunched_ns", ns);
	if (!attributed->phase[event])
		add_to(object_of(entry, "names"), imported->strings.items[imported->events.name[event]], ns);
	if (!attributed->layer[event])
		return;
	entry = object_of(layers, imported->strings.items[attributed->layer[event]]);
	add_to(entry, phase, ns);
	add_to(entry, "events", 1);
}

int main(int argc, char **argv)
{
	struct imported imported;
	struct imported_attribution attributed = {0};
	cJSON *root = cJSON_CreateObject(), *workers = cJSON_AddArrayToObject(root, "workers");
	char *text;

	if (argc < 2 || imported_read(&imported, argv[1],
				IMPORTED_WANT_LABELS | IMPORTED_WANT_OPERATORS | IMPORTED_WANT_MODULES) < 0) {
		fprintf(stderr, "%s\n", argc < 2 ? "a file is wanted" : imported.trouble);
		return 1;
	}
	for (int i = 2; i < argc; i++)
		hide(&imported, argv[i]);
	for (uint32_t worker = 0; worker < imported.worker_count; worker++) {
		cJSON *entry = cJSON_CreateObject(), *phases = cJSON_AddObjectToObject(entry, "phases"),
		      *layers = cJSON_AddObjectToObject(entry, "layers");

		imported_attribute(&imported, worker, &attributed);
		for (uint32_t i = 0; i < imported.events.count; i++)
			if (imported.queues[imported.events.queue[i]].worker == worker)
				count_event(&imported, &attributed, i, phases, layers);
		cJSON_AddItemToArray(workers, entry);
	}
	text = cJSON_Print(root);
	puts(text);
	free(text);
	cJSON_Delete(root);
	imported_attribution_free(&attributed);
	imported_free(&imported);
	return 0;
}
