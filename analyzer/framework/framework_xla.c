/* What XLA says: see framework_xla.h. */
#include "framework_xla.h"

#include <stdlib.h>
#include <string.h>

/* Of a range. */
struct place {
	const struct hlo_module *module;
	const struct hlo_instruction
		*instruction; /* that it launches, and what is in it too; NULL: not known */
	uint32_t run;         /* the range of the program's run; TIMELINE_NO_RANGE: none */
};

struct xla {
	const struct timeline *timeline;
	const struct timeline_process *process;
	const struct timeline_range *ranges;
	struct hlo hlo;
	struct place *places; /* by range */
	bool any_steps;       /* a program has gradients and updates */
	struct arena arena;
	/* the command buffer that was looked at last */
	uint32_t launch; /* its call */
	uint32_t node_count;
	const struct hlo_instruction **nodes;
};

static const struct timeline_range_name *name_of(const struct xla *x, uint32_t range)
{
	return &x->timeline->range_names[x->ranges[range].name];
}

/* A range that is neither a run nor a launch is what the one around it is. */
static struct place place_of(const struct xla *x, uint32_t range)
{
	const uint32_t parent = x->ranges[range].parent;
	const struct timeline_range_name *name = name_of(x, range);
	struct place place = {.run = TIMELINE_NO_RANGE};
	const char *text;
	uint64_t program;
	size_t length;

	if (parent != TIMELINE_NO_RANGE)
		place = x->places[parent];
	if (name->scope != PM_RANGE_NVTX || !name->name)
		return place;
	if (hlo_range_program(name->name, &program)) {
		place.module = hlo_find_module(&x->hlo, program);
		place.instruction = NULL;
		place.run = range;
	} else if (place.module && hlo_range_instruction(name->name, &text, &length)) {
		place.instruction = hlo_find(place.module, text, length);
	}
	return place;
}

struct xla *xla_read(const struct timeline *timeline, const struct timeline_process *process)
{
	struct xla *x;

	if (!process->hlo || process->range_count == 0)
		return NULL;
	x = mem_alloc(1, sizeof(*x));
	x->timeline = timeline;
	x->process = process;
	x->ranges = timeline_ranges(timeline, process);
	x->launch = UINT32_MAX;
	hlo_init(&x->hlo, process->hlo);
	for (size_t i = 0; i < x->hlo.module_count; i++)
		x->any_steps |= x->hlo.modules[i].steps;
	x->places = mem_alloc(process->range_count, sizeof(*x->places));
	for (uint32_t i = 0; i < process->range_count; i++)
		x->places[i] = place_of(x, i);
	return x;
}

void xla_free(struct xla *xla)
{
	if (!xla)
		return;
	hlo_free(&xla->hlo);
	arena_free(&xla->arena);
	free(xla->places);
	free(xla->nodes);
	free(xla);
}

const struct hlo_module *xla_module(const struct xla *xla, uint32_t range)
{
	return range == TIMELINE_NO_RANGE ? NULL : xla->places[range].module;
}

uint32_t xla_run(const struct xla *xla, uint32_t range)
{
	return range == TIMELINE_NO_RANGE ? TIMELINE_NO_RANGE : xla->places[range].run;
}

/* ---- command buffers ---- */

/* The outermost range within the run that is around a range, or is it. */
static uint32_t launch_within(const struct xla *x, uint32_t range)
{
	while (x->ranges[range].parent != TIMELINE_NO_RANGE &&
		x->ranges[range].parent != x->places[range].run)
		range = x->ranges[range].parent;
	return range;
}

/* The nearest launch of the same run before a range (step -1) or after it (1), as far as its instruction is
 * known. */
static const struct hlo_instruction *beside(const struct xla *x, uint32_t range, int step)
{
	const uint32_t run = x->places[range].run;

	for (uint32_t i = range + (uint32_t)step;
		i < x->process->range_count && x->places[i].run == run && i != run; i += (uint32_t)step)
		if (x->ranges[i].parent == x->ranges[range].parent && x->places[i].instruction)
			return x->places[i].instruction;
	return NULL;
}

