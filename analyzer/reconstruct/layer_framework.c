/*
 * Passes and layers by what the framework says (framework.h), over what data flow and order have found. The layer of
 * a call is the module in which its operator ran, if that has parameters; else, as an activation's or a sum's, the
 * layer before it in its pass. Backward work has the layer of its forward operator.
 */
#include "framework/framework.h"
#include "layer_framework.h"
#include "timeline/constants.h"

#include <stdlib.h>
#include <string.h>

struct asking {
	struct layer_assign *assign;
	struct framework_word *words;   /* by step */
	enum layer_anchor *before, *behind;   /* by step: the nearest that is one */
	enum layer_why *evaluates;      /* by step: in a run of operators without gradients, some of them with
					   weights: of what kind; LAYER_WHY_NONE: it is in none */
	bool *ahead;                    /* by step: operators through which gradients go back follow, of a module or of none */
	uint32_t *next;                 /* by step: the next that is an anchor of a forward pass, or GRAPH_NONE */
	bool goes_back, updates;        /* any step does */
	uint32_t *layers;               /* by range: of an operator, LAYER_NONE */
	struct module *modules;         /* without parameters, in which forward work is done */
	size_t module_count, module_room;
	uint32_t known; /* layers that have their kinds */
};

struct module {
	const char *name;
	uint32_t layer;
};

static void find_anchors(struct asking *a)
{
	const uint32_t count = a->assign->graph.step_count;
	enum layer_anchor last = LAYER_NO_ANCHOR;
	bool ahead = false;

	for (uint32_t i = 0; i < count; i++) {
		const enum layer_anchor own = layer_anchor_of(&a->words[i]);

		a->before[i] = last;
		last = own ? own : last;
		a->goes_back |= own == LAYER_IN_BACKWARD;
		a->updates |= own == LAYER_IN_UPDATE;
	}
	last = LAYER_NO_ANCHOR;
	for (uint32_t i = count, next = GRAPH_NONE; i-- > 0;) {
		const enum layer_anchor own = layer_anchor_of(&a->words[i]);

		a->ahead[i] = ahead;
		ahead = a->words[i].place == FRAMEWORK_FORWARD || (ahead && !own);
		a->behind[i] = last;
		a->next[i] = next;
		last = own ? own : last;
		next = own == LAYER_IN_FORWARD ? i : own ? GRAPH_NONE : next;
	}
}

/* Is it in the module of the forward pass that begins after it, around that, or in a part of the same model? */
static bool leads(const struct asking *a, uint32_t step)
{
	const char *module = a->words[step].module;
	const char *next = a->next[step] == GRAPH_NONE ? NULL : a->words[a->next[step]].module;

	return framework_is_within(next, module) || layer_same_root(next, module);
}

/* Between the last pass and the step, between two steps, or where the program updates by itself, after the last pass; or
 * data flow sees that parameters change. After the step, what changes tensors in place: averages of the weights. */
static bool is_of_update(const struct asking *a, uint32_t step)
{
	const bool changes = a->words[step].place == FRAMEWORK_NO_GRADIENTS &&
			     (a->assign->graph.steps[step].update || a->assign->passes[step] == LAYER_AFTER);

	if (a->before[step] == LAYER_IN_UPDATE)
		return !a->evaluates[step] && (changes || a->words[step].in_place ||
						      (a->behind[step] == LAYER_IN_UPDATE && !a->words[step].module));
	return a->before[step] == LAYER_IN_BACKWARD && !a->words[step].module &&
	       (a->behind[step] == LAYER_IN_UPDATE || changes || (!a->updates && a->behind[step] == LAYER_NO_ANCHOR));
}

/* The gradient that a backward pass begins with: PyTorch makes it before its engine runs. */
static bool is_first_gradient(const struct asking *a, uint32_t step)
{
	return a->behind[step] == LAYER_IN_BACKWARD && a->words[step].says &&
	       strcmp(a->words[step].says, "aten::ones_like") == 0;
}

