/* What of a model of steps every language writes: see export_step.h. */
#include "export_step.h"
#include "base/role.h"
#include "formula_text.h"

#include <math.h>

const char *const *export_columns(const struct export *export)
{
	const struct pm_fit_model *model = export->model;
	const char **names = arena_alloc(export->arena, model->column_count + 1, sizeof(*names));

	for (size_t i = 0; i < model->column_count; i++)
		names[i] = model->columns[i].role == PM_FIT_IGNORED ? NULL : model->columns[i].name;
	return formula_identifiers(export->arena, names, model->column_count);
}

void export_step_weights(
	const struct committee *committee, double weights[EXPORT_MASKS][COMMITTEE_CANDIDATES])
{
	for (unsigned mask = 0; mask < EXPORT_MASKS; mask++)
		committee_weights(committee, mask << COMMITTEE_BATCH, weights[mask]);
}

/* How a language writes a list, and what is not there. */
struct brackets {
	const char *open, *close, *yes, *no;
};

static void put_list(FILE *out, const struct brackets *b, const double *numbers, size_t count, size_t apart)
{
	fputs(b->open, out);
	for (size_t i = 0; i < count; i++) {
		formula_number(out, numbers[i * apart]);
		fputs(", ", out);
	}
	fputs(b->close, out);
}

static void put_point(FILE *out, const struct brackets *b, const struct form_point *point)
{
	const double numbers[] = {point->batch, point->gpus, point->nodes};

	put_list(out, b, numbers, 3, 1);
}

/* Exchange, overlap and terms of the forms that a candidate is the median of. */
static void put_forms(
	FILE *out, const struct brackets *b, const struct candidate *candidate, const char *indent)
{
	size_t count = candidate_forms(candidate);

	fputs(b->open, out);
	for (size_t v = 0; v < count; v++) {
		fprintf(out, "%s%s%d, ", indent, b->open, (int)candidate->forms[v].exchange);
		formula_number(out, candidate->forms[v].overlap);
		fputs(", ", out);
		put_list(out, b, candidate->forms[v].terms, FORM_TERMS, 1);
		fprintf(out, "%s, ", b->close);
	}
	/* a list of C has one element at least */
	if (!count && *b->open == '{')
		fprintf(out, "%s0%s", b->open, b->close);
	fprintf(out, "%s, ", b->close);
}

static void put_candidate(FILE *out, const struct brackets *b, const struct candidate *candidate)
{
	size_t forms = candidate_forms(candidate);
	const double shape[] = {candidate->shape.across, candidate->shape.local, candidate->shape.reach};

	fprintf(out, "    %s%s, %zu, ", b->open, candidate->is_linear ? b->yes : b->no, forms);
	formula_number(out, candidate->level);
	fputs(", ", out);
	put_forms(out, b, candidate, "\n        ");
	fputs("\n        ", out);
	put_list(out, b, shape, 3, 1);
	fprintf(out, "%s,\n", b->close);
}

static void put_committee(FILE *out, const struct brackets *b, const struct committee *c,
	const char *candidates, const char *points, const char *process, const char *weights, const char *end)
{
	const struct residual *residual = &c->candidates[0].residual;
	double by_mask[EXPORT_MASKS][COMMITTEE_CANDIDATES];

	export_step_weights(c, by_mask);
	fputs(candidates, out);
	for (size_t i = 0; i < c->candidate_count; i++)
		put_candidate(out, b, &c->candidates[i]);
	fprintf(out, "%s%s", end, points);
	for (size_t k = 0; k < residual->count; k++) {
		fputs("    ", out);
		put_point(out, b, &residual->points[k]);
		fputs(",\n", out);
	}
	fprintf(out, "%s%s", end, process);
	for (size_t i = 0; i < c->candidate_count; i++) {
		fputs("    ", out);
		put_list(out, b, c->candidates[i].residual.weights, c->candidates[i].residual.count, 1);
		fputs(",\n", out);
	}
	fprintf(out, "%s%s", end, weights);
	for (size_t mask = 0; mask < EXPORT_MASKS; mask++) {
		fputs("    ", out);
		put_list(out, b, by_mask[mask], c->candidate_count, 1);
		fputs(",\n", out);
	}
	fputs(end, out);
}

static const char *batch_words(const struct export *export)
{
	return export->step->columns.batch == STEP_BATCH_GLOBAL ? "samples on all GPUs together"
								: "samples on each GPU";
}

/* ---- Python ---- */

