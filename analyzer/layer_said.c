/*
 * Layers and phases that the data themselves tell, as traces of other profilers do by labels and operators
 * (foreign_attribute.h). Nothing is worked out here: each operation's role is what was said of it. The layers
 * are in the order in which forward passes come to them.
 */
#include "layer_assign.h"
#include "phase.h"

#include <stdlib.h>
#include <string.h>

struct said {
	const struct timeline *timeline;
	const struct worker *worker;
	struct layer_list *list;
	uint32_t *layers; /* by string of the timeline: layer + 1 */
};

static bool says_something(const struct timeline *timeline, const struct timeline_process *process)
{
	for (uint32_t i = 0; i < process->operation_count; i++) {
		const struct timeline_operation *operation =
			&timeline->operations[process->first_operation + i];

		if (operation->said_phase || operation->said_layer)
			return true;
	}
	return false;
}

/* A copy of the text up to the next tab; steps behind it. */
static const char *next_field(struct arena *arena, const char **text)
{
	size_t length = strcspn(*text, "\t");
	const char *field = arena_text(arena, *text, length);

	*text += length + ((*text)[length] != 0);
	return field;
}

/* The layer of a said text, made where it is new. The name decides; sizes may differ, with an odd batch. */
static uint32_t layer_of(struct said *said, uint32_t string)
{
	struct layer_list *list = said->list;
	const char *text = said->timeline->strings[string], *name;
	struct layer *item;

	if (said->layers[string])
		return said->layers[string] - 1;
	name = next_field(&list->arena, &text);
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].name, name) == 0) {
			said->layers[string] = (uint32_t)i + 1;
			return (uint32_t)i;
		}
	item = MEM_PUSH(list->items, list->count, list->room);
	*item = (struct layer){.name = name, .activation = "", .site = ""};
	item->text = next_field(&list->arena, &text);
	item->input = next_field(&list->arena, &text);
	item->module = next_field(&list->arena, &text);
	said->layers[string] = (uint32_t)list->count;
	return (uint32_t)list->count - 1;
}

/*
 * Layers of the calls in the order in which they come; `forward`: only of forward ones. Not only of a usual
 * iteration: it may have been cut in the middle of a forward pass.
 */
static void add_layers(struct said *said, bool forward)
{
	for (size_t i = 0; i < said->worker->call_count; i++) {
		const struct timeline_operation *operation =
			&said->timeline->operations[said->timeline->calls[said->worker->calls[i]].operation];

		if (operation->said_layer && (!forward || operation->said_phase == PHASE_FORWARD + 1))
			layer_of(said, operation->said_layer);
	}
}

static void set_role(struct said *said, const struct timeline_operation *operation, struct layer_role *role)
{
	role->known = true;
	if (operation->said_phase && operation->said_phase <= PHASE_COUNT)
		role->phase = (enum phase)(operation->said_phase - 1);
	if (operation->said_part && operation->said_part <= PHASE_LAYER_COLUMNS)
		role->column = operation->said_part;
	role->again = role->column == PHASE_LAYER_RECOMPUTE + 1;
	said->list->said_again |= role->again;
	if (operation->said_layer && said->list->count)
		layer_add_part(said->list, role, layer_of(said, operation->said_layer), 1);
}

bool layer_said(const struct worker_model *model, const struct worker *worker,
	const struct iteration_list *iterations, struct layer_list *list)
{
	const struct timeline_process *process = &model->timeline->processes[worker->process];
	struct said said = {.timeline = model->timeline, .worker = worker, .list = list};

	if (!says_something(model->timeline, process))
		return false;
	said.layers = mem_alloc(model->timeline->string_count, sizeof(*said.layers));
	if (iterations->count) {
		add_layers(&said, true);
		add_layers(&said, false);
	}
	for (uint32_t i = 0; i < process->operation_count; i++)
		set_role(&said, &model->timeline->operations[process->first_operation + i],
			&list->operation_roles[i]);
	free(said.layers);
	return true;
}
