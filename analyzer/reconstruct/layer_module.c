/*
 * What the program calls the layers: by their parameters, or by their calls.
 */
#include "layer_assign.h"

#include <stdlib.h>
#include <string.h>

/* The next component of a module's path that the program itself has written, *length: of it, 0 at the end;
 * what wraps a model puts components of its own between. */
static const char *next_component(const char *path, size_t *length)
{
	static const char *const wrappers[] = {
		"module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"};

	for (bool again = true; again;) {
		path += *path == '.';
		*length = strcspn(path, ".");
		again = false;
		for (size_t i = 0; i < sizeof(wrappers) / sizeof(*wrappers); i++)
			again |= strlen(wrappers[i]) == *length && strncmp(wrappers[i], path, *length) == 0;
		path += again ? *length : 0;
	}
	return path;
}

bool layer_same_module(const char *a, const char *b)
{
	for (;;) {
		size_t a_length, b_length;

		a = next_component(a, &a_length);
		b = next_component(b, &b_length);
		if (a_length != b_length || strncmp(a, b, a_length) != 0)
			return false;
		if (a_length == 0)
			return true;
		a += a_length;
		b += b_length;
	}
}

/* Does a module hold another? The outermost may have got another name since the other's path was read. */
static bool module_holds(const char *outer, const char *inner)
{
	for (bool root = true;; root = false) {
		size_t outer_length, inner_length;

		outer = next_component(outer, &outer_length);
		inner = next_component(inner, &inner_length);
		if (outer_length == 0 || inner_length == 0)
			return outer_length == 0 && inner_length > 0;
		if (outer_length != inner_length || strncmp(outer, inner, outer_length) != 0) {
			inner = next_component(inner + inner_length, &inner_length);
			next_component(outer + outer_length, &outer_length);
			return root && outer_length == 0 && inner_length > 0;
		}
		outer += outer_length;
		inner += inner_length;
	}
}

/* The module of the library's calls that read a parameter where it lies. NULL: of none, or (`*many`) of
 * several. */
static const char *reader_module(const struct layer_assign *assign, uint64_t address, bool *many)
{
	const char *found = NULL;

	for (uint32_t i = 0; i < assign->graph.step_count; i++) {
		const struct flow *flow = graph_flow(&assign->graph, i);
		const char *module = assign->timeline->operations[assign->graph.steps[i].operation].module;

		for (uint32_t j = 0; module && j < flow->access_count && flow->kind != PM_KIND_COPY &&
				     !assign->graph.steps[i].update;
			j++) {
			if (flow->accesses[j].mode != FLOW_READ || flow->accesses[j].address != address)
				continue;
			*many |= found && strcmp(found, module) != 0;
			found = module;
		}
	}
	return *many ? NULL : found;
}

/* The module of the library's forward calls that read gathered parameters of a layer, or copies of them.
 * NULL: there is none, or they are of several. */
static const char *library_module(const struct layer_assign *assign, uint32_t layer)
{
	const char *found = NULL;

	for (uint32_t i = 0; i < assign->graph.step_count; i++) {
		const char *module = assign->timeline->operations[assign->graph.steps[i].operation].module;

		if (assign->layers[i] != layer || !module || assign->passes[i] != LAYER_FORWARD ||
			graph_flow(&assign->graph, i)->kind == PM_KIND_LAUNCH ||
			(assign->reasons[i].layer != LAYER_WHY_PARAMETER &&
				assign->reasons[i].layer != LAYER_WHY_CAST))
			continue;
		if (found && strcmp(found, module) != 0)
			return NULL;
		found = module;
	}
	return found;
}

/* Is a layer's module that of another layer with parameters? */
static bool is_named_twice(const struct layer_assign *assign, uint32_t layer)
{
	const struct layer *items = assign->list->items;

	for (uint32_t i = 0; i < assign->list->count; i++)
		if (i != layer && items[i].parameter_bytes &&
			strcmp(items[i].module, items[layer].module) == 0)
			return true;
	return false;
}

/* Two layers of gathered parameters with one name: it is that of the one which a library's calls name, if
 * any. */
static void drop_doubtful(struct layer_assign *assign)
{
	const struct graph *graph = &assign->graph;
	bool *doubtful = mem_alloc(assign->list->count, sizeof(*doubtful));

	for (uint32_t p = 0; p < graph->parameter_count; p++) {
		const uint32_t layer = assign->owners[p];

		if (layer != LAYER_NONE && graph->parameters[p].module && !library_module(assign, layer))
			doubtful[layer] = is_named_twice(assign, layer);
	}
	for (uint32_t i = 0; i < assign->list->count; i++)
		if (doubtful[i])
			assign->list->items[i].module = "";
	free(doubtful);
}

/*
 * What the program calls the layer of these parameters: the module that reads them, or was copied to the
 * device with them, or where they were first among the arguments of launches. The last is the weakest, for
 * words of arguments that are not in use may hold any address. NULL: not known, or they are of several.
 */
static const char *parameters_module(const struct layer_assign *assign, uint32_t layer)
{
	const struct timeline_process *process = &assign->timeline->processes[assign->worker->process];
	const char *library = library_module(assign, layer), *found = NULL;
	bool many = false, copied = false;

	for (uint32_t p = 0; p < assign->graph.parameter_count; p++)
		copied |= assign->owners[p] == layer && assign->graph.parameters[p].copied_in;
	for (uint32_t p = 0; p < assign->graph.parameter_count && !many; p++) {
		const struct graph_parameter *parameter = &assign->graph.parameters[p];
		const char *module;

		if (assign->owners[p] != layer || (copied && !parameter->copied_in))
			continue;
		module = reader_module(assign, parameter->address, &many);
		if (!module && !many && parameter->module)
			module = library ? library : *parameter->module ? parameter->module : NULL;
		else if (!module && !many)
			module = timeline_module_at(process, parameter->address);
		/* calls of a compiled module are all of the whole */
		if (!many && parameter->copied_in && (!module || module_holds(module, parameter->copied_in)))
			module = parameter->copied_in;
		many |= module && found && strcmp(module, found) != 0;
		if (module)
			found = module;
	}
	return many ? NULL : found;
}

/*
 * A layer's parameters name it, or else the calls that read them: an activation after them may be the
 * function of a module of its own. Layers without parameters are named by all their calls.
 */
void layer_modules(struct layer_assign *assign)
{
	const struct graph *graph = &assign->graph;

	for (uint32_t layer = 0; layer < assign->list->count; layer++) {
		struct layer *item = &assign->list->items[layer];
		const char *given = parameters_module(assign, layer), *found = given;
		bool agree = true;

		for (uint32_t i = 0; !given && i < graph->step_count; i++) {
			uint32_t operation = graph->steps[i].operation;
			const char *module = assign->timeline->operations[operation].module;

			if (assign->layers[i] != layer || !module ||
				(item->parameter_bytes &&
					!(assign->model->roles[operation].flags & WORKER_READS)))
				continue;
			agree &= !found || strcmp(found, module) == 0;
			found = module;
		}
		if (found && agree)
			item->module = arena_text(&assign->list->arena, found, strlen(found));
	}
	drop_doubtful(assign);
}
