/*
 * Layers and phases that the data themselves tell, as traces of other profilers do by labels and operators
 * (imported_attribute.h). Nothing is worked out here: each operation's role is what was said of it. The
 * layers are in the order in which forward passes come to them.
 *
 * Who names layers by counting operators has to see where a pass ends. Where nothing shows that (forward
 * passes alone, without marks) each pass has layers of its own, and none ever comes again. Then they are
 * counted anew in each iteration.
 */
#include "layer_assign.h"
#include "phase.h"

#include <stdlib.h>
#include <string.h>

struct given {
	const struct timeline *timeline;
	const struct worker *worker;
	struct layer_list *list;
	const struct iteration_list *iterations;
	uint32_t *layers; /* by string of the timeline: layer + 1, or NO_LAYER */
};

#define NO_LAYER UINT32_MAX

static bool is_labelled(const struct timeline *timeline, const struct timeline_process *process)
{
	for (uint32_t i = 0; i < process->operation_count; i++) {
		const struct timeline_operation *operation =
			&timeline->operations[process->first_operation + i];

		if (operation->given_phase || operation->given_layer)
			return true;
	}
	return false;
}

/* A copy of the text up to the next tab; steps after it. */
static const char *next_field(struct arena *arena, const char **text)
{
	size_t length = strcspn(*text, "\t");
	const char *field = arena_text(arena, *text, length);

	*text += length + ((*text)[length] != 0);
	return field;
}

/* The layer of a said text, made where it is new. The name decides; sizes may differ, with an odd batch. */
static uint32_t layer_of(struct given *given, uint32_t string)
{
	struct layer_list *list = given->list;
	const char *text = given->timeline->strings[string], *name;
	struct layer *item;

	if (given->layers[string])
		return given->layers[string] == NO_LAYER ? LAYER_NONE : given->layers[string] - 1;
	name = next_field(&list->arena, &text);
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].name, name) == 0) {
			given->layers[string] = (uint32_t)i + 1;
			return (uint32_t)i;
		}
	item = MEM_PUSH(list->items, list->count, list->room);
	*item = (struct layer){.name = name, .activation = "", .site = ""};
	item->text = next_field(&list->arena, &text);
	item->input = next_field(&list->arena, &text);
	item->module = next_field(&list->arena, &text);
	item->partly_sized = !*text;
	item->parameter_count = strtoull(text, NULL, 10);
	given->layers[string] = (uint32_t)list->count;
	return (uint32_t)list->count - 1;
}

/*
 * Layers of the calls in the order in which they come; `forward`: only of forward ones. Not only of a usual
 * iteration: it may have been cut in the middle of a forward pass.
 */
static void add_layers(struct given *given, bool forward)
{
	for (size_t i = 0; i < given->worker->call_count; i++) {
		const struct timeline_operation *operation =
			&given->timeline->operations[timeline_call(given->timeline, given->worker->calls[i])
							     .operation];

		if (operation->given_layer && (!forward || operation->given_phase == PHASE_FORWARD + 1))
			layer_of(given, operation->given_layer);
	}
}

/* The layers of an iteration in the order in which it comes to them. The caller frees `strings`. */
static size_t list_layers(const struct given *given, size_t iteration, uint32_t *seen, uint32_t **strings)
{
	const struct iteration *item = &given->iterations->items[iteration];
	size_t count = 0, room = 0;

	*strings = NULL;
	for (size_t i = item->first_call; i < item->call_end; i++) {
		uint32_t call = given->worker->calls[i];
		uint32_t string = given->timeline->operations[timeline_call(given->timeline, call).operation]
					  .given_layer;

		if (string && seen[string] != iteration + 1) {
			seen[string] = (uint32_t)iteration + 1;
			*MEM_PUSH(*strings, count, room) = string;
		}
	}
	return count;
}

