/*
 * What is in a trace file, in the words of the format. Operations and records are tables (base/table.h); the
 * rest are lines.
 */
#include "dump.h"
#include "base/table.h"
#include "losses.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct dump {
	const struct trace *trace;
	const struct dump_options *how;
	struct arena arena;
	uint64_t *call_counts; /* by operation */
	uint64_t *device_counts;
	uint64_t refused; /* records of an operation or queue that no entry describes */
};

static const char *const direction_names[] = {"H2H", "H2D", "D2H", "D2D", "default"};
static const char *const scale_names[] = {"zero", "one", "other", "unknown"};

static const char *descriptor_text(struct arena *arena, const struct trace *trace, uint64_t number)
{
	const struct trace_descriptor *descriptor;
	const char *text;

	if (number >= trace->descriptor_count || !trace->descriptors[number].known)
		return arena_format(arena, "#%" PRIu64, number);
	descriptor = &trace->descriptors[number];
	text = arena_format(arena, "%s(", trace_descriptor_name(descriptor->kind));
	for (unsigned i = 0; i < descriptor->value_count && i < 64; i++) {
		/* The first value of these two is an element type. */
		bool type = i == 0 && (descriptor->kind == PM_DESCRIPTOR_TENSOR ||
					      descriptor->kind == PM_DESCRIPTOR_FILTER);

		text = type ? arena_format(
				      arena, "%s%s", text, trace_type_name((uint64_t)descriptor->values[i]))
			    : arena_format(arena, "%s%s%" PRId64, text, i ? " " : "", descriptor->values[i]);
	}
	return arena_format(arena, "%s)", text);
}

static const char *value_text(
	struct arena *arena, const struct trace *trace, enum pm_value type, uint64_t value)
{
	const char *text;

	switch (type) {
	case PM_VALUE_INT:
		return arena_format(arena, "%" PRId64, (int64_t)value);
	case PM_VALUE_BYTES:
	case PM_VALUE_COMMUNICATOR:
	case PM_VALUE_GRAPH:
		return arena_format(arena, "%" PRIu64, value);
	case PM_VALUE_TYPE:
		return trace_type_name(value);
	case PM_VALUE_DIRECTION:
		return value < 5 ? direction_names[value] : "?";
	case PM_VALUE_SCALE:
		return value < 4 ? scale_names[value] : "?";
	case PM_VALUE_DESCRIPTOR:
		return descriptor_text(arena, trace, value);
	case PM_VALUE_STRING:
		text = trace_string(trace, value);
		return text ? arena_format(arena, "\"%s\"", print_clean(arena, text)) : "?";
	default:
		return arena_format(arena, "0x%" PRIx64, value);
	}
}

char *dump_values(struct arena *arena, const struct trace *trace, const struct trace_operation *operation)
{
	const struct trace_function *function = &trace->functions[operation->function];
	size_t length = 0, used = 0;
	const char **texts = arena_alloc(arena, operation->value_count, sizeof(*texts));
	char *all;

	for (uint32_t i = 0; i < operation->value_count; i++) {
		texts[i] = arena_format(arena, "%s=%s", function->labels[i].name,
			value_text(arena, trace, function->labels[i].type, operation->values[i]));
		length += strlen(texts[i]) + 1;
	}
	all = arena_alloc(arena, length + 1, 1);
	for (uint32_t i = 0; i < operation->value_count; i++)
		used += (size_t)sprintf(all + used, "%s%s", i ? " " : "", texts[i]);
	return all;
}

static void count_calls(struct dump *dump)
{
	const struct trace *trace = dump->trace;

	dump->call_counts = arena_alloc(&dump->arena, trace->operation_count, sizeof(uint64_t));
	dump->device_counts = arena_alloc(&dump->arena, trace->operation_count, sizeof(uint64_t));
	for (size_t c = 0; c < trace->chunk_count; c++) {
		struct trace_cursor cursor;
		struct trace_record record;
		enum trace_step step;

		trace_walk(&cursor, trace, &trace->chunks[c]);
		while ((step = trace_next(&cursor, &record)) != TRACE_END) {
			if (step == TRACE_REFUSED)
				dump->refused++;
			else if (record.kind == PM_RECORD_CALL)
				dump->call_counts[record.op]++;
			else
				dump->device_counts[record.op]++;
		}
	}
}