static const char python_text[] =
	"\n\ndef _factors(exchange, m, k, n):\n"
	"    rounds = math.log2(k)\n"
	"    f = [1, m, m * rounds, 0, 0, 0, 0, 0]\n"
	"    if k <= 1:\n"
	"        return f\n"
	"    if n <= 1:\n"
	"        f[3], f[4] = 1, k - 2 if exchange == 4 else rounds\n"
	"        return f\n"
	"    f[5] = 1\n"
	"    f[6] = k - 2 if exchange == 4 else math.log2(n) if exchange == 3 else rounds\n"
	"    f[7] = (1 / n, 0, k / n, math.log2(k / n), 0)[exchange]\n"
	"    return f\n"
	"\n\n"
	"def _form(form, m, k, n):\n"
	"    \"\"\"The logarithm of compute and exchange, of which the shorter is hidden in part.\"\"\"\n"
	"    exchange, overlap, terms = form\n"
	"    parts = [a * b for a, b in zip(terms, _factors(exchange, m, k, n))]\n"
	"    compute, waits = sum(parts[:3]), sum(parts[3:])\n"
	"    longer, shorter = max(compute, waits), min(compute, waits)\n"
	"    if overlap <= 1 or longer <= 0:\n"
	"        return math.log(max(compute + waits, 1e-300))\n"
	"    return math.log(max(longer * (1 + (shorter / longer) ** overlap) ** (1 / overlap), 1e-300))\n"
	"\n\n"
	"def _regime(k, n):\n"
	"    return 0 if k <= 1 else 1 if n <= 1 else 2\n"
	"\n\n"
	"def _why(level, batch, m, k, n):\n"
	"    if not (batch > 0 and k >= 1 and n >= 1):\n"
	"        return \"a batch, GPUs or nodes below 1\"\n"
	"    if n > k:\n"
	"        return \"more nodes than GPUs\"\n"
	"    if not level[\"regimes\"][_regime(k, n)] and k > 1:\n"
	"        return \"no measured row has several \" + (\"nodes\" if n > 1 else \"GPUs on one node\")\n"
	"    if level[\"batches\"] < 2 and _outside(level, m, k, n) & 1:\n"
	"        return \"all measured rows have one batch\"\n"
	"    return None\n"
	"\n\n"
	"def _outside(level, m, k, n):\n"
	"    ends = zip((m, k, n), level[\"least\"], level[\"greatest\"])\n"
	"    return sum(1 << j for j, (x, low, high) in enumerate(ends) if x < low * (1 - 1e-9) or x > high * (1 + 1e-9))\n"
	"\n\n"
	"def _asked(batch, gpus, nodes, level):\n"
	"    if level not in COMMITTEES and not (level == \"\" and len(COMMITTEES) == 1):\n"
	"        raise ValueError(f\"level: expected one of {tuple(COMMITTEES)}\")\n"
	"    k, n = float(gpus), float(nodes)\n"
	"    return COMMITTEES.get(level) or next(iter(COMMITTEES.values())), "
	"float(batch) / k if BATCH_IS_OF_ALL and k >= 1 else float(batch), k, n\n"
	"\n\n"
	"def inside(batch, gpus, nodes=1, level=\"\"):\n"
	"    \"\"\"Whether batch, GPUs and nodes lie in the ranges of the measured rows.\"\"\"\n"
	"    return not _outside(*_asked(batch, gpus, nodes, level))\n"
	"\n\n"
	"def predict(batch, gpus, nodes=1, level=\"\"):\n"
	"    \"\"\"The time of a step. ValueError: no measured row tells of such a configuration.\"\"\"\n"
	"    c, m, k, n = _asked(batch, gpus, nodes, level)\n"
	"    why = _why(c, float(batch), m, k, n)\n"
	"    if why:\n"
	"        raise ValueError(why)\n"
	"    near = []\n"
	"    for pm, pk, pn in c[\"points\"]:\n"
	"        away = [abs(math.log2(a / b)) for a, b in ((m, pm), (k, pk), (n, pn))]\n"
	"        away.append(abs(_regime(k, n) - _regime(pk, pn)))\n"
	"        near.append((sum(math.exp(-d / 8) for d in away), sum(away)))\n"
	"    more = math.log2(max(k / c[\"greatest\"][1], 1))\n"
	"    total = share = 0\n"
	"    for i, (linear, forms_count, level_log, forms, (across, local, reach)) in enumerate(c[\"candidates\"]):\n"
	"        weight = c[\"weights\"][_outside(c, m, k, n)][i]\n"
	"        if linear:\n"
	"            weight /= 1 + (more / LINEAR_REACH) ** 4\n"
	"        logs = sorted(_form(form, m, k, n) for form in forms) or [level_log]\n"
	"        log = (logs[(len(logs) - 1) // 2] + logs[len(logs) // 2]) / 2\n"
	"        log += sum(w * (across * a + local * math.exp(-d / reach)) for w, (a, d) in zip(c[\"process\"][i], near))\n"
	"        total += weight * log\n"
	"        share += weight\n"
	"    return math.exp(total / share)\n";

