/* Operations of two runs set against each other: see diff.h. */
#include "diff.h"
#include "base/lookup.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One side while it is gathered. `found` has the item of a call's operation, layer and phase, by a hash. */
struct gatherer {
	struct diff *diff;
	const struct analysis *analysis;
	const struct compare_pair *pair;
	int side;
	struct lookup lookup; /* of the items */
	bool *seen;           /* interval: calls of a group share theirs */
	double *marks;        /* by item: the last worker that had it, from 1 */
	size_t mark_room;
	size_t *having; /* by item: workers that have it */
	size_t having_room;
	size_t worker;
};

static const char *const scales[] = {"0", "1", "x", "?"};

static const char *descriptor_text(struct arena *arena, const struct timeline *timeline, uint64_t number)
{
	const struct timeline_descriptor *descriptor;
	const char *text;
	uint32_t count;

	if (number == 0 || number >= timeline->descriptor_count)
		return "none";
	descriptor = &timeline->descriptors[number];
	/* The seed is another in each run. */
	count = descriptor->kind == PM_DESCRIPTOR_DROPOUT && descriptor->value_count
			? 1
			: descriptor->value_count;
	text = arena_format(arena, "%s(", trace_descriptor_name(descriptor->kind));
	for (uint32_t i = 0; i < count && i < 64; i++)
		text = i == 0 && (descriptor->kind == PM_DESCRIPTOR_TENSOR ||
					 descriptor->kind == PM_DESCRIPTOR_FILTER)
			       ? arena_format(arena, "%s%s", text,
					 trace_type_name((uint64_t)descriptor->values[0]))
			       : arena_format(
					 arena, "%s%s%" PRId64, text, i ? " " : "", descriptor->values[i]);
	return arena_format(arena, "%s)", text);
}

static const char *value_text(
	struct arena *arena, const struct timeline *timeline, enum pm_value type, uint64_t value)
{
	switch (type) {
	case PM_VALUE_INT:
		return arena_format(arena, "%" PRId64, (int64_t)value);
	case PM_VALUE_BYTES:
		return arena_format(arena, "%" PRIu64, value);
	case PM_VALUE_TYPE:
		return trace_type_name(value);
	case PM_VALUE_DIRECTION:
		return trace_direction_name(value);
	case PM_VALUE_SCALE:
		return value < 4 ? scales[value] : "?";
	case PM_VALUE_DESCRIPTOR:
		return descriptor_text(arena, timeline, value);
	case PM_VALUE_STRING:
		return value < timeline->string_count && timeline->strings[value] ? timeline->strings[value]
										  : "?";
	default:
		return NULL; /* addresses and handles differ from run to run */
	}
}

/* "label=value ..." of what makes an operation the same in another run. */
static const char *values_text(
	struct arena *arena, const struct timeline *timeline, const struct timeline_operation *operation)
{
	const struct timeline_function *function = &timeline->functions[operation->function];
	const char *text = "";

	for (uint32_t i = 0; i < operation->value_count && i < function->label_count; i++) {
		enum pm_value type = function->labels[i].type;
		const char *value;

		/* Which file, and where in it, is no difference. */
		if ((function->kind == PM_KIND_READ || function->kind == PM_KIND_OPEN) &&
			type != PM_VALUE_BYTES)
			continue;
		value = value_text(arena, timeline, type, operation->values[i]);
		if (value)
			text = arena_format(
				arena, "%s%s%s=%s", text, *text ? " " : "", function->labels[i].name, value);
	}
	return text;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = mem_hash(hash, (unsigned char)*text);
	return mem_hash(hash, 0x100);
}

/* The item with this key, perhaps a new one that is empty. */
static struct diff_item *item_of(struct gatherer *gatherer, uint64_t key)
{
	struct diff *diff = gatherer->diff;
	uint32_t i;

	for (size_t at = 0; (i = lookup_next(&gatherer->lookup, key, &at)) != LOOKUP_NONE;)
		if (diff->items[i].key == key)
			return &diff->items[i];
	lookup_add(&gatherer->lookup, key, (uint32_t)diff->count);
	*MEM_PUSH(diff->items, diff->count, diff->room) =
		(struct diff_item){.key = key, .layer = "", .phase = "", .detail = ""};
	return &diff->items[diff->count - 1];
}

