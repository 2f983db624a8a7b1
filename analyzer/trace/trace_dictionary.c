/*
 * The dictionary of a trace file: entries into the tables, each checked against its own size before it is
 * read. Also the names of the format's enumerators.
 */
#include "trace_dictionary.h"
#include "trace_word.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const char *const kind_names[] = {"NONE",
#define NAME(name, text) #name,
	PM_FORMAT_KINDS(NAME)
#undef NAME
};

static const char *const value_names[] = {"?",
#define NAME(name, word, text) word,
	PM_FORMAT_VALUES(NAME)
#undef NAME
};

static const char *const direction_names[] = {
#define NAME(name, word, text) word,
	PM_FORMAT_DIRECTIONS(NAME)
#undef NAME
};

static const char *const descriptor_names[] = {"?",
#define NAME(name, text) #name,
	PM_FORMAT_DESCRIPTORS(NAME)
#undef NAME
};

static const struct {
	const char *name;
	unsigned bytes;
} types[] = {{"?", 0},
#define TYPE(name, bytes) {#name, bytes},
	PM_FORMAT_TYPES(TYPE)
#undef TYPE
};

const char *trace_kind_name(enum pm_kind kind)
{
	return kind_names[(size_t)kind < COUNT(kind_names) ? kind : 0];
}

const char *trace_value_name(enum pm_value value)
{
	return value_names[(size_t)value < COUNT(value_names) ? value : 0];
}

const char *trace_descriptor_name(enum pm_descriptor_kind kind)
{
	return descriptor_names[(size_t)kind < COUNT(descriptor_names) ? kind : 0];
}

const char *trace_direction_name(uint64_t direction)
{
	return direction < COUNT(direction_names) ? direction_names[direction] : "?";
}

const char *trace_type_name(uint64_t type)
{
	return types[type < COUNT(types) ? type : 0].name;
}

uint64_t trace_type_bytes(uint64_t type)
{
	return types[type < COUNT(types) ? type : 0].bytes;
}

static size_t room_for(size_t count)
{
	size_t room = count ? 16 : 0;

	while (room < count)
		room *= 2;
	return room;
}

/*
 * Makes `array` (of *count items, in room_for(*count)) reach `number`. Numbers are handed out one by one and
 * each costs at least an entry, so a number far beyond what the file has room for is damage, and no reason to
 * take memory for it.
 */
static bool reach(struct trace *trace, void **array, size_t *count, size_t item_bytes, uint32_t number)
{
	if (number == 0 || number > trace->size_bytes / sizeof(struct pm_entry) + 65536)
		return false;
	if (number < *count)
		return true;
	if (room_for((size_t)number + 1) > room_for(*count)) {
		void *grown = mem_alloc(room_for((size_t)number + 1), item_bytes);

		if (*count)
			memcpy(grown, *array, *count * item_bytes);
		free(*array);
		*array = grown;
	}
	*count = (size_t)number + 1;
	return true;
}

/* Text that must end with zero inside the `size` bytes. */
static const char *bounded_text(const unsigned char *text, uint64_t size)
{
	return memchr(text, 0, (size_t)size) ? (const char *)text : NULL;
}

/* Another text right after one, before `end`; NULL: there is none, or it is empty. */
static const char *second_text(const char *text, const unsigned char *end)
{
	const unsigned char *second = (const unsigned char *)text + strlen(text) + 1;

	return second < end && *second ? bounded_text(second, (uint64_t)(end - second)) : NULL;
}

/* "library KIND name type:label type:label ..."; `does`: what it does, or NULL */
static void parse_function(
	struct trace *trace, struct trace_function *function, const char *text, const char *does)
{
	struct trace_label *labels;
	const char *word, *rest = text;
	size_t length, count = 0;

	word = trace_next_word(&rest, &length);
	function->library = arena_text(&trace->arena, word, length);
	word = trace_next_word(&rest, &length);
	function->kind = (enum pm_kind)trace_find_name(kind_names, COUNT(kind_names), word, length);
	word = trace_next_word(&rest, &length);
	function->name = arena_text(&trace->arena, word, length);
	function->facts = does ? hook_facts_read(does) : hook_facts_of(function->name);
	for (const char *at = rest; trace_next_word(&at, &length), length > 0;)
		count++;
	labels = arena_alloc(&trace->arena, count, sizeof(*labels));
	for (size_t i = 0; i < count; i++) {
		const char *colon;

		word = trace_next_word(&rest, &length);
		colon = memchr(word, ':', length);
		if (colon) {
			size_t type_length = (size_t)(colon - word);

			labels[i].type = (enum pm_value)trace_find_name(
				value_names, COUNT(value_names), word, type_length);
			word = colon + 1;
			length -= type_length + 1;
		}
		labels[i].name = arena_text(&trace->arena, word, length);
	}
	function->labels = labels;
	function->label_count = (uint32_t)count;
}

