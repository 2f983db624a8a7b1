/*
 * A committee as a sheet: see export.h. From above: the time, the settings, where they lie outside; what each
 * form's terms are multiplied by; the candidates, a row for each form; the measured configurations with their
 * likeness to the settings and their weights in each candidate's residual.
 */
#include "export_step.h"
#include "formula_text.h"
#include "sheet.h"

enum {
	TITLE,
	HINT,
	TIME,
	HEAD = 4,
	ASKED,
	LEAST,
	GREATEST,
	POINT,
	OUTSIDE,
	MORE_GPUS,
	FACTORS = 12,
	FORMS = 19
};

/* Columns: of settings and points; of a form's row; of the configurations. */
enum { BATCH = 1, GPUS, NODES, REGIME };
enum {
	TERM = 1,
	OVERLAP = TERM + FORM_TERMS,
	COMPUTE,
	EXCHANGE,
	LOG,
	MEDIAN,
	RESIDUAL,
	WEIGHT,
	VOTE,
	ACROSS,
	LOCAL,
	REACH,
	BY_MASK
};
enum { LIKE = REGIME + 1, AWAY, PROCESS };

struct layout {
	struct sheet *sheet;
	const struct committee *committee;
	size_t points, last_point, last_form;
};

static const char *at(const struct layout *l, size_t row, size_t column)
{
	return sheet_at(l->sheet, row, column);
}

static void put_settings(const struct layout *l, bool is_global)
{
	const struct committee *c = l->committee;
	const double least[] = {c->least.batch, c->least.gpus, c->least.nodes};
	const double greatest[] = {c->greatest.batch, c->greatest.gpus, c->greatest.nodes};
	static const char *const names[] = {"batch", "gpus", "nodes"};

	for (size_t i = 0; i < 3; i++) {
		sheet_text(l->sheet, HEAD, BATCH + i, names[i]);
		sheet_number(l->sheet, ASKED, BATCH + i, least[i] * (i == 0 && is_global ? least[1] : 1));
		sheet_number(l->sheet, LEAST, BATCH + i, least[i]);
		sheet_number(l->sheet, GREATEST, BATCH + i, greatest[i]);
		if (i == 0 && is_global)
			sheet_formula(
				l->sheet, POINT, BATCH, "%s/%s", at(l, ASKED, BATCH), at(l, ASKED, GPUS));
		else
			sheet_formula(l->sheet, POINT, BATCH + i, "%s", at(l, ASKED, BATCH + i));
		sheet_formula(l->sheet, OUTSIDE, BATCH + i, "IF(OR(%s<%s*(1-1e-9),%s>%s*(1+1e-9)),1,0)",
			at(l, POINT, BATCH + i), at(l, LEAST, BATCH + i), at(l, POINT, BATCH + i),
			at(l, GREATEST, BATCH + i));
	}
	sheet_formula(l->sheet, POINT, REGIME, "IF(%s<=1,0,IF(%s<=1,1,2))", at(l, POINT, GPUS),
		at(l, POINT, NODES));
	sheet_formula(l->sheet, OUTSIDE, REGIME, "%s+2*%s+4*%s+1", at(l, OUTSIDE, BATCH),
		at(l, OUTSIDE, GPUS), at(l, OUTSIDE, NODES));
	sheet_formula(l->sheet, MORE_GPUS, BATCH, "MAX(0,LN(%s/%s)/LN(2))", at(l, POINT, GPUS),
		at(l, GREATEST, GPUS));
}

