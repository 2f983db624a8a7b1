/*
 * The HTML report's flame graph: GPU time by module, operator and kernel, from above. Each node is a box as
 * wide as its share; the script makes one as wide as the page (script_flame.js). Narrow ones are left out.
 */
#include "analyses/operators.h"
#include "page.h"

#include <stdlib.h>

#define ROW 17            /* pixels */
#define LEAST_SHARE 0.002 /* of the time: narrower boxes are left out */
#define MOST_DEPTH 24
#define MOST_OPERATORS 60
#define MOST_SHOWN 15

struct flame {
	struct html_page *page;
	const struct operators *operators;
	double *from; /* by node: where its next child begins, in ns */
	unsigned *depth;
	unsigned deepest;
};

static int compare_nodes(const void *left, const void *right, void *nodes)
{
	const struct operators_node *a = &((const struct operators_node *)nodes)[*(const uint32_t *)left];
	const struct operators_node *b = &((const struct operators_node *)nodes)[*(const uint32_t *)right];

	return a->time_ns != b->time_ns ? (a->time_ns < b->time_ns) - (a->time_ns > b->time_ns)
					: (a > b) - (a < b);
}

static int greatest_phase(const struct operators_node *node)
{
	int phase = 0;

	for (int p = 1; p < PHASE_WORK_COUNT; p++)
		if (node->phases_ns[p] > node->phases_ns[phase])
			phase = p;
	return phase;
}

static void write_node(struct flame *flame, uint32_t number, double from_ns)
{
	const struct operators_node *node = &flame->operators->nodes[number];
	const double whole_ns = flame->operators->nodes[0].time_ns;
	const double from = 100 * from_ns / whole_ns, wide = 100 * node->time_ns / whole_ns;
	const int phase = greatest_phase(node);
	const char *name = html_escape(flame->page, node->name);

	fprintf(flame->page->out,
		"<svg class=\"box\" x=\"%.3f%%\" y=\"%u\" width=\"%.3f%%\" height=\"%d\"><title>%s: %s a step, %.1f%% of GPU "
		"time, mostly %s</title><rect class=\"%s\" width=\"100%%\" height=\"%d\"/><text class=\"t t-%s\" x=\"4\" "
		"y=\"12\">%s</text></svg>\n",
		from, flame->depth[number] * ROW, wide, ROW, name, html_time(flame->page, node->time_ns),
		wide, html_phase_title(phase), html_phase_key(phase), ROW - 1, html_phase_key(phase), name);
}

/* A parent's children lie side by side, the costliest first; so nodes go by time, and a parent is before its
 * children. */
static void place_nodes(struct flame *flame, const uint32_t *order)
{
	const struct operators_node *nodes = flame->operators->nodes;

	for (size_t i = 0; i < flame->operators->node_count; i++) {
		const uint32_t number = order[i], parent = nodes[number].parent;
		double from_ns = 0;

		if (nodes[number].time_ns < LEAST_SHARE * nodes[0].time_ns)
			return;
		if (parent != OPERATORS_NONE) {
			flame->depth[number] = flame->depth[parent] + 1;
			from_ns = flame->from[parent];
			flame->from[parent] += nodes[number].time_ns;
		}
		flame->from[number] = from_ns;
		if (flame->depth[number] >= MOST_DEPTH)
			continue;
		if (flame->depth[number] > flame->deepest)
			flame->deepest = flame->depth[number];
		write_node(flame, number, from_ns);
	}
}

static void write_flame(struct html_page *page, const struct operators *operators)
{
	const size_t count = operators->node_count;
	struct flame flame = {.page = page, .operators = operators};
	uint32_t *order = mem_alloc(count, sizeof(*order));
	FILE *out = page->out;
	char *text = NULL;
	size_t length = 0;

	flame.from = mem_alloc(count, sizeof(*flame.from));
	flame.depth = mem_alloc(count, sizeof(*flame.depth));
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), compare_nodes, operators->nodes);
	page->out = open_memstream(&text, &length);
	if (page->out) {
		place_nodes(&flame, order);
		fclose(page->out);
		fprintf(out, "<svg class=\"flame\" height=\"%u\">\n", (flame.deepest + 1) * ROW);
		fwrite(text, 1, length, out);
		fputs("</svg>\n", out);
	}
	page->out = out;
	free(text);
	free(order);
	free(flame.from);
	free(flame.depth);
}

static void write_operators(struct html_page *page, const struct operators *operators)
{
	struct print_table table;

	fprintf(page->out,
		"<h2>Operators</h2>\n<p class=\"dim\">What the framework was in when work was launched: %.0f%% of GPU time. "
		"Work that an operator’s gradient needs is in the node of the backward pass.</p>\n",
		100 * operators->known);
	print_init(&table, &page->arena);
	operators_table(&table, operators, MOST_OPERATORS);
	print_html_folded(&table, MOST_SHOWN, "operators", page->out);
	print_free(&table);
}

void html_flame(struct html_page *page, const struct html_run *run)
{
	struct operators operators;

	operators_find(run->analysis, &operators);
	if (operators.node_count && !run->findings.job) {
		html_section(
			page, operators.row_count ? "GPU time by module and operator" : "GPU time by module");
		fprintf(page->out,
			"<p class=\"dim\">%s of a step, mean over %zu iteration%s%s%s, summed over streams. From above: modules one in "
			"another, %skernels. Colour: the phase of most of a box's time. Boxes under %.1f%% are left out.</p>\n",
			html_time(page, operators.nodes[0].time_ns), operators.iterations,
			operators.iterations == 1 ? "" : "s",
			run->analysis->worker_count > 1 ? " of the ranks" : "",
			operators.row_count ? " in which operators were recorded" : "",
			operators.row_count ? "operators, " : "", 100 * LEAST_SHARE);
		write_flame(page, &operators);
		if (operators.row_count)
			write_operators(page, &operators);
		fputs("</section>\n", page->out);
	}
	operators_free(&operators);
}