static void parse_operation(struct trace *trace, uint64_t offset, const unsigned char *body, uint64_t size)
{
	struct pm_entry_operation entry;
	struct trace_operation *operation;
	uint64_t *values;

	memcpy(&entry, body, sizeof(entry));
	if (entry.value_count > (size - sizeof(entry)) / sizeof(uint64_t)) {
		trace_trouble(trace, offset,
			"operation %u with %u values, but its entry has room for %" PRIu64, entry.number,
			entry.value_count, (size - sizeof(entry)) / sizeof(uint64_t));
		return;
	}
	if (!reach(trace, (void **)&trace->operations, &trace->operation_count, sizeof(*operation),
		    entry.number)) {
		trace_trouble(
			trace, offset, "operation number %u, more than the file can hold", entry.number);
		return;
	}
	operation = &trace->operations[entry.number];
	if (operation->values)
		return;
	values = arena_alloc(&trace->arena, entry.value_count, sizeof(*values));
	memcpy(values, body + sizeof(entry), entry.value_count * sizeof(*values));
	operation->function = entry.function;
	operation->site = entry.site;
	operation->value_count = entry.value_count;
	operation->values = values;
}

static void parse_descriptor(struct trace *trace, uint64_t offset, const unsigned char *body, uint64_t size)
{
	struct pm_entry_descriptor entry;
	struct trace_descriptor *descriptor;
	int64_t *values;

	memcpy(&entry, body, sizeof(entry));
	if (entry.value_count > (size - sizeof(entry)) / sizeof(int64_t)) {
		trace_trouble(trace, offset,
			"descriptor %u with %u values, but its entry has room for %" PRIu64, entry.number,
			entry.value_count, (size - sizeof(entry)) / sizeof(int64_t));
		return;
	}
	if (!reach(trace, (void **)&trace->descriptors, &trace->descriptor_count, sizeof(*descriptor),
		    entry.number)) {
		trace_trouble(
			trace, offset, "descriptor number %u, more than the file can hold", entry.number);
		return;
	}
	descriptor = &trace->descriptors[entry.number];
	if (descriptor->known)
		return;
	values = arena_alloc(&trace->arena, entry.value_count, sizeof(*values));
	memcpy(values, body + sizeof(entry), entry.value_count * sizeof(*values));
	descriptor->known = true;
	descriptor->kind = (enum pm_descriptor_kind)(entry.kind < COUNT(descriptor_names) ? entry.kind : 0);
	descriptor->value_count = entry.value_count;
	descriptor->values = values;
}

static void parse_graph(struct trace *trace, uint64_t offset, const unsigned char *body, uint64_t size)
{
	struct pm_entry_graph entry;
	struct pm_graph_node *nodes;
	struct trace_graph *graph;

	memcpy(&entry, body, sizeof(entry));
	if (entry.node_count > (size - sizeof(entry)) / sizeof(*nodes)) {
		trace_trouble(trace, offset, "graph %u with %u nodes, but its entry has room for %" PRIu64,
			entry.number, entry.node_count, (size - sizeof(entry)) / sizeof(*nodes));
		return;
	}
	if (!reach(trace, (void **)&trace->graphs, &trace->graph_count, sizeof(*graph), entry.number)) {
		trace_trouble(trace, offset, "graph number %u, more than the file can hold", entry.number);
		return;
	}
	graph = &trace->graphs[entry.number];
	if (graph->known)
		return;
	nodes = arena_alloc(&trace->arena, entry.node_count, sizeof(*nodes));
	memcpy(nodes, body + sizeof(entry), entry.node_count * sizeof(*nodes));
	*graph = (struct trace_graph){true, entry.node_count, nodes};
}

/* The operation that an entry is about, which may come after the entry; NULL, with trouble: there is none.
 */
static struct trace_operation *operation_of(struct trace *trace, uint64_t offset, uint32_t number)
{
	if (!reach(trace, (void **)&trace->operations, &trace->operation_count, sizeof(*trace->operations),
		    number)) {
		trace_trouble(trace, offset, "operation number %u, more than the file can hold", number);
		return NULL;
	}
	return &trace->operations[number];
}

