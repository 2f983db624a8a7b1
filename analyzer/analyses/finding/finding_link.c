/* The finding about communicators that are slower than their like. */
#include "finding_make.h"
#include "base/text.h"

#include <math.h>

#define MOST_NAMED 8 /* ranks */

static const char *name_of(struct finding_list *list, size_t worker)
{
	return analysis_worker_name(list->analysis, &list->analysis->workers[worker]);
}

/* "rank 4, rank 5": of all slow ones. */
static const char *members_text(struct finding_list *list)
{
	const char *text = "";
	size_t count = 0;

	for (size_t w = 0; w < list->analysis->worker_count; w++) {
		if (!(list->links.lost_ns[w] > 0))
			continue;
		if (count++ < MOST_NAMED)
			text = arena_format(&list->arena, "%s%s%s", text, *text ? ", " : "", name_of(list, w));
	}
	return count > MOST_NAMED ? arena_format(&list->arena, "%s and %zu more", text, count - MOST_NAMED) : text;
}

static const char *host_name(struct finding_list *list, size_t worker)
{
	const struct analysis *analysis = list->analysis;

	return print_clean(&list->arena,
		analysis->timeline.processes[analysis->workers[worker].worker->process].host);
}

static const char *title_of(struct finding_list *list)
{
	const struct slow_links *links = &list->links;
	struct arena *arena = &list->arena;

	switch (links->place) {
	case SLOW_LINK_RANK:
		return arena_format(arena, "Slow link of %s", name_of(list, links->workers[0]));
	case SLOW_LINK_PAIR:
		return arena_format(arena, "Slow link between %s and %s", name_of(list, links->workers[0]),
			name_of(list, links->workers[1]));
	case SLOW_LINK_HOST:
		return arena_format(arena, "Slow links of host %s", host_name(list, links->workers[0]));
	case SLOW_LINK_UNKNOWN:
		break;
	}
	return arena_format(arena, "Slow link among %s", members_text(list));
}

/* Which links lie between a communicator's ranks. */
static const char *link_words(const struct slow_links *links)
{
	return links->hosts == 0   ? "NVLink, PCIe, NIC or switch"
	       : links->hosts == 1 ? "NVLink or PCIe"
				   : "NIC or switch";
}

static const char *place_text(struct finding_list *list)
{
	const struct slow_links *links = &list->links;
	struct arena *arena = &list->arena;

	switch (links->place) {
	case SLOW_LINK_RANK:
		return arena_format(arena, "each slow one has %s, and no fast one has: its %s",
			name_of(list, links->workers[0]), link_words(links));
	case SLOW_LINK_PAIR:
		return arena_format(arena, "each slow one has both, and no fast one has: %s between them, or at one of them",
			link_words(links));
	case SLOW_LINK_HOST:
		return "each slow one has ranks there, and no fast one has: its NIC or switch";
	case SLOW_LINK_UNKNOWN:
		break;
	}
	return arena_format(arena, "which of their links (%s) it is, these communicators do not tell", link_words(links));
}

/* What a step loses on the rank with most: no more than it communicates and computes nothing. */
static double gain_of(const struct finding_list *list)
{
	double most_ns = 0;

	for (size_t w = 0; w < list->analysis->worker_count; w++)
		if (list->links.lost_ns[w] > 0)
			most_ns = fmax(most_ns, fmin(list->links.lost_ns[w], finding_communication(list, w).moving_ns));
	return most_ns;
}

static const char *bus_rate_text(struct arena *arena, const struct comm_row *row, double ns)
{
	return print_figure(arena, row->bus_rate * row->transfer_ns / ns, 3);
}

void finding_link(struct finding_list *list)
{
	struct slow_links *links = &list->links;
	struct arena *arena = &list->arena;
	const struct slow_link *worst;
	double gain_ns;

	slow_links_find(list->analysis, FINDING_LEAST * list->step.typical_ns, links);
	if (links->count == 0)
		return;
	worst = &links->items[0];
	gain_ns = gain_of(list);
	finding_add(list,
		(struct finding){.kind = FINDING_LINK,
			.strength = worst->others > 1 || finding_measured(list) == FINDING_WEAK ? finding_measured(list)
												: FINDING_LIKELY,
			.subject = members_text(list),
			.title = title_of(list),
			.text = arena_format(arena,
				"%s of %s MB takes %s once all are there (%s GB/s on the bus), the median of %zu "
				"other communicator%s of the same kind %s (%s GB/s); %zu communicator%s slow: %s",
				worst->row->name, print_figure(arena, worst->row->bytes / 1e6, 4),
				print_time(arena, worst->row->typical_ns),
				bus_rate_text(arena, worst->row, worst->row->typical_ns), worst->others,
				pm_text_plural(worst->others), print_time(arena, worst->usual_ns),
				bus_rate_text(arena, worst->row, worst->usual_ns), links->count,
				links->count == 1 ? " is" : "s are", place_text(list)),
			.advice =
				"run nccl-tests on these ranks alone; compare nvidia-smi topo -m, nvidia-smi nvlink -s, PCIe "
				"width and ibstat there with other ranks'",
			.worker = links->place == SLOW_LINK_RANK ? links->workers[0] : SIZE_MAX,
			.gain_ns = gain_ns,
			.lost_ns = gain_ns});
}
