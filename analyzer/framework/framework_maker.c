/* Which operator made a node of the backward pass, by autograd's numbers: see framework.h. */
#include "framework_private.h"

#include <stdlib.h>

static bool is_within(const struct framework *f, uint32_t range, uint32_t outer)
{
	while (range != TIMELINE_NO_RANGE && range > outer)
		range = f->ranges[range].parent;
	return range == outer;
}

static int compare_makers(const void *left, const void *right)
{
	const struct maker *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->range < b->range ? -1 : a->range > b->range;
}

static int compare_numbers(const void *left, const void *right)
{
	const struct maker *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->sequence != b->sequence)
		return a->sequence < b->sequence ? -1 : 1;
	return a->range < b->range ? -1 : a->range > b->range;
}

/* The nodes of compiled regions in order of their numbers; the caller frees them. */
static struct maker *list_compiled_nodes(const struct framework *f, size_t *count)
{
	struct maker *nodes = NULL;
	size_t room = 0;

	*count = 0;
	for (uint32_t i = 0; i < f->process->range_count; i++)
		if (is_node(f, i) && f->ranges[i].sequence != PM_RANGE_NO_SEQUENCE &&
			is_compiled(name_of(f, i)->name))
			*MEM_PUSH(nodes, *count, room) = (struct maker){.range = i,
				.sequence = f->ranges[i].sequence,
				.thread = f->ranges[i].framework_thread};
	if (*count)
		qsort(nodes, *count, sizeof(*nodes), compare_numbers);
	return nodes;
}

/* A compiled region tells no number, for gradients are recorded only of the whole. Its node's lies between
 * those of the operators around it, and the node runs after it. From the last one back, for a region without
 * gradients has none. */
static void number_regions(struct framework *f)
{
	size_t left;
	uint32_t limit = UINT32_MAX;
	struct maker *nodes = list_compiled_nodes(f, &left);

	for (size_t i = f->maker_count; i-- > 0;) {
		struct maker *maker = &f->makers[i];

		if (i + 1 < f->maker_count && f->makers[i + 1].thread != maker->thread)
			limit = UINT32_MAX;
		while (left && (nodes[left - 1].thread > maker->thread ||
				       (nodes[left - 1].thread == maker->thread &&
					       nodes[left - 1].sequence >= limit)))
			left--;
		if (maker->sequence == PM_RANGE_NO_SEQUENCE && left &&
			nodes[left - 1].thread == maker->thread && nodes[left - 1].sequence >= maker->least &&
			f->ranges[nodes[left - 1].range].begin_ns >= f->ranges[maker->range].begin_ns)
			*maker = (struct maker){
				maker->range, nodes[left - 1].sequence, maker->thread, 0, true};
		if (maker->sequence != PM_RANGE_NO_SEQUENCE)
			limit = maker->sequence;
	}
	free(nodes);
}

/* Without those that have no number. */
static void keep_numbered(struct framework *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->maker_count; i++)
		if (f->makers[i].sequence != PM_RANGE_NO_SEQUENCE)
			f->makers[kept++] = f->makers[i];
	f->maker_count = kept;
}

/* The maker after it that is not within it: of an operator's own operators some recorders tell too. */
static size_t after_maker(const struct framework *f, size_t maker)
{
	size_t next = maker + 1;

	while (next < f->maker_count && is_within(f, f->makers[next].range, f->makers[maker].range))
		next++;
	return next;
}

static void list_makers(struct framework *f)
{
	for (uint32_t i = 0; i < f->process->range_count; i++)
		if (name_of(f, i)->scope == PM_RANGE_OPERATOR &&
			(f->ranges[i].sequence != PM_RANGE_NO_SEQUENCE || is_compiled(name_of(f, i)->name)))
			*MEM_PUSH(f->makers, f->maker_count, f->maker_room) = (struct maker){.range = i,
				.sequence = f->ranges[i].sequence,
				.thread = f->ranges[i].framework_thread};
	if (f->maker_count)
		qsort(f->makers, f->maker_count, sizeof(*f->makers), compare_makers);
	for (size_t i = 1; i < f->maker_count; i++)
		if (f->makers[i].thread == f->makers[i - 1].thread)
			f->makers[i].least = f->makers[i - 1].sequence == PM_RANGE_NO_SEQUENCE
						     ? f->makers[i - 1].least
						     : f->makers[i - 1].sequence;
	number_regions(f);
	keep_numbered(f);
	f->makes = mem_alloc(f->process->range_count, sizeof(*f->makes));
	for (size_t i = 0; i < f->maker_count; i++) {
		const struct maker *next = &f->makers[after_maker(f, i)];

		f->makes[f->makers[i].range] =
			f->makers[i].makes ||
			(next < f->makers + f->maker_count && next->thread == f->makers[i].thread &&
				next->sequence > f->makers[i].sequence);
	}
	if (f->maker_count)
		qsort(f->makers, f->maker_count, sizeof(*f->makers), compare_numbers);
}

/* The thread's last with a number that is not greater, begun before the node; NULL: it was not recorded.
 * Numbers do not fall, but where they do, that of the greatest number. */
static const struct maker *maker_of(const struct framework *f, uint32_t node)
{
	const struct timeline_range *range = &f->ranges[node];
	size_t low = 0, high = f->maker_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct maker *maker = &f->makers[middle];

		if (maker->thread < range->framework_thread ||
			(maker->thread == range->framework_thread && maker->sequence <= range->sequence))
			low = middle + 1;
		else
			high = middle;
	}
	while (low > 0 && f->makers[low - 1].thread == range->framework_thread &&
		f->ranges[f->makers[low - 1].range].begin_ns > range->begin_ns)
		low--;
	return low > 0 && f->makers[low - 1].thread == range->framework_thread ? &f->makers[low - 1] : NULL;
}

/* A node without a number puts a gradient where its parameter's is (AccumulateGrad): the work of the node
 * before it in the thread, which has made that gradient, and of a compiled region those of all its
 * parameters. */
static void find_numbered(struct framework *f)
{
	uint32_t last = TIMELINE_NO_RANGE;

	f->numbered = mem_alloc(f->process->range_count, sizeof(*f->numbered));
	for (uint32_t i = 0; i < f->process->range_count; i++) {
		if (i > 0 && f->ranges[i].thread != f->ranges[i - 1].thread)
			last = TIMELINE_NO_RANGE;
		if (is_node(f, i) && f->ranges[i].sequence != PM_RANGE_NO_SEQUENCE)
			last = i;
		f->numbered[i] = last;
	}
}

const struct maker *framework_origin(const struct framework *f, uint32_t node)
{
	return f->numbered[node] == TIMELINE_NO_RANGE ? NULL : maker_of(f, f->numbered[node]);
}

void framework_find_makers(struct framework *framework)
{
	list_makers(framework);
	find_numbered(framework);
}
