/* How many elements the parameters of layers have. */
#include "layer_assign.h"
#include "trace/trace.h"

#include <stdlib.h>

/* Bytes of an element of a parameter, by the type of the first call that reads it; 0: none tells. */
static uint64_t element_bytes(const struct layer_assign *assign, const struct graph_parameter *parameter)
{
	const struct graph *graph = &assign->graph;
	uint64_t type_bytes = 0;

	for (uint32_t i = 0; i < graph->step_count && !type_bytes; i++) {
		const struct timeline_operation *operation =
			&assign->timeline->operations[graph->steps[i].operation];
		const struct flow *flow = graph_flow(graph, i);
		uint64_t value = 0;
		bool reads = false;

		for (uint32_t j = 0; j < flow->access_count && !graph->steps[i].update; j++)
			reads |= flow->accesses[j].mode == FLOW_READ &&
				 flow->accesses[j].address == parameter->address;
		if (!reads)
			continue;
		if (timeline_value(assign->timeline, operation, "type", &value))
			type_bytes = trace_type_bytes(value);
		else if ((timeline_value(assign->timeline, operation, "w", &value) ||
				 timeline_value(assign->timeline, operation, "params", &value) ||
				 timeline_value(assign->timeline, operation, "a", &value)) &&
			 value < assign->timeline->descriptor_count &&
			 assign->timeline->descriptors[value].value_count > 0)
			type_bytes =
				trace_type_bytes((uint64_t)assign->timeline->descriptors[value].values[0]);
	}
	return type_bytes;
}

/* Elements of the parameters, from their bytes. What only the program's own kernels read is of the type of
 * the others, if those agree. */
void layer_count_elements(struct layer_assign *assign)
{
	const struct graph *graph = &assign->graph;
	uint64_t *bytes = mem_alloc(graph->parameter_count, sizeof(*bytes)), common = 0;

	for (uint32_t p = 0; p < graph->parameter_count; p++) {
		bytes[p] = element_bytes(assign, &graph->parameters[p]);
		if (bytes[p])
			common = common == 0 || common == bytes[p] ? bytes[p] : 4;
	}
	for (uint32_t p = 0; p < graph->parameter_count; p++)
		if (assign->owners[p] != LAYER_NONE && !assign->list->items[assign->owners[p]].told_size)
			assign->list->items[assign->owners[p]].parameter_count +=
				graph->parameters[p].bytes / (bytes[p]        ? bytes[p]
								     : common ? common
									      : 4);
	free(bytes);
	/* what kernels read beside the weights of libraries is not known */
	for (uint32_t l = 0; l < assign->list->count && assign->lost; l++)
		assign->list->items[l].partly_sized |= !assign->list->items[l].told_size;
}