/* Does hardly any layer come in more than one iteration? */
static bool never_again(const struct given *given)
{
	uint32_t *seen = mem_alloc(given->timeline->string_count, sizeof(*seen)), *strings;
	size_t all = 0, different = 0;

	for (size_t i = 0; i < given->iterations->count; i++) {
		all += list_layers(given, i, seen, &strings);
		free(strings);
	}
	for (size_t i = 0; i < given->timeline->string_count; i++)
		different += seen[i] != 0;
	free(seen);
	return given->iterations->count > 2 && different * 3 > all * 2;
}

/* "fc" of "fc12", as a length. */
static size_t kind_length(const char *name)
{
	size_t length = strcspn(name, "\t");

	while (length > 0 && name[length - 1] >= '0' && name[length - 1] <= '9')
		length--;
	return length;
}

/* The layer that is the k-th of its kind in an iteration, from 1; made where it is new. */
static uint32_t numbered(struct given *given, const char *text, size_t length, size_t k)
{
	struct layer_list *list = given->list;
	const char *name = arena_format(&list->arena, "%.*s%zu", (int)length, text, k);

	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].name, name) == 0)
			return (uint32_t)i;
	*MEM_PUSH(list->items, list->count, list->room) = (struct layer){.name = name,
		.text = "",
		.input = "",
		.module = "",
		.activation = "",
		.site = "",
		.partly_sized = true};
	return (uint32_t)list->count - 1;
}

/*
 * One at the cut belongs to the iteration that comes to it first. What is in no iteration is no layer: its
 * place in a pass is not known.
 */
static void count_anew(struct given *given)
{
	uint32_t *seen = mem_alloc(given->timeline->string_count, sizeof(*seen)), *strings;

	for (size_t i = 0; i < given->iterations->count; i++) {
		size_t count = list_layers(given, i, seen, &strings);

		for (size_t j = 0; j < count; j++) {
			const char *text = given->timeline->strings[strings[j]];
			size_t length = kind_length(text), k = 1;

			if (given->layers[strings[j]])
				continue;
			for (size_t before = 0; before < j; before++) {
				const char *other = given->timeline->strings[strings[before]];

				k += kind_length(other) == length && strncmp(other, text, length) == 0;
			}
			given->layers[strings[j]] = numbered(given, text, length, k) + 1;
		}
		free(strings);
	}
	for (size_t i = 0; i < given->timeline->string_count; i++)
		if (!given->layers[i])
			given->layers[i] = NO_LAYER;
	free(seen);
}

static void set_role(struct given *given, const struct timeline_operation *operation, struct layer_role *role)
{
	role->known = true;
	if (operation->given_phase) {
		role->reason.phase = LAYER_WHY_GIVEN;
		role->reason.phase_decided = layer_decided(RULE_GIVEN);
	}
	if (operation->given_phase && operation->given_phase <= PHASE_COUNT)
		role->phase = (enum phase)(operation->given_phase - 1);
	if (operation->given_part && operation->given_part <= PHASE_LAYER_COLUMNS)
		role->column = operation->given_part;
	role->again = role->column == PHASE_LAYER_RECOMPUTE + 1;
	given->list->given_again |= role->again;
	if (operation->given_layer && given->list->count &&
		layer_of(given, operation->given_layer) != LAYER_NONE) {
		layer_add_part(given->list, role, layer_of(given, operation->given_layer), 1);
		role->reason.layer = LAYER_WHY_GIVEN;
		role->reason.layer_decided = layer_decided(RULE_GIVEN);
	}
}

bool layer_given(const struct worker_model *model, const struct worker *worker,
	const struct iteration_list *iterations, struct layer_list *list)
{
	const struct timeline_process *process = &model->timeline->processes[worker->process];
	struct given given = {
		.timeline = model->timeline, .worker = worker, .list = list, .iterations = iterations};

	if (!is_labelled(model->timeline, process))
		return false;
	given.layers = mem_alloc(model->timeline->string_count, sizeof(*given.layers));
	if (never_again(&given)) {
		count_anew(&given);
	} else if (iterations->count) {
		add_layers(&given, true);
		add_layers(&given, false);
	}
	for (uint32_t i = 0; i < process->operation_count; i++)
		set_role(&given, &model->timeline->operations[process->first_operation + i],
			&list->operation_roles[i]);
	free(given.layers);
	return true;
}
