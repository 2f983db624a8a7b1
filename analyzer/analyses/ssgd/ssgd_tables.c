/* What pmanalyze model shows of its figures: see ssgd_tables.h. */
#include "ssgd_tables.h"

#include <math.h>
#include <string.h>

void ssgd_phase_table(
	const struct ssgd_item *items, size_t count, enum print_form form, struct print_table *table)
{
	const bool text = form == PRINT_TEXT;
	size_t label = print_column(table, "run", text ? NULL : "run", PRINT_WORD);
	size_t name = print_column(table, "phase", "phase", PRINT_WORD);
	size_t busy = print_column(table, "busy", "busy", PRINT_TIME);
	size_t busy_sd = print_column(table, "busy_sd", "sd", PRINT_TIME);
	size_t exclusive = print_column(table, "exclusive", "exclusive", PRINT_TIME);
	size_t exclusive_sd = print_column(table, "exclusive_sd", "sd", PRINT_TIME);

	for (size_t r = 0; r < count; r++) {
		const struct analysis *analysis = &items[r].run->analysis;
		const struct analysis_worker *workers = analysis->workers;
		struct analysis_statistics all = analysis_iteration(workers, analysis->worker_count);

		for (size_t p = 0; p < PHASE_COUNT; p++) {
			struct analysis_statistics own = analysis_phase(
				workers, analysis->worker_count, (enum phase)p, ANALYSIS_EXCLUSIVE);
			struct analysis_statistics work =
				analysis_phase(workers, analysis->worker_count, (enum phase)p, ANALYSIS_BUSY);

			if (text && !(work.greatest > 0) && !(own.greatest > 0))
				continue;
			print_row(table);
			print_word(table, label, items[r].label);
			print_word(table, name, text ? phase_symbols[p] : phase_keys[p]);
			print_number(table, exclusive, own.mean);
			print_number(table, exclusive_sd, own.deviation);
			if ((enum phase)p >= PHASE_WORK_COUNT)
				continue;
			print_number(table, busy, work.mean);
			print_number(table, busy_sd, work.deviation);
		}
		table->rule = text;
		print_row(table);
		print_word(table, label, items[r].label);
		print_word(table, name, text ? "t_iter" : "iteration");
		print_number(table, exclusive, all.mean);
		print_number(table, exclusive_sd, all.deviation);
	}
}

enum {
	RUN,
	KEY,
	TITLE,
	EQUATION,
	PLAIN,
	PLAIN_SD,
	ERROR,
	FULL,
	FULL_SD,
	FULL_ERROR,
	OFF,
	BEHAVIOUR,
	BEST,
	PREDICTION_COLUMNS
};

/* A bar for the prediction, and a line for what was measured. */
static void draw_prediction(
	struct print_table *table, const struct ssgd *ssgd, enum ssgd_model model, bool best)
{
	const double full_ns = ssgd->figures[model].full.mean, measured_ns = ssgd->measured.mean;
	struct arena *arena = table->arena;
	const char *tip = arena_format(arena, "%s: %s, measured %s", ssgd_texts[model],
		print_time(arena, full_ns), print_time(arena, measured_ns));

	print_piece(table, FULL,
		(struct print_piece){.end = full_ns, .kind = best ? "near" : "plain", .tip = tip});
	print_piece(table, FULL, (struct print_piece){PRINT_MARK, .end = measured_ns});
}

