/* Formulas in other languages: see formula_text.h. */
#include "formula_text.h"
#include "base/role.h"
#include "base/text.h"
#include "model/expression_model.h"
#include "step/beyond.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void formula_number(FILE *out, double number)
{
	char text[40];

	/* the shortest of these that is the same number */
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, number);
		if (strtod(text, NULL) == number)
			break;
	}
	fputs(text, out);
}

void formula_numbers(FILE *out, const double *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		fputs(i ? ", " : "", out);
		formula_number(out, numbers[i]);
	}
}

void formula_conditional(const struct formula_writer *w, size_t column, double one, double more)
{
	fprintf(w->out, "(%s > 1 ? ", w->names[column]);
	formula_number(w->out, more);
	fputs(" : ", w->out);
	formula_number(w->out, one);
	fputc(')', w->out);
}

void formula_domain(FILE *out, const struct pm_fit_model_column *column, const char *held, const char *loose)
{
	struct beyond_growth growth;

	formula_numbers(out, (const double[]){column->least, column->greatest}, 2);
	if (!beyond_growth(column, &growth)) {
		fputs(loose, out);
		return;
	}
	fprintf(out, "%s, %g, %g, %g, ", held, growth.lower, growth.upper, growth.steeper);
	formula_number(out, growth.near);
}

void formula_levels(FILE *out, const struct pm_fit_model_column *column)
{
	for (size_t l = 0; l < column->level_count; l++) {
		formula_string(out, column->levels[l]);
		fputs(", ", out);
	}
}

static bool is_reserved(const char *word)
{
	static const char *const words[] = {"and", "as", "assert", "async", "auto", "await", "break", "case",
		"char", "class", "const", "continue", "def", "default", "del", "do", "double", "elif", "else",
		"enum", "except", "extern", "finally", "float", "for", "from", "global", "goto", "if",
		"import", "in", "inline", "int", "is", "lambda", "long", "nonlocal", "not", "or", "pass",
		"raise", "register", "restrict", "return", "short", "signed", "sizeof", "static", "struct",
		"switch", "try", "typedef", "union", "unsigned", "void", "volatile", "while", "with", "yield",
		"False", "None", "True", "bool", "main", "math", "max", "min"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(word, words[i]) == 0)
			return true;
	return false;
}

const char *formula_identifier(struct arena *arena, const char *text)
{
	char *word = arena_format(arena, "%s%s_", isdigit((unsigned char)*text) ? "_" : "", text);
	size_t length = strlen(word) - 1;

	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)word[i]) || (unsigned char)word[i] > 127)
			word[i] = '_';
	if (strspn(word, "_") >= length)
		return arena_format(arena, "model");
	word[is_reserved(arena_text(arena, word, length)) ? length + 1 : length] = '\0';
	return word;
}

const char *const *formula_identifiers(struct arena *arena, const char *const *names, size_t count)
{
	const char **words = arena_alloc(arena, count + 1, sizeof(*words));

	for (size_t i = 0; i < count; i++) {
		if (!names[i])
			continue;
		words[i] = formula_identifier(arena, names[i]);
		for (size_t j = 0; j < i; j++)
			if (words[j] && strcmp(words[j], words[i]) == 0) {
				words[i] = arena_format(arena, "%s_%zu", words[i], i + 1);
				j = (size_t)-1;
			}
	}
	return words;
}

void formula_string(FILE *out, const char *text)
{
	fputc('"', out);
	while (*text) {
		size_t length = pm_text_character(text, strlen(text));

		if (length == 0 || (unsigned char)*text < ' ' || *text == 127)
			fputc('?', out);
		else if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fwrite(text, 1, length, out);
		text += length ? length : 1;
	}
	fputc('"', out);
}

/* ---- what search found ---- */

static const struct expression_number *number_of(
	const struct formula_writer *w, const struct expression_factor *f)
{
	return &w->model->expression->terms.numbers[f->number];
}

static void put_base(const struct formula_writer *w, const struct expression_number *number)
{
	fprintf(w->out, number->plus_one ? "(1 + %s)" : "%s", w->names[number->column]);
}

static void put_power(const struct formula_writer *w, const struct expression_number *number, double power)
{
	if (power == 1) {
		put_base(w, number);
		return;
	}
	fprintf(w->out, "%s(", w->language->power);
	put_base(w, number);
	fputs(", ", w->out);
	formula_number(w->out, power);
	fputc(')', w->out);
}