static void put_labels(const struct layout *l, bool is_global)
{
	const struct {
		size_t row, column;
		const char *text;
	} labels[] = {{TIME, 0, "time"}, {HEAD, 0, "setting"}, {ASKED, 0, "asked"},
		{LEAST, 0, "least measured, batch on each GPU"},
		{GREATEST, 0, "greatest measured, batch on each GPU"},
		{POINT, 0, "samples on each GPU; GPUs; nodes; kind"},
		{OUTSIDE, 0, "outside of what was measured"}, {MORE_GPUS, 0, "doublings of GPUs beyond"},
		{FACTORS - 1, 0, "terms are multiplied by"}, {FORMS - 1, 0, "candidates"},
		{FORMS - 1, TERM, "terms"}, {FORMS - 1, OVERLAP, "overlap"}, {FORMS - 1, COMPUTE, "compute"},
		{FORMS - 1, EXCHANGE, "exchange"}, {FORMS - 1, LOG, "logarithm"},
		{FORMS - 1, MEDIAN, "median"}, {FORMS - 1, RESIDUAL, "residual"},
		{FORMS - 1, WEIGHT, "weight"}, {FORMS - 1, VOTE, "vote"}, {FORMS - 1, ACROSS, "across"},
		{FORMS - 1, LOCAL, "local"}, {FORMS - 1, REACH, "reach"},
		{FORMS - 1, BY_MASK, "weights by place"},
		{ASKED, REGIME, is_global ? "batch: on all GPUs together" : "batch: on each GPU"},
		{l->points - 1, 0, "measured"}, {l->points - 1, LIKE, "likeness"},
		{l->points - 1, AWAY, "distance"}, {l->points - 1, PROCESS, "weights in each residual"}};

	for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++)
		sheet_text(l->sheet, labels[i].row, labels[i].column, labels[i].text);
}

/* As factors() in step/form.c, a row for each exchange. */
static void put_factors(const struct layout *l)
{
	const char *m = at(l, POINT, BATCH), *k = at(l, POINT, GPUS), *n = at(l, POINT, NODES);
	const char *rounds = arena_format(l->sheet->arena, "LN(%s)/LN(2)", k);
	const char *linear = arena_format(l->sheet->arena, "%s-2", k);
	const char *one = arena_format(l->sheet->arena, "AND(%s>1,%s<=1)", k, n);
	const char *many = arena_format(l->sheet->arena, "AND(%s>1,%s>1)", k, n);
	const char *const last[] = {arena_format(l->sheet->arena, "1/%s", n), "0",
		arena_format(l->sheet->arena, "%s/%s", k, n),
		arena_format(l->sheet->arena, "LN(%s/%s)/LN(2)", k, n), "0"};

	for (size_t e = 0; e <= FORM_LINEAR; e++) {
		size_t row = FACTORS + e;

		sheet_number(l->sheet, row, TERM, 1);
		sheet_formula(l->sheet, row, TERM + 1, "%s", m);
		sheet_formula(l->sheet, row, TERM + 2, "%s*%s", m, rounds);
		sheet_formula(l->sheet, row, TERM + 3, "IF(%s,1,0)", one);
		sheet_formula(
			l->sheet, row, TERM + 4, "IF(%s,%s,0)", one, e == FORM_LINEAR ? linear : rounds);
		sheet_formula(l->sheet, row, TERM + 5, "IF(%s,1,0)", many);
		if (e == FORM_TWO_LEVELS)
			sheet_formula(l->sheet, row, TERM + 6, "IF(%s,LN(%s)/LN(2),0)", many, n);
		else
			sheet_formula(l->sheet, row, TERM + 6, "IF(%s,%s,0)", many,
				e == FORM_LINEAR ? linear : rounds);
		sheet_formula(l->sheet, row, TERM + 7, "IF(%s,%s,0)", many, last[e]);
	}
}

static void put_form(const struct layout *l, size_t row, const struct form *form)
{
	size_t factors = FACTORS + (size_t)form->exchange;
	const char *compute = at(l, row, COMPUTE), *exchange = at(l, row, EXCHANGE),
		   *overlap = at(l, row, OVERLAP);
	const char *longer = arena_format(l->sheet->arena, "MAX(%s,%s)", compute, exchange);

	for (size_t t = 0; t < FORM_TERMS; t++)
		sheet_number(l->sheet, row, TERM + t, form->terms[t]);
	sheet_number(l->sheet, row, OVERLAP, form->overlap);
	sheet_formula(l->sheet, row, COMPUTE, "SUMPRODUCT(%s,%s)",
		sheet_range(l->sheet, row, TERM, row, TERM + 2),
		sheet_range(l->sheet, factors, TERM, factors, TERM + 2));
	sheet_formula(l->sheet, row, EXCHANGE, "SUMPRODUCT(%s,%s)",
		sheet_range(l->sheet, row, TERM + 3, row, TERM + FORM_TERMS - 1),
		sheet_range(l->sheet, factors, TERM + 3, factors, TERM + FORM_TERMS - 1));
	sheet_formula(l->sheet, row, LOG,
		"LN(MAX(IF(OR(%s<=1,%s<=0),%s+%s,%s*POWER(1+POWER(MIN(%s,%s)/MAX(%s,1e-300),%s),1/%s)),1e-300))",
		overlap, longer, compute, exchange, longer, compute, exchange, longer, overlap, overlap);
}