/* The layer's name on the base's side. */
static const char *layer_on_base(const struct gatherer *gatherer, const struct layer *layer)
{
	for (size_t m = 0; m < gatherer->pair->match_count && gatherer->side == 1; m++) {
		const struct compare_match *match = &gatherer->pair->matches[m];

		if (match->other && match->base && strcmp(match->other->name, layer->name) == 0)
			return layer_title(match->base);
	}
	return layer_title(layer);
}

static void count_worker(struct gatherer *gatherer, size_t item)
{
	while (gatherer->mark_room <= item) {
		size_t room = gatherer->mark_room;
		double *marks = mem_alloc(room ? 2 * room : 1024, sizeof(*marks));
		size_t *having = mem_alloc(room ? 2 * room : 1024, sizeof(*having));

		if (room) {
			memcpy(marks, gatherer->marks, room * sizeof(*marks));
			memcpy(having, gatherer->having, room * sizeof(*having));
		}
		free(gatherer->marks);
		free(gatherer->having);
		gatherer->marks = marks;
		gatherer->having = having;
		gatherer->mark_room = room ? 2 * room : 1024;
	}
	if (gatherer->marks[item] == (double)gatherer->worker + 1)
		return;
	gatherer->marks[item] = (double)gatherer->worker + 1;
	gatherer->having[item]++;
}

struct place {
	const char *layer, *phase;
};

static struct place place_of(
	const struct gatherer *gatherer, const struct analysis_worker *worker, const struct layer_role *role)
{
	struct place place = {"", ""};

	if (!role)
		return place;
	place.phase = phase_symbols[role->phase];
	if (role->part_count == 1)
		place.layer = layer_on_base(
			gatherer, &worker->layers.items[worker->layers.parts[role->first_part].layer]);
	else if (role->part_count > 1)
		place.layer = "several";
	return place;
}

static double bytes_of(const struct timeline *timeline, const struct timeline_operation *operation)
{
	uint64_t bytes = 0;

	timeline_value(timeline, operation, "bytes", &bytes);
	return bytes < (uint64_t)1 << 46 ? (double)bytes : 0;
}

/* Adds one occurrence. `weight`: of one in all used iterations of the worker. */
static void count_operation(
	struct gatherer *gatherer, uint32_t number, struct place place, bool kernel, double ns, double weight)
{
	const struct timeline *timeline = &gatherer->analysis->timeline;
	const struct timeline_operation *operation = &timeline->operations[number];
	const struct timeline_function *function = &timeline->functions[operation->function];
	struct arena scratch = {0};
	const char *values = values_text(&scratch, timeline, operation), *name = function->name;
	uint64_t key, string;
	struct diff_item *item;

	if (function->kind == PM_KIND_LAUNCH && timeline_value(timeline, operation, "name", &string) &&
		string && string < timeline->string_count && timeline->strings[string]) {
		name = timeline->strings[string];
		values = kernel ? "" : values;
	}
	key = hash_text(
		hash_text(hash_text(hash_text(MEM_HASH_START, name), values), place.layer), place.phase);
	key = mem_hash(key, kernel);
	item = item_of(gatherer, key);
	if (!item->function) {
		item->function = arena_text(&gatherer->diff->arena, name, strlen(name));
		item->layer = arena_text(&gatherer->diff->arena, place.layer, strlen(place.layer));
		item->phase = place.phase;
		item->kind = function->kind;
		item->kernel = kernel;
	}
	if (!item->values[gatherer->side])
		item->values[gatherer->side] = arena_text(&gatherer->diff->arena, values, strlen(values));
	count_worker(gatherer, (size_t)(item - gatherer->diff->items));
	item->count[gatherer->side] += weight;
	item->time_ns[gatherer->side] += ns * weight;
	item->bytes[gatherer->side] = bytes_of(timeline, operation);
	arena_free(&scratch);
}