static const struct brackets tuples = {"(", ")", "True", "False"};

void export_step_python(const struct export *export, FILE *out)
{
	const struct step_model *step = export->step;

	fprintf(out, "# The batch is %s.\nBATCH_IS_OF_ALL = %s\nLINEAR_REACH = %g\n", batch_words(export),
		step->columns.batch == STEP_BATCH_GLOBAL ? "True" : "False", COMMITTEE_LINEAR_REACH);
	fputs("# Of each level: points are (samples on each GPU, GPUs, nodes); a candidate is (exchange linear in GPUs,\n"
	      "# forms, logarithm of a constant, ((exchange, overlap, terms), ...), (across, local, reach)); process has the\n"
	      "# weights of the points in each candidate's residual, weights what a candidate has to say by where the\n"
	      "# question lies outside (1 batch, 2 GPUs, 4 nodes).\nCOMMITTEES = {\n",
		out);
	for (size_t i = 0; i < step->level_count; i++) {
		const struct committee *c = &step->levels[i].committee;

		if (step->levels[i].why)
			continue;
		formula_string(out, step->levels[i].name);
		fputs(": {\"least\": ", out);
		put_point(out, &tuples, &c->least);
		fputs(", \"greatest\": ", out);
		put_point(out, &tuples, &c->greatest);
		fprintf(out, ", \"batches\": %zu, \"regimes\": (%d, %d, %d),\n", c->batches, c->has_regime[0],
			c->has_regime[1], c->has_regime[2]);
		put_committee(out, &tuples, c, "  \"candidates\": (\n", "  \"points\": (\n",
			"  \"process\": (\n", "  \"weights\": (\n", "  ),\n");
		fputs("},\n", out);
	}
	fputs("}\n", out);
	fputs(python_text, out);
}

/* ---- C ---- */

static const char c_types[] =
	"/* m samples on each of k GPUs on n nodes. */\n"
	"struct point {\n\tdouble m, k, n;\n};\n\n"
	"struct form {\n\tint exchange;\n\tdouble overlap, terms[8];\n};\n\n"
	"struct candidate {\n\tint is_linear, form_count;\n\tdouble level;\n\tstruct form forms[4];\n"
	"\tstruct {\n\t\tdouble across, local, reach;\n\t} shape;\n};\n\n"
	"struct committee {\n\tconst char *name;\n\tstruct point least, greatest;\n\tint batches, has_regime[3];\n"
	"\tint candidate_count, point_count;\n\tconst struct candidate *candidates;\n\tconst struct point *points;\n"
	"\tconst double *process; /* weights of the points in each candidate's residual */\n"
	"\tconst double *weights; /* of the candidates, by where the question lies outside: 1 batch, 2 GPUs, 4 nodes */\n"
	"};\n\n";

