/* The tables of a dump: a function for each fills in its columns and rows. */
#include "dump_tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Has the operation addresses, as calls of samples have (struct pm_entry_placed)? */
static bool is_placed(const struct trace *trace, size_t number)
{
	return trace->operations[number].base != number;
}

static bool any_placed(const struct trace *trace)
{
	for (size_t i = 0; i < trace->operation_count; i++)
		if (is_placed(trace, i))
			return true;
	return false;
}

void dump_functions(struct dump *dump, struct print_table *table)
{
	const struct trace *trace = dump->trace;
	uint64_t *calls = arena_alloc(&dump->arena, trace->function_count, sizeof(*calls));
	uint64_t *operations = arena_alloc(&dump->arena, trace->function_count, sizeof(*operations));
	uint64_t *placed = arena_alloc(&dump->arena, trace->function_count, sizeof(*placed));
	size_t number = print_column(table, "number", "fn", PRINT_COUNT);
	size_t count = print_column(table, "calls", "calls", PRINT_COUNT);
	size_t distinct = print_column(table, "operations", "ops", PRINT_COUNT);
	size_t with_addresses = print_column(table, "sampled", NULL, PRINT_COUNT);
	size_t kind = print_column(table, "kind", "kind", PRINT_WORD);
	size_t role = print_column(table, "role", "role", PRINT_WORD);
	size_t library = print_column(table, "library", "library", PRINT_WORD);
	size_t name = print_column(table, "name", "name", PRINT_WORD);
	size_t labels = print_column(table, "labels", NULL, PRINT_WORD);

	for (size_t i = 0; i < trace->operation_count; i++) {
		if (!trace->operations[i].function)
			continue;
		calls[trace->operations[i].function] += dump->call_counts[i];
		(is_placed(trace, i) ? placed : operations)[trace->operations[i].function]++;
	}
	for (size_t i = 1; i < trace->function_count; i++) {
		const struct trace_function *function = &trace->functions[i];
		const char *text = "";

		if (!function->library)
			continue;
		for (uint32_t j = 0; j < function->label_count && j < 64; j++)
			text = arena_format(&dump->arena, "%s%s%s:%s", text, j ? " " : "",
				trace_value_name(function->labels[j].type), function->labels[j].name);
		print_row(table);
		print_number(table, number, (double)i);
		print_number(table, count, (double)calls[i]);
		print_number(table, distinct, (double)operations[i]);
		print_number(table, with_addresses, (double)placed[i]);
		print_word(table, kind, trace_kind_name(function->kind));
		print_word(table, role, function->facts.role ? hook_role_name(function->facts.role) : "-");
		print_word(table, library, function->library);
		print_word(table, name, function->name);
		print_word(table, labels, text);
	}
}

static bool any_module(const struct trace *trace)
{
	for (size_t i = 0; i < trace->operation_count; i++)
		if (trace->operations[i].module)
			return true;
	return false;
}

static bool any_python(const struct trace *trace)
{
	for (size_t i = 0; i < trace->operation_count; i++)
		if (trace->operations[i].python != TRACE_PYTHON_UNKNOWN)
			return true;
	return false;
}

static const char *innermost_text(const struct trace *trace, const struct trace_operation *operation)
{
	const char *text = trace_string(trace, operation->innermost);

	return operation->python == TRACE_PYTHON_NONE ? "not in Python" : text ? text : "";
}