/*
 * The module in whose own code a backward pass starts is around the whole step: Keras' models train themselves. What that code
 * does without gradients, as the steps of an optimizer that is none of torch.optim's, is in no module's pass.
 */
static void leave_trainer(struct asking *a)
{
	const char *trainer = NULL;

	for (uint32_t i = 0; i < a->assign->graph.step_count && !trainer; i++)
		if (is_first_gradient(a, i))
			trainer = a->words[i].module;
	for (uint32_t i = 0; i < a->assign->graph.step_count && trainer; i++) {
		struct framework_word *word = &a->words[i];

		if (!word->settled && (word->place == FRAMEWORK_NO_GRADIENTS || word->place == FRAMEWORK_PREPARES) &&
			framework_is_within(trainer, word->module))
			word->module = NULL;
	}
}

/* Of a place that does not depend on those around it. */
static enum layer_pass settled_pass(enum framework_place place)
{
	switch (place) {
	case FRAMEWORK_FORWARD:
	case FRAMEWORK_AGAIN:
		return LAYER_FORWARD;
	case FRAMEWORK_BACKWARD:
		return LAYER_BACKWARD;
	case FRAMEWORK_UPDATE:
		return LAYER_AFTER;
	case FRAMEWORK_NO_GRADIENTS:
		return LAYER_EVALUATION;
	default:
		return LAYER_UNKNOWN;
	}
}

/* LAYER_UNKNOWN: nothing is said. */
static enum layer_pass pass_of(const struct asking *a, uint32_t step)
{
	const struct framework_word *word = &a->words[step];