/* An operation keeps the first name it gets. */
static void parse_module(struct trace *trace, uint64_t offset, const unsigned char *body)
{
	struct pm_entry_module entry;
	struct trace_operation *operation;

	memcpy(&entry, body, sizeof(entry));
	operation = operation_of(trace, offset, entry.operation);
	if (operation && !operation->module)
		operation->module = entry.name;
}

static void parse_python(struct trace *trace, uint64_t offset, const unsigned char *body)
{
	struct pm_entry_python entry;
	struct trace_operation *operation;

	memcpy(&entry, body, sizeof(entry));
	operation = operation_of(trace, offset, entry.operation);
	if (!operation || operation->python != TRACE_PYTHON_UNKNOWN)
		return;
	operation->python = entry.flags & PM_PYTHON_NONE  ? TRACE_PYTHON_NONE
			    : entry.flags & PM_PYTHON_OWN ? TRACE_PYTHON_OWN
							  : TRACE_PYTHON_FIRST;
	operation->innermost = entry.innermost;
	operation->outermost = entry.outermost;
}

static void parse_turn(struct trace *trace, const unsigned char *body)
{
	struct pm_entry_turn entry;

	memcpy(&entry, body, sizeof(entry));
	*MEM_PUSH(trace->turns, trace->turn_count, trace->turn_room) =
		(struct trace_turn){entry.is_recorded != 0, entry.calls, entry.ns};
}

static void parse_device_window(struct trace *trace, const unsigned char *body)
{
	struct pm_entry_device_window entry;

	memcpy(&entry, body, sizeof(entry));
	*MEM_PUSH(trace->device_windows, trace->device_window_count, trace->device_window_room) =
		(struct trace_device_window){entry.taken != 0, entry.share, entry.ticks};
}

/* An operation keeps the first base it gets; trace.c makes sure that it is there. */
static void parse_placed(struct trace *trace, uint64_t offset, const unsigned char *body)
{
	struct pm_entry_placed entry;
	struct trace_operation *operation;

	memcpy(&entry, body, sizeof(entry));
	operation = operation_of(trace, offset, entry.operation);
	if (operation && !operation->base)
		operation->base = entry.base;
}

static void parse_device(struct trace *trace, uint64_t offset, const unsigned char *body, uint64_t size)
{
	struct pm_entry_device entry;
	const char *name = bounded_text(body + sizeof(entry), size - sizeof(entry));

	memcpy(&entry, body, sizeof(entry));
	if (!name) {
		trace_trouble(trace, offset, "unterminated string in an entry of type %u", PM_ENTRY_DEVICE);
		return;
	}
	*MEM_PUSH(trace->devices, trace->device_entry_count, trace->device_entry_room) =
		(struct trace_device){entry.device, entry.capability_major, entry.capability_minor,
			entry.multiprocessors, entry.clock_khz, entry.memory_clock_khz, entry.memory_bus_bits,
			entry.memory_bytes, name};
}

/* Numbers follow one another, so a gap is damage: what is after it is not known. */
static void parse_addresses(struct trace *trace, uint64_t offset, const unsigned char *body, uint64_t size)
{
	struct pm_entry_addresses entry;

	memcpy(&entry, body, sizeof(entry));
	if (entry.count > (size - sizeof(entry)) / sizeof(uint64_t)) {
		trace_trouble(trace, offset, "%u addresses, but their entry has room for %" PRIu64,
			entry.count, (size - sizeof(entry)) / sizeof(uint64_t));
		return;
	}
	if (trace->address_count == 0)
		*MEM_PUSH(trace->addresses, trace->address_count, trace->address_room) = 0;
	if (entry.first != trace->address_count) {
		trace_trouble(trace, offset, "addresses from number %u on, expected %zu", entry.first,
			trace->address_count);
		return;
	}
	for (uint32_t i = 0; i < entry.count; i++)
		memcpy(MEM_PUSH(trace->addresses, trace->address_count, trace->address_room),
			body + sizeof(entry) + i * sizeof(uint64_t), sizeof(uint64_t));
}

/* It may come before its address. */
static void parse_address_module(struct trace *trace, const unsigned char *body)
{
	struct pm_entry_address_module entry;

	memcpy(&entry, body, sizeof(entry));
	*MEM_PUSH(trace->places, trace->place_count, trace->place_room) =
		(struct trace_place){entry.address, entry.name};
}

