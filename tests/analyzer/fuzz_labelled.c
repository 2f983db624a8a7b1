/* Fuzz target: traces of labelled phases, through the reader, the graph and the replay. */
#include "fuzz.h"
#include "analyses/slowdown/slowdown.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct labelled_graph graph;
	struct slowdown slowdown;
	struct labelled job = {0};
	const char *error;

	if (labelled_read(&job, fuzz_file(data, size), &error) == 0 &&
		labelled_settle(&job, 0, 0, &error) == 0 && job.operation_count > 0) {
		labelled_graph_make(&graph, &job);
		slowdown_find(&slowdown, &job, &graph, 1.1);
		slowdown_free(&slowdown);
		labelled_graph_free(&graph);
	}
	labelled_free(&job);
	return 0;
}