static void put_candidate(struct layout *l, size_t place, double weights[EXPORT_MASKS][COMMITTEE_CANDIDATES])
{
	const struct candidate *c = &l->committee->candidates[place];
	size_t count = candidate_forms(c), row = l->last_form + 1;
	const char *process =
		sheet_range(l->sheet, l->points, PROCESS + place, l->last_point, PROCESS + place);

	for (size_t v = 0; v < count; v++)
		put_form(l, row + v, &c->forms[v]);
	if (count)
		sheet_formula(l->sheet, row, MEDIAN, "MEDIAN(%s)",
			sheet_range(l->sheet, row, LOG, row + count - 1, LOG));
	else
		sheet_number(l->sheet, row, MEDIAN, c->level);
	sheet_number(l->sheet, row, ACROSS, c->shape.across);
	sheet_number(l->sheet, row, LOCAL, c->shape.local);
	sheet_number(l->sheet, row, REACH, c->shape.reach);
	sheet_formula(l->sheet, row, RESIDUAL, "%s*SUMPRODUCT(%s,%s)+%s*SUMPRODUCT(%s,EXP(-1*%s/%s))",
		at(l, row, ACROSS), process, sheet_range(l->sheet, l->points, LIKE, l->last_point, LIKE),
		at(l, row, LOCAL), process, sheet_range(l->sheet, l->points, AWAY, l->last_point, AWAY),
		at(l, row, REACH));
	for (size_t mask = 0; mask < EXPORT_MASKS; mask++)
		sheet_number(l->sheet, row, BY_MASK + mask, weights[mask][place]);
	sheet_formula(l->sheet, row, WEIGHT,
		c->is_linear ? "INDEX(%s,1,%s)/(1+POWER(%s/%g,4))" : "INDEX(%s,1,%s)",
		sheet_range(l->sheet, row, BY_MASK, row, BY_MASK + EXPORT_MASKS - 1), at(l, OUTSIDE, REGIME),
		at(l, MORE_GPUS, BATCH), COMMITTEE_LINEAR_REACH);
	sheet_formula(l->sheet, row, VOTE, "%s*(%s+%s)", at(l, row, WEIGHT), at(l, row, MEDIAN),
		at(l, row, RESIDUAL));
	l->last_form = row + (count ? count : 1) - 1;
}

static void put_points(const struct layout *l)
{
	const struct residual *residual = &l->committee->candidates[0].residual;

	for (size_t k = 0; k < residual->count; k++) {
		const struct form_point *p = &residual->points[k];
		const double numbers[] = {p->batch, p->gpus, p->nodes};
		size_t row = l->points + k;
		const char *like = "", *away = "";

		sheet_number(l->sheet, row, REGIME, p->gpus <= 1 ? 0 : p->nodes <= 1 ? 1 : 2);
		for (size_t j = 0; j < 4; j++) {
			const char *here = at(l, row, BATCH + j), *asked = at(l, POINT, BATCH + j), *d;

			if (j < 3)
				sheet_number(l->sheet, row, BATCH + j, numbers[j]);
			d = arena_format(
				l->sheet->arena, j < 3 ? "ABS(LN(%s/%s))/LN(2)" : "ABS(%s-%s)", asked, here);
			like = arena_format(l->sheet->arena, "%s%sEXP(-1*%s/8)", like, j ? "+" : "", d);
			away = arena_format(l->sheet->arena, "%s%s%s", away, j ? "+" : "", d);
		}
		sheet_formula(l->sheet, row, LIKE, "%s", like);
		sheet_formula(l->sheet, row, AWAY, "%s", away);
		for (size_t c = 0; c < l->committee->candidate_count; c++)
			sheet_number(
				l->sheet, row, PROCESS + c, l->committee->candidates[c].residual.weights[k]);
	}
}

