/* From dependencies between labelled operations to tasks that can be run: the last part of labelled_graph.c.
 */
#include "labelled_build.h"

#include <stdlib.h>
#include <string.h>

/* Arcs to those who meet lead to their rendezvous instead, and they wait for it alone. */
static void redirect(struct labelled_builder *builder)
{
	size_t operation_count = builder->job->operation_count;

	for (size_t i = 0; i < builder->arc_count; i++)
		if (builder->graph->task[builder->arcs[i].to] != LABELLED_NONE)
			builder->arcs[i].to = builder->graph->task[builder->arcs[i].to];
	for (uint32_t i = 0; i < operation_count; i++)
		labelled_builder_wait(builder, builder->graph->task[i] == LABELLED_NONE ? LABELLED_NONE : i,
			builder->graph->task[i]);
}

/* Arcs in order of the node they lead to or, `out`, come from; answers where each node's begin. */
static uint32_t *sort_arcs(const struct labelled_builder *builder, struct labelled_arc *sorted, bool out)
{
	uint32_t *first = mem_alloc((size_t)builder->node_count + 2, sizeof(*first));

	for (size_t i = 0; i < builder->arc_count; i++)
		first[(out ? builder->arcs[i].from : builder->arcs[i].to) + 2]++;
	for (size_t i = 2; i < (size_t)builder->node_count + 2; i++)
		first[i] += first[i - 1];
	for (size_t i = 0; i < builder->arc_count; i++)
		sorted[first[(out ? builder->arcs[i].from : builder->arcs[i].to) + 1]++] = builder->arcs[i];
	return first;
}

static void add_task(struct labelled_builder *builder, uint32_t node, uint32_t *task_of,
	const struct labelled_arc *in, uint32_t first, uint32_t behind, const int64_t *step_begin_ns)
{
	struct labelled_graph *graph = builder->graph;
	size_t operation_count = builder->job->operation_count;
	bool real = node < operation_count;
	int32_t step = real ? labelled_builder_at(builder, node)->step
			    : builder->rendezvous_step[node - operation_count];
	int64_t from_ns = step_begin_ns[step];
	uint32_t task =
		replay_add(&graph->replay, real ? labelled_builder_at(builder, node)->begin_ns - from_ns : 0,
			real ? labelled_builder_at(builder, node)->end_ns - from_ns : 0);

	task_of[node] = task;
	graph->operation[task] = real ? node : LABELLED_NONE;
	graph->step[task] = step;
	graph->replay.tasks[task].earliest_ns = 0;
	for (uint32_t i = first; i < behind; i++) {
		if (task_of[in[i].from] == LABELLED_NONE)
			graph->contradicted++;
		else
			replay_wait_for(&graph->replay, task_of[in[i].from], 0);
	}
}

/* Tasks in topological order (Kahn). What waits in a cycle is let go in order of time. */
static void sort_tasks(struct labelled_builder *builder, const int64_t *step_begin_ns)
{
	struct labelled_graph *graph = builder->graph;
	uint32_t nodes = builder->node_count, head = 0, tail = 0, sweep = 0;
	struct labelled_arc *in = mem_alloc(builder->arc_count + 1, sizeof(*in));
	struct labelled_arc *out = mem_alloc(builder->arc_count + 1, sizeof(*out));
	uint32_t *first_in = sort_arcs(builder, in, false), *first_out = sort_arcs(builder, out, true);
	uint32_t *waits = mem_alloc((size_t)nodes + 1, sizeof(*waits));
	uint32_t *queue = mem_alloc((size_t)nodes + 1, sizeof(*queue));
	uint32_t *task_of = mem_alloc((size_t)nodes + 1, sizeof(*task_of));

	graph->operation = mem_alloc((size_t)nodes + 1, sizeof(*graph->operation));
	graph->step = mem_alloc((size_t)nodes + 1, sizeof(*graph->step));
	memset(task_of, 0xff, (size_t)nodes * sizeof(*task_of));
	for (uint32_t i = 0; i < nodes; i++) {
		waits[i] = first_in[i + 1] - first_in[i];
		if (waits[i] == 0)
			queue[tail++] = i;
	}
	while (graph->replay.task_count < nodes) {
		uint32_t node;

		if (head == tail) {
			while (task_of[sweep] != LABELLED_NONE)
				sweep++;
			waits[sweep] = 0;
			queue[tail++] = sweep;
		}
		node = queue[head++];
		add_task(builder, node, task_of, in, first_in[node], first_in[node + 1], step_begin_ns);
		for (uint32_t i = first_out[node]; i < first_out[node + 1]; i++)
			if (waits[out[i].to] > 0 && --waits[out[i].to] == 0)
				queue[tail++] = out[i].to;
	}
	for (size_t i = 0; i < builder->job->operation_count; i++)
		graph->task[i] = task_of[i];
	free(in);
	free(out);
	free(first_in);
	free(first_out);
	free(waits);
	free(queue);
	free(task_of);
}

void labelled_builder_order(struct labelled_builder *builder, const int64_t *step_begin_ns)
{
	redirect(builder);
	sort_tasks(builder, step_begin_ns);
}
