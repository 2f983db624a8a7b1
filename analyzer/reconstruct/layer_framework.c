/*
 * Passes and layers by what the framework says (framework.h), over what data flow and order have found. The layer of
 * a call is the module in which its operator ran, if that has parameters; else, as an activation's or a sum's, the
 * layer before it in its pass. Backward work has the layer of its forward operator.
 */
#include "framework.h"
#include "layer_assign.h"

#include <stdlib.h>
#include <string.h>

/* What steps are, for those around them that have no module to tell. */
enum anchor { NO_ANCHOR, IN_FORWARD, IN_BACKWARD, IN_UPDATE };

struct asking {
	struct layer_assign *assign;
	const struct framework *framework;
	struct framework_word *words;   /* by step */
	enum anchor *before, *behind;   /* by step: the nearest that is one */
	bool *evaluates;                /* by step: in a run of operators without gradients, some of them with weights */
	uint32_t *next;                 /* by step: the next that is an anchor of a forward pass, or GRAPH_NONE */
	bool goes_back, updates;        /* any step does */
	uint32_t *layers;               /* by range: of an operator, LAYER_NONE */
};

static enum anchor anchor_of(const struct framework_word *word)
{
	switch (word->place) {
	case FRAMEWORK_FORWARD:
		return word->module ? IN_FORWARD : NO_ANCHOR;
	case FRAMEWORK_BACKWARD:
	case FRAMEWORK_AGAIN:
		return IN_BACKWARD;
	case FRAMEWORK_UPDATE:
		return IN_UPDATE;
	default:
		return NO_ANCHOR;
	}
}

static void find_anchors(struct asking *a)
{
	const uint32_t count = a->assign->graph.step_count;
	enum anchor last = NO_ANCHOR;

	for (uint32_t i = 0; i < count; i++) {
		const enum anchor own = anchor_of(&a->words[i]);

		a->before[i] = last;
		last = own ? own : last;
		a->goes_back |= own == IN_BACKWARD;
		a->updates |= own == IN_UPDATE;
	}
	last = NO_ANCHOR;
	for (uint32_t i = count, next = GRAPH_NONE; i-- > 0;) {
		const enum anchor own = anchor_of(&a->words[i]);

		a->behind[i] = last;
		a->next[i] = next;
		last = own ? own : last;
		next = own == IN_FORWARD ? i : own ? GRAPH_NONE : next;
	}
}

/* Is it in the module of the forward pass that begins behind it, or around that? */
static bool leads(const struct asking *a, uint32_t step)
{
	const char *module = a->words[step].module;
	const char *next = a->next[step] == GRAPH_NONE ? NULL : a->words[a->next[step]].module;
	const size_t length = module ? strlen(module) : 0;

	return module && next && strncmp(module, next, length) == 0 && (next[length] == 0 || next[length] == '.');
}

/* A pass without gradients works with weights somewhere. */
static void find_evaluations(struct asking *a)
{
	const uint32_t count = a->assign->graph.step_count;

	for (uint32_t i = 0, end; i < count; i = end > i ? end : i + 1) {
		bool weighs = false;

		for (end = i; end < count && a->words[end].place == FRAMEWORK_NO_GRADIENTS; end++)
			weighs |= a->words[end].weighs;
		for (uint32_t j = i; j < end; j++)
			a->evaluates[j] = weighs;
	}
}

/* Between the last pass and the step, or where the program updates by itself, behind the last pass; or data flow sees
 * that parameters change. Behind the step, what changes tensors in place: averages of the weights. */
static bool is_of_update(const struct asking *a, uint32_t step)
{
	const bool changes = a->words[step].place == FRAMEWORK_NO_GRADIENTS &&
			     (a->assign->graph.steps[step].update || a->assign->passes[step] == LAYER_AFTER);

	if (a->before[step] == IN_UPDATE)
		return !a->evaluates[step] && (changes || a->words[step].in_place);
	return a->before[step] == IN_BACKWARD && !a->words[step].module &&
	       (a->behind[step] == IN_UPDATE || changes || (!a->updates && a->behind[step] == NO_ANCHOR));
}

