/*
 * Writes the summaries of a made-up job, for tests and for tests/bench/ranks.sh:
 * make_summaries FOLDER RANKS CAUSE [STRAGGLER [MISSING]]; CAUSE is none, slower, layer, work, input, host,
 * unknown or changing. What the report must find is printed: the straggler, and what the others wait for it,
 * in ns.
 */
#include "summary_maker.h"
#include "base/output.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argument_count, char **arguments)
{
	static const char *const causes[] = {"none", "slower", "layer", "work", "input", "host", "unknown"};
	struct maker_options options = maker_usual;
	struct summary_names names = {0};
	struct maker_truth truth;
	int32_t missing = argument_count > 5 ? atoi(arguments[5]) : -1;
	size_t all = 0;

	if (argument_count < 4 || argument_count > 6 || atoi(arguments[2]) < 1)
		errx(2, "usage: make_summaries FOLDER RANKS CAUSE [STRAGGLER [MISSING]]");
	options.ranks = atoi(arguments[2]);
	options.per_host = 8;
	options.exchanges = 16;
	options.straggler = argument_count > 4 ? atoi(arguments[4]) : options.ranks * 2 / 3;
	options.coming_and_going = strcmp(arguments[3], "changing") == 0;
	for (int i = 0; i < 7; i++)
		if (strcmp(arguments[3], causes[i]) == 0)
			options.cause = (enum maker_cause)i;
	truth = maker_truth(&options);
	for (int32_t rank = 0; rank < options.ranks; rank++) {
		struct summary summary;
		unsigned char *data;
		size_t bytes;
		char path[4096];

		maker_make(&options, rank, &names, &summary);
		data = summary_bytes(&summary, &bytes);
		snprintf(path, sizeof(path), "%s/train.%d.pmsum", arguments[1], rank);
		if (rank != missing && pm_output_write(path, data, bytes) < 0)
			err(1, "%s", path);
		all += bytes;
		free(data);
		summary_free(&summary);
	}
	printf("straggler %d wait caused %.0f cost %.0f bytes %zu\n", options.straggler, truth.wait_caused_ns,
		truth.cost_ns, all / (size_t)options.ranks);
	summary_names_free(&names);
	return 0;
}