/* A number by the group of a level; `powers`: they are powers of the number, else factors. */
static void put_groups(const struct formula_writer *w, const struct expression_factor *factor, bool powers)
{
	const struct pm_fit_expression *x = w->model->expression;
	const struct expression_partition *partition = &x->terms.partitions[factor->partition];
	const struct expression_category *category = &x->terms.categories[partition->category];
	const double *constants = x->expression.constants + factor->at;
	double numbers[EXPRESSION_LEVELS];

	for (size_t l = 0; l < category->level_count; l++) {
		size_t group = partition->group_of[l];

		numbers[l] = powers ? constants[group] : group ? exp(constants[group - 1]) : 1;
	}
	if (category->is_one)
		w->language->by_one(w, category->column, numbers[0], numbers[1]);
	else
		w->language->by_level(w, category->column, numbers);
}

static void put_factor(const struct formula_writer *w, const struct expression_factor *factor)
{
	const double *constants = w->model->expression->expression.constants + factor->at;

	switch (factor->kind) {
	case EXPRESSION_POWER:
		put_power(w, number_of(w, factor), constants[0]);
		break;
	case EXPRESSION_FIXED:
		put_power(w, number_of(w, factor), factor->power);
		break;
	case EXPRESSION_LOG:
		fprintf(w->out, "%s(%s(", w->language->greatest, w->language->log_2);
		put_base(w, number_of(w, factor));
		fputs("), ", w->out);
		formula_number(w->out, exp(EXPRESSION_LOG_OF_NOTHING));
		fputc(')', w->out);
		break;
	case EXPRESSION_POWER_BY_GROUP:
		fprintf(w->out, "%s(", w->language->power);
		put_base(w, number_of(w, factor));
		fputs(", ", w->out);
		put_groups(w, factor, true);
		fputc(')', w->out);
		break;
	case EXPRESSION_GROUP:
		put_groups(w, factor, false);
		break;
	}
}

static void put_node(const struct formula_writer *w, size_t n);

/* The children, each between `before` and `after`. */
static void put_children(const struct formula_writer *w, size_t n, const char *before, const char *after)
{
	const struct expression *e = &w->model->expression->expression;
	const char *gap = "";

	for (size_t c = n + 1; c < e->node_count; c++) {
		if (e->nodes[c].parent != n)
			continue;
		fprintf(w->out, "%s%s", gap, before);
		put_node(w, c);
		fputs(after, w->out);
		gap = " + ";
	}
}

/* The greatest of the children from `from` on, of which there are `left`. */
static void put_greatest(const struct formula_writer *w, size_t n, size_t from, size_t left)
{
	const struct expression *e = &w->model->expression->expression;

	if (left > 1)
		fprintf(w->out, "%s(", w->language->greatest);
	while (e->nodes[from].parent != n)
		from++;
	put_node(w, from);
	for (size_t c = from + 1; !w->language->greatest_of_two && c < e->node_count; c++)
		if (e->nodes[c].parent == n) {
			fputs(", ", w->out);
			put_node(w, c);
		}
	if (w->language->greatest_of_two && left > 1) {
		fputs(", ", w->out);
		put_greatest(w, n, from + 1, left - 1);
	}
	if (left > 1)
		fputc(')', w->out);
}

static void put_norm(const struct formula_writer *w, size_t n)
{
	const struct expression *e = &w->model->expression->expression;
	double power = exp(e->constants[e->nodes[n].at]);
	char *before, *after;
	size_t size;
	FILE *text = open_memstream(&after, &size);

	fputs(", ", text);
	formula_number(text, power);
	fputc(')', text);
	fclose(text);
	text = open_memstream(&before, &size);
	fprintf(text, "%s(", w->language->power);
	fclose(text);
	fprintf(w->out, "%s(", w->language->power);
	put_children(w, n, before, after);
	fputs(", 1 / ", w->out);
	formula_number(w->out, power);
	fputc(')', w->out);
	free(before);
	free(after);
}

static void put_op(const struct formula_writer *w, size_t n)
{
	const struct expression *e = &w->model->expression->expression;

	switch (e->nodes[n].op) {
	case EXPRESSION_SUM:
		fputc('(', w->out);
		put_children(w, n, "", "");
		fputc(')', w->out);
		break;
	case EXPRESSION_MAX:
		put_greatest(w, n, n + 1, expression_child_count(e, n));
		break;
	case EXPRESSION_NORM:
		put_norm(w, n);
		break;
	case EXPRESSION_HARMONIC:
		fputs("(1 / (", w->out);
		put_children(w, n, "1 / (", ")");
		fputs("))", w->out);
		break;
	}
}

