/* What the two halves of pmfit guide share. */
#ifndef CMDS_GUIDE_H
#define CMDS_GUIDE_H

#include "advise/guide.h"
#include "base/table.h"
#include "cmd.h"
#include "step/step.h"

/* One of speeds, table and levels is given. */
struct cmd_guide_divide {
	size_t batch;       /* 0: nothing is to be divided */
	const char *speeds; /* "1,1,0.5" */
	const char *table;  /* a CSV file of times of even shares */
	const char *rank_column, *time_columns;
	const char *levels; /* "gpu=v100,k80" */
};

/* Divides a batch and prints that; ends the program with a sentence if it cannot. `guide` is only for levels,
 * and its point changes. The exit code. */
int cmd_guide_divide(const struct cmd_guide_divide *how, struct guide *guide, enum print_form form);

/* What is asked of a model of `pmfit step`. Numbers that are 0 and lists without items: by the model. */
struct cmd_guide_step {
	const char *level, *unit;
	const double *gpus, *batches;
	size_t gpu_count, batch_count;
	bool is_global;
	double gpus_per_node, most_nodes, most_gpus, most_gpu_batch, price, worth;
};

int cmd_guide_step(const struct step_model *model, const struct cmd_guide_step *how, enum print_form form);

#endif