	if (word->settled)
		return settled_pass(word->place);
	switch (word->place) {
	case FRAMEWORK_FORWARD:
	case FRAMEWORK_PREPARES:
		if (!word->module && is_of_update(a, step))
			return LAYER_AFTER;
		if (!word->module && word->place == FRAMEWORK_PREPARES && is_first_gradient(a, step))
			return LAYER_BACKWARD;
		return word->place == FRAMEWORK_FORWARD || a->before[step] == LAYER_IN_FORWARD || leads(a, step)
			       ? LAYER_FORWARD
			       : LAYER_EVALUATION;
	case FRAMEWORK_NO_GRADIENTS:
		if (word->shard)
			return word->shard == FRAMEWORK_FOR_FORWARD ? LAYER_FORWARD : LAYER_BACKWARD;
		if (is_of_update(a, step))
			return LAYER_AFTER;
		if (!word->module && is_first_gradient(a, step))
			return LAYER_BACKWARD;
		if (!a->evaluates[step] &&
			((a->before[step] == LAYER_IN_FORWARD &&
				 (a->behind[step] == LAYER_IN_FORWARD || a->ahead[step])) ||
				(word->creates && a->before[step] == LAYER_IN_FORWARD) ||
				((word->creates || (!word->in_place && !word->moves)) && leads(a, step))))
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

static enum layer_why pass_rule(const struct asking *a, uint32_t step, enum layer_pass pass)
{
	const struct framework_word *word = &a->words[step];

	if (pass == LAYER_EVALUATION && a->evaluates[step])
		return a->evaluates[step];
	if (pass == LAYER_AFTER)
		return LAYER_WHY_STEP;
	return pass == LAYER_BACKWARD && word->place == FRAMEWORK_BACKWARD ? LAYER_WHY_NODE
									   : LAYER_WHY_OPERATOR;
}

/* Has a call of the kind a phase by where it is called? Communication has its own, and what only the host does none. */
static bool is_placed(enum pm_kind kind)
{
	return layer_computes(kind) || kind == PM_KIND_COPY || kind == PM_KIND_SET;
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
		if (a->words[i].shard && graph_flow(&assign->graph, i)->kind == PM_KIND_COPY)
			assign->tables[i] = true; /* where parts of parameters and gradients lie */
		if (pass != LAYER_AFTER)
			assign->graph.steps[i].update = false;
		layer_pass_by(assign, i, pass_rule(a, i, pass));
	}
}

static bool is_forward(const struct asking *a, uint32_t step)
{
	return a->assign->passes[step] == LAYER_FORWARD && a->words[step].place != FRAMEWORK_SILENT;
}

/* Of a module without parameters the layer of its first forward work; LAYER_NONE: it has none. */
static uint32_t layer_of_place(const struct asking *a, const char *module)
{
	for (size_t i = 0; module && i < a->module_count; i++)
		if (strcmp(a->modules[i].name, module) == 0)
			return a->modules[i].layer;
	return LAYER_NONE;
}

static void put(struct asking *a, uint32_t step, uint32_t layer)
{
	const struct framework_word *word = &a->words[step];

	a->assign->layers[step] = layer;
	layer_by(a->assign, step, LAYER_WHY_ASKED, GRAPH_NONE, 0);
	if (!is_forward(a, step))
		return;
	if (word->origin != TIMELINE_NO_RANGE)
		a->layers[word->origin] = layer;
	else if (word->module && !word->owns && layer_of_place(a, word->module) == LAYER_NONE)
		*MEM_PUSH(a->modules, a->module_count, a->module_room) = (struct module){word->module, layer};
}

/* Of what comes before the first module with parameters, and what is done for the next (serves_next): that one's. */
static void put_leading(struct asking *a, uint32_t first, uint32_t end, uint32_t layer)
{
	for (uint32_t i = first; i < end; i++)
		if (is_forward(a, i) && !a->words[i].compiled &&
			a->assign->reasons[i].layer != LAYER_WHY_ASKED)
			put(a, i, layer);
}

/* Without gradients, and of no module with parameters: those of one are brought together before it runs (FSDP). What is
 * of the module that the pass is in has that one's layer. */
static bool serves_next(const struct framework_word *word, const char *module)
{
	return word->place == FRAMEWORK_NO_GRADIENTS && !word->owns && !word->creates &&
	       !(!word->shard && module && word->module && strcmp(module, word->module) == 0);
}

/* Of what data flow took for one layer only products are: the norm between them is a module of its own. Modules are those of
 * the products first. */
static void settle_layers(struct asking *a)
{
	struct layer_assign *assign = a->assign;

	for (uint32_t i = 0; i < assign->graph.step_count; i++)
		if (a->words[i].settled && !(a->words[i].weighs && a->words[i].owns) && is_placed(graph_flow(&assign->graph, i)->kind))
			assign->layers[i] = LAYER_NONE;
	for (uint32_t i = 0; i < assign->graph.step_count; i++)
		if (a->words[i].settled && a->words[i].weighs && a->words[i].owns && is_forward(a, i))
			layer_of_module(assign, i, a->words[i].module);
}

/* Of an update the layer whose parameters it is of, where that is said. What data flow says of a settled one does not count. */
static void set_update_layers(struct asking *a)
{
	for (uint32_t i = 0; i < a->assign->graph.step_count; i++) {
		const struct framework_word *word = &a->words[i];

		if (!word->settled || word->place != FRAMEWORK_UPDATE || !is_placed(graph_flow(&a->assign->graph, i)->kind))
			continue;
		a->assign->graph.steps[i].update = false;
		a->assign->layers[i] = LAYER_NONE;
		layer_by(a->assign, i, LAYER_WHY_ASKED, GRAPH_NONE, 0);
		if (word->owns)
			put(a, i, layer_of_module(a->assign, i, word->module));
	}
}

static void size_layers(struct asking *a)
{
	for (uint32_t i = 0; i < a->assign->graph.step_count; i++) {
		const struct framework_word *word = &a->words[i];
		struct layer *layer;

		if (!word->settled || !word->owns || a->assign->layers[i] == LAYER_NONE)
			continue;
		layer = &a->assign->list->items[a->assign->layers[i]];
		layer->told_size = true;
		layer->parameter_count = word->parameter_count;
		layer->partly_sized = word->parameter_count == 0;
	}
}

static void set_forward_layers(struct asking *a)
{
	uint32_t current = LAYER_NONE, leading = GRAPH_NONE, last = LAYER_NONE;
	const char *module = NULL; /* that the pass is in */

	for (uint32_t i = 0; i < a->assign->graph.step_count; i++) {
		const struct framework_word *word = &a->words[i];

		if (word->place == FRAMEWORK_BACKWARD || word->place == FRAMEWORK_UPDATE) {
			if (leading != GRAPH_NONE && last != LAYER_NONE) /* no module came: of the loss */
				put_leading(a, leading, i, last);
			current = LAYER_NONE;
			leading = GRAPH_NONE;
			module = NULL;
		}
		if (!is_forward(a, i))
			continue;
		if (word->place == FRAMEWORK_FORWARD)
			module = word->module;
		if (word->compiled) {
			current = layer_is_sure(a->assign, i) ? a->assign->layers[i] : current;
			continue;
		}
		if (word->owns) {
			last = current = layer_of_module(a->assign, i, word->module);
			if (leading != GRAPH_NONE)
				put_leading(a, leading, i, current);
			leading = GRAPH_NONE;
		} else if ((current == LAYER_NONE || serves_next(word, module)) && leading == GRAPH_NONE) {
			leading = i;
		}
		if (serves_next(word, module))
			continue;
		if (current != LAYER_NONE)
			put(a, i, current);
	}
}

/* An operator that launched nothing, as a view's, has the layer of the one before it in the thread. */
static void fill_operators(struct asking *a)
{
	const struct timeline *timeline = a->assign->timeline;
	const struct timeline_process *process = &timeline->processes[a->assign->worker->process];
	const struct timeline_range *ranges = timeline_ranges(timeline, process);

	for (uint32_t i = 1; i < process->range_count; i++)
		if (a->layers[i] == LAYER_NONE && ranges[i].thread == ranges[i - 1].thread)
			a->layers[i] = a->layers[i - 1];
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
			layer = layer_of_module(a->assign, i, word->module);
		else if (word->origin != TIMELINE_NO_RANGE && word->place == FRAMEWORK_BACKWARD)
			layer = a->layers[word->origin];
		else
			layer = layer_of_place(a, word->module);
		if (layer == LAYER_NONE && !word->owns &&
			(word->origin == TIMELINE_NO_RANGE || word->place != FRAMEWORK_BACKWARD))
			layer = last;
		if (layer != LAYER_NONE)
			put(a, i, layer);
		last = a->assign->layers[i];
	}
}