static void put_node(const struct formula_writer *w, size_t n)
{
	const struct expression *e = &w->model->expression->expression;
	const struct expression_node *node = &e->nodes[n];
	bool is_leaf = node->op == EXPRESSION_LEAF;

	if (is_leaf)
		formula_number(w->out, exp(e->constants[node->at]));
	for (size_t f = 0; f < node->factor_count; f++) {
		fputs(is_leaf || f ? " * " : "", w->out);
		put_factor(w, &node->factors[f]);
	}
	if (!is_leaf) {
		fputs(node->factor_count ? " * " : "", w->out);
		put_op(w, n);
	}
}

/* ---- the generic model ---- */

/* The numbers of a column's levels; of what is no value of the model 0, of factors 1. */
static const double *level_numbers(const struct formula_writer *w, size_t column, enum pm_fit_kind kind)
{
	size_t count = w->model->columns[column].level_count;
	double *numbers = arena_alloc(w->arena, count + 1, sizeof(*numbers));

	for (size_t l = 0; l < count; l++)
		numbers[l] = kind == PM_FIT_KIND_FACTOR ? 1 : 0;
	for (size_t v = 0; v < w->model->value_count; v++) {
		const struct pm_fit_value *value = &w->model->values[v];

		if (value->kind == kind && value->column == column && value->level < count)
			numbers[value->level] = kind == PM_FIT_KIND_FACTOR ? exp(value->value) : value->value;
	}
	return numbers;
}

static void put_plain_power(const struct formula_writer *w, size_t column, double power)
{
	/* anything to the power of 0 is 1, 0 too, which spreadsheets refuse */
	if (power == 0)
		fputs("1", w->out);
	else if (power == 1)
		fputs(w->names[column], w->out);
	else {
		fprintf(w->out, "%s(%s, ", w->language->power, w->names[column]);
		formula_number(w->out, power);
		fputc(')', w->out);
	}
}

static void put_terms(const struct formula_writer *w)
{
	const struct pm_fit_model *model = w->model;
	size_t power = 0, intrinsic = 0;
	const char *gap = "";

	while (power < model->value_count && model->values[power].kind != PM_FIT_KIND_CONSTANT)
		power++;
	power++;
	for (size_t v = 0; v + 1 < power; v++) {
		const struct pm_fit_value *value = &model->values[v];

		if (value->kind == PM_FIT_KIND_LEVEL && value->level > 0)
			continue;
		fputs(gap, w->out);
		gap = " + ";
		if (value->kind == PM_FIT_KIND_LEVEL) {
			w->language->by_level(
				w, value->column, level_numbers(w, value->column, PM_FIT_KIND_LEVEL));
			continue;
		}
		formula_number(w->out, value->value);
		if (value->kind != PM_FIT_KIND_COEFFICIENT)
			continue;
		fputs(" * ", w->out);
		put_plain_power(w, value->column, model->values[power + intrinsic++].value);
	}
}

static void put_generic(const struct formula_writer *w)
{
	const struct pm_fit_model *model = w->model;

	fputc('(', w->out);
	put_terms(w);
	fputc(')', w->out);
	for (size_t v = 0; v < model->value_count; v++) {
		const struct pm_fit_value *value = &model->values[v];

		if (value->kind == PM_FIT_KIND_EXTRINSIC) {
			fputs(" * ", w->out);
			put_plain_power(w, value->column, value->value);
		}
	}
	for (size_t i = 0; i < model->column_count; i++)
		if (model->columns[i].role == PM_FIT_FACTOR) {
			fputs(" * ", w->out);
			w->language->by_level(w, i, level_numbers(w, i, PM_FIT_KIND_FACTOR));
		}
	for (size_t v = 0; v < model->value_count; v++)
		if (model->values[v].kind == PM_FIT_KIND_CONSTANT) {
			fputs(" + ", w->out);
			formula_number(w->out, model->values[v].value);
		}
}

void formula_write(const struct formula_writer *w)
{
	if (w->model->expression)
		put_node(w, 0);
	else
		put_generic(w);
	for (size_t i = 0; i < w->model->column_count; i++)
		if (w->model->columns[i].role == PM_FIT_OFFSET)
			fprintf(w->out, " + %s", w->names[i]);
}

const char *formula_about(const struct export *export)
{
	const struct pm_fit_model *model = export->model;
	const char *unit = model ? model->time_unit : export->step->columns.unit;
	size_t rows = 0;

	unit = unit ? arena_format(export->arena, "in %s", formula_identifier(export->arena, unit))
		    : "in the unit of the fitted table";
	if (model)
		return arena_format(export->arena, "Time %s. Mean error of the %zu fitted rows: %.3g%%.",
			unit, model->train.sample_count, model->train.mape);
	for (size_t i = 0; i < export->step->level_count; i++)
		rows += export->step->levels[i].row_count;
	return arena_format(export->arena, "Time of a training step %s, from %zu measured rows.", unit, rows);
}