static void parse_touches(struct trace *trace, uint64_t offset, const unsigned char *body, uint64_t size)
{
	struct pm_entry_touches entry;

	memcpy(&entry, body, sizeof(entry));
	if (entry.byte_count > size - sizeof(entry)) {
		trace_trouble(
			trace, offset, "a list of %u bytes in an entry of %" PRIu64, entry.byte_count, size);
		return;
	}
	if (!reach(trace, (void **)&trace->lists, &trace->list_count, sizeof(*trace->lists), entry.number)) {
		trace_trouble(trace, offset, "list number %u, more than the file can hold", entry.number);
		return;
	}
	trace->lists[entry.number] = (struct trace_list){body + sizeof(entry), entry.byte_count};
}

static void parse_range(struct trace *trace, uint64_t offset, const unsigned char *body)
{
	struct pm_entry_range entry;

	memcpy(&entry, body, sizeof(entry));
	if (!reach(trace, (void **)&trace->range_names, &trace->range_name_count, sizeof(*trace->range_names),
		    entry.number)) {
		trace_trouble(trace, offset, "range number %u, more than the file can hold", entry.number);
		return;
	}
	trace->range_names[entry.number] = (struct trace_range_name){true, (enum pm_range_scope)entry.scope,
		entry.name, entry.domain, entry.module, entry.line, entry.color};
}

static void parse_range_window(struct trace *trace, const unsigned char *body)
{
	struct pm_entry_range_window entry;

	memcpy(&entry, body, sizeof(entry));
	*MEM_PUSH(trace->range_windows, trace->range_window_count, trace->range_window_room) =
		(struct trace_range_window){entry.recorded != 0, entry.ticks};
}

/* The body of an entry; `size` bytes of it are there. */
static void parse_entry(
	struct trace *trace, uint64_t offset, unsigned type, const unsigned char *body, uint64_t size)
{
	static const size_t least_bytes[] = {
		[PM_ENTRY_HLO_MODULE] = sizeof(struct pm_entry_hlo_module),
		[PM_ENTRY_HLO_INSTRUCTION] = sizeof(struct pm_entry_hlo_instruction) + 1,
		[PM_ENTRY_HLO_SCHEDULE] = sizeof(struct pm_entry_hlo_schedule),
		[PM_ENTRY_FUNCTION] = sizeof(struct pm_entry_function) + 1,
		[PM_ENTRY_OPERATION] = sizeof(struct pm_entry_operation),
		[PM_ENTRY_DESCRIPTOR] = sizeof(struct pm_entry_descriptor),
		[PM_ENTRY_STRING] = sizeof(struct pm_entry_string) + 1,
		[PM_ENTRY_QUEUE] = sizeof(struct pm_entry_queue),
		[PM_ENTRY_COMMUNICATOR] = sizeof(struct pm_entry_communicator),
		[PM_ENTRY_NOTE] = 1,
		[PM_ENTRY_GRAPH] = sizeof(struct pm_entry_graph),
		[PM_ENTRY_WINDOW] = sizeof(struct pm_entry_window),
		[PM_ENTRY_MODULE] = sizeof(struct pm_entry_module),
		[PM_ENTRY_DEVICE] = sizeof(struct pm_entry_device) + 1,
		[PM_ENTRY_ADDRESSES] = sizeof(struct pm_entry_addresses),
		[PM_ENTRY_ADDRESS_MODULE] = sizeof(struct pm_entry_address_module),
		[PM_ENTRY_TOUCHES] = sizeof(struct pm_entry_touches),
		[PM_ENTRY_PYTHON] = sizeof(struct pm_entry_python),
		[PM_ENTRY_PLACED] = sizeof(struct pm_entry_placed),
		[PM_ENTRY_TURN] = sizeof(struct pm_entry_turn),
		[PM_ENTRY_DEVICE_WINDOW] = sizeof(struct pm_entry_device_window),
		[PM_ENTRY_RANGE] = sizeof(struct pm_entry_range),
		[PM_ENTRY_RANGE_WINDOW] = sizeof(struct pm_entry_range_window),
	};
	const char *text = NULL;
	uint32_t number = 0;

