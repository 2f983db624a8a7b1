/* What exports say of a call and its work: phase, layer and iteration, and which call an interval belongs to.
 */
#ifndef OUTPUT_EXPORT_ROLE_H
#define OUTPUT_EXPORT_ROLE_H

#include "reconstruct/analysis.h"
#include "stream.h"

/* What a call is for, as its worker's iterations say; all 0: nobody's. */
struct export_label {
	const struct layer_role *role;
	const struct layer_list *layers; /* NULL: no worker's */
	uint32_t iteration;              /* from 1; 0: outside */
	bool reads;
};

#define EXPORT_NOBODY UINT32_MAX

/* Fills the entries of the worker's calls and reads; `labels` are by call of its process. */
void export_label_calls(
	const struct analysis *analysis, const struct analysis_worker *worker, struct export_label *labels);

/* Phase, layer and iteration as further members of an object. */
void export_put_label(struct export_out *out, const struct export_label *label);

/* By interval of the process: the first of its calls in the timeline that has it, or EXPORT_NOBODY. */
void export_find_owners(
	const struct timeline *timeline, const struct timeline_process *process, uint32_t *owners);

/* When the run's first event begins: what is 0 in an export. */
int64_t export_earliest(const struct analysis *analysis);

/* What ran: the kernel, where it is known, else the function. */
const char *export_work_name(const struct timeline *timeline, uint32_t operation);

#endif
