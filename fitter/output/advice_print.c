/* An advice in the terminal and for programs: see advice_print.h. */
#include "advice_table.h"

#include <math.h>

void advice_print_text(const struct advice_print *p, FILE *out)
{
	struct advice_answer answers[ADVICE_QUESTIONS];
	const char *sentences[ADVICE_ASSUMPTIONS];
	struct arena arena = {0};
	struct print_table table;

	fprintf(out, "%s: %s\n\n", p->run, advice_base(p, &arena));
	print_init(&table, &arena);
	advice_table_rows(p, &table);
	print_text(&table, "An iteration", out);
	print_free(&table);
	fputc('\n', out);
	if (advice_first(p, &arena))
		print_paragraph(arena_format(&arena, "First: %s", advice_first(p, &arena)), 2, out);
	advice_answers(p, &arena, answers);
	for (size_t i = 0; i < ADVICE_QUESTIONS; i++)
		print_paragraph(
			arena_format(&arena, "%s: %s", answers[i].question, answers[i].answer), 2, out);
	advice_assumptions(p, &arena, sentences);
	fputs("\nAssumed\n", out);
	for (size_t i = 0; sentences[i]; i++)
		print_paragraph(sentences[i], 2, out);
	arena_free(&arena);
}

void advice_print_csv(const struct advice_print *p, FILE *out)
{
	struct arena arena = {0};
	struct print_table table;

	print_init(&table, &arena);
	advice_table_ways(p, &table);
	print_csv(&table, out);
	print_free(&table);
	arena_free(&arena);
}

void advice_print_json(const struct advice_print *p, FILE *out)
{
	const struct advice *a = p->advice;
	cJSON *root = cJSON_CreateObject(), *list;
	struct advice_answer answers[ADVICE_QUESTIONS];
	const char *sentences[ADVICE_ASSUMPTIONS];
	struct arena arena = {0};
	struct print_table table;

	cJSON_AddStringToObject(root, "run", p->run);
	cJSON_AddStringToObject(root, "cluster", p->cluster);
	cJSON_AddBoolToObject(root, "cluster_assumed", p->is_assumed);
	cJSON_AddNumberToObject(root, "gpu_batch", a->run.batch);
	if (a->whole_batch > 0)
		cJSON_AddNumberToObject(root, "whole_batch", a->whole_batch);
	cJSON_AddNumberToObject(root, "iteration_ns", a->run.iteration);
	cJSON_AddNumberToObject(root, "other_ns", a->run.other);
	print_init(&table, &arena);
	advice_table_rows(p, &table);
	cJSON_AddItemToObject(root, "rows", print_json(&table));
	print_free(&table);
	print_init(&table, &arena);
	advice_table_ways(p, &table);
	cJSON_AddItemToObject(root, "strategies", print_json(&table));
	print_free(&table);
	print_json_number(root, "pays_up_to", a->pays ? (double)a->pays->gpus : NAN);
	print_json_number(root, "quickest", a->quickest ? (double)a->quickest->gpus : NAN);
	print_json_number(root, "cheapest", a->cheapest ? (double)a->cheapest->gpus : NAN);
	advice_answers(p, &arena, answers);
	list = cJSON_AddObjectToObject(root, "answers");
	if (advice_first(p, &arena))
		cJSON_AddStringToObject(list, "First", advice_first(p, &arena));
	for (size_t i = 0; i < ADVICE_QUESTIONS; i++)
		cJSON_AddStringToObject(list, answers[i].question, answers[i].answer);
	advice_assumptions(p, &arena, sentences);
	list = cJSON_AddArrayToObject(root, "assumed");
	for (size_t i = 0; sentences[i]; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(sentences[i]));
	print_json_end(root, out);
	arena_free(&arena);
}
