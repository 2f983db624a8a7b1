/*
 * What is in a trace file, in the words of the format. Operations and records are tables (base/table.h); the
 * rest are lines.
 */
#include "dump.h"
#include "dump_tables.h"
#include "losses.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
		trace_release(trace, &trace->chunks[c]);
	}
}

static const char *source_name(uint32_t source)
{
	static const char *const names[] = {"none", "events", "cupti"};

	return source < sizeof(names) / sizeof(*names) ? names[source] : "unknown";
}

/* Which part of the run the records are of. */
static void ring_of_head(struct dump *dump, cJSON *object, FILE *out)
{
	const struct trace *trace = dump->trace;
	const struct pm_ring *ring = trace->ring ? &trace->ring->state : NULL;
	cJSON *item;

	if (!ring)
		return;
	item = cJSON_AddObjectToObject(object, "ring");
	cJSON_AddNumberToObject(item, "record_bytes", (double)ring->record_bytes);
	cJSON_AddNumberToObject(item, "dropped_chunks", (double)ring->dropped_chunks);
	cJSON_AddNumberToObject(item, "dropped_calls", (double)ring->dropped_calls);
	cJSON_AddNumberToObject(item, "dropped_device_intervals", (double)ring->dropped_devices);
	cJSON_AddNumberToObject(item, "uncounted", (double)ring->uncounted);
	cJSON_AddBoolToObject(item, "exact", !trace->ring->moving);
	if (ring->first_ticks) {
		cJSON_AddNumberToObject(item, "dropped_from_ns", (double)trace_ns(trace, ring->first_ticks));
		cJSON_AddNumberToObject(item, "dropped_to_ns", (double)trace_ns(trace, ring->last_ticks));
	}
	if (!out)
		return;
	fprintf(out,
		"  ring of %" PRIu64 " bytes: %" PRIu64 " calls and %" PRIu64
		" device intervals were dropped in %" PRIu64 " chunks",
		ring->record_bytes, ring->dropped_calls, ring->dropped_devices, ring->dropped_chunks);
	if (ring->first_ticks)
		fprintf(out, ", from %" PRId64 " to %" PRId64 " ns", trace_ns(trace, ring->first_ticks),
			trace_ns(trace, ring->last_ticks));
	fputc('\n', out);
	if (ring->uncounted)
		fprintf(out, "  %" PRIu64 " of these are in no statistics: there was no room\n",
			ring->uncounted);
	if (trace->ring->moving)
		fputs("  read while it was written, faster than it could be copied: counts are approximate\n",
			out);
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
	ring_of_head(dump, object, out);
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
		if (footer->new_processor_ns)
			cJSON_AddNumberToObject(object, "new_processor_ns", (double)footer->new_processor_ns);
	}
	if (trace->ended && footer->unseen_calls) {
		cJSON_AddNumberToObject(object, "unseen_calls", (double)footer->unseen_calls);
		if (out)
			fprintf(out, "  %" PRIu64 " functions could not be intercepted\n",
				footer->unseen_calls);
	}
}

/* There are traces of a hook that missed the records of a thread that ended with the process, but not their
 * device times: with fewer calls than 0, or too few, which cannot be seen. */
static bool is_count(uint64_t calls)
{
	return calls <= INT64_MAX;
}

static void print_end(const struct pm_footer *footer, FILE *out)
{
	fputs("  clean exit: ", out);
	if (is_count(footer->calls))
		fprintf(out, "%" PRIu64, footer->calls);
	else
		fputc('-', out);
	fprintf(out,
		" calls, %" PRIu64 " records, %" PRIu64 " device times "
		"lost, %" PRIu64 " calls without their details, %" PRIu64 " threads\n",
		footer->records, footer->lost_device_times, footer->lost_operations, footer->threads);
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
		cJSON_AddNumberToObject(
			object, "calls", is_count(trace->footer.calls) ? (double)trace->footer.calls : NAN);
		cJSON_AddNumberToObject(object, "lost_device_times", (double)trace->footer.lost_device_times);
		cJSON_AddNumberToObject(object, "lost_operations", (double)trace->footer.lost_operations);
		cJSON_AddNumberToObject(object, "threads", (double)trace->footer.threads);
	}
	if (trace->trouble)
		cJSON_AddStringToObject(object, "trouble", trace->trouble);
	for (size_t i = 0; i < trace->note_count; i++)
		cJSON_AddItemToArray(notes, cJSON_CreateString(print_clean(&dump->arena, trace->notes[i])));
	if (dump->how->form != PRINT_TEXT) {
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
		print_end(&trace->footer, out);
	else
		fputs("  the end is missing: the process was killed, ended by _exit or exec, or is still running\n",
			out);
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
		{"functions", "Functions", dump_functions},
		{"queues", "Queues", dump_queues},
		{"devices", "Devices", dump_devices},
		{"communicators", "Communicators", dump_communicators},
		{"windows", "Recording", dump_windows},
		{"device_windows", "Device times", dump_device_windows},
		{"range_windows", "Operators", dump_range_windows},
		{"ranges", "Ranges", dump_ranges},
		{"turns", "Stretches with recording and without", dump_turns},
		{"entered", "Calls that have not returned", dump_entered},
		{"graphs", "Graphs", dump_graphs},
		{"operations", "Operations", dump_operations},
		{"records", "Records", dump_records},
		{"statistics", "Operations over the whole run", dump_statistics},
	};
	struct dump dump = {.trace = trace, .how = how};
	cJSON *object;

	count_calls(&dump);
	object = head(&dump, out);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		struct print_table table;
		bool asked = tables[i].fill == dump_operations   ? how->operations
			     : tables[i].fill == dump_records    ? how->records
			     : tables[i].fill == dump_statistics ? how->statistics
								 : how->form != PRINT_CSV;

		if (!asked)
			continue;
		print_init(&table, &dump.arena);
		tables[i].fill(&dump, &table);
		if (how->form == PRINT_JSON) {
			cJSON_AddItemToObject(object, tables[i].key, print_json(&table));
		} else if (how->form == PRINT_CSV) {
			print_csv(&table, out);
		} else if (table.row_count > 0) {
			fputc('\n', out);
			print_text(&table, tables[i].title, out);
		}
		print_free(&table);
	}
	if (how->form == PRINT_JSON)
		print_json_end(object, out);
	else
		cJSON_Delete(object);
	arena_free(&dump.arena);
}
