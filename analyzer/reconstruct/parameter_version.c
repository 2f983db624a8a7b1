/* Versions of parameters: see parameter_version.h. */
#include "parameter_version.h"

#include <stdlib.h>
#include <string.h>

/* One of the places. The first of its family has the lowest address. */
struct place {
	uint32_t process;
	uint64_t address, bytes, family; /* family: address of the one that stands for all */
};

struct places {
	struct place *items;
	size_t count, room;
};

static struct place *find_place(const struct places *places, uint32_t process, uint64_t address)
{
	for (size_t i = 0; i < places->count; i++)
		if (places->items[i].process == process && places->items[i].address <= address &&
			address < places->items[i].address + places->items[i].bytes)
			return &places->items[i];
	return NULL;
}

static bool is_device_copy(const struct timeline *timeline, const struct flow *flow, size_t operation)
{
	return flow->kind == PM_KIND_COPY && flow->access_count == 2 &&
	       timeline_copies_within(timeline, &timeline->operations[operation]);
}

static const struct flow_access *side(const struct flow *flow, bool written)
{
	return flow_writes(&flow->accesses[0]) == written ? &flow->accesses[0] : &flow->accesses[1];
}

static struct place *add_place(struct places *places, uint32_t process, const struct flow_access *access)
{
	struct place *place = find_place(places, process, access->address);

	if (place)
		return place;
	place = MEM_PUSH(places->items, places->count, places->room);
	*place = (struct place){process, access->address, access->bytes, access->address};
	return place;
}

/* Both become members of the family with the lower address. */
static void join(
	struct places *places, uint32_t process, const struct flow_access *a, const struct flow_access *b)
{
	uint64_t first = add_place(places, process, a)->family,
		 second = add_place(places, process, b)->family;
	uint64_t low = first < second ? first : second, high = first < second ? second : first;

	for (size_t i = 0; i < places->count; i++)
		if (places->items[i].process == process && places->items[i].family == high)
			places->items[i].family = low;
}

static void list_places(const struct timeline *timeline, const struct flow *flows, version_test *is_updated,
	const void *context, struct places *places)
{
	for (size_t i = 0; i < timeline->operation_count; i++) {
		uint32_t process = timeline->operations[i].process;
		const struct flow_access *from, *to;

		if (!is_device_copy(timeline, &flows[i], i))
			continue;
		from = side(&flows[i], false);
		to = side(&flows[i], true);
		if (from->address != to->address && from->bytes == to->bytes &&
			flow_writes(&flows[i].accesses[0]) != flow_writes(&flows[i].accesses[1]) &&
			is_updated(context, process, from->address, from->bytes) &&
			is_updated(context, process, to->address, to->bytes))
			join(places, process, from, to);
	}
}

bool version_merge(
	const struct timeline *timeline, struct flow *flows, version_test *is_updated, const void *context)
{
	struct places places = {0};
	bool any;

	list_places(timeline, flows, is_updated, context, &places);
	any = places.count > 0;
	for (size_t i = 0; i < timeline->operation_count && any; i++)
		for (uint32_t j = 0; j < flows[i].access_count; j++) {
			struct flow_access *access = &flows[i].accesses[j];
			const struct place *place =
				find_place(&places, timeline->operations[i].process, access->address);

			if (place)
				access->address = place->family + (access->address - place->address);
		}
	/* What a copy onto itself writes keeps what was there. */
	for (size_t i = 0; i < timeline->operation_count && any; i++)
		for (uint32_t j = 0; j < flows[i].access_count && version_is_copy(&flows[i]); j++)
			if (flows[i].accesses[j].mode == FLOW_WRITE)
				flows[i].accesses[j].mode = FLOW_KEEP;
	free(places.items);
	return any;
}

bool version_is_copy(const struct flow *flow)
{
	return flow->kind == PM_KIND_COPY && flow->access_count == 2 &&
	       flow->accesses[0].address == flow->accesses[1].address &&
	       flow->accesses[0].bytes == flow->accesses[1].bytes;
}
