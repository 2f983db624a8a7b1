/*
 * Parameters of which each rank keeps a shard and gathers the whole before it works with them (FSDP's
 * fully_shard), layer by layer and mostly to memory that another layer's parameters were in before.
 *
 * What is gathered can be followed: a kernel copies the shards beside each other to what an all-gather sends;
 * after the all-gather another takes what came apart, to a place for each parameter, by a table of addresses
 * that is copied to the device for it. So what a step touches at such a place is the shard's parameter, until
 * the next is put there.
 */
#include "layer_flow.h"

#include <stdlib.h>
#include <string.h>

/* What a rank keeps of a parameter, in what its unit's all-gather sends. */
struct shard {
	uint64_t offset, bytes;
	uint32_t place;
};

/* An all-gather or a reduce-scatter. */
struct exchange {
	uint32_t step;
	uint64_t send, send_bytes, receive, receive_bytes;
	struct shard *shards; /* by offset */
	size_t shard_count, shard_room;
	bool again; /* another all-gather of the iteration brings the same: it does not stay in between */
};

/* A table of addresses that is copied to the device, and the kernel that is given it. */
struct table {
	uint32_t copy, kernel;
	const struct timeline_touch *words;
	size_t count;
};

struct gathering {
	struct flow_work *work;
	struct exchange *gathers, *scatters;
	size_t gather_count, gather_room, scatter_count, scatter_room;
	struct table *tables;
	size_t table_count, table_room;
	uint32_t *shard_at; /* by place: the shard whose parameter is there, or FLOW_NOWHERE */
	uint32_t *unit_at;  /* of which of the gathers */
};

static bool lies_in(uint64_t address, uint64_t begin, uint64_t bytes)
{
	return address >= begin && address - begin < bytes;
}

/* ---- exchanges and tables ---- */

static void add_exchange(struct gathering *g, uint32_t step)
{
	const struct flow *flow = graph_flow(&g->work->assign->graph, step);
	const enum pm_role role = layer_function(g->work->assign, step)->facts.role;
	const bool gathers = role == PM_ROLE_ALL_GATHER;
	struct exchange exchange = {.step = step};

	if (flow->kind != PM_KIND_COMM || flow->access_count != 2 ||
		flow_writes(&flow->accesses[0]) == flow_writes(&flow->accesses[1]) ||
		(!gathers && role != PM_ROLE_REDUCE_SCATTER))
		return;
	for (int i = 0; i < 2; i++)
		if (flow_writes(&flow->accesses[i])) {
			exchange.receive = flow->accesses[i].address;
			exchange.receive_bytes = flow->accesses[i].bytes;
		} else {
			exchange.send = flow->accesses[i].address;
			exchange.send_bytes = flow->accesses[i].bytes;
		}
	if (gathers)
		*MEM_PUSH(g->gathers, g->gather_count, g->gather_room) = exchange;
	else
		*MEM_PUSH(g->scatters, g->scatter_count, g->scatter_room) = exchange;
}

/* The first launch after a copy that is given an address in what was copied, or FLOW_NOWHERE. */
static uint32_t kernel_of(const struct flow_work *work, uint32_t copy)
{
	const struct flow *flow = graph_flow(&work->assign->graph, copy);

	for (uint32_t i = copy + 1; i < work->step_count; i++)
		for (uint32_t t = 0; work->steps[i].launch && t < work->steps[i].count; t++)
			for (uint32_t j = 0; j < flow->access_count; j++)
				if (flow_writes(&flow->accesses[j]) &&
					flow_holds(&flow->accesses[j],
						work->places[flow_touch_of(work, i, t)->place].address))
					return i;
	return FLOW_NOWHERE;
}

static void add_table(struct gathering *g, uint32_t step)
{
	const struct layer_assign *assign = g->work->assign;
	struct table table = {.copy = step};

	if (graph_flow(&assign->graph, step)->kind != PM_KIND_COPY)
		return;
	table.words = layer_touches(assign, assign->graph.steps[step].call, &table.count);
	table.kernel = table.count ? kernel_of(g->work, step) : FLOW_NOWHERE;
	if (table.kernel != FLOW_NOWHERE)
		*MEM_PUSH(g->tables, g->table_count, g->table_room) = table;
}

/* ---- shards ---- */

