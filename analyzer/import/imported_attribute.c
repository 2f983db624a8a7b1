/*
 * What the phase of each device event is: see imported_attribute.h. In this order, and the first that says
 * something decides:
 *
 *  0. what the event's own arguments say, as those of pmanalyze export --kineto do;
 *  1. communication is communication, whoever asks for it;
 *  2. the innermost label around the call;
 *  3. the operator: of the backward pass, or one that is a layer or shares its number with a backward one;
 *  4. a label that is open on another thread (the backward pass is run by a thread of its own, which has
 * none);
 *  5. the order: from the first layer of a pass to its backward work all is forward; after the backward work
 *     what optimizers do is the update; and what follows that and the input's copy leads to the next pass;
 *  6. the name of the kernel.
 *
 * A copy from the host that no layer and no gradient asks for is input, in a forward label too.
 */
#include "imported_attribute.h"

#include "imported_place.h"
#include "timeline/phase_name.h"

#include <stdlib.h>
#include <string.h>

struct answer {
	uint8_t phase; /* enum phase + 1 */
	uint8_t how;
};

/* Where in an iteration the launches are. */
enum state { STATE_BEFORE, STATE_FORWARD, STATE_AFTER };

struct attribute {
	struct imported_places places;
	struct imported_attribution *out;
	uint32_t *labels;   /* by thread: the innermost label open now */
	uint32_t *labelled; /* threads that have labels at all */
	size_t labelled_count;
	size_t next_span;
	enum state state;
	bool updated;    /* after the backward pass, an update was seen */
	bool fed;        /* so was a copy of input */
	size_t *pending; /* launches that may lead to the next pass */
	size_t pending_count;
};

static const char *event_name(const struct attribute *attribute, uint32_t event)
{
	const struct imported *imported = attribute->places.imported;

	return imported->strings.items[imported->events.name[event]];
}

static bool is_from_host(const struct attribute *attribute, uint32_t event)
{
	return attribute->places.imported->events.activity[event] == IMPORTED_COPY &&
	       imported_keyword_kernel(event_name(attribute, event)) == PHASE_H2D + 1;
}

static void find_labelled(struct attribute *attribute)
{
	const struct imported *imported = attribute->places.imported;
	bool *has = mem_alloc(imported->thread_count, sizeof(*has));

	attribute->labels = mem_alloc(imported->thread_count, sizeof(*attribute->labels));
	attribute->labelled = mem_alloc(imported->thread_count, sizeof(*attribute->labelled));
	for (uint32_t i = 0; i < imported->spans.count; i++)
		if (attribute->places.places[i].label == i)
			has[imported->spans.thread[i]] = true;
	for (uint32_t i = 0; i < imported->thread_count; i++) {
		attribute->labels[i] = IMPORTED_NONE;
		if (has[i])
			attribute->labelled[attribute->labelled_count++] = i;
	}
	free(has);
}

/* The innermost label that is open on the thread. */
static uint32_t label_at(struct attribute *attribute, uint32_t thread, int64_t ns)
{
	const struct imported_spans *spans = &attribute->places.imported->spans;
	uint32_t label = attribute->labels[thread];

	while (label != IMPORTED_NONE && spans->end_ns[label] < ns) {
		uint32_t parent = attribute->places.places[label].parent;

		label = parent == IMPORTED_NONE ? IMPORTED_NONE : attribute->places.places[parent].label;
	}
	attribute->labels[thread] = label;
	return label;
}

static void open_labels(struct attribute *attribute, int64_t until_ns)
{
	const struct imported_spans *spans = &attribute->places.imported->spans;

	for (; attribute->next_span < spans->count && spans->begin_ns[attribute->next_span] <= until_ns;
		attribute->next_span++)
		if (attribute->places.places[attribute->next_span].label == attribute->next_span)
			attribute->labels[spans->thread[attribute->next_span]] =
				(uint32_t)attribute->next_span;
}