/* The gradient that a backward pass begins with: PyTorch makes it before its engine runs. */
static bool is_first_gradient(const struct asking *a, uint32_t step)
{
	return a->behind[step] == IN_BACKWARD && a->words[step].says &&
	       strcmp(a->words[step].says, "aten::ones_like") == 0;
}

/* LAYER_UNKNOWN: nothing is said. */
static enum layer_pass pass_of(const struct asking *a, uint32_t step)
{
	const struct framework_word *word = &a->words[step];

	switch (word->place) {
	case FRAMEWORK_FORWARD:
	case FRAMEWORK_PREPARES:
		if (!word->module && is_of_update(a, step))
			return LAYER_AFTER;
		if (!word->module && word->place == FRAMEWORK_PREPARES && is_first_gradient(a, step))
			return LAYER_BACKWARD;
		return word->place == FRAMEWORK_FORWARD || a->before[step] == IN_FORWARD || leads(a, step)
			       ? LAYER_FORWARD
			       : LAYER_EVALUATION;
	case FRAMEWORK_NO_GRADIENTS:
		if (is_of_update(a, step))
			return LAYER_AFTER;
		if (!word->module && is_first_gradient(a, step))
			return LAYER_BACKWARD;
		if (!a->evaluates[step] &&
			((a->before[step] == IN_FORWARD && a->behind[step] == IN_FORWARD) ||
				(word->creates && (a->before[step] == IN_FORWARD || leads(a, step)))))
			return LAYER_FORWARD;
		return a->goes_back || !word->module ? LAYER_EVALUATION : LAYER_FORWARD;
	case FRAMEWORK_AGAIN:
		return LAYER_FORWARD;
	case FRAMEWORK_BACKWARD:
		return LAYER_BACKWARD;
	case FRAMEWORK_UPDATE: /* which may make passes itself */
		return is_first_gradient(a, step) ? LAYER_BACKWARD : LAYER_AFTER;
	case FRAMEWORK_ZEROES:
	case FRAMEWORK_LOADS:
		return LAYER_EVALUATION;
	default:
		return LAYER_UNKNOWN;
	}
}

static enum layer_rule pass_rule(const struct asking *a, uint32_t step, enum layer_pass pass)
{
	const struct framework_word *word = &a->words[step];

	if (pass == LAYER_EVALUATION && a->evaluates[step])
		return LAYER_RULE_UNUSED;
	if (pass == LAYER_AFTER)
		return LAYER_RULE_STEP;
	return pass == LAYER_BACKWARD && word->place == FRAMEWORK_BACKWARD ? LAYER_RULE_NODE : LAYER_RULE_OPERATOR;
}

static bool computes(enum pm_kind kind)
{
	return kind == PM_KIND_LAUNCH || kind == PM_KIND_COMPUTE || kind == PM_KIND_FORWARD || kind == PM_KIND_BACKWARD;
}

/* Has a call of the kind a phase by where it is called? Communication has its own, and what only the host does none. */
static bool is_placed(enum pm_kind kind)
{
	return computes(kind) || kind == PM_KIND_COPY || kind == PM_KIND_SET;
}

static void set_passes(struct asking *a)
{
	struct layer_assign *assign = a->assign;

	for (uint32_t i = 0; i < assign->graph.step_count; i++) {
		const enum layer_pass pass = pass_of(a, i);

		if (pass == LAYER_UNKNOWN || !is_placed(graph_flow(&assign->graph, i)->kind))
			continue;
		assign->passes[i] = pass;
		assign->again[i] = a->words[i].place == FRAMEWORK_AGAIN;
		if (pass != LAYER_AFTER)
			assign->graph.steps[i].update = false;
		layer_pass_by(assign, i, pass_rule(a, i, pass));
	}
}

/* Behind the name of the outermost module, which is that of a variable, and may be another at another time; NULL: there is
 * nothing behind it. */
static const char *below_root(const char *module)
{
	const char *dot = strchr(module, '.');

	return dot ? dot + 1 : NULL;
}

/* Is the outermost module's name that of its class, for want of a variable's? Variables begin with small letters. */
static bool is_class_name(const char *module)
{
	return *module >= 'A' && *module <= 'Z';
}

