/* The rules that decided, as tables: see why.h. */
#include "analyses/kernels.h"
#include "trace/trace.h"
#include "why.h"

#include <math.h>
#include <string.h>

#define TITLE_BYTES 32 /* longer names are cut in text */

static const char *title_of(struct arena *arena, const struct timeline *timeline, uint32_t call, bool text)
{
	const char *title =
		kernel_title(arena, kernel_name(timeline, timeline_call(timeline, call).operation));

	if (!text || strlen(title) <= TITLE_BYTES)
		return print_clean(arena, title);
	return print_clean(arena, arena_format(arena, "%.*s..", TITLE_BYTES - 2, title));
}

static const struct timeline_operation *operation_of(
	const struct analysis *analysis, const struct why_row *row)
{
	return &analysis->timeline.operations[timeline_call(&analysis->timeline, row->call).operation];
}

/* "linear (functional.py:125)", where that is of all calls of the operation; "not in Python"; else "". */
static const char *line_of(const struct timeline_operation *operation)
{
	if (operation->python == TRACE_PYTHON_NONE)
		return "not in Python";
	return operation->python == TRACE_PYTHON_OWN && operation->innermost ? operation->innermost : "";
}

static bool any_line(const struct analysis *analysis, const struct why *why)
{
	for (size_t i = 0; i < why->row_count; i++)
		if (*line_of(operation_of(analysis, &why->rows[i])))
			return true;
	return false;
}

/* decided: rule + 1; 0: none has. */
static void print_rule(struct print_table *table, size_t column, uint8_t decided)
{
	if (decided)
		print_word(table, column, rule_rows[decided - 1].key);
}

void why_call_table(
	struct print_table *table, const struct analysis *analysis, const struct why *why, bool text)
{
	const size_t row = print_column(table, "row", "row", PRINT_COUNT);
	const size_t call = print_column(table, "call", "call", PRINT_WORD);
	const size_t name = print_column(table, "name", NULL, PRINT_WORD);
	const size_t time = print_column(table, "time", "time", PRINT_TIME);
	const size_t phase = print_column(table, "phase", "phase", PRINT_WORD);
	const size_t phase_by = print_column(table, "phase_by", "by", PRINT_WORD);
	const size_t phase_rule = print_column(table, "phase_rule", NULL, PRINT_WORD);
	const size_t layer = print_column(table, "layer", "layer", PRINT_WORD);
	const size_t layers = print_column(table, "layers", NULL, PRINT_COUNT);
	const size_t layer_by = print_column(table, "layer_by", "by", PRINT_WORD);
	const size_t layer_rule = print_column(table, "layer_rule", NULL, PRINT_WORD);
	const size_t other = print_column(table, "of_row", "of row", PRINT_COUNT);
	const size_t parameter = print_column(table, "parameter", NULL, PRINT_WORD);
	const size_t line =
		print_column(table, "line", any_line(analysis, why) ? "line of Python" : NULL, PRINT_WORD);
	const size_t outermost = print_column(table, "outermost", NULL, PRINT_WORD);

	for (size_t i = 0; i < why->row_count; i++) {
		const struct why_row *item = &why->rows[i];
		const struct timeline_operation *operation = operation_of(analysis, item);

		print_row(table);
		print_word(table, line, print_clean(table->arena, line_of(operation)));
		if (operation->outermost)
			print_word(table, outermost, print_clean(table->arena, operation->outermost));
		print_number(table, row, (double)i + 1);
		print_word(table, call, title_of(table->arena, &analysis->timeline, item->call, text));
		print_word(table, name,
			print_clean(table->arena,
				kernel_name(&analysis->timeline,
					timeline_call(&analysis->timeline, item->call).operation)));
		if (!isnan(item->time_ns))
			print_number(table, time, item->time_ns);
		print_term(table, phase, phase_keys[item->phase], phase_titles[item->phase]);
		print_word(table, phase_by, layer_why_keys[item->reason.phase]);
		print_rule(table, phase_rule, item->reason.phase_decided);
		print_number(table, layers, (double)item->layers);
		if (item->layers) {
			print_word(table, layer,
				item->layers > 1 && text ? "several"
							 : print_clean(table->arena, item->layer));
			print_word(table, layer_by, layer_why_keys[item->reason.layer]);
			print_rule(table, layer_rule, item->reason.layer_decided);
		}
		if (item->other)
			print_number(table, other, (double)item->other);
		if (item->reason.address)
			print_word(table, parameter,
				arena_format(
					table->arena, "0x%llx", (unsigned long long)item->reason.address));
	}
}

void why_rule_table(struct print_table *table, const struct why *why)
{
	const size_t decides = print_column(table, "decides", "decides", PRINT_WORD);
	const size_t says = print_column(table, "rule", "by", PRINT_WORD);
	const size_t evidence = print_column(table, "evidence", "evidence", PRINT_WORD);
	const size_t strength = print_column(table, "strength", "strength", PRINT_WORD);
	const size_t calls = print_column(table, "calls", "calls", PRINT_COUNT);
	const size_t time = print_column(table, "time", "time", PRINT_TIME);
	const size_t share = print_column(table, "share", "share", PRINT_SHARE);
	const size_t text = print_column(table, "because", "because the call", PRINT_WORD);

	for (int layers = 0; layers < 2; layers++) {
		const struct why_shares *shares = layers ? &why->layers : &why->phases;

		table->rule = layers;
		for (size_t i = 0; i < shares->count; i++) {
			const struct why_share *item = &shares->items[i];

			print_row(table);
			print_word(table, decides, layers ? "layer" : "phase");
			print_word(table, says, layer_why_keys[item->says]);
			if (item->rule != RULE_NONE) {
				const struct rule_row *row = &rule_rows[item->rule];

				print_word(table, evidence, rule_evidence_keys[row->evidence]);
				print_word(table, strength, rule_strength_keys[row->strength]);
			}
			print_number(table, calls, (double)item->count);
			if (item->known > 0)
				print_number(table, time, item->time_ns);
			if (item->known > 0 && why->time_ns > 0)
				print_number(table, share, item->time_ns / why->time_ns);
			print_word(table, text, layer_why_texts[item->says]);
		}
	}
}