/* What the labels of the process's other threads say, if they agree. */
static uint8_t label_elsewhere(struct attribute *attribute, const struct imported_launch *launch)
{
	const struct imported *imported = attribute->places.imported;
	uint8_t phase = 0;

	for (size_t i = 0; i < attribute->labelled_count; i++) {
		uint32_t thread = attribute->labelled[i], label;

		if (launch->thread == IMPORTED_NONE || thread == launch->thread ||
			imported->threads[thread].process != imported->threads[launch->thread].process)
			continue;
		label = label_at(attribute, thread, launch->begin_ns);
		if (label == IMPORTED_NONE)
			continue;
		if (phase && phase != imported_place_word(&attribute->places, label)->label)
			return 0;
		phase = imported_place_word(&attribute->places, label)->label;
	}
	return phase;
}

/* Is it inside a layer, or an operator with a gradient? */
static bool is_forward(const struct attribute *attribute, const struct imported_place *place)
{
	return !(place->flags & IMPORTED_PLACE_BACKWARD) &&
	       (place->anchor != IMPORTED_NONE ||
		       (place->top != IMPORTED_NONE &&
			       (attribute->places.places[place->top].flags & IMPORTED_PLACE_LINKED)));
}

/* A labelled phase that is an event itself. */
static struct answer answer_labelled(const struct attribute *attribute, uint32_t event)
{
	static const char *const inputs[] = {"load", "input", "data", "fetch", "read"};
	const char *name = event_name(attribute, event);
	uint8_t phase = imported_keyword_label(name);

	switch ((enum imported_kind)attribute->places.imported->events.kind[event]) {
	case IMPORTED_COMMUNICATION:
		phase = PHASE_COMMUNICATION + 1;
		break;
	case IMPORTED_OTHER:
		for (size_t i = 0; !phase && i < sizeof(inputs) / sizeof(*inputs); i++)
			if (strcasestr(name, inputs[i]))
				phase = PHASE_IO + 1;
		break;
	default:
		break;
	}
	return (struct answer){phase, phase ? TIMELINE_ATTRIBUTED_BY_LABEL : TIMELINE_ATTRIBUTED_BY_NOTHING};
}

/* What the event itself says: the phase's symbol, as pmanalyze export writes it. */
static struct answer answer_given(const struct imported *imported, uint32_t event)
{
	const char *symbol = imported->strings.items[imported->events.phase[event]];

	for (uint8_t i = 0; *symbol && i < PHASE_WORK_COUNT; i++)
		if (strcmp(phase_symbols[i], symbol) == 0)
			return (struct answer){i + 1, TIMELINE_ATTRIBUTED_BY_LABEL};
	return (struct answer){0, TIMELINE_ATTRIBUTED_BY_NOTHING};
}

/* Steps 1 to 4. */
static struct answer answer_attributed(struct attribute *attribute, const struct imported_launch *launch)
{
	const struct imported_events *events = &attribute->places.imported->events;
	const struct imported_place *place = imported_place_of(&attribute->places, launch);
	struct answer given;
	uint8_t phase;