static void add_prediction(struct print_table *table, const struct ssgd_item *item, enum ssgd_model model)
{
	const struct ssgd *ssgd = &item->ssgd;
	const struct ssgd_figure *figure = &ssgd->figures[model];
	const bool best = model == ssgd->best && !(figure->off > SSGD_FAR);
	const char *title = ssgd_titles[model];

	print_row(table);
	print_word(table, RUN, item->label);
	print_word(table, KEY, ssgd_keys[model]);
	if (table->columns[FULL].bar && best)
		title = arena_format(table->arena, "%s ✓", title);
	print_word(table, TITLE, title);
	/* (3.1) is (3.2) on one GPU. */
	print_word(table, EQUATION,
		model == SSGD_SERIES && ssgd->shape.rank_count == 1 ? "3.1" : ssgd_equations[model]);
	print_number(table, PLAIN, figure->plain.mean);
	print_number(table, PLAIN_SD, figure->plain.deviation);
	print_number(table, ERROR, figure->error);
	print_number(table, FULL, figure->full.mean);
	print_number(table, FULL_SD, figure->full.deviation);
	print_number(table, FULL_ERROR, figure->full_error);
	print_number(table, OFF, figure->off);
	print_number(table, BEHAVIOUR, ssgd_is_behaviour(ssgd, model));
	print_number(table, BEST, model == ssgd->best);
	draw_prediction(table, ssgd, model, best);
}

void ssgd_prediction_table(
	const struct ssgd_item *items, size_t count, enum print_form form, struct print_table *table)
{
	const bool page = form == PRINT_HTML;
	const struct print_column columns[PREDICTION_COLUMNS] = {
		PRINT_COLUMN("run", form == PRINT_TEXT || page ? NULL : "run", PRINT_WORD),
		PRINT_COLUMN("assumption", NULL, PRINT_WORD),
		PRINT_COLUMN("title", "assumption", PRINT_WORD),
		PRINT_COLUMN("equation", page ? NULL : "eq.", PRINT_WORD),
		PRINT_COLUMN("predicted", page ? NULL : "t_iter", PRINT_TIME),
		PRINT_COLUMN("predicted_sd", NULL, PRINT_TIME),
		PRINT_COLUMN("error", page ? NULL : "error", PRINT_SHARE),
		PRINT_COLUMN(
			"with_rest", page ? "predicted" : "with rest", PRINT_TIME, .bar = page ? "" : NULL),
		PRINT_COLUMN("with_rest_sd", NULL, PRINT_TIME),
		PRINT_COLUMN("with_rest_error", "error", PRINT_SHARE, .sign = page),
		PRINT_COLUMN("off", page ? NULL : "off", PRINT_SHARE),
		PRINT_COLUMN("behaviour", NULL, PRINT_COUNT),
		PRINT_COLUMN("best", NULL, PRINT_COUNT),
	};

	print_columns(table, columns, PREDICTION_COLUMNS);
	for (size_t r = 0; r < count; r++) {
		const struct ssgd *ssgd = &items[r].ssgd;

		for (int m = 0; m < SSGD_COUNT; m++)
			if (ssgd->figures[m].predicted)
				add_prediction(table, &items[r], (enum ssgd_model)m);
		if (form != PRINT_TEXT)
			continue;
		table->rule = true;
		print_row(table);
		print_word(table, TITLE, "measured");
		print_number(table, PLAIN, ssgd->measured.mean);
		print_number(table, FULL, ssgd->measured.mean);
	}
}

void ssgd_side_table(const struct ssgd_item *items, size_t count, struct print_table *table)
{
	size_t label = print_column(table, "run", "run", PRINT_WORD);
	size_t gpus = print_column(table, "gpus", "N_g", PRINT_COUNT);
	enum { TERMS = PHASE_UPDATE + 1 }; /* of the equations */
	size_t terms[TERMS], series, iteration;

	for (size_t p = 0; p < TERMS; p++)
		terms[p] = print_column(table, phase_keys[p], phase_symbols[p], PRINT_TIME);
	series = print_column(table, "series", "(3.2)", PRINT_TIME);
	iteration = print_column(table, "t_iter", "t_iter", PRINT_TIME);
	for (size_t r = 0; r < count; r++) {
		const struct analysis *analysis = &items[r].run->analysis;

		print_row(table);
		print_word(table, label, items[r].label);
		print_number(table, gpus, (double)items[r].ssgd.shape.rank_count);
		for (size_t p = 0; p < TERMS; p++) {
			struct analysis_statistics busy = analysis_phase(
				analysis->workers, analysis->worker_count, (enum phase)p, ANALYSIS_BUSY);

			if (busy.mean > 0)
				print_number(table, terms[p], busy.mean);
		}
		print_number(table, series, items[r].ssgd.figures[SSGD_SERIES].plain.mean);
		print_number(table, iteration, items[r].ssgd.measured.mean);
	}
}