	if (type == 0 || type >= COUNT(least_bytes) || least_bytes[type] == 0)
		return;
	if (size < least_bytes[type]) {
		trace_trouble(trace, offset,
			"an entry of type %u with %" PRIu64 " bytes, expected %zu or more", type, size,
			least_bytes[type]);
		return;
	}
	if (type == PM_ENTRY_NOTE) {
		text = bounded_text(body, size);
	} else {
		memcpy(&number, body, sizeof(number));
		if (type == PM_ENTRY_FUNCTION || type == PM_ENTRY_STRING)
			text = bounded_text(body + sizeof(number), size - sizeof(number));
	}
	if (!text && (type == PM_ENTRY_NOTE || type == PM_ENTRY_FUNCTION || type == PM_ENTRY_STRING)) {
		trace_trouble(trace, offset, "unterminated string in an entry of type %u", type);
		return;
	}
	switch (type) {
	case PM_ENTRY_FUNCTION:
		if (!reach(trace, (void **)&trace->functions, &trace->function_count,
			    sizeof(*trace->functions), number))
			break;
		if (!trace->functions[number].library)
			parse_function(
				trace, &trace->functions[number], text, second_text(text, body + size));
		return;
	case PM_ENTRY_OPERATION:
		parse_operation(trace, offset, body, size);
		return;
	case PM_ENTRY_DESCRIPTOR:
		parse_descriptor(trace, offset, body, size);
		return;
	case PM_ENTRY_STRING:
		if (!reach(trace, (void **)&trace->strings, &trace->string_count, sizeof(*trace->strings),
			    number))
			break;
		trace->strings[number] = text;
		return;
	case PM_ENTRY_QUEUE: {
		struct pm_entry_queue entry;

		if (number > UINT16_MAX || !reach(trace, (void **)&trace->queues, &trace->queue_count,
						   sizeof(*trace->queues), number))
			break;
		memcpy(&entry, body, sizeof(entry));
		trace->queues[number] = (struct trace_queue){true, entry.device, entry.stream};
		return;
	}
	case PM_ENTRY_COMMUNICATOR: {
		struct pm_entry_communicator entry;

		if (!reach(trace, (void **)&trace->communicators, &trace->communicator_count,
			    sizeof(*trace->communicators), number))
			break;
		memcpy(&entry, body, sizeof(entry));
		trace->communicators[number] =
			(struct trace_communicator){true, entry.rank, entry.size, entry.device, entry.hash};
		return;
	}
	case PM_ENTRY_GRAPH:
		parse_graph(trace, offset, body, size);
		return;
	case PM_ENTRY_WINDOW: {
		struct pm_entry_window entry;

		memcpy(&entry, body, sizeof(entry));
		*MEM_PUSH(trace->windows, trace->window_count, trace->window_room) =
			(struct trace_window){entry.open != 0, entry.iteration, entry.ticks};
		return;
	}
	case PM_ENTRY_MODULE:
		parse_module(trace, offset, body);
		return;
	case PM_ENTRY_PYTHON:
		parse_python(trace, offset, body);
		return;
	case PM_ENTRY_PLACED:
		parse_placed(trace, offset, body);
		return;
	case PM_ENTRY_TURN:
		parse_turn(trace, body);
		return;
	case PM_ENTRY_DEVICE_WINDOW:
		parse_device_window(trace, body);
		return;
	case PM_ENTRY_RANGE:
		parse_range(trace, offset, body);
		return;
	case PM_ENTRY_RANGE_WINDOW:
		parse_range_window(trace, body);
		return;
	case PM_ENTRY_HLO_MODULE:
	case PM_ENTRY_HLO_INSTRUCTION:
	case PM_ENTRY_HLO_SCHEDULE:
		trace_parse_hlo(trace, offset, type, body, size);
		return;
	case PM_ENTRY_DEVICE:
		parse_device(trace, offset, body, size);
		return;
	case PM_ENTRY_ADDRESSES:
		parse_addresses(trace, offset, body, size);
		return;
	case PM_ENTRY_ADDRESS_MODULE:
		parse_address_module(trace, body);
		return;
	case PM_ENTRY_TOUCHES:
		parse_touches(trace, offset, body, size);
		return;
	default:
		*MEM_PUSH(trace->notes, trace->note_count, trace->note_room) = text;
		return;
	}
	trace_trouble(
		trace, offset, "number %u in an entry of type %u, more than the file can hold", number, type);
}

void trace_parse_dictionary(struct trace *trace, uint64_t offset, uint64_t used_bytes)
{
	uint64_t end = offset + used_bytes;

	while (end - offset >= sizeof(struct pm_entry)) {
		struct pm_entry entry;

		memcpy(&entry, trace->data + offset, sizeof(entry));
		if (entry.entry_bytes < sizeof(entry) || entry.entry_bytes > end - offset) {
			trace_trouble(trace, offset, "an entry of %u bytes, expected %zu to %" PRIu64,
				entry.entry_bytes, sizeof(entry), end - offset);
			return;
		}
		parse_entry(trace, offset, entry.type, trace->data + offset + sizeof(entry),
			entry.entry_bytes - sizeof(entry));
		offset += entry.entry_bytes;
	}
}