	if (events->activity[launch->event] == IMPORTED_LABELLED)
		return answer_labelled(attribute, launch->event);
	given = answer_given(attribute->places.imported, launch->event);
	if (given.phase)
		return given;
	if (events->kind[launch->event] == IMPORTED_COMMUNICATION)
		return (struct answer){PHASE_COMMUNICATION + 1, TIMELINE_ATTRIBUTED_BY_NAME};
	if (place && place->label != IMPORTED_NONE) {
		phase = imported_place_word(&attribute->places, place->label)->label;
		if (phase == PHASE_FORWARD + 1 && is_from_host(attribute, launch->event) &&
			place->anchor == IMPORTED_NONE && place->top != IMPORTED_NONE &&
			(imported_place_word(&attribute->places, place->top)->flags & IMPORTED_KEYWORD_COPY))
			return (struct answer){PHASE_H2D + 1, TIMELINE_ATTRIBUTED_BY_NAME};
		return (struct answer){phase, TIMELINE_ATTRIBUTED_BY_LABEL};
	}
	if (place && (place->flags & IMPORTED_PLACE_BACKWARD))
		return (struct answer){PHASE_BACKWARD + 1, TIMELINE_ATTRIBUTED_BY_OPERATOR};
	if (launch->thread != IMPORTED_NONE && attribute->places.engine[launch->thread])
		return (struct answer){PHASE_BACKWARD + 1, TIMELINE_ATTRIBUTED_BY_OPERATOR};
	if (is_from_host(attribute, launch->event) && (!place || place->anchor == IMPORTED_NONE))
		return (struct answer){PHASE_H2D + 1, TIMELINE_ATTRIBUTED_BY_NAME};
	if (place && place->top != IMPORTED_NONE &&
		(imported_place_word(&attribute->places, place->top)->flags & IMPORTED_KEYWORD_UPDATE))
		return (struct answer){PHASE_UPDATE + 1, TIMELINE_ATTRIBUTED_BY_OPERATOR};
	if (place && place->anchor != IMPORTED_NONE)
		return (struct answer){PHASE_FORWARD + 1, TIMELINE_ATTRIBUTED_BY_OPERATOR};
	if (place && place->top != IMPORTED_NONE &&
		(imported_place_word(&attribute->places, place->top)->flags & IMPORTED_KEYWORD_ZERO))
		return (struct answer){PHASE_OTHER + 1, TIMELINE_ATTRIBUTED_BY_OPERATOR};
	if (place && is_forward(attribute, place))
		return (struct answer){PHASE_FORWARD + 1, TIMELINE_ATTRIBUTED_BY_OPERATOR};
	phase = label_elsewhere(attribute, launch);
	return (struct answer){phase, phase ? TIMELINE_ATTRIBUTED_BY_LABEL : TIMELINE_ATTRIBUTED_BY_NOTHING};
}

static void set_phase(struct attribute *attribute, const struct imported_launch *launch, struct answer answer)
{
	const struct imported_events *events = &attribute->places.imported->events;

	attribute->out->phase[launch->event] = answer.phase;
	attribute->out->attributed_ns[attribute->places.worker][answer.how] +=
		events->end_ns[launch->event] - events->begin_ns[launch->event];
}

/* What was put off turns out to lead to a forward pass, or not. */
static void end_pending(struct attribute *attribute, bool leads)
{
	for (size_t i = 0; i < attribute->pending_count; i++) {
		const struct imported_launch *launch = &attribute->places.launches[attribute->pending[i]];
		struct answer answer = {leads ? PHASE_FORWARD + 1 : 0,
			leads ? TIMELINE_ATTRIBUTED_BY_ORDER : TIMELINE_ATTRIBUTED_BY_NOTHING};

		if (!leads && (answer.phase = imported_keyword_kernel(event_name(attribute, launch->event))))
			answer.how = TIMELINE_ATTRIBUTED_BY_NAME;
		set_phase(attribute, launch, answer);
	}
	attribute->pending_count = 0;
}

/* Of work that an operator launched which nothing tells: step 5. False: it is put off. */
static bool answer_by_order(struct attribute *attribute, size_t number, struct answer *answer)
{
	const struct imported_launch *launch = &attribute->places.launches[number];
	const struct imported_place *place = imported_place_of(&attribute->places, launch);
	const struct imported_keyword *top = imported_place_word(&attribute->places, place->top);

	*answer = (struct answer){0, TIMELINE_ATTRIBUTED_BY_NOTHING};
	if (attribute->state == STATE_FORWARD) {
		*answer = (struct answer){PHASE_FORWARD + 1, TIMELINE_ATTRIBUTED_BY_ORDER};
		return true;
	}
	if (attribute->state == STATE_AFTER && !attribute->fed && (top->flags & IMPORTED_KEYWORD_INPLACE) &&
		attribute->places.imported->spans.sequence[place->top] < 0) {
		*answer = (struct answer){PHASE_UPDATE + 1, TIMELINE_ATTRIBUTED_BY_ORDER};
		return true;
	}
	attribute->pending[attribute->pending_count++] = number;
	return false;
}

/* How the launch moves the state on. */
static void step_state(
	struct attribute *attribute, const struct imported_launch *launch, struct answer answer)
{
	const struct imported_place *place = imported_place_of(&attribute->places, launch);