void dump_operations(struct dump *dump, struct print_table *table)
{
	const struct trace *trace = dump->trace;
	size_t number = print_column(table, "number", "op", PRINT_COUNT);
	size_t calls = print_column(table, "calls", "calls", PRINT_COUNT);
	size_t devices = print_column(table, "device_intervals", "device", PRINT_COUNT);
	size_t name = print_column(table, "function", "function", PRINT_WORD);
	size_t values = print_column(table, "values", "values", PRINT_WORD);
	size_t module = print_column(table, "module", any_module(trace) ? "module" : NULL, PRINT_WORD);
	size_t line = print_column(table, "innermost", any_python(trace) ? "innermost" : NULL, PRINT_WORD);
	size_t own = print_column(table, "innermost_of", NULL, PRINT_WORD);
	size_t outer = print_column(table, "outermost", any_python(trace) ? "outermost" : NULL, PRINT_WORD);
	size_t site = print_column(table, "site", "site", PRINT_WORD);
	size_t base = print_column(table, "base", any_placed(trace) ? "of op" : NULL, PRINT_COUNT);

	for (size_t i = 1; i < trace->operation_count; i++) {
		const struct trace_operation *operation = &trace->operations[i];
		const char *text;

		if (!operation->function)
			continue;
		if (dump->how->limit >= 0 && table->row_count >= (size_t)dump->how->limit)
			break;
		print_row(table);
		print_number(table, number, (double)i);
		print_number(table, calls, (double)dump->call_counts[i]);
		print_number(table, devices, (double)dump->device_counts[i]);
		if (is_placed(trace, i))
			print_number(table, base, operation->base);
		print_word(table, name, trace->functions[operation->function].name);
		print_word(table, values, dump_values(&dump->arena, trace, operation));
		text = trace_string(trace, operation->module);
		print_word(table, module, text ? text : "");
		print_word(table, line, innermost_text(trace, operation));
		print_word(table, own,
			operation->python == TRACE_PYTHON_OWN     ? "all calls"
			: operation->python == TRACE_PYTHON_FIRST ? "first call"
								  : "");
		text = trace_string(trace, operation->outermost);
		print_word(table, outer, text ? text : "");
		text = trace_string(trace, operation->site);
		print_word(table, site, text ? text : "");
	}
}

struct record_columns {
	size_t thread, kind, start, duration, queue, correlation, result, sequence, group, flags, op, name;
	size_t touches; /* SIZE_MAX: no column */
};

/* "0=0x7f1200 1=0x7f3400": words of the arguments with device addresses; "..." after what is not all of
 * them. */
static const char *touches_text(struct dump *dump, const struct trace_record *record)
{
	static struct trace_touch touches[PM_TOUCH_WORDS];
	bool whole;
	size_t count = trace_touches(dump->trace, record, touches, &whole), length = 0;
	const size_t room = 28 * count + 4;
	char *text = arena_alloc(&dump->arena, room, 1);

	for (size_t i = 0; i < count; i++)
		length += (size_t)snprintf(text + length, room - length, "%s%u=0x%" PRIx64, i ? " " : "",
			touches[i].word, touches[i].address);
	if (!whole)
		strcpy(text + length, "...");
	return text;
}

static void add_record(struct dump *dump, struct print_table *table, const struct record_columns *columns,
	uint32_t thread, const struct trace_record *record)
{
	const struct trace *trace = dump->trace;
	bool call = record->kind == PM_RECORD_CALL;
	int64_t begin_ns = call ? trace_ns(trace, record->begin) : (int64_t)(record->begin & INT64_MAX);
	int64_t end_ns = call ? trace_ns(trace, record->end) : (int64_t)(record->end & INT64_MAX);

	print_row(table);
	print_number(table, columns->thread, thread);
	print_word(table, columns->kind, call ? "call" : "device");
	print_number(table, columns->start, (double)begin_ns);
	print_number(table, columns->duration, (double)(end_ns - begin_ns));
	print_number(table, columns->queue, record->queue);
	print_number(table, columns->correlation, record->correlation);
	if (!(record->flags & PM_FLAG_LEFT))
		print_number(table, columns->result, record->result);
	if (record->sequence)
		print_number(table, columns->sequence, record->sequence);
	if (record->group)
		print_number(table, columns->group, record->group);
	print_word(table, columns->flags,
		arena_format(&dump->arena, "%s%s%s%s%s", record->flags & PM_FLAG_GROUP ? "g" : "",
			record->flags & PM_FLAG_CAPTURED ? "c" : "",
			record->flags & PM_FLAG_ACTIVITY ? "a" : "", record->flags & PM_FLAG_LEFT ? "l" : "",
			record->flags & PM_FLAG_TOUCHES ? "t" : ""));
	if (columns->touches != SIZE_MAX)
		print_word(table, columns->touches,
			record->flags & PM_FLAG_TOUCHES ? touches_text(dump, record) : "");
	print_number(table, columns->op, record->op);
	print_word(table, columns->name, trace->functions[trace->operations[record->op].function].name);
}