/* The only layer with this path where the outermost module has the name of its class, here or there; else LAYER_NONE. */
static uint32_t layer_below_root(const struct layer_list *list, const char *module)
{
	const char *below = below_root(module);
	uint32_t found = LAYER_NONE;

	for (uint32_t layer = 0; below && layer < list->count; layer++) {
		const char *other = below_root(list->items[layer].module);

		if (!other || is_class_name(module) == is_class_name(list->items[layer].module) ||
			!layer_same_module(other, below))
			continue;
		if (found != LAYER_NONE)
			return LAYER_NONE;
		found = layer;
	}
	return found;
}

/* The layer of a module that has parameters. What data flow took for a layer without a name gets this one. */
static uint32_t layer_of_module(struct asking *a, uint32_t step)
{
	struct layer_list *list = a->assign->list;
	const char *module = a->words[step].module;
	const uint32_t found = a->assign->layers[step];
	uint32_t layer;

	if (found != LAYER_NONE && layer_same_module(list->items[found].module, module))
		return found;
	for (layer = 0; layer < list->count; layer++)
		if (layer_same_module(list->items[layer].module, module))
			return layer;
	layer = layer_below_root(list, module);
	if (layer != LAYER_NONE) {
		if (!is_class_name(module))
			list->items[layer].module = arena_text(&list->arena, module, strlen(module));
		return layer;
	}
	if (found != LAYER_NONE && !*list->items[found].module) {
		layer = found;
	} else {
		layer = layer_new(a->assign, step);
		list->items[layer].partly_sized = true;
	}
	list->items[layer].module = arena_text(&list->arena, module, strlen(module));
	return layer;
}

static bool goes_back(const struct layer_assign *assign, uint32_t layer)
{
	for (uint32_t i = 0; i < assign->graph.step_count; i++)
		if (assign->layers[i] == layer && assign->passes[i] == LAYER_BACKWARD)
			return true;
	return false;
}

/* The other layer's work is this one's, and its parameters, unless they are buffers, to which nothing goes back. */
static void join_layers(struct layer_assign *assign, uint32_t layer, uint32_t other)
{
	const uint32_t owner = goes_back(assign, other) ? layer : LAYER_NONE;

	for (uint32_t i = 0; i < assign->graph.step_count; i++)
		if (assign->layers[i] == other)
			assign->layers[i] = layer;
	for (size_t p = 0; p < assign->graph.parameter_count; p++)
		if (assign->owners[p] == other)
			assign->owners[p] = owner;
	if (owner == layer)
		assign->list->items[layer].parameter_bytes += assign->list->items[other].parameter_bytes;
	assign->list->items[other].parameter_bytes = 0;
	assign->list->items[other].module = "";
	assign->list->items[other].name = NULL; /* goes with the next sorting */
}

/* What data flow took for several layers of one module is one. */
static void join_modules(struct layer_assign *assign)
{
	struct layer *items = assign->list->items;

	for (uint32_t l = 0; l < assign->list->count; l++)
		for (uint32_t o = l + 1; o < assign->list->count && *items[l].module; o++) {
			const bool larger = items[o].parameter_bytes > items[l].parameter_bytes;

			if (!layer_same_module(items[l].module, items[o].module))
				continue;
			join_layers(assign, larger ? o : l, larger ? l : o);
		}
}

static bool is_forward(const struct asking *a, uint32_t step)
{
	return a->assign->passes[step] == LAYER_FORWARD && a->words[step].place != FRAMEWORK_SILENT;
}

static void put(struct asking *a, uint32_t step, uint32_t layer)
{
	a->assign->layers[step] = layer;
	layer_by(a->assign, step, LAYER_RULE_ASKED, GRAPH_NONE, 0);
	if (a->words[step].origin != TIMELINE_NO_RANGE && is_forward(a, step))
		a->layers[a->words[step].origin] = layer;
}

/* Of what comes before the first module with parameters, and what is done for the next (serves_next): that one's. */
static void put_leading(struct asking *a, uint32_t first, uint32_t end, uint32_t layer)
{
	for (uint32_t i = first; i < end; i++)
		if (is_forward(a, i) && !a->words[i].compiled && a->assign->reasons[i].layer != LAYER_RULE_ASKED)
			put(a, i, layer);
}