	if (answer.phase == PHASE_H2D + 1) {
		end_pending(attribute, false);
		attribute->fed = true;
	} else if (answer.phase == PHASE_UPDATE + 1) {
		end_pending(attribute, false);
		attribute->updated = true;
		attribute->state = STATE_AFTER;
	} else if (answer.phase == PHASE_BACKWARD + 1) {
		end_pending(attribute, false);
		attribute->state = STATE_AFTER;
		attribute->updated = attribute->fed = false;
	} else if (answer.phase == PHASE_FORWARD + 1 && answer.how != TIMELINE_ATTRIBUTED_BY_NAME &&
		   (!place || is_forward(attribute, place))) {
		end_pending(
			attribute, attribute->state == STATE_BEFORE || attribute->updated || attribute->fed);
		attribute->state = STATE_FORWARD;
	}
}

/* All of it is by its name alone where the trace says nothing of operators. */
static void take_launch(struct attribute *attribute, size_t number)
{
	const struct imported_launch *launch = &attribute->places.launches[number];
	const struct imported_place *place = imported_place_of(&attribute->places, launch);
	struct answer answer;

	open_labels(attribute, launch->begin_ns);
	answer = answer_attributed(attribute, launch);
	if (!answer.phase && place && place->top != IMPORTED_NONE &&
		!answer_by_order(attribute, number, &answer))
		return;
	if (!answer.phase &&
		attribute->places.imported->events.activity[launch->event] != IMPORTED_LABELLED &&
		(answer.phase = imported_keyword_kernel(event_name(attribute, launch->event))))
		answer.how = TIMELINE_ATTRIBUTED_BY_NAME;
	step_state(attribute, launch, answer);
	set_phase(attribute, launch, answer);
}

static bool is_of_graph(const struct imported *imported, uint32_t event)
{
	uint32_t call = imported->events.call[event];

	return call != IMPORTED_NONE &&
	       strstr(imported->strings.items[imported->calls.name[call]], "GraphLaunch");
}

/* After an operator of the backward pass, on its thread, without one. */
static void set_layer(struct attribute *attribute, const struct imported_launch *launch)
{
	const struct imported_place *place = imported_place_of(&attribute->places, launch);
	uint8_t phase = attribute->out->phase[launch->event];
	const uint32_t *layers = attribute->places.layers;
	uint32_t span = launch->span;

	const struct imported *imported = attribute->places.imported;
	uint32_t given = imported->events.layer[launch->event];

	if (given) {
		/* Not a list of several, as an exchange of them all has. */
		if (!strchr(imported->strings.items[given], ','))
			attribute->out->layer[launch->event] = given;
		return;
	}
	/* A graph holds work of many layers; none of its kernels says of which. */
	if (is_of_graph(imported, launch->event)) {
		if (phase == PHASE_FORWARD + 1 || phase == PHASE_BACKWARD + 1)
			attribute->out->layer[launch->event] =
				intern_text(&attribute->places.imported->strings, "graph", 5);
		return;
	}
	if (!place)
		return;
	/* The innermost operator has it, not an annotation in it. */
	while (span != IMPORTED_NONE && !imported_place_operates(&attribute->places, span))
		span = attribute->places.places[span].parent;
	if (span == IMPORTED_NONE)
		return;
	if (phase == PHASE_COMMUNICATION + 1) {
		if (place->anchor != IMPORTED_NONE)
			attribute->out->layer[launch->event] = layers[place->anchor];
		return;
	}
	if (phase != PHASE_FORWARD + 1 && phase != PHASE_BACKWARD + 1)
		return;
	attribute->out->layer[launch->event] = layers[span];
	if (phase == PHASE_BACKWARD + 1 && (place->flags & IMPORTED_PLACE_AGAIN))
		attribute->out->part[launch->event] = PHASE_LAYER_RECOMPUTE + 1;
}

/* Kernels of NCCL say how data move, not for what: an exchange of all with all is a SendRecv. PyTorch's range
 * around the launch does. */
static void set_collective(struct attribute *attribute, const struct imported_launch *launch)
{
	const struct imported *imported = attribute->places.imported;
	uint32_t span = launch->span;

	if (imported->events.kind[launch->event] != IMPORTED_COMMUNICATION ||
		imported->events.activity[launch->event] == IMPORTED_LABELLED)
		return;
	for (; span != IMPORTED_NONE; span = attribute->places.places[span].parent)
		if (strncmp(imported->strings.items[imported->spans.name[span]], "nccl:", 5) == 0) {
			attribute->out->collective[launch->event] = imported->spans.name[span];
			return;
		}
}