const char *ssgd_program(const struct ssgd_item *item)
{
	return item->run->analysis.timeline.processes[0].program;
}

/* The first run of the same program on one GPU; `count`: none. */
static size_t find_single(const struct ssgd_item *items, size_t count, const struct ssgd_item *item)
{
	for (size_t i = 0; i < count; i++)
		if (items[i].ssgd.shape.rank_count == 1 &&
			strcmp(ssgd_program(&items[i]), ssgd_program(item)) == 0)
			return i;
	return count;
}

void ssgd_scaling_table(const struct ssgd_item *items, size_t count, struct print_table *table)
{
	size_t label = print_column(table, "run", "run", PRINT_WORD);
	size_t gpus = print_column(table, "gpus", "N_g", PRINT_COUNT);
	size_t samples = print_column(table, "samples", "batch", PRINT_COUNT);
	size_t iteration = print_column(table, "t_iter", "t_iter", PRINT_TIME);
	size_t measured = print_column(table, "speedup", "speed-up", PRINT_REAL);
	size_t six = print_column(table, "speedup_3_6", "(3.6)", PRINT_REAL);
	size_t six_error = print_column(table, "speedup_3_6_error", "error", PRINT_SHARE);
	size_t seven = print_column(table, "speedup_3_7", "(3.7)", PRINT_REAL);
	size_t seven_error = print_column(table, "speedup_3_7_error", "error", PRINT_SHARE);
	size_t efficiency = print_column(table, "efficiency", "eff.", PRINT_SHARE);
	size_t imbalance = print_column(table, "lif", "LIF", PRINT_REAL);
	size_t slowdown = print_column(table, "slowdown", "S (eq.)", PRINT_REAL);

	for (size_t r = 0; r < count; r++) {
		const struct ssgd_item *item = &items[r];
		double size = (double)item->ssgd.shape.rank_count, work;
		size_t single = find_single(items, count, item);
		struct ssgd_speedup speedup;

		print_row(table);
		print_word(table, label, item->label);
		print_number(table, gpus, size);
		if (item->samples > 0)
			print_number(table, samples, item->samples);
		print_number(table, iteration, item->ssgd.measured.mean);
		if (size > 1) {
			print_number(table, imbalance, item->imbalance);
			print_number(table, slowdown, item->ssgd.slowdown);
		}
		if (single == count)
			continue;
		work = item->samples > 0 && items[single].samples > 0 ? item->samples / items[single].samples
								      : size;
		speedup = ssgd_speedup(&items[single].ssgd, &item->ssgd, work);
		print_number(table, measured, speedup.measured);
		print_number(table, six, speedup.equation_6);
		print_number(table, six_error, speedup.equation_6 / speedup.measured - 1);
		print_number(table, seven, speedup.equation_7);
		print_number(table, seven_error, speedup.equation_7 / speedup.measured - 1);
		print_number(table, efficiency, speedup.measured / size);
	}
}

static const struct balance_item *worst_layer(const struct balance *balance)
{
	const struct balance_item *worst = NULL;

	for (size_t l = 0; l < balance->layer_count; l++)
		if (isfinite(balance->layers[l].imbalance) &&
			(!worst || balance->layers[l].imbalance > worst->imbalance))
			worst = &balance->layers[l];
	return worst;
}