/* Without gradients, and of no module: parameters are brought together before a module runs (FSDP). */
static bool serves_next(const struct framework_word *word)
{
	return word->place == FRAMEWORK_NO_GRADIENTS && !word->module && !word->creates;
}

static void set_forward_layers(struct asking *a)
{
	uint32_t current = LAYER_NONE, leading = GRAPH_NONE;

	for (uint32_t i = 0; i < a->assign->graph.step_count; i++) {
		const struct framework_word *word = &a->words[i];

		if (word->place == FRAMEWORK_BACKWARD || word->place == FRAMEWORK_UPDATE) {
			current = LAYER_NONE;
			leading = GRAPH_NONE;
		}
		if (!is_forward(a, i) || word->compiled)
			continue;
		if (word->owns) {
			current = layer_of_module(a, i);
			if (leading != GRAPH_NONE)
				put_leading(a, leading, i, current);
			leading = GRAPH_NONE;
		} else if ((current == LAYER_NONE || serves_next(word)) && leading == GRAPH_NONE) {
			leading = i;
		}
		if (serves_next(word))
			continue;
		if (current != LAYER_NONE)
			put(a, i, current);
	}
}

/* Of an operator that launched nothing, as a view's: that of the one before it. */
static uint32_t layer_of_operator(const struct asking *a, uint32_t operator)
{
	const struct timeline *timeline = a->assign->timeline;
	const struct timeline_process *process = &timeline->processes[a->assign->worker->process];
	const struct timeline_range *ranges = timeline_ranges(timeline, process);

	for (uint32_t i = operator + 1; i-- > 0 && ranges[i].thread == ranges[operator].thread;)
		if (a->layers[i] != LAYER_NONE)
			return a->layers[i];
	return LAYER_NONE;
}

static void set_backward_layers(struct asking *a)
{
	uint32_t last = LAYER_NONE;

	for (uint32_t i = 0; i < a->assign->graph.step_count; i++) {
		const struct framework_word *word = &a->words[i];
		uint32_t layer = LAYER_NONE;

		if (is_forward(a, i))
			last = a->assign->layers[i];
		if (a->assign->passes[i] != LAYER_BACKWARD || word->place == FRAMEWORK_SILENT || word->compiled)
			continue;
		if (word->owns)
			layer = layer_of_module(a, i);
		else if (word->origin != TIMELINE_NO_RANGE && word->place == FRAMEWORK_BACKWARD)
			layer = layer_of_operator(a, word->origin);
		else
			layer = last;
		if (layer != LAYER_NONE)
			put(a, i, layer);
		last = a->assign->layers[i];
	}
}

/* The length of the name of the outermost module. */
static size_t root_length(const char *module)
{
	return strcspn(module, ".");
}

/* Where all layers but those with a class's name have the same outermost module, it is theirs too. */
static void name_roots(struct layer_list *list)
{
	const char *root = NULL;

	for (uint32_t l = 0; l < list->count; l++) {
		const char *module = list->items[l].module;

		if (!*module || is_class_name(module))
			continue;
		if (root && (root_length(root) != root_length(module) || strncmp(root, module, root_length(root)) != 0))
			return;
		root = module;
	}
	for (uint32_t l = 0; l < list->count && root; l++) {
		const char *below = is_class_name(list->items[l].module) ? below_root(list->items[l].module) : NULL;

		if (below)
			list->items[l].module =
				arena_format(&list->arena, "%.*s.%s", (int)root_length(root), root, below);
	}
}

/* ---- the order of layers: that in which passes come to them ---- */

struct order {
	uint32_t layer, first; /* step */
};

static int compare_orders(const void *left, const void *right)
{
	const struct order *a = left, *b = right;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return a->layer < b->layer ? -1 : a->layer > b->layer;
}

static void renumber(uint32_t *layers, size_t count, const uint32_t *now)
{
	for (size_t i = 0; i < count; i++)
		if (layers[i] != LAYER_NONE)
			layers[i] = now[layers[i]];
}