static const char c_text[] =
	"static void factors(int exchange, const struct point *p, double f[8])\n"
	"{\n"
	"\tdouble rounds = log2(p->k);\n\n"
	"\tmemset(f, 0, 8 * sizeof(*f));\n"
	"\tf[0] = 1;\n\tf[1] = p->m;\n\tf[2] = p->m * rounds;\n"
	"\tif (p->k <= 1)\n\t\treturn;\n"
	"\tif (p->n <= 1) {\n\t\tf[3] = 1;\n\t\tf[4] = exchange == 4 ? p->k - 2 : rounds;\n\t\treturn;\n\t}\n"
	"\tf[5] = 1;\n"
	"\tf[6] = exchange == 4 ? p->k - 2 : exchange == 3 ? log2(p->n) : rounds;\n"
	"\tf[7] = exchange == 0 ? 1 / p->n : exchange == 2 ? p->k / p->n : exchange == 3 ? log2(p->k / p->n) : 0;\n"
	"}\n\n"
	"/* The logarithm of compute and exchange, of which the shorter is hidden in part. */\n"
	"static double form_log(const struct form *form, const struct point *p)\n"
	"{\n"
	"\tdouble f[8], part[2] = {0, 0}, longer, shorter;\n\n"
	"\tfactors(form->exchange, p, f);\n"
	"\tfor (int i = 0; i < 8; i++)\n\t\tpart[i > 2] += form->terms[i] * f[i];\n"
	"\tlonger = fmax(part[0], part[1]);\n\tshorter = fmin(part[0], part[1]);\n"
	"\tif (form->overlap <= 1 || longer <= 0)\n\t\treturn log(fmax(part[0] + part[1], 1e-300));\n"
	"\treturn log(fmax(longer * pow(1 + pow(shorter / longer, form->overlap), 1 / form->overlap), 1e-300));\n"
	"}\n\n"
	"static double median_log(const struct candidate *c, const struct point *p)\n"
	"{\n"
	"\tdouble logs[4];\n\n"
	"\tfor (int i = 0; i < c->form_count; i++) {\n"
	"\t\tdouble log_i = form_log(&c->forms[i], p);\n\t\tint j = i;\n\n"
	"\t\tfor (; j > 0 && logs[j - 1] > log_i; j--)\n\t\t\tlogs[j] = logs[j - 1];\n"
	"\t\tlogs[j] = log_i;\n\t}\n"
	"\tif (c->form_count == 0)\n\t\treturn c->level;\n"
	"\treturn (logs[(c->form_count - 1) / 2] + logs[c->form_count / 2]) / 2;\n"
	"}\n\n"
	"static int regime(const struct point *p)\n{\n\treturn p->k <= 1 ? 0 : p->n <= 1 ? 1 : 2;\n}\n\n"
	"static double residual(const struct committee *c, int candidate, const struct point *p)\n"
	"{\n"
	"\tconst struct candidate *one = &c->candidates[candidate];\n\tdouble sum = 0;\n\n"
	"\tfor (int i = 0; i < c->point_count; i++) {\n"
	"\t\tconst struct point *q = &c->points[i];\n"
	"\t\tdouble d[4] = {fabs(log2(p->m / q->m)), fabs(log2(p->k / q->k)), fabs(log2(p->n / q->n)),\n"
	"\t\t\tfabs((double)(regime(p) - regime(q)))};\n"
	"\t\tdouble across = 0, away = 0;\n\n"
	"\t\tfor (int j = 0; j < 4; j++) {\n\t\t\tacross += exp(-d[j] / 8);\n\t\t\taway += d[j];\n\t\t}\n"
	"\t\tsum += c->process[candidate * c->point_count + i] *\n"
	"\t\t\t(one->shape.across * across + one->shape.local * exp(-away / one->shape.reach));\n"
	"\t}\n\treturn sum;\n}\n\n"
	"static int is_outside(double x, double least, double greatest)\n"
	"{\n\treturn x < least * (1 - 1e-9) || x > greatest * (1 + 1e-9);\n}\n\n"
	"static int outside(const struct committee *c, const struct point *p)\n"
	"{\n\treturn is_outside(p->m, c->least.m, c->greatest.m) | is_outside(p->k, c->least.k, c->greatest.k) << 1 |\n"
	"\t       is_outside(p->n, c->least.n, c->greatest.n) << 2;\n}\n\n"
	"static double time_of(const struct committee *c, const struct point *p)\n"
	"{\n"
	"\tint mask = outside(c, p);\n\tdouble more = log2(fmax(p->k / c->greatest.k, 1)), total = 0, share = 0;\n\n"
	"\tif (!(p->m > 0) || !(p->k >= 1) || !(p->n >= 1) || p->n > p->k || (p->k > 1 && !c->has_regime[regime(p)]) ||\n"
	"\t\t(mask & 1 && c->batches < 2))\n\t\treturn NAN;\n"
	"\tfor (int i = 0; i < c->candidate_count; i++) {\n"
	"\t\tdouble weight = c->weights[mask * c->candidate_count + i];\n\n"
	"\t\tif (c->candidates[i].is_linear)\n\t\t\tweight /= 1 + pow(more / LINEAR_REACH, 4);\n"
	"\t\ttotal += weight * (median_log(&c->candidates[i], p) + residual(c, i, p));\n\t\tshare += weight;\n"
	"\t}\n\treturn exp(total / share);\n}\n\n"
	"/* NULL: no measured row had the level. Where there is only one it need not be named. */\n"
	"static const struct committee *committee_of(const char *level)\n"
	"{\n"
	"\tfor (int i = 0; i < COMMITTEES; i++)\n"
	"\t\tif (strcmp(committees[i].name, level ? level : \"\") == 0)\n\t\t\treturn &committees[i];\n"
	"\treturn COMMITTEES == 1 && (!level || !*level) ? &committees[0] : NULL;\n}\n\n";

