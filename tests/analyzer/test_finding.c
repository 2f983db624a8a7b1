/* Checks what the title of jitter says of stragglers, in every combination of findings: "other" only where
 * one is listed above it. */
#include "check.h"
#include "analyses/finding/finding_make.h"

#include <stdlib.h>
#include <string.h>

enum straggler {
	NOT_FOUND,
	UNLISTED, /* it costs too little, or a slow link is its cause */
	BELOW,
	ABOVE,
	STRAGGLERS,
};

static const char *const titles[STRAGGLERS] = {
	[NOT_FOUND] = "Jitter: no persistent straggler",
	[UNLISTED] = "Jitter: changing stragglers",
	[BELOW] = "Jitter: changing stragglers",
	[ABOVE] = "Jitter: no other persistent straggler",
};

static void add(struct finding_list *list, enum finding_kind kind, double gain_ns)
{
	finding_add(list,
		(struct finding){.kind = kind, .subject = "", .basis = "", .title = "", .gain_ns = gain_ns});
}

/* `kind`: of a finding beside, which says nothing of stragglers; `gain_ns`: its gain. */
static void check_title(enum straggler straggler, bool whole, enum finding_kind kind, double gain_ns)
{
	struct finding_list list = {
		.step = {.mean_ns = 100, .whole = whole}, .causes = {.count = straggler != NOT_FOUND}};
	const char *title = NULL, *expected = whole ? "Ranks wait for each other" : titles[straggler];

	if (straggler == BELOW || straggler == ABOVE)
		add(&list, FINDING_STRAGGLER, straggler == ABOVE ? 30 : 10);
	add(&list, FINDING_WAITING, 20);
	add(&list, kind, gain_ns);
	finding_order(&list);
	for (size_t i = 0; i < list.count; i++)
		if (list.items[i].kind == FINDING_WAITING)
			title = list.items[i].title;
	CHECK(title && strcmp(title, expected) == 0, "straggler %d, beside it %s of %g: %s, not %s",
		(int)straggler, finding_key(kind), gain_ns, title ? title : "(none)", expected);
	free(list.items);
}

int main(void)
{
	static const double gains_ns[] = {5, 15, 25, 35, 0.0 / 0.0};

	for (int straggler = 0; straggler < STRAGGLERS; straggler++)
		for (int kind = FINDING_WAITING + 1; kind < FINDING_COUNT; kind++)
			for (size_t i = 0; i < sizeof(gains_ns) / sizeof(*gains_ns); i++)
				for (int whole = 0; whole < 2; whole++)
					check_title((enum straggler)straggler, whole, (enum finding_kind)kind,
						gains_ns[i]);
	return check_end();
}