static void sort_layers(struct layer_assign *assign)
{
	struct layer_list *list = assign->list;
	struct order *orders = mem_alloc(list->count, sizeof(*orders));
	struct layer *items = mem_alloc(list->count, sizeof(*items));
	uint32_t *now = mem_alloc(list->count, sizeof(*now));
	size_t kept = 0;

	for (uint32_t l = 0; l < list->count; l++)
		orders[l] = (struct order){l, UINT32_MAX};
	for (uint32_t i = assign->graph.step_count; i-- > 0;)
		if (assign->layers[i] != LAYER_NONE && assign->passes[i] == LAYER_FORWARD)
			orders[assign->layers[i]].first = i;
	for (uint32_t l = 1; l < list->count; l++) /* one without forward work stays behind its neighbour */
		if (orders[l].first == UINT32_MAX)
			orders[l].first = orders[l - 1].first;
	qsort(orders, list->count, sizeof(*orders), compare_orders);
	memcpy(items, list->items, list->count * sizeof(*items));
	for (uint32_t l = 0; l < list->count; l++) {
		if (!items[orders[l].layer].name)
			continue;
		now[orders[l].layer] = (uint32_t)kept;
		list->items[kept++] = items[orders[l].layer];
	}
	list->count = kept;
	renumber(assign->layers, assign->graph.step_count, now);
	renumber(assign->owners, assign->graph.parameter_count, now);
	free(orders);
	free(items);
	free(now);
}

#define MOSTLY 0.9 /* told: what data flow could not follow is not missed */

/* How much of the computing time is told; nothing that is in doubt by data flow is, where most of it is. */
static void note_told(const struct asking *a)
{
	const struct layer_assign *assign = a->assign;
	double all_ns = 0, told_ns = 0;

	for (uint32_t i = 0; i < assign->graph.step_count; i++) {
		const struct timeline_call call = timeline_call(assign->timeline, assign->graph.steps[i].call);
		double ns = 0;

		for (uint32_t j = 0; j < call.interval_count; j++) {
			const struct timeline_interval interval = timeline_interval(assign->timeline, call.interval + j);

			ns += (double)(interval.end_ns - interval.begin_ns);
		}
		if (!computes(graph_flow(&assign->graph, i)->kind))
			continue;
		all_ns += ns;
		told_ns += pass_of(a, i) != LAYER_UNKNOWN && !a->words[i].compiled ? ns : 0;
	}
	assign->list->told = all_ns > 0 ? told_ns / all_ns : 0;
	if (assign->list->told < MOSTLY)
		return;
	assign->list->doubt = LAYER_NO_DOUBT;
	assign->list->updates = 0;
}

void layer_framework(struct layer_assign *assign)
{
	const struct timeline_process *process = &assign->timeline->processes[assign->worker->process];
	const uint32_t count = assign->graph.step_count;
	struct framework *framework = framework_read(assign->timeline, process);
	struct asking a = {.assign = assign, .framework = framework};

	if (!framework)
		return;
	a.words = mem_alloc(count, sizeof(*a.words));
	a.before = mem_alloc(count, sizeof(*a.before));
	a.behind = mem_alloc(count, sizeof(*a.behind));
	a.next = mem_alloc(count, sizeof(*a.next));
	a.evaluates = mem_alloc(count, sizeof(*a.evaluates));
	a.layers = mem_alloc(process->range_count, sizeof(*a.layers));
	memset(a.layers, 0xff, process->range_count * sizeof(*a.layers));
	for (uint32_t i = 0; i < count; i++)
		a.words[i] = framework_word(framework, layer_captured_call(assign, assign->graph.steps[i].call));
	find_anchors(&a);
	find_evaluations(&a);
	note_told(&a);
	set_passes(&a);
	join_modules(assign);
	set_forward_layers(&a);
	set_backward_layers(&a);
	name_roots(assign->list);
	if (assign->list->count)
		sort_layers(assign);
	free(a.words);
	free(a.before);
	free(a.behind);
	free(a.evaluates);
	free(a.next);
	free(a.layers);
	framework_free(framework);
}