static void count_call(struct gatherer *gatherer, const struct analysis_worker *worker, uint32_t number,
	const struct layer_role *role, double weight)
{
	const struct timeline *timeline = &gatherer->analysis->timeline;
	const struct timeline_call *call = TIMELINE_CALL(timeline, number);
	struct place place = place_of(gatherer, worker, role);
	double ns = call->interval_count ? 0 : (double)(call->end_ns - call->begin_ns);

	for (uint32_t i = call->interval; i < call->interval + call->interval_count; i++) {
		const struct timeline_interval *interval = TIMELINE_INTERVAL(timeline, i);
		const struct timeline_function *function =
			&timeline->functions[timeline->operations[interval->operation].function];

		if (gatherer->seen[i])
			continue;
		gatherer->seen[i] = true;
		ns += (double)(interval->end_ns - interval->begin_ns);
		if (function->kind == PM_KIND_LAUNCH && interval->operation != call->operation)
			count_operation(gatherer, interval->operation, place, true,
				(double)(interval->end_ns - interval->begin_ns), weight);
	}
	count_operation(gatherer, call->operation, place, false, ns, weight);
}

/* Calls of the host that no worker has: synchronisation, memory, events. By their start in time. */
static void count_host_calls(struct gatherer *gatherer, const struct analysis_worker *worker,
	const struct iteration *item, double weight)
{
	const struct timeline *timeline = &gatherer->analysis->timeline;
	const struct timeline_process *process = &timeline->processes[worker->worker->process];

	for (size_t i = timeline_find(timeline, process, item->begin_ns); i < process->call_count; i++) {
		const struct timeline_call *call = TIMELINE_CALL(timeline, process->first_call + i);
		enum pm_kind kind = timeline_function(timeline, call)->kind;

		if (call->begin_ns >= item->end_ns)
			break;
		if (kind == PM_KIND_SYNC || kind == PM_KIND_ALLOC || kind == PM_KIND_EVENT ||
			kind == PM_KIND_STREAM || kind == PM_KIND_SEARCH)
			count_operation(gatherer, call->operation, (struct place){"", ""}, false,
				(double)(call->end_ns - call->begin_ns), weight);
	}
}

/* As phase_find sees the calls: the same computation in another iteration has the same role. */
static void count_worker_calls(struct gatherer *gatherer, const struct analysis_worker *worker)
{
	double weight = 1 / (double)worker->used_count;

	for (size_t u = 0; u < worker->used_count; u++) {
		const struct iteration *item = &worker->iterations.items[worker->used[u]];
		struct analysis_walk at = analysis_walk(gatherer->analysis, worker, worker->used[u]);

		while (analysis_next(&at))
			count_call(gatherer, worker, at.number, at.role, weight);
		for (size_t i = item->first_read; i < item->read_end; i++) {
			const struct timeline_call *call =
				TIMELINE_CALL(&gatherer->analysis->timeline, worker->worker->reads[i]);

			count_operation(gatherer, call->operation,
				(struct place){"", phase_symbols[PHASE_IO]}, false,
				(double)(call->end_ns - call->begin_ns), weight);
		}
		count_host_calls(gatherer, worker, item, weight);
	}
}

static void gather_side(
	struct diff *diff, const struct compare_pair *pair, const struct analysis *analysis, int side)
{
	struct gatherer gatherer = {.diff = diff, .analysis = analysis, .pair = pair, .side = side};

	for (size_t i = 0; i < diff->count; i++) /* what the other side has */
		lookup_add(&gatherer.lookup, diff->items[i].key, (uint32_t)i);
	gatherer.seen = mem_alloc(analysis->timeline.interval_count, sizeof(*gatherer.seen));
	for (gatherer.worker = 0; gatherer.worker < analysis->worker_count; gatherer.worker++)
		count_worker_calls(&gatherer, &analysis->workers[gatherer.worker]);
	for (size_t i = 0; i < diff->count && i < gatherer.mark_room; i++) {
		double having = gatherer.having[i] ? (double)gatherer.having[i] : 1;

		diff->items[i].count[side] /= having;
		diff->items[i].time_ns[side] /= having;
	}
	free(gatherer.seen);
	lookup_free(&gatherer.lookup);
	free(gatherer.marks);
	free(gatherer.having);
}

/* The value of `label=` in a text of values, and its length; a value may have blanks within brackets. */
static const char *next_value(const char *text, const char **label, size_t *label_length, size_t *length)
{
	int depth = 0;
	const char *value, *end;

	*label = text;
	*label_length = strcspn(text, "=");
	value = text + *label_length + (text[*label_length] == '=');
	for (end = value; *end && (depth > 0 || *end != ' '); end++)
		depth += (*end == '(') - (*end == ')' && depth > 0);
	*length = (size_t)(end - value);
	return value;
}

