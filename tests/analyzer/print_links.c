/*
 * Prints which link slow_links_find names in a run: print_links FOLDER [HOST]..., with these hosts of its ranks, in order, where other
 * profilers' traces have none.
 */
#include "analyses/slow_link.h"
#include "reconstruct/run.h"

#include <err.h>
#include <stdio.h>

int main(int argument_count, char **arguments)
{
	static const char *const places[] = {"unknown", "rank", "pair", "host"};
	struct slow_links links;
	struct run run;
	char *error;

	if (argument_count < 2 || run_open(&run, arguments + 1, 1, 1, &error) < 0)
		errx(2, "cannot read a run");
	for (int i = 2; i < argument_count; i++)
		if ((size_t)i - 2 < run.analysis.timeline.process_count)
			run.analysis.timeline.processes[i - 2].host = arguments[i];
	slow_links_find(&run.analysis, 0, &links);
	printf("%zu", links.count);
	if (links.count)
		printf(" %s %zu %zu hosts %zu", places[links.place], links.workers[0], links.workers[1], links.hosts);
	putchar('\n');
	slow_links_free(&links);
	run_close(&run);
	return 0;
}
