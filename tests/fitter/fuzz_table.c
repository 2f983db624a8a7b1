/* Fuzz target: tables (CSV), and the observations and training steps that are made of their columns. */
#include "data/observations.h"
#include "fuzz.h"
#include "step/step_table.h"

/* The same table as one of training steps. */
static void read_steps(const struct csv *csv)
{
	struct step_columns columns = {0};
	struct step_table table;
	struct arena arena = {0};

	if (!step_columns_find(&columns, csv, true, &arena)) {
		step_table_read(&table, csv, &columns, true, true);
		step_table_free(&table);
	}
	arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum pm_fit_role roles[] = {
		PM_FIT_EXTRINSIC, PM_FIT_INTRINSIC, PM_FIT_CATEGORICAL, PM_FIT_FACTOR};
	struct observations observations;
	struct description description;
	struct csv csv;

	description_init(&description);
	description_line(&description, "skip-bad");
	if (csv_read(&csv, fuzz_file(data, size)) == 0) {
		for (size_t i = 0; i + 1 < csv.column_count && i < 8; i++)
			description_role(&description, csv.names[i], roles[i % 4]);
		description_line(&description, "time time");
		observations_init(&observations, &csv, &description);
		observations_free(&observations);
		read_steps(&csv);
	}
	csv_free(&csv);
	description_free(&description);
	return 0;
}