/* "algo 1 -> 6, x tensor(...) -> tensor(...)". Both texts have the same labels in the same order. */
static const char *changes(struct arena *arena, const char *from, const char *to)
{
	const char *text = "";

	while (*from && *to) {
		const char *label, *other_label;
		size_t label_length, other_label_length, length, other_length;
		const char *value = next_value(from, &label, &label_length, &length);
		const char *other = next_value(to, &other_label, &other_label_length, &other_length);

		if (length != other_length || memcmp(value, other, length) != 0)
			text = arena_format(arena, "%s%s%.*s %.*s -> %.*s", text, *text ? ", " : "",
				(int)label_length, label, (int)length, value, (int)other_length, other);
		from = value + length + (value[length] == ' ');
		to = other + other_length + (other[other_length] == ' ');
	}
	return text;
}

/* Are these one operation that changed? Calls by function, kernels by what they ran for. */
static bool changed_into(const struct diff_item *base, const struct diff_item *other)
{
	return base->what == DIFF_ONLY_BASE && other->what == DIFF_ONLY_OTHER &&
	       base->kernel == other->kernel && strcmp(base->layer, other->layer) == 0 &&
	       strcmp(base->phase, other->phase) == 0 &&
	       (base->kernel ? *base->layer != 0 : strcmp(base->function, other->function) == 0);
}

static void join_changed(struct diff *diff)
{
	size_t kept = 0;

	for (size_t i = 0; i < diff->count; i++) {
		struct diff_item *base = &diff->items[i];

		for (size_t j = 0; j < diff->count && base->what == DIFF_ONLY_BASE; j++) {
			struct diff_item *other = &diff->items[j];

			if (!changed_into(base, other))
				continue;
			base->detail = base->kernel
					       ? arena_format(&diff->arena, "-> %s", other->function)
					       : changes(&diff->arena, base->values[0], other->values[1]);
			base->values[1] = other->values[1];
			base->count[1] = other->count[1];
			base->time_ns[1] = other->time_ns[1];
			base->bytes[1] = other->bytes[1];
			base->what = DIFF_CHANGED;
			other->function = NULL;
			other->what = DIFF_SAME;
		}
	}
	for (size_t i = 0; i < diff->count; i++)
		if (diff->items[i].function)
			diff->items[kept++] = diff->items[i];
	diff->count = kept;
}

static int by_difference(const void *left, const void *right)
{
	const struct diff_item *a = left, *b = right;
	double x = fabs(a->time_ns[1] - a->time_ns[0]), y = fabs(b->time_ns[1] - b->time_ns[0]);

	if (x != y)
		return x > y ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

void diff_find(struct diff *diff, const struct compare *compare, const struct compare_pair *pair)
{
	double iteration_ns = compare->facts[pair->base].iteration_ns, margin = compare->how.margin;

	memset(diff, 0, sizeof(*diff));
	gather_side(diff, pair, &compare->sides[pair->base].runs[0]->analysis, 0);
	gather_side(diff, pair, &compare->sides[pair->other].runs[0]->analysis, 1);
	for (size_t i = 0; i < diff->count; i++) {
		struct diff_item *item = &diff->items[i];
		double difference = fabs(item->time_ns[1] - item->time_ns[0]);

		if (item->count[1] == 0 || item->count[0] == 0)
			item->what = item->count[1] == 0 ? DIFF_ONLY_BASE : DIFF_ONLY_OTHER;
		else if (fabs(item->count[1] - item->count[0]) > 0.1 * item->count[0])
			item->what = DIFF_COUNT;
		else if (difference > margin * item->time_ns[0] && difference > margin / 10 * iteration_ns)
			item->what = DIFF_TIME;
	}
	join_changed(diff);
	for (size_t i = 0; i < diff->count; i++)
		diff->same += diff->items[i].what == DIFF_SAME;
	if (diff->count)
		qsort(diff->items, diff->count, sizeof(*diff->items), by_difference);
}

void diff_free(struct diff *diff)
{
	free(diff->items);
	arena_free(&diff->arena);
	memset(diff, 0, sizeof(*diff));
}
