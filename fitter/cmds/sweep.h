/* What the two halves of pmfit sweep share. */
#ifndef CMDS_SWEEP_H
#define CMDS_SWEEP_H

#include "cmd.h"
#include "sweep/sweep_run.h"

struct sweep_request {
	struct sweep_run run;
	struct space_file space;
	struct sweep_plan plan;
	struct sweep_table table;
	struct sweep_time time;
	enum sweep_design design;
	uint64_t seed;
	size_t trials;
	bool again, dry_run, csv, json, quiet;
	const char *time_from, *name;
	char *table_path, *folder;
	char **split; /* the space's command */
	double printed;
};

/* The trials of the plan: their commands, or as CSV their values, or as JSON both. */
void sweep_print_plan(const struct sweep_request *request);
/* What was done, as text or JSON; sorts the table's times. */
void sweep_print_summary(const struct sweep_request *request);

#endif