/* balance.c names its phases in words; a column each, as wide as its symbol. */
void ssgd_imbalance_table(const struct ssgd_item *items, size_t count, struct print_table *table)
{
	static const char *const names[] = {
		"computing", "io", "h2d", "md", "forward", "backward", "update", "other"};
	static const char *const titles[] = {"computing", "io", "h2d", "md", "f", "b", "u", NULL};
	enum { NAMES = sizeof(names) / sizeof(*names) };
	size_t label = print_column(table, "run", "run", PRINT_WORD);
	size_t gpus = print_column(table, "gpus", "N_g", PRINT_COUNT);
	size_t columns[NAMES], layer, layer_imbalance;

	for (int i = 0; i < NAMES; i++)
		columns[i] = print_column(table, names[i], titles[i], PRINT_REAL);
	layer = print_column(table, "layer", "worst layer", PRINT_WORD);
	layer_imbalance = print_column(table, "layer_lif", "LIF", PRINT_REAL);
	for (size_t r = 0; r < count; r++) {
		const struct balance *balance = &items[r].balance;
		const struct balance_item *worst = worst_layer(balance);

		if (items[r].ssgd.shape.rank_count < 2)
			continue;
		print_row(table);
		print_word(table, label, items[r].label);
		print_number(table, gpus, (double)items[r].ssgd.shape.rank_count);
		for (size_t p = 0; p < balance->phase_count; p++)
			for (int i = 0; i < NAMES; i++)
				if (strcmp(balance->phases[p].name, names[i]) == 0)
					print_number(table, columns[i], balance->phases[p].imbalance);
		if (!worst)
			continue;
		print_word(table, layer, worst->name);
		print_number(table, layer_imbalance, worst->imbalance);
	}
}

void ssgd_layer_table(const struct ssgd_item *items, size_t count, struct print_table *table)
{
	size_t label = print_column(table, "run", "run", PRINT_WORD);
	size_t gpus = print_column(table, "gpus", "N_g", PRINT_COUNT);
	size_t layer = print_column(table, "layer", "layer", PRINT_WORD);
	size_t mean = print_column(table, "mean", "mean", PRINT_TIME);
	size_t greatest = print_column(table, "max", "slowest", PRINT_TIME);
	size_t imbalance = print_column(table, "lif", "LIF", PRINT_REAL);
	size_t slowest = print_column(table, "slowest", "rank", PRINT_WORD);

	for (size_t r = 0; r < count; r++) {
		struct analysis *analysis = &items[r].run->analysis;
		const struct balance *balance = &items[r].balance;

		for (size_t l = 0; l < balance->layer_count && analysis->worker_count > 1; l++) {
			const struct balance_item *item = &balance->layers[l];

			print_row(table);
			print_word(table, label, items[r].label);
			print_number(table, gpus, (double)analysis->worker_count);
			print_word(table, layer, item->name);
			print_number(table, mean, item->mean_ns);
			print_number(table, greatest, item->greatest_ns);
			print_number(table, imbalance, item->imbalance);
			if (isfinite(item->imbalance))
				print_word(table, slowest,
					analysis_worker_name(analysis, &analysis->workers[item->slowest]));
		}
	}
}

void ssgd_coefficient_table(
	const struct regression *regression, const char *program, struct print_table *table)
{
	static const char *const states[] = {
		[REGRESSION_FITTED] = "fitted",
		[REGRESSION_CONSTANT] = "constant",
		[REGRESSION_DEPENDENT] = "dependent",
	};
	size_t of = program ? print_column(table, "program", NULL, PRINT_WORD) : 0;
	size_t name = print_column(table, "term", "term", PRINT_WORD);
	size_t state = print_column(table, "state", NULL, PRINT_WORD);
	size_t estimate = print_column(table, "estimate", "estimate", PRINT_TIME);
	size_t error = print_column(table, "standard_error", "error", PRINT_TIME);
	size_t t = print_column(table, "t", "t", PRINT_REAL);
	size_t p = print_column(table, "p", "p", PRINT_REAL);
	size_t low = print_column(table, "low", "from", PRINT_TIME);
	size_t high = print_column(table, "high", "to", PRINT_TIME);
	size_t inflation = print_column(table, "vif", "VIF", PRINT_REAL);

	for (size_t i = 0; i < regression->term_count; i++) {
		const struct regression_term *term = &regression->terms[i];

		print_row(table);
		if (program)
			print_word(table, of, program);
		print_word(table, name, term->name);
		print_word(table, state, regression->trouble ? "unfitted" : states[term->state]);
		print_number(table, estimate, term->estimate);
		print_number(table, error, term->error);
		print_number(table, t, term->t);
		print_number(table, p, term->p);
		print_number(table, low, term->low);
		print_number(table, high, term->high);
		print_number(table, inflation, term->inflation);
	}
}