static bool is_node(const struct xla *x, uint32_t call)
{
	return timeline_call(x->timeline, call).flags & TIMELINE_FLAG_REPLAYED;
}

/* What kernel a node is; NULL: a copy, or set. */
static const char *kernel_of(const struct xla *x, uint32_t call)
{
	const struct timeline_call item = timeline_call(x->timeline, call);
	uint64_t name;

	if (timeline_function(x->timeline, &item)->kind == PM_KIND_COPY ||
		timeline_function(x->timeline, &item)->kind == PM_KIND_SET ||
		!timeline_value(x->timeline, &x->timeline->operations[item.operation], "name", &name))
		return NULL;
	return x->timeline->strings[name];
}

/* Of a copy or set; 0: not known. */
static uint64_t bytes_of(const struct xla *x, uint32_t call)
{
	const struct timeline_call item = timeline_call(x->timeline, call);
	uint64_t bytes;

	return timeline_value(x->timeline, &x->timeline->operations[item.operation], "bytes", &bytes) ? bytes
												      : 0;
}

static void look_at_launch(struct xla *x, uint32_t launch, uint32_t range)
{
	const uint32_t outermost = launch_within(x, range);
	const char **names;
	uint64_t *bytes;
	uint32_t count = 0;

	while (launch + 1 + count < x->process->first_call + x->process->call_count &&
		is_node(x, launch + 1 + count))
		count++;
	free(x->nodes);
	x->nodes = mem_alloc(count + 1u, sizeof(*x->nodes));
	names = mem_alloc(count + 1u, sizeof(*names));
	bytes = mem_alloc(count + 1u, sizeof(*bytes));
	for (uint32_t i = 0; i < count; i++) {
		names[i] = kernel_of(x, launch + 1 + i);
		bytes[i] = names[i] ? 0 : bytes_of(x, launch + 1 + i);
	}
	hlo_align(x->places[range].module, x->places[range].instruction, beside(x, outermost, -1),
		beside(x, outermost, 1), names, bytes, count, x->nodes);
	free(names);
	free(bytes);
	x->launch = launch;
	x->node_count = count;
}

static const struct hlo_instruction *node_instruction(struct xla *x, uint32_t call, uint32_t range)
{
	uint32_t launch = call;

	while (launch > x->process->first_call && is_node(x, launch))
		launch--;
	if (launch != x->launch)
		look_at_launch(x, launch, range);
	return call - launch - 1 < x->node_count ? x->nodes[call - launch - 1] : NULL;
}

/* ---- words ---- */

static enum framework_place place_by(
	const struct xla *x, const struct hlo_module *module, enum hlo_direction direction)
{
	switch (direction) {
	case HLO_FORWARD:
		return FRAMEWORK_FORWARD;
	case HLO_BACKWARD:
		return FRAMEWORK_BACKWARD;
	case HLO_RECOMPUTED:
		return FRAMEWORK_AGAIN;
	case HLO_UPDATE:
		return FRAMEWORK_UPDATE;
	default:
		return module->trains || !x->any_steps ? FRAMEWORK_SILENT : FRAMEWORK_NO_GRADIENTS;
	}
}

bool xla_word(struct xla *xla, uint32_t call, uint32_t range, struct framework_word *word)
{
	const struct hlo_module *module = xla_module(xla, range);
	const struct hlo_instruction *i;

	if (!module)
		return false;
	i = is_node(xla, call) ? node_instruction(xla, call, range) : xla->places[range].instruction;
	*word = (struct framework_word){.origin = TIMELINE_NO_RANGE, .compiled = false, .settled = true};
	if (!i) {
		word->place = place_by(xla, module, HLO_NONE);
		return true;
	}
	word->place = place_by(xla, module, i->direction);
	word->says = i->name;
	word->module = *i->layer ? i->layer : NULL;
	word->owns = word->module && hlo_owns(module, word->module, &word->parameter_count);
	word->weighs = i->has_product;
	word->followed = i->source == HLO_BY_NEIGHBOUR || i->source == HLO_BY_FLOW;
	return true;
}