void dump_records(struct dump *dump, struct print_table *table)
{
	const struct trace *trace = dump->trace;
	struct record_columns columns;

	columns.thread = print_column(table, "thread", "thread", PRINT_COUNT);
	columns.kind = print_column(table, "kind", "kind", PRINT_WORD);
	columns.start = print_column(table, "start_ns", "start, ns", PRINT_COUNT);
	columns.duration = print_column(table, "duration_ns", "ns", PRINT_COUNT);
	columns.queue = print_column(table, "queue", "queue", PRINT_COUNT);
	columns.correlation = print_column(table, "correlation", "corr", PRINT_COUNT);
	columns.result = print_column(table, "result", "result", PRINT_COUNT);
	columns.sequence = print_column(table, "sequence", "seq", PRINT_COUNT);
	columns.group = print_column(table, "group", "group", PRINT_COUNT);
	columns.flags = print_column(table, "flags", "flags", PRINT_WORD);
	columns.op = print_column(table, "op", "op", PRINT_COUNT);
	columns.name = print_column(table, "function", "function", PRINT_WORD);
	columns.touches =
		trace->address_count ? print_column(table, "touches", "touches", PRINT_WORD) : SIZE_MAX;
	for (size_t c = 0; c < trace->chunk_count; c++) {
		struct trace_cursor cursor;
		struct trace_record record;
		enum trace_step step;

		trace_walk(&cursor, trace, &trace->chunks[c]);
		while ((step = trace_next(&cursor, &record)) != TRACE_END) {
			if (step != TRACE_RECORD)
				continue;
			if (dump->how->limit >= 0 && table->row_count >= (size_t)dump->how->limit)
				return;
			add_record(dump, table, &columns, trace->chunks[c].thread, &record);
		}
		trace_release(trace, &trace->chunks[c]);
	}
}

void dump_queues(struct dump *dump, struct print_table *table)
{
	size_t number = print_column(table, "number", "queue", PRINT_COUNT);
	size_t device = print_column(table, "device", "device", PRINT_COUNT);
	size_t stream = print_column(table, "stream", "stream", PRINT_WORD);

	for (size_t i = 1; i < dump->trace->queue_count; i++) {
		if (!dump->trace->queues[i].known)
			continue;
		print_row(table);
		print_number(table, number, (double)i);
		print_number(table, device, dump->trace->queues[i].device);
		print_word(table, stream,
			arena_format(&dump->arena, "0x%" PRIx64, dump->trace->queues[i].stream));
	}
}

void dump_communicators(struct dump *dump, struct print_table *table)
{
	size_t number = print_column(table, "number", "comm", PRINT_COUNT);
	size_t rank = print_column(table, "rank", "rank", PRINT_COUNT);
	size_t size = print_column(table, "size", "size", PRINT_COUNT);
	size_t device = print_column(table, "device", "device", PRINT_COUNT);
	size_t hash = print_column(table, "hash", "hash", PRINT_WORD);

	for (size_t i = 1; i < dump->trace->communicator_count; i++) {
		const struct trace_communicator *communicator = &dump->trace->communicators[i];

		if (!communicator->known)
			continue;
		print_row(table);
		print_number(table, number, (double)i);
		print_number(table, rank, communicator->rank);
		print_number(table, size, communicator->size);
		print_number(table, device, communicator->device);
		print_word(table, hash, arena_format(&dump->arena, "%016" PRIx64, communicator->hash));
	}
}