static uint32_t touched_at(const struct flow_work *work, uint32_t step, int64_t word)
{
	for (uint32_t t = 0; t < work->steps[step].count; t++)
		if (flow_touch_of(work, step, t)->word == word)
			return flow_touch_of(work, step, t)->place;
	return FLOW_NOWHERE;
}

/*
 * The words from where a kernel copies to where: the distance of the list of shards from that of places in
 * what is sent, at which most pairs stand. 0: there are none.
 */
static int64_t shard_distance(const struct flow_work *work, uint32_t step, const struct exchange *gather)
{
	int64_t best = 0;
	uint32_t most = 0;

	for (uint32_t first = 0; first < work->steps[step].count; first++) {
		const struct flow_touch *to = flow_touch_of(work, step, first);

		if (!lies_in(work->places[to->place].address, gather->send, gather->send_bytes))
			continue;
		for (uint32_t t = 0; t < work->steps[step].count; t++) {
			const int64_t distance = (int64_t)flow_touch_of(work, step, t)->word - to->word;
			uint32_t count = 0;

			for (uint32_t u = first; u < work->steps[step].count; u++) {
				const struct flow_touch *other = flow_touch_of(work, step, u);
				const uint32_t from = touched_at(work, step, other->word + distance);

				count += from != FLOW_NOWHERE && work->places[from].persistent &&
					 lies_in(work->places[other->place].address, gather->send,
						 gather->send_bytes) &&
					 !lies_in(work->places[from].address, gather->receive,
						 gather->receive_bytes) &&
					 !lies_in(work->places[from].address, gather->send,
						 gather->send_bytes);
			}
			if (count > most) {
				most = count;
				best = distance;
			}
		}
		break; /* the list begins with a place in what is sent */
	}
	return best;
}

static void add_shard(struct exchange *gather, uint64_t offset, uint32_t place)
{
	for (size_t i = 0; i < gather->shard_count; i++)
		if (gather->shards[i].offset == offset)
			return;
	*MEM_PUSH(gather->shards, gather->shard_count, gather->shard_room) =
		(struct shard){.offset = offset, .place = place};
}