static void order_compiled(const struct asking *a)
{
	bool *compiled = mem_alloc(a->assign->graph.step_count, sizeof(*compiled));

	for (uint32_t i = 0; i < a->assign->graph.step_count; i++)
		compiled[i] = a->words[i].compiled;
	layer_order_compiled(a->assign, compiled);
	free(compiled);
}

/* Whose word each step has. Nothing that is in doubt by data flow is, where most of the time is said. */
static void list_said(const struct asking *a)
{
	struct layer_assign *assign = a->assign;

	assign->said = mem_alloc(assign->graph.step_count, sizeof(*assign->said));
	for (uint32_t i = 0; i < assign->graph.step_count; i++)
		if (pass_of(a, i) != LAYER_UNKNOWN && !a->words[i].compiled)
			assign->said[i] = a->words[i].followed ? LAYER_FOLLOWED : LAYER_SAID;
}

static void note_said(const struct asking *a)
{
	struct layer_assign *assign = a->assign;

	list_said(a);
	if (!layer_is_mostly_said(assign))
		return;
	assign->list->doubt = LAYER_NO_DOUBT;
	assign->list->updates = 0;
}

/* Does one forward pass run modules of both kinds? Where the same module has two names, one is of another time, or of
 * what runs again. */
static bool are_roots_apart(const struct asking *a)
{
	bool by_class = false, by_variable = false;

	for (uint32_t i = 0; i < a->assign->graph.step_count; i++) {
		const struct framework_word *word = &a->words[i];

		if (word->place != FRAMEWORK_FORWARD || word->settled || !word->owns)
			continue;
		by_class |= layer_is_class_name(word->module);
		by_variable |= !layer_is_class_name(word->module);
	}
	return by_class && by_variable;
}