/* Calls that threads are in, or were when the process was killed. */
void dump_entered(struct dump *dump, struct print_table *table)
{
	const struct trace *trace = dump->trace;
	size_t thread = print_column(table, "thread", "thread", PRINT_COUNT);
	size_t tid = print_column(table, "tid", "tid", PRINT_COUNT);
	size_t start = print_column(table, "start_ns", "start, ns", PRINT_COUNT);
	size_t name = print_column(table, "function", "function", PRINT_WORD);

	for (size_t i = 0; i < trace->chunk_count; i++) {
		const struct trace_chunk *chunk = &trace->chunks[i];
		const uint32_t op = chunk->entered.op;

		if (!chunk->entered.flags)
			continue;
		print_row(table);
		print_number(table, thread, chunk->thread);
		print_number(table, tid, chunk->tid);
		print_number(table, start, (double)trace_ns(trace, chunk->entered.begin));
		if (op < trace->operation_count && trace->operations[op].function)
			print_word(table, name,
				print_clean(
					&dump->arena, trace->functions[trace->operations[op].function].name));
	}
}

void dump_devices(struct dump *dump, struct print_table *table)
{
	static const char *const keys[] = {"device", "capability_major", "capability_minor",
		"multiprocessors", "clock_khz", "memory_clock_khz", "memory_bus_bits", "memory_bytes"};
	static const char *const titles[] = {
		"device", "major", "minor", "SMs", "clock kHz", "memory kHz", "bus bits", "bytes"};
	size_t columns[8], name;

	for (size_t i = 0; i < 8; i++)
		columns[i] = print_column(table, keys[i], titles[i], PRINT_COUNT);
	name = print_column(table, "name", "name", PRINT_WORD);
	for (size_t i = 0; i < dump->trace->device_entry_count; i++) {
		const struct trace_device *device = &dump->trace->devices[i];
		const double values[] = {device->device, device->capability_major, device->capability_minor,
			device->multiprocessors, device->clock_khz, device->memory_clock_khz,
			device->memory_bus_bits, (double)device->memory_bytes};

		print_row(table);
		for (size_t c = 0; c < 8; c++)
			print_number(table, columns[c], values[c]);
		print_word(table, name, print_clean(&dump->arena, device->name));
	}
}

/* A row for each operation of a graph. */
void dump_graphs(struct dump *dump, struct print_table *table)
{
	const struct trace *trace = dump->trace;
	size_t number = print_column(table, "number", "graph", PRINT_COUNT);
	size_t place = print_column(table, "place", "place", PRINT_COUNT);
	size_t nodes = print_column(table, "nodes", "nodes", PRINT_COUNT);
	size_t op = print_column(table, "op", "op", PRINT_COUNT);
	size_t name = print_column(table, "function", "function", PRINT_WORD);

	for (size_t i = 1; i < trace->graph_count; i++)
		for (uint32_t j = 0; j < trace->graphs[i].node_count; j++) {
			const struct pm_graph_node *node = &trace->graphs[i].nodes[j];
			bool known =
				node->op < trace->operation_count && trace->operations[node->op].function;

			if (dump->how->limit >= 0 && j >= (uint32_t)dump->how->limit)
				break;
			print_row(table);
			print_number(table, number, (double)i);
			print_number(table, place, j + 1);
			if (node->nodes)
				print_number(table, nodes, node->nodes);
			print_number(table, op, node->op);
			print_word(table, name,
				known ? trace->functions[trace->operations[node->op].function].name : "?");
		}
}

void dump_turns(struct dump *dump, struct print_table *table)
{
	size_t what = print_column(table, "recorded", "recorded", PRINT_WORD);
	size_t ns = print_column(table, "ns", "ns", PRINT_COUNT);
	size_t calls = print_column(table, "calls", "calls", PRINT_COUNT);

	for (size_t i = 0; i < dump->trace->turn_count; i++) {
		const struct trace_turn *turn = &dump->trace->turns[i];

		print_row(table);
		print_word(table, what, turn->is_recorded ? "yes" : "no");
		print_number(table, ns, (double)turn->ns);
		print_number(table, calls, turn->calls);
	}
}