static int by_offset(const void *left, const void *right)
{
	const struct shard *a = left, *b = right;

	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* The shards that launches of [begin, gather's step) copy to what it sends. */
static void find_shards(const struct flow_work *work, struct exchange *gather, uint32_t begin)
{
	for (uint32_t i = begin; i < gather->step; i++) {
		const int64_t distance = work->steps[i].launch ? shard_distance(work, i, gather) : 0;

		for (uint32_t t = 0; distance && t < work->steps[i].count; t++) {
			const struct flow_touch *to = flow_touch_of(work, i, t);
			const uint64_t address = work->places[to->place].address;
			const uint32_t from = touched_at(work, i, to->word + distance);

			if (from != FLOW_NOWHERE && work->places[from].persistent &&
				lies_in(address, gather->send, gather->send_bytes))
				add_shard(gather, address - gather->send, from);
		}
	}
	if (gather->shard_count)
		qsort(gather->shards, gather->shard_count, sizeof(*gather->shards), by_offset);
	for (size_t i = 0; i < gather->shard_count; i++)
		gather->shards[i].bytes =
			(i + 1 < gather->shard_count ? gather->shards[i + 1].offset : gather->send_bytes) -
			gather->shards[i].offset;
}

static void find_units(struct gathering *g)
{
	for (size_t i = 0; i < g->gather_count; i++)
		find_shards(g->work, &g->gathers[i], i ? g->gathers[i - 1].step + 1 : 0);
	for (size_t i = 0; i < g->gather_count; i++)
		for (size_t j = 0; j < g->gather_count; j++)
			g->gathers[i].again |= i != j && g->gathers[i].shard_count &&
					       g->gathers[j].shard_count &&
					       g->gathers[i].shards[0].place == g->gathers[j].shards[0].place;
}

/* ---- which parameter is where, when ---- */

/* The last all-gather before a table's copy whose result a word of the table lies in, or NULL. */
static const struct exchange *source_of(const struct gathering *g, const struct table *table, uint64_t word)
{
	for (size_t i = g->gather_count; i-- > 0;)
		if (g->gathers[i].shard_count && g->gathers[i].step < table->copy &&
			lies_in(word, g->gathers[i].receive, g->gathers[i].receive_bytes))
			return &g->gathers[i];
	return NULL;
}

/* Something else is gathered too, as statistics of a batch that all ranks normalize by: parameters are put in
 * their places afterwards. */
static void keep_parameters(struct gathering *g)
{
	bool any = false;

	for (size_t i = 0; i < g->table_count && !any; i++)
		for (size_t w = 0; w < g->tables[i].count && !any; w++)
			any = source_of(g, &g->tables[i], g->tables[i].words[w].address);
	for (size_t i = 0; i < g->gather_count && !any; i++)
		g->gathers[i].shard_count = 0;
}

static const struct shard *shard_of(const struct exchange *gather, uint64_t address)
{
	for (size_t i = 0; i < gather->shard_count; i++)
		if (gather->shards[i].offset == (address - gather->receive) % gather->send_bytes)
			return &gather->shards[i];
	return NULL;
}

/* Where else the table has an address so many words before; 0: none. */
static uint64_t word_before(const struct table *table, size_t i, uint16_t distance)
{
	for (size_t j = i; j-- > 0;)
		if (table->words[j].word + distance == table->words[i].word)
			return table->words[j].address;
	return 0;
}

/* Whatever was gathered and will be gathered again has been given up when the next is put in place. */
static void give_up(struct gathering *g)
{
	for (uint32_t p = 0; p < g->work->place_count; p++)
		if (g->unit_at[p] != FLOW_NOWHERE && g->gathers[g->unit_at[p]].again)
			g->shard_at[p] = g->unit_at[p] = FLOW_NOWHERE;
}

/*
 * A kernel that puts gathered parameters in their places: its table begins with the places, and goes on with
 * as many addresses in what was gathered, one for each. Answers a parameter of them, or FLOW_NOWHERE: it does
 * something else.
 */
static uint32_t put_in_place(struct gathering *g, const struct table *table)
{
	const struct exchange *gather = NULL;
	size_t first = 0;

	while (first < table->count && !(gather = source_of(g, table, table->words[first].address)))
		first++;
	if (!gather || table->words[first].word == 0)
		return FLOW_NOWHERE;
	give_up(g);
	for (size_t i = first; i < table->count; i++) {
		const uint64_t address = word_before(table, i, table->words[first].word);
		struct flow_place *place = address ? flow_place_at(g->work, address) : NULL;
		const struct shard *shard =
			lies_in(table->words[i].address, gather->receive, gather->receive_bytes)
				? shard_of(gather, table->words[i].address)
				: NULL;

		if (!place || !shard || table->words[i].word >= 2 * table->words[first].word)
			continue;
		*MEM_PUSH(g->work->versions, g->work->version_count, g->work->version_room) =
			(struct flow_version){shard->place, gather->shards[0].place,
				(uint32_t)(shard - gather->shards), (uint32_t)gather->shard_count, address};
		g->shard_at[place - g->work->places] = shard->place;
		g->unit_at[place - g->work->places] = (uint32_t)(gather - g->gathers);
	}
	return gather->shards[0].place;
}

/*
 * Units that are gathered again are modules within those that stay: where what stays is worked with, they
 * have run, and their memory serves something else.
 */
static void give_up_inner(struct gathering *g, const struct flow_touch *touches, uint32_t count)
{
	for (uint32_t t = 0; t < count; t++) {
		const uint32_t unit = g->unit_at[touches[t].place];

		if (unit != FLOW_NOWHERE && !g->gathers[unit].again) {
			give_up(g);
			break;
		}
	}
}

/* What a step touches of what is gathered; what a library writes is something else from then on. A product's
 * weights, which are larger than its bias, say what its sizes mean. */
static void touch_shards(struct gathering *g, uint32_t step, struct flow_touch *touches, uint32_t count)
{
	uint64_t most = 0;

	give_up_inner(g, touches, count);
	for (uint32_t t = 0; t < count; t++) {
		const uint32_t place = touches[t].place;

		if (g->shard_at[place] == FLOW_NOWHERE)
			continue;
		if (g->work->steps[step].computes && touches[t].written) {
			g->shard_at[place] = g->unit_at[place] = FLOW_NOWHERE;
		} else if (g->work->steps[step].computes || g->work->steps[step].launch) {
			touches[t].place = g->shard_at[place];
			if (g->work->places[touches[t].place].bytes > most) {
				most = g->work->places[touches[t].place].bytes;
				g->work->assign->copies[step] = g->work->places[place].address;
			}
		}
	}
}

/* Does a launch copy shards to what the next all-gather sends? */
static const struct exchange *gathered_by(const struct gathering *g, uint32_t step)
{
	for (size_t i = 0; i < g->gather_count; i++)
		if (g->gathers[i].step > step && (i == 0 || g->gathers[i - 1].step < step))
			return g->work->steps[step].launch && g->gathers[i].shard_count &&
					       shard_distance(g->work, step, &g->gathers[i])
				       ? &g->gathers[i]
				       : NULL;
	return NULL;
}

static const struct table *table_of(const struct gathering *g, uint32_t kernel)
{
	for (size_t i = 0; i < g->table_count; i++)
		if (g->tables[i].kernel == kernel)
			return &g->tables[i];
	return NULL;
}

/* ---- the steps as if all parameters stood still ---- */

/* A reduce-scatter writes the gradients of all shards, of which the update is given each. */
static void touch_received(const struct flow_work *work, const struct exchange *scatter,
	struct flow_touch **touches, size_t *count, size_t *room)
{
	for (uint32_t p = 0; p < work->place_count; p++)
		if (lies_in(work->places[p].address, scatter->receive, scatter->receive_bytes))
			*MEM_PUSH(*touches, *count, *room) = (struct flow_touch){p, 0, .written = true};
}

static void rewrite_step(
	struct gathering *g, uint32_t step, struct flow_touch **touches, size_t *count, size_t *room)
{
	struct flow_work *work = g->work;
	const struct exchange *gather = gathered_by(g, step);
	const struct table *table = table_of(g, step);
	const size_t first = *count;

	for (uint32_t t = 0; t < work->steps[step].count && !gather; t++)
		*MEM_PUSH(*touches, *count, *room) = *flow_touch_of(work, step, t);
	if (gather)
		work->steps[step].unit = gather->shards[0].place;
	else if (table)
		work->steps[step].unit = put_in_place(g, table);
	if (work->steps[step].unit == FLOW_NOWHERE && *count > first)
		touch_shards(g, step, *touches + first, (uint32_t)(*count - first));
	if (table && work->steps[step].unit != FLOW_NOWHERE)
		work->steps[table->copy].unit = work->steps[step].unit;
	for (size_t i = 0; i < g->scatter_count; i++)
		if (g->scatters[i].step == step)
			touch_received(work, &g->scatters[i], touches, count, room);
	work->steps[step].first = (uint32_t)first;
	work->steps[step].count = (uint32_t)(*count - first);
}

static void rewrite(struct gathering *g)
{
	struct flow_work *work = g->work;
	struct flow_touch *touches = NULL;
	size_t count = 0, room = 0;

	g->shard_at = mem_alloc(work->place_count, sizeof(*g->shard_at));
	g->unit_at = mem_alloc(work->place_count, sizeof(*g->unit_at));
	for (uint32_t p = 0; p < work->place_count; p++)
		g->shard_at[p] = g->unit_at[p] = FLOW_NOWHERE;
	for (uint32_t i = 0; i < work->step_count; i++)
		rewrite_step(g, i, &touches, &count, &room);
	free(g->shard_at);
	free(g->unit_at);
	free(work->touches);
	work->touches = touches;
	work->touch_count = count;
	work->touch_room = room;
}

/* Shards are parameters, as large as all ranks' together. */
static void note_shards(struct gathering *g)
{
	for (size_t i = 0; i < g->gather_count; i++) {
		g->work->gather_count += g->gathers[i].shard_count > 0;
		for (size_t k = 0; k < g->gathers[i].shard_count; k++) {
			const struct shard *shard = &g->gathers[i].shards[k];
			struct flow_place *place = &g->work->places[shard->place];

			g->work->shard_count += !place->shard;
			place->shard = true;
			place->unit = g->gathers[i].shards[0].place;
			place->bytes =
				shard->bytes * (g->gathers[i].receive_bytes / g->gathers[i].send_bytes);
		}
	}
}

void flow_gather(struct flow_work *work)
{
	struct gathering g = {.work = work};

	for (uint32_t i = 0; i < work->step_count; i++) {
		work->steps[i].unit = FLOW_NOWHERE;
		add_exchange(&g, i);
		add_table(&g, i);
	}
	find_units(&g);
	keep_parameters(&g);
	note_shards(&g);
	if (work->shard_count) {
		rewrite(&g);
		flow_name_shards(work);
	}
	for (size_t i = 0; i < g.gather_count; i++)
		free(g.gathers[i].shards);
	free(g.gathers);
	free(g.scatters);
	free(g.tables);
}