static void find_evaluations(struct asking *a)
{
	layer_find_evaluations(a->words, a->next, a->assign->graph.step_count, a->evaluates);
}

/* What the operator of a module with weights is called tells more of its kind than the call does. */
static void name_kinds(struct asking *a)
{
	for (uint32_t i = 0; i < a->assign->graph.step_count; i++) {
		const struct framework_word *word = &a->words[i];

		if ((word->place == FRAMEWORK_FORWARD || word->place == FRAMEWORK_AGAIN) && word->owns &&
			word->kind && a->assign->layers[i] != LAYER_NONE && a->assign->layers[i] >= a->known)
			layer_set_kind(a->assign, a->assign->layers[i], i, word->kind);
	}
}

static void name_roots(struct asking *a)
{
	if (!a->assign->roots_apart)
		layer_name_roots(a->assign->list);
}

RULE_SEQUENCE(word, struct asking, context->assign->rule)

static const struct word_rule word_rules[] = {
	{RULE_FRAMEWORK_TRAINER, leave_trainer},
	{RULE_FRAMEWORK_EVALUATIONS, find_evaluations},
};
static const struct word_rule kind_rules[] = {
	{RULE_FRAMEWORK_KINDS, name_kinds},
};
static const struct word_rule root_rules[] = {
	{RULE_FRAMEWORK_ROOTS, name_roots},
};

static bool ask(struct asking *a, struct layer_assign *assign, struct framework *framework)
{
	const struct timeline_process *process = &assign->timeline->processes[assign->worker->process];
	const uint32_t count = assign->graph.step_count;

	*a = (struct asking){.assign = assign};
	if (!framework)
		return false;
	a->words = mem_alloc(count, sizeof(*a->words));
	a->before = mem_alloc(count, sizeof(*a->before));
	a->behind = mem_alloc(count, sizeof(*a->behind));
	a->next = mem_alloc(count, sizeof(*a->next));
	a->ahead = mem_alloc(count, sizeof(*a->ahead));
	a->evaluates = mem_alloc(count, sizeof(*a->evaluates));
	a->layers = mem_alloc(process->range_count, sizeof(*a->layers));
	memset(a->layers, 0xff, process->range_count * sizeof(*a->layers));
	for (uint32_t i = 0; i < count; i++)
		a->words[i] =
			framework_word(framework, layer_captured_call(assign, assign->graph.steps[i].call));
	find_anchors(a);
	word_each(RULE_TABLE(word_rules), a);
	assign->roots_apart = are_roots_apart(a);
	return true;
}

static void free_asking(struct asking *a)
{
	free(a->words);
	free(a->before);
	free(a->behind);
	free(a->evaluates);
	free(a->modules);
	free(a->next);
	free(a->ahead);
	free(a->layers);
}

static void set_layers(struct asking *a)
{
	set_forward_layers(a);
	fill_operators(a);
	set_backward_layers(a);
	set_update_layers(a);
}

bool layer_framework_other(struct layer_assign *assign)
{
	struct asking a;
	bool said = ask(&a, assign, assign->framework);

	if (said)
		list_said(&a);
	said = said && layer_is_mostly_said(assign);
	if (said) {
		a.known = (uint32_t)assign->list->count;
		set_passes(&a);
		set_layers(&a);
		word_each(RULE_TABLE(kind_rules), &a);
	}
	free_asking(&a);
	return said;
}

void layer_framework(struct layer_assign *assign)
{
	const struct timeline_process *process = &assign->timeline->processes[assign->worker->process];
	struct framework *framework =
		assign->framework ? assign->framework : framework_read(assign->timeline, process);
	struct asking a;

	if (!ask(&a, assign, framework))
		return;
	note_said(&a);
	set_passes(&a);
	layer_join_modules(assign);
	settle_layers(&a);
	order_compiled(&a);
	set_layers(&a);
	size_layers(&a);
	word_each(RULE_TABLE(kind_rules), &a);
	word_each(RULE_TABLE(root_rules), &a);
	if (assign->list->count)
		layer_sort(assign);
	free_asking(&a);
	if (framework != assign->framework)
		framework_free(framework);
}