enum gradients { GRADIENTS_UNKNOWN, GRADIENTS_RECORDED, GRADIENTS_NOT_RECORDED };

/*
 * PyTorch's own operators that are layers have numbers while gradients are recorded, of nested ones at least
 * the outermost. Libraries' operators may have none at any time.
 */
static enum gradients gradients_of(const struct attribute *attribute, const struct imported_launch *launch)
{
	const struct imported_places *places = &attribute->places;
	const struct imported *imported = places->imported;
	const struct imported_place *place = imported_place_of(places, launch);
	uint32_t span = launch->span;

	if (!place || attribute->out->phase[launch->event] != PHASE_FORWARD + 1)
		return GRADIENTS_UNKNOWN;
	for (; span != IMPORTED_NONE; span = places->places[span].parent)
		if (imported->spans.sequence[span] >= 0)
			return GRADIENTS_RECORDED;
	return place->anchor != IMPORTED_NONE && place->top != IMPORTED_NONE &&
			       strncmp(imported->strings.items[imported->spans.name[place->top]],
				       "aten::", 6) == 0
		       ? GRADIENTS_NOT_RECORDED
		       : GRADIENTS_UNKNOWN;
}

/* Where no operator of a forward pass has a number, that others have none says nothing. */
static void find_without_gradients(struct attribute *attribute)
{
	const struct imported_places *places = &attribute->places;
	bool any = false;

	for (size_t i = 0; i < places->launch_count && !any; i++)
		any = gradients_of(attribute, &places->launches[i]) == GRADIENTS_RECORDED;
	for (size_t i = 0; i < places->launch_count && any; i++)
		attribute->out->no_gradients[places->launches[i].event] =
			gradients_of(attribute, &places->launches[i]) == GRADIENTS_NOT_RECORDED;
}

static void make_room(struct imported_attribution *out, const struct imported *imported)
{
	size_t count = imported->events.count;

	if (out->phase)
		return;
	out->count = count;
	out->attributed_ns = mem_alloc(imported->worker_count, sizeof(*out->attributed_ns));
	out->phase = mem_alloc(count, sizeof(*out->phase));
	out->part = mem_alloc(count, sizeof(*out->part));
	out->no_gradients = mem_alloc(count, sizeof(*out->no_gradients));
	out->layer = mem_alloc(count, sizeof(*out->layer));
	out->collective = mem_alloc(count, sizeof(*out->collective));
}

void imported_attribute(struct imported *imported, uint32_t worker, struct imported_attribution *attribution)
{
	struct attribute attribute = {.out = attribution};

	make_room(attribution, imported);
	imported_places_init(&attribute.places, imported, worker);
	imported_layers_find(&attribute.places);
	find_labelled(&attribute);
	attribute.pending = mem_alloc(attribute.places.launch_count, sizeof(*attribute.pending));
	for (size_t i = 0; i < attribute.places.launch_count; i++)
		take_launch(&attribute, i);
	end_pending(&attribute, false);
	for (size_t i = 0; i < attribute.places.launch_count; i++) {
		set_layer(&attribute, &attribute.places.launches[i]);
		set_collective(&attribute, &attribute.places.launches[i]);
	}
	find_without_gradients(&attribute);
	free(attribute.labels);
	free(attribute.labelled);
	free(attribute.pending);
	if (!attribution->ranges.of_span) { /* all workers' are the same */
		attribution->ranges = attribute.places.ranges;
		attribute.places.ranges = (struct imported_ranges){0};
	}
	imported_places_free(&attribute.places);
}

void imported_attribution_free(struct imported_attribution *attribution)
{
	free(attribution->phase);
	free(attribution->part);
	free(attribution->no_gradients);
	free(attribution->layer);
	free(attribution->collective);
	free(attribution->attributed_ns);
	imported_ranges_free(&attribution->ranges);
	memset(attribution, 0, sizeof(*attribution));
}