static void functions_table(struct dump *dump, struct print_table *table)
{
	const struct trace *trace = dump->trace;
	uint64_t *calls = arena_alloc(&dump->arena, trace->function_count, sizeof(*calls));
	uint64_t *operations = arena_alloc(&dump->arena, trace->function_count, sizeof(*operations));
	size_t number = print_column(table, "number", "fn", PRINT_COUNT);
	size_t count = print_column(table, "calls", "calls", PRINT_COUNT);
	size_t distinct = print_column(table, "operations", "ops", PRINT_COUNT);
	size_t kind = print_column(table, "kind", "kind", PRINT_WORD);
	size_t library = print_column(table, "library", "library", PRINT_WORD);
	size_t name = print_column(table, "name", "name", PRINT_WORD);
	size_t labels = print_column(table, "labels", NULL, PRINT_WORD);

	for (size_t i = 0; i < trace->operation_count; i++) {
		if (!trace->operations[i].function)
			continue;
		calls[trace->operations[i].function] += dump->call_counts[i];
		operations[trace->operations[i].function]++;
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
		print_word(table, kind, trace_kind_name(function->kind));
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

static void operations_table(struct dump *dump, struct print_table *table)
{
	const struct trace *trace = dump->trace;
	size_t number = print_column(table, "number", "op", PRINT_COUNT);
	size_t calls = print_column(table, "calls", "calls", PRINT_COUNT);
	size_t devices = print_column(table, "device_intervals", "device", PRINT_COUNT);
	size_t name = print_column(table, "function", "function", PRINT_WORD);
	size_t values = print_column(table, "values", "values", PRINT_WORD);
	size_t module = print_column(table, "module", any_module(trace) ? "module" : NULL, PRINT_WORD);
	size_t site = print_column(table, "site", "site", PRINT_WORD);

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
		print_word(table, name, trace->functions[operation->function].name);
		print_word(table, values, dump_values(&dump->arena, trace, operation));
		text = trace_string(trace, operation->module);
		print_word(table, module, text ? text : "");
		text = trace_string(trace, operation->site);
		print_word(table, site, text ? text : "");
	}
}

struct record_columns {
	size_t thread, kind, begin, duration, queue, correlation, result, sequence, group, flags, op, name;
	size_t touches; /* SIZE_MAX: no column */
};

/* "0=0x7f1200 1=0x7f3400": words of the arguments with device addresses; "..." behind what is not all of
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
	print_number(table, columns->begin, (double)begin_ns);
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

static void records_table(struct dump *dump, struct print_table *table)
{
	const struct trace *trace = dump->trace;
	struct record_columns columns;

	columns.thread = print_column(table, "thread", "thread", PRINT_COUNT);
	columns.kind = print_column(table, "kind", "kind", PRINT_WORD);
	columns.begin = print_column(table, "begin_ns", "start, ns", PRINT_COUNT);
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
	}
}

static void queues_table(struct dump *dump, struct print_table *table)
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

static void communicators_table(struct dump *dump, struct print_table *table)
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
static void entered_table(struct dump *dump, struct print_table *table)
{
	const struct trace *trace = dump->trace;
	size_t thread = print_column(table, "thread", "thread", PRINT_COUNT);
	size_t tid = print_column(table, "tid", "tid", PRINT_COUNT);
	size_t begin = print_column(table, "begin_ns", "begin, ns", PRINT_COUNT);
	size_t name = print_column(table, "function", "function", PRINT_WORD);

	for (size_t i = 0; i < trace->chunk_count; i++) {
		const struct trace_chunk *chunk = &trace->chunks[i];
		const uint32_t op = chunk->entered.op;

		if (!chunk->entered.flags)
			continue;
		print_row(table);
		print_number(table, thread, chunk->thread);
		print_number(table, tid, chunk->tid);
		print_number(table, begin, (double)trace_ns(trace, chunk->entered.begin));
		if (op < trace->operation_count && trace->operations[op].function)
			print_word(table, name,
				print_clean(
					&dump->arena, trace->functions[trace->operations[op].function].name));
	}
}

static void devices_table(struct dump *dump, struct print_table *table)
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
static void graphs_table(struct dump *dump, struct print_table *table)
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

static void windows_table(struct dump *dump, struct print_table *table)
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

static const char *source_name(uint32_t source)
{
	static const char *const names[] = {"none", "events", "cupti"};

	return source < sizeof(names) / sizeof(*names) ? names[source] : "unknown";
}

/* What version 2 tells beyond the counts; only where there is something to tell. */
static void more_of_head(struct dump *dump, cJSON *object, FILE *out)
{
	const struct trace *trace = dump->trace;
	const struct pm_header *header = &trace->header;
	const struct pm_footer *footer = &trace->footer;

	if (header->worker_count || header->worker_reads) {
		cJSON *input = cJSON_AddObjectToObject(object, "worker_input");

		cJSON_AddNumberToObject(input, "processes", (double)header->worker_count);
		cJSON_AddNumberToObject(input, "reads", (double)header->worker_reads);
		cJSON_AddNumberToObject(input, "bytes", (double)header->worker_bytes);
		cJSON_AddNumberToObject(input, "ns", (double)header->worker_ns);
		if (out)
			fprintf(out,
				"  input of %" PRIu64 " worker processes: %" PRIu64 " reads, %" PRIu64
				" bytes, %" PRIu64 " ns\n",
				header->worker_count, header->worker_reads, header->worker_bytes,
				header->worker_ns);
	}
	losses_json(header->losses, object);
	for (int c = 0; out && c < PM_LOSS_CLASS_COUNT; c++)
		if (losses_of(header->losses, (enum pm_loss_class)c))
			fprintf(out, "  lost %s%s\n", losses_class((enum pm_loss_class)c),
				losses_causes(header->losses, (enum pm_loss_class)c, &dump->arena));
	if (trace->ended && footer->own_ns) {
		cJSON_AddNumberToObject(object, "own_ns", (double)footer->own_ns);
		cJSON_AddNumberToObject(object, "new_ns", (double)footer->new_ns);
		if (out)
			fprintf(out,
				"  the hook itself took %" PRIu64 " ns, and %" PRIu64
				" ns describing new operations\n",
				footer->own_ns, footer->new_ns);
	}
	if (trace->ended && footer->unseen_calls) {
		cJSON_AddNumberToObject(object, "unseen_calls", (double)footer->unseen_calls);
		if (out)
			fprintf(out, "  %" PRIu64 " functions could not be intercepted\n",
				footer->unseen_calls);
	}
}

/* The header, in lines and as an object. */
static cJSON *head(struct dump *dump, FILE *out)
{
	const struct trace *trace = dump->trace;
	const struct pm_header *header = &trace->header;
	const char *program = print_clean(&dump->arena, header->program);
	const char *host = print_clean(&dump->arena, header->host);
	cJSON *object = cJSON_CreateObject(), *notes = cJSON_AddArrayToObject(object, "notes");

	cJSON_AddStringToObject(object, "file", trace->path);
	cJSON_AddNumberToObject(object, "version", header->version);
	cJSON_AddStringToObject(object, "program", program);
	cJSON_AddStringToObject(object, "host", host);
	cJSON_AddNumberToObject(object, "pid", header->pid);
	cJSON_AddNumberToObject(object, "rank", header->rank);
	cJSON_AddNumberToObject(object, "world", header->world);
	cJSON_AddNumberToObject(object, "local_rank", header->local_rank);
	cJSON_AddStringToObject(object, "clock", header->clock == PM_CLOCK_TSC ? "tsc" : "monotonic");
	cJSON_AddStringToObject(object, "device_times", source_name(header->device_source));
	cJSON_AddNumberToObject(object, "records", (double)trace->record_count);
	cJSON_AddNumberToObject(object, "refused_records", (double)dump->refused);
	cJSON_AddNumberToObject(object, "lost_records",
		(double)(trace->ended ? trace->footer.lost_records : header->lost_records));
	cJSON_AddBoolToObject(object, "ended", trace->ended);
	if (trace->ended) {
		cJSON_AddNumberToObject(object, "calls", (double)trace->footer.calls);
		cJSON_AddNumberToObject(object, "lost_device_times", (double)trace->footer.lost_device_times);
		cJSON_AddNumberToObject(object, "lost_operations", (double)trace->footer.lost_operations);
		cJSON_AddNumberToObject(object, "threads", (double)trace->footer.threads);
	}
	if (trace->trouble)
		cJSON_AddStringToObject(object, "trouble", trace->trouble);
	for (size_t i = 0; i < trace->note_count; i++)
		cJSON_AddItemToArray(notes, cJSON_CreateString(print_clean(&dump->arena, trace->notes[i])));
	if (dump->how->form != DUMP_TEXT) {
		more_of_head(dump, object, NULL);
		return object;
	}
	print_heading(trace->path, out);
	fprintf(out, "  program %s on %s, process %u, rank %d of %d (local %d)\n", program, host, header->pid,
		header->rank, header->world, header->local_rank);
	fprintf(out, "  version %u, records of %u bytes, clock %s with %zu readings, device times %s%s\n",
		header->version, header->record_bytes, header->clock == PM_CLOCK_TSC ? "tsc" : "monotonic",
		trace->pair_count, header->device_source ? "from " : "", source_name(header->device_source));
	fprintf(out,
		"  %" PRIu64 " records in %zu chunks, %" PRIu64 " lost, %" PRIu64 " without description\n",
		trace->record_count, trace->chunk_count,
		trace->ended ? trace->footer.lost_records : header->lost_records, dump->refused);
	if (trace->ended)
		fprintf(out,
			"  clean exit: %" PRIu64 " calls, %" PRIu64 " records, %" PRIu64 " device times "
			"lost, %" PRIu64 " calls without their details, %" PRIu64 " threads\n",
			trace->footer.calls, trace->footer.records, trace->footer.lost_device_times,
			trace->footer.lost_operations, trace->footer.threads);
	else
		fputs("  the end is missing: the process was killed or is still running\n", out);
	more_of_head(dump, object, out);
	for (size_t i = 0; i < trace->note_count; i++)
		fprintf(out, "  %s\n", print_clean(&dump->arena, trace->notes[i]));
	return object;
}

void dump_print(const struct trace *trace, const struct dump_options *how, FILE *out)
{
	static const struct {
		const char *key, *title;
		void (*fill)(struct dump *, struct print_table *);
	} tables[] = {
		{"functions", "Functions", functions_table},
		{"queues", "Queues", queues_table},
		{"devices", "Devices", devices_table},
		{"communicators", "Communicators", communicators_table},
		{"windows", "Recording", windows_table},
		{"entered", "Calls that have not returned", entered_table},
		{"graphs", "Graphs", graphs_table},
		{"operations", "Operations", operations_table},
		{"records", "Records", records_table},
	};
	struct dump dump = {.trace = trace, .how = how};
	cJSON *object;

	count_calls(&dump);
	object = head(&dump, out);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		struct print_table table;
		bool asked = tables[i].fill == operations_table ? how->operations
			     : tables[i].fill == records_table  ? how->records
								: how->form != DUMP_CSV;

		if (!asked)
			continue;
		print_init(&table, &dump.arena);
		tables[i].fill(&dump, &table);
		if (how->form == DUMP_JSON) {
			cJSON_AddItemToObject(object, tables[i].key, print_json(&table));
		} else if (how->form == DUMP_CSV) {
			print_csv(&table, out);
		} else if (table.row_count > 0) {
			fputc('\n', out);
			print_text(&table, tables[i].title, out);
		}
		print_free(&table);
	}
	if (how->form == DUMP_JSON)
		print_json_end(object, out);
	else
		cJSON_Delete(object);
	arena_free(&dump.arena);
}
