/*
 * What the findings say of a change that a replay predicts (whatif.h). A finding bounds what a cure of one
 * cause gains; a change may remove more than one, and more than is worth a finding: then there is a reason to
 * print.
 */
#ifndef ANALYSES_FINDING_FINDING_WHATIF_H
#define ANALYSES_FINDING_FINDING_WHATIF_H

#include "analyses/replay/whatif.h"
#include "finding.h"

struct finding_whatif {
	double gain_ns; /* of an iteration, at most: the sum over findings about what the change removes */
	const char *numbers; /* of these findings, as findings_print numbers them: "1, 3"; "": none */
	const char *why; /* the replay gains more, by over FINDING_LEAST: a clause that says why; else NULL */
};

/* False: findings are not about such a change, as about a faster layer. Texts are in the list's arena. */
bool finding_whatif(
	struct finding_list *list, const struct whatif_result *result, struct finding_whatif *found);

#endif
