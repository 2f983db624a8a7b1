/* The results of `pmanalyze whatif` as a table with what they rest on: text, JSON or CSV. */
#ifndef CMDS_WHATIF_SHOW_H
#define CMDS_WHATIF_SHOW_H

#include "analyses/finding/finding.h"
#include "analyses/replay/whatif.h"

struct whatif_show {
	struct finding_list *findings; /* of the same analysis */
	const struct whatif_list *list;
	const struct whatif_change
		*asked; /* together, where they are several; NULL: the usual ones, each by itself */
	size_t asked_count;
	size_t top; /* rows of text, at most */
};

/* `object`: gets the members; NULL where the form is not JSON. */
void whatif_show(const struct whatif_show *show, enum print_form form, cJSON *object, FILE *out);

#endif
