/* The tables of pmanalyze model. In text those of one run come without the column that names it. */
#ifndef ANALYSES_SSGD_SSGD_TABLES_H
#define ANALYSES_SSGD_SSGD_TABLES_H

#include "analyses/balance.h"
#include "base/least_squares.h"
#include "base/table.h"
#include "reconstruct/run.h"
#include "ssgd.h"

/* A run, modelled. Runs without iterations are none. */
struct ssgd_item {
	struct run *run;
	struct ssgd ssgd;
	struct balance balance;
	const char *label; /* of the run, clean */
	double samples;    /* of an iteration; 0: not known */
	double imbalance;  /* (3.8) of computing; 1 on one GPU */
};

/* Phases of each run, busy and exclusive, mean and standard deviation; t_iter last. */
void ssgd_phase_table(
	const struct ssgd_item *items, size_t count, enum print_form form, struct print_table *table);

/* What each assumption predicts for each run; on a page, with the rest only, as bars on one scale with what
 * was measured. */
void ssgd_prediction_table(
	const struct ssgd_item *items, size_t count, enum print_form form, struct print_table *table);

/* A row a run: the phases that the equations have, their sum (3.2), and the iteration, means in time. For
 * text. */
void ssgd_side_table(const struct ssgd_item *items, size_t count, struct print_table *table);

/* Speed-up, measured and by (3.6) and (3.7), against the first run of the program on one GPU; efficiency, LIF
 * and slowdown. */
void ssgd_scaling_table(const struct ssgd_item *items, size_t count, struct print_table *table);

/* (3.8) by phase, a row a run on several GPUs; and the layer that is most out of balance. */
void ssgd_imbalance_table(const struct ssgd_item *items, size_t count, struct print_table *table);

/* (3.8) by layer, for each of those runs. */
void ssgd_layer_table(const struct ssgd_item *items, size_t count, struct print_table *table);

/* The coefficients of the regression, as times per unit of the term. program: that all its runs are of, which
 * CSV and JSON name; NULL: any. */
void ssgd_coefficient_table(
	const struct regression *regression, const char *program, struct print_table *table);

/* What the run's first process runs, as the trace has it. */
const char *ssgd_program(const struct ssgd_item *item);

/* "The run behaves as: ...", and what the rest is; in the run's arena. */
const char *ssgd_verdict(const struct ssgd_item *item);
const char *ssgd_rest(const struct ssgd_item *item);

/* Why t_iter here is not the report's: which iterations are left out; NULL: none. */
const char *ssgd_left_out(const struct ssgd_item *item);

#endif