static void put_answer(const struct layout *l, const char *unit)
{
	const struct committee *c = l->committee;
	const char *m = at(l, POINT, BATCH), *k = at(l, POINT, GPUS), *n = at(l, POINT, NODES);
	const char *silent = arena_format(l->sheet->arena, "%s<=0,%s<1,%s<1,%s>%s", m, k, n, n, k);

	if (!c->has_regime[1])
		silent = arena_format(l->sheet->arena, "%s,AND(%s>1,%s<=1)", silent, k, n);
	if (!c->has_regime[2])
		silent = arena_format(l->sheet->arena, "%s,%s>1", silent, n);
	if (c->batches < 2)
		silent = arena_format(l->sheet->arena, "%s,%s=1", silent, at(l, OUTSIDE, BATCH));
	sheet_formula(l->sheet, TIME, 1, "IF(OR(%s),NA(),EXP(SUM(%s)/SUM(%s)))", silent,
		sheet_range(l->sheet, FORMS, VOTE, l->last_form, VOTE),
		sheet_range(l->sheet, FORMS, WEIGHT, l->last_form, WEIGHT));
	sheet_text(l->sheet, TIME, 2, unit ? unit : "");
	sheet_formula(l->sheet, TIME, 3,
		"IF(OR(%s),\"no measured row tells of this\",IF(%s>1,\"beyond the measured rows\",\"\"))",
		silent, at(l, OUTSIDE, REGIME));
}

static const struct step_level *level_of(const struct export *export, const char **bad)
{
	const struct step_model *step = export->step;
	const struct step_level *level = export->level            ? step_model_level(step, export->level)
					 : step->level_count == 1 ? &step->levels[0]
								  : NULL;

	*bad = NULL;
	if (!level)
		*bad = arena_format(export->arena,
			export->level ? *step->levels[0].name ? "level %s was not measured (measured: %s)"
							      : "level %s: the model has no levels%s"
				      : "a sheet holds one level: name it with --level (%s%s)",
			export->level ? export->level : "such as ", step->levels[0].name);
	else if (level->why)
		*bad = arena_format(export->arena, "level %s: %s", level->name, level->why);
	return level;
}

const char *export_step_sheet(const struct export *export, FILE *out)
{
	struct sheet sheet = {.arena = export->arena};
	struct layout l = {.sheet = &sheet, .last_form = FORMS - 1};
	bool is_global = export->step->columns.batch == STEP_BATCH_GLOBAL;
	double weights[EXPORT_MASKS][COMMITTEE_CANDIDATES];
	const char *bad;
	const struct step_level *level = level_of(export, &bad);

	if (bad)
		return bad;
	l.committee = &level->committee;
	l.points = FORMS + (size_t)COMMITTEE_CANDIDATES * FORM_EXCHANGES + 2;
	l.last_point = l.points + l.committee->candidates[0].residual.count - 1;
	sheet_text(&sheet, TITLE, 0,
		arena_format(export->arena, "%s%s%s: what `pmfit predict` says. %s", export->name,
			*level->name ? " " : "", level->name, formula_about(export)));
	sheet_text(&sheet, HINT, 0,
		"Type settings into the row `asked`. Formulas have the English names of functions.");
	put_labels(&l, is_global);
	put_settings(&l, is_global);
	put_factors(&l);
	export_step_weights(l.committee, weights);
	for (size_t i = 0; i < l.committee->candidate_count; i++)
		put_candidate(&l, i, weights);
	put_points(&l);
	put_answer(&l, export->step->columns.unit);
	sheet_write(&sheet, out);
	sheet_free(&sheet);
	return NULL;
}