static const struct brackets braces = {"{", "}", "1", "0"};

static void put_c_tables(const struct committee *c, size_t i, FILE *out)
{
	double by_mask[EXPORT_MASKS][COMMITTEE_CANDIDATES];

	export_step_weights(c, by_mask);
	fprintf(out, "static const struct candidate candidates_%zu[] = {\n", i);
	for (size_t k = 0; k < c->candidate_count; k++)
		put_candidate(out, &braces, &c->candidates[k]);
	fprintf(out, "};\n\nstatic const struct point points_%zu[] = {\n", i);
	for (size_t k = 0; k < c->candidates[0].residual.count; k++) {
		fputs("\t", out);
		put_point(out, &braces, &c->candidates[0].residual.points[k]);
		fputs(",\n", out);
	}
	fprintf(out, "\t{0, 0, 0},\n};\n\nstatic const double process_%zu[] = {\n", i);
	for (size_t k = 0; k < c->candidate_count; k++)
		for (size_t p = 0; p < c->candidates[k].residual.count; p++) {
			formula_number(out, c->candidates[k].residual.weights[p]);
			fputs(",\n", out);
		}
	fprintf(out, "0};\n\nstatic const double weights_%zu[] = {\n", i);
	for (size_t mask = 0; mask < EXPORT_MASKS; mask++)
		for (size_t k = 0; k < c->candidate_count; k++) {
			formula_number(out, by_mask[mask][k]);
			fputs(k + 1 < c->candidate_count ? ", " : ",\n", out);
		}
	fputs("};\n\n", out);
}

static void put_c_committees(const struct step_model *step, FILE *out)
{
	size_t count = 0;

	for (size_t i = 0; i < step->level_count; i++)
		if (!step->levels[i].why)
			put_c_tables(&step->levels[i].committee, i, out);
	fputs("static const struct committee committees[] = {\n", out);
	for (size_t i = 0; i < step->level_count; i++) {
		const struct committee *c = &step->levels[i].committee;

		if (step->levels[i].why)
			continue;
		count++;
		fputs("\t{", out);
		formula_string(out, step->levels[i].name);
		fputs(", ", out);
		put_point(out, &braces, &c->least);
		fputs(", ", out);
		put_point(out, &braces, &c->greatest);
		fprintf(out,
			", %zu, {%d, %d, %d}, %zu, %zu, candidates_%zu, points_%zu, process_%zu, weights_%zu},\n",
			c->batches, c->has_regime[0], c->has_regime[1], c->has_regime[2], c->candidate_count,
			c->candidates[0].residual.count, i, i, i, i);
	}
	fprintf(out, "};\n\nenum { COMMITTEES = %zu };\n\n#define LINEAR_REACH %g\n\n", count,
		COMMITTEE_LINEAR_REACH);
}

void export_step_c(const struct export *export, FILE *out)
{
	static const char *const names[] = {"batch", "gpus", "nodes", "level"};
	const char *share =
		export->step->columns.batch == STEP_BATCH_GLOBAL ? "s->batch / s->gpus" : "s->batch";

	fprintf(out,
		"struct %s_settings {\n\tdouble batch; /* %s */\n\tdouble gpus, nodes;\n"
		"\tconst char *level; /* cluster or GPU, NULL where there is one only */\n};\n\n",
		export->name, batch_words(export));
	fputs(c_types, out);
	put_c_committees(export->step, out);
	fputs(c_text, out);
	fprintf(out,
		"/* Whether batch, GPUs and nodes lie in the ranges of the measured rows. */\n"
		"int %s_inside(const struct %s_settings *s)\n{\n"
		"\tconst struct committee *c = committee_of(s->level);\n\tstruct point p = {%s, s->gpus, s->nodes};\n\n"
		"\treturn c && !outside(c, &p);\n}\n\n"
		"/* The time of a step; NAN: no measured row tells of such a configuration. */\n"
		"double %s_predict(const struct %s_settings *s)\n{\n"
		"\tconst struct committee *c = committee_of(s->level);\n\tstruct point p = {%s, s->gpus, s->nodes};\n\n"
		"\treturn c ? time_of(c, &p) : NAN;\n}\n\n",
		export->name, export->name, share, export->name, export->name, share);
	export_c_main(export->name, names, (const int[]){0, 0, 0, 1}, 4, export->step->columns.unit, out);
}