static const char *alike(const struct ssgd_item *item)
{
	struct arena *arena = &item->run->analysis.timeline.arena;
	const char *text = "";

	for (int m = 0; m < SSGD_COUNT; m++)
		if (ssgd_is_alike(&item->ssgd, (enum ssgd_model)m))
			text = arena_format(arena, "%s%s%s", text, *text ? "; " : "", ssgd_titles[m]);
	return *text ? arena_format(arena, " By its time alone it is indistinguishable from: %s.", text) : "";
}

/* Errors of iterations cancel in that of their mean, which the table has. */
static const char *how_far(const struct ssgd_figure *figure, struct arena *arena)
{
	return arena_format(arena,
		" With the rest its error is %+.1f%% of the mean iteration; of single iterations it is %.1f%% on "
		"average, whatever its sign.",
		figure->full_error * 100, figure->off * 100);
}

const char *ssgd_verdict(const struct ssgd_item *item)
{
	const struct ssgd *ssgd = &item->ssgd;
	struct arena *arena = &item->run->analysis.timeline.arena;
	const struct ssgd_figure *figure;

	if (ssgd->best == SSGD_COUNT)
		return "No assumption can be attributed to the run.";
	figure = &ssgd->figures[ssgd->best];
	if (figure->off > SSGD_FAR)
		return arena_format(arena, "No assumption matches the run. The closest, with the rest: %s.%s",
			ssgd_texts[ssgd->best], how_far(figure, arena));
	return arena_format(arena,
		"The run matches: %s.%s%s Overlapped with other work: %s%.0f%% of the input reads and %.0f%% of the "
		"input copies.",
		ssgd_texts[ssgd->best], how_far(figure, arena), alike(item),
		ssgd->shape.exchange_count ? arena_format(arena, "%.0f%% of the communication, ",
						     ssgd->communication_hidden * 100)
					   : "",
		ssgd->files_hidden * 100, ssgd->copies_hidden * 100);
}

const char *ssgd_rest(const struct ssgd_item *item)
{
	const struct analysis *analysis = &item->run->analysis;
	struct arena *arena = &item->run->analysis.timeline.arena;
	const char *text = "";

	for (int phase = PHASE_OTHER; phase < PHASE_COUNT; phase++) {
		double mean = analysis_phase(
			analysis->workers, analysis->worker_count, (enum phase)phase, ANALYSIS_EXCLUSIVE)
				      .mean;

		if (mean > 0)
			text = arena_format(arena, "%s%s%s %s", text, *text ? ", " : "", phase_symbols[phase],
				print_time(arena, mean));
	}
	if (!*text)
		return "Rest (in none of the equations): nothing.";
	return arena_format(arena, "Rest (in none of the equations): %s (%.1f%% of t_iter): %s.",
		print_time(arena, item->ssgd.rest.mean),
		item->ssgd.rest.mean / item->ssgd.measured.mean * 100, text);
}

const char *ssgd_left_out(const struct ssgd_item *item)
{
	const struct analysis *analysis = &item->run->analysis;
	struct arena *arena = &item->run->analysis.timeline.arena;
	size_t used = 0;

	for (size_t w = 0; w < analysis->worker_count; w++)
		used += analysis->workers[w].used_count;
	if (used == item->ssgd.step_count * analysis->worker_count)
		return NULL;
	return arena_format(arena,
		"Predicted are the iterations that all ranks have, with the gradient exchanges of most: "
		"t_iter %s. The mean of all, as in the report, is %s.",
		print_time(arena, item->ssgd.measured.mean),
		print_time(arena, analysis_iteration(analysis->workers, analysis->worker_count).mean));
}