void dump_windows(struct dump *dump, struct print_table *table)
{
	size_t what = print_column(table, "what", "recording", PRINT_WORD);
	size_t at = print_column(table, "at_ns", "at, ns", PRINT_COUNT);
	size_t iteration = print_column(table, "iteration", "iteration", PRINT_COUNT);

	for (size_t i = 0; i < dump->trace->window_count; i++) {
		const struct trace_window *window = &dump->trace->windows[i];

		print_row(table);
		print_word(table, what, window->open ? "begins" : "ends");
		print_number(table, at, (double)trace_ns(dump->trace, window->ticks));
		if (window->iteration)
			print_number(table, iteration, window->iteration);
	}
}

void dump_range_windows(struct dump *dump, struct print_table *table)
{
	size_t what = print_column(table, "what", "operators", PRINT_WORD);
	size_t at = print_column(table, "at_ns", "at, ns", PRINT_COUNT);

	for (size_t i = 0; i < dump->trace->range_window_count; i++) {
		print_row(table);
		print_word(table, what, dump->trace->range_windows[i].recorded ? "begin" : "end");
		print_number(table, at, (double)trace_ns(dump->trace, dump->trace->range_windows[i].ticks));
	}
}

/* By distinct range: how often it begins. */
static uint64_t *count_ranges(struct dump *dump)
{
	const struct trace *trace = dump->trace;
	uint64_t *counts = arena_alloc(&dump->arena, trace->range_name_count + 1, sizeof(*counts));
	struct trace_cursor cursor;
	struct trace_range range;
	bool is_end;

	for (size_t c = 0; c < trace->chunk_count && trace->range_count; c++) {
		trace_walk(&cursor, trace, &trace->chunks[c]);
		while (trace_next_range(&cursor, &range, &is_end))
			counts[range.range] += !is_end;
		trace_release(trace, &trace->chunks[c]);
	}
	return counts;
}

void dump_ranges(struct dump *dump, struct print_table *table)
{
	static const char *const scopes[] = {"?", "operator", "node", "user", "nvtx"};
	const struct trace *trace = dump->trace;
	const uint64_t *counts = count_ranges(dump);
	size_t number = print_column(table, "number", "range", PRINT_COUNT);
	size_t count = print_column(table, "count", "count", PRINT_COUNT);
	size_t scope = print_column(table, "scope", "scope", PRINT_WORD);
	size_t words[] = {print_column(table, "name", "name", PRINT_WORD),
		print_column(table, "domain", "domain", PRINT_WORD),
		print_column(table, "module", "module", PRINT_WORD),
		print_column(table, "line", "line", PRINT_WORD)};

	for (size_t i = 1; i < trace->range_name_count; i++) {
		const struct trace_range_name *range = &trace->range_names[i];
		const uint32_t texts[] = {range->name, range->domain, range->module, range->line};

		if (!range->known)
			continue;
		print_row(table);
		print_number(table, number, (double)i);
		print_number(table, count, (double)counts[i]);
		print_word(table, scope, scopes[range->scope <= PM_RANGE_NVTX ? range->scope : 0]);
		for (size_t w = 0; w < sizeof(words) / sizeof(*words); w++)
			if (trace_string(trace, texts[w]))
				print_word(table, words[w], print_clean(&dump->arena, trace_string(trace, texts[w])));
	}
}

void dump_device_windows(struct dump *dump, struct print_table *table)
{
	size_t what = print_column(table, "what", "device times", PRINT_WORD);
	size_t at = print_column(table, "at_ns", "at, ns", PRINT_COUNT);
	size_t share = print_column(table, "share", "share, %", PRINT_COUNT);

	for (size_t i = 0; i < dump->trace->device_window_count; i++) {
		const struct trace_device_window *window = &dump->trace->device_windows[i];

		print_row(table);
		print_word(table, what, window->taken ? "begin" : "end");
		print_number(table, at, (double)trace_ns(dump->trace, window->ticks));
		print_number(table, share, window->share);
	}
}
