/*
 * What CUPTI's records say, turned into records of the trace: one device interval for each kernel, copy and
 * set.
 *
 * An activity knows the number that CUPTI gave to the call which launched it; cupti_join.c knows the hooked
 * call of that number. Where records of external correlations say so, they come in any order and in buffers
 * of their own, so an activity whose call is not known yet waits for some rounds; one that no hooked call
 * launched is written without a correlation. Activities of a graph launch wait until the
 * graph's next launch shows that all of its nodes have been seen: then a node's ordinal is its place in the
 * order of node ids, which grow as nodes are made.
 */
#include "cupti_activity.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cupti_join.h"
#include "describe/operation.h"
#include "guest/guest.h"
#include "guest/settings_hook.h"
#include "stretch.h"
#include "trace/intern.h"
#include "trace/live.h"
#include "trace/write.h"

#define WAITING (1u << 13) /* activities that wait for a call, or for their graph */
#define ROUNDS 10          /* that they wait, at a tenth of a second each */
#define GRAPHS 1024u
#define NODES (1u << 16)
#define STREAMS 4096u
#define GROUPED 4096u
#define INTERNAL_STREAM \
	(1ull << 63) /* in a queue's stream: CUPTI's number of a stream that no call named \
		      */

struct activity {
	uint64_t begin_ns, end_ns, node, id, bytes; /* id 0: its call is not known */
	const char *name;
	uint32_t cupti_correlation, graph, device, stream, shared;
	int32_t grid[3], block[3];
	uint8_t kind, direction, rounds; /* kind: enum pm_kind; NONE: free */
};

static struct tables {
	struct activity waiting[WAITING];
	struct node {
		uint64_t id; /* 0: free */
		uint32_t graph, ordinal;
	} nodes[NODES];
} * tables;

static struct graph {
	uint32_t number, first_launch, node_count;
	bool known;
} graphs[GRAPHS];

static unsigned waiting_count, node_count;

/* Streams by device and CUPTI's number; written once each, under the lock. */
static struct {
	uint64_t key; /* 0: free */
	uint32_t queue;
} streams[STREAMS];
static pmh_lock streams_lock = ATOMIC_FLAG_INIT;
static bool queue_has_stream[UINT16_MAX + 1];

/* Calls of groups of more than one: the next of the same group. */
static struct {
	_Atomic uint64_t id;   /* external, of the call by itself */
	_Atomic uint32_t next; /* correlation, 0: last */
} grouped[GROUPED];

static struct {
	uint64_t cupti_ns;
	int64_t offset_ns; /* our time minus CUPTI's */
} clock_before, clock_now;

static _Atomic uint64_t times, joined;
static uint64_t last_joined; /* external id */

bool pmh_activity_init(void)
{
	long p;

	if (tables)
		return true;
	p = syscall(SYS_mmap, NULL, sizeof *tables, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		(off_t)0);
	if (p == -1)
		return false;
	tables = (struct tables *)p;
	return true;
}

void pmh_activity_forget(void)
{
	pmh_lock_forget(&streams_lock);
	atomic_store(&times, 0);
	atomic_store(&joined, 0);
}

uint64_t pmh_activity_times(void)
{
	return atomic_load_explicit(&times, memory_order_relaxed);
}

uint64_t pmh_activity_joined(void)
{
	return atomic_load_explicit(&joined, memory_order_relaxed);
}

bool pmh_activity_unjoined(void)
{
	return !pmh_join_any() && atomic_load(&times) + waiting_count >= 32;
}

/* ---- clock ---- */

void pmh_activity_clock(uint64_t cupti_ns, uint64_t monotonic_ns)
{
	clock_before = clock_now;
	clock_now.cupti_ns = cupti_ns;
	clock_now.offset_ns = (int64_t)(monotonic_ns - cupti_ns);
	if (clock_before.cupti_ns == 0)
		clock_before = clock_now;
}

/* Between two readings CUPTI's clock is taken to run evenly; it is the system's, which is steered. */
static uint64_t near_monotonic(uint64_t cupti_ns)
{
	int64_t offset_ns = clock_now.offset_ns;
	double span = (double)(int64_t)(clock_now.cupti_ns - clock_before.cupti_ns);

	if (cupti_ns < clock_now.cupti_ns && span > 0) {
		double part = (double)(int64_t)(clock_now.cupti_ns - cupti_ns) / span;

		offset_ns -= (int64_t)((part < 1 ? part : 1) * (double)(offset_ns - clock_before.offset_ns));
	}
	return cupti_ns + (uint64_t)offset_ns;
}

/* ---- streams and groups ---- */

/* The queue of a stream, under the lock; if it has none and `queue` is not 0, that from now on. */
static uint32_t stream_queue(uint64_t key, uint32_t queue)
{
	unsigned i = (unsigned)(pmh_mix(key, 0x9e3779b97f4a7c15u) % STREAMS);

	for (unsigned tries = 0; tries < 64; i = (i + 1) % STREAMS, tries++) {
		if (streams[i].key == key)
			return streams[i].queue;
		if (streams[i].key == 0) {
			if (queue == 0)
				return 0;
			streams[i].key = key;
			streams[i].queue = queue;
			queue_has_stream[queue] = true;
			return queue;
		}
	}
	return queue;
}

static uint64_t stream_key(uint32_t device, uint32_t stream_id)
{
	return (uint64_t)(device + 1) << 32 | stream_id;
}

void pmh_activity_stream(int device, uint32_t stream_id, uint16_t queue)
{
	pmh_acquire(&streams_lock);
	stream_queue(stream_key((uint32_t)device, stream_id), queue);
	pmh_release(&streams_lock);
}

void pmh_activity_group(const struct pmh_grouped *calls, unsigned call_count)
{
	for (unsigned i = 0; i < call_count; i++) {
		unsigned slot = calls[i].correlation % GROUPED;

		atomic_store(&grouped[slot].id, pmh_external_id(calls[i].correlation, calls[i].queue,
							PM_FLAG_GROUP, calls[i].device));
		atomic_store(&grouped[slot].next, i + 1 < call_count ? calls[i + 1].correlation : 0);
	}
}

/* Of the calls of the activity's group the first on its queue, or, if that is not known yet (0), on its
 * device. */
static uint64_t grouped_call(const struct activity *a, uint16_t queue)
{
	unsigned steps = 0;

	for (uint32_t c = (uint32_t)a->id; c && steps < PMH_GROUP; steps++) {
		uint64_t id = atomic_load(&grouped[c % GROUPED].id);

		if ((uint32_t)id != c)
			break;
		if (queue ? pmh_external_queue(id) == queue : pmh_external_device(id) == a->device)
			return id;
		c = atomic_load(&grouped[c % GROUPED].next);
	}
	return a->id;
}

/*
 * A stream that CUPTI could not be asked about is the call's own, unless that is known to be another: then it
 * is one that a library made for itself.
 */
static uint16_t queue_of(const struct activity *a)
{
	uint64_t key = stream_key(a->device, a->stream);
	uint64_t call = pmh_external_flags(a->id) & PM_FLAG_GROUP ? grouped_call(a, 0) : a->id;
	uint16_t of_call = pmh_external_device(call) == a->device ? pmh_external_queue(call) : 0;
	uint32_t queue;

	pmh_acquire(&streams_lock);
	queue = stream_queue(key, 0);
	if (!queue && of_call && !queue_has_stream[of_call])
		queue = stream_queue(key, of_call);
	pmh_release(&streams_lock);
	if (queue)
		return (uint16_t)queue;
	queue = pmh_queue_number((int)a->device, (const void *)(uintptr_t)(INTERNAL_STREAM | a->stream), 0);
	pmh_activity_stream((int)a->device, a->stream, (uint16_t)queue);
	return (uint16_t)queue;
}

/* ---- writing ---- */

/* NCCL's kernels have had its name in theirs from the first version on. */
static enum pmh_live_class class_of(const struct activity *a)
{
	if (a->kind == PM_KIND_COPY || a->kind == PM_KIND_SET)
		return PMH_LIVE_COPY;
	return a->name && strstr(a->name, "nccl") ? PMH_LIVE_COMMUNICATION : PMH_LIVE_KERNEL;
}

static uint32_t operation_of(const struct activity *a)
{
	if (a->kind == PM_KIND_COPY)
		return pmh_operation((const uint64_t[]){PM_CALL_memcpy, a->bytes, a->direction}, 3);
	if (a->kind == PM_KIND_SET)
		return pmh_operation((const uint64_t[]){PM_CALL_memset, a->bytes}, 2);
	return pmh_operation(
		(const uint64_t[]){PM_CALL_kernel, a->name ? pmh_string(a->name) : 0, (uint64_t)a->grid[0],
			(uint64_t)a->grid[1], (uint64_t)a->grid[2], (uint64_t)a->block[0],
			(uint64_t)a->block[1], (uint64_t)a->block[2], a->shared},
		9);
}

static void write_activity(const struct activity *a, uint32_t sequence)
{
	uint16_t queue = queue_of(a);
	uint8_t flags = pmh_external_flags(a->id);
	uint64_t call = flags & PM_FLAG_GROUP ? grouped_call(a, queue) : a->id;
	uint32_t op;

	/* of a call outside the window, or outside a stretch */
	if (!call && (strcmp(pmh_settings.window, "all") != 0 || atomic_load(&pmh_stretch_is_off)))
		return;
	op = operation_of(a);
	if (!pmh_live_is_classified(op))
		pmh_live_classify(op, class_of(a));
	pmh_append_slowly(&pmh_self,
		&(struct pmh_record){.begin = near_monotonic(a->begin_ns),
			.end = near_monotonic(a->end_ns),
			.op = op,
			.queue = queue,
			.kind = PM_RECORD_DEVICE,
			.flags = flags | PM_FLAG_ACTIVITY},
		&(struct pm_more){.correlation = (uint32_t)call, .sequence = sequence});
	atomic_fetch_add_explicit(&times, 1, memory_order_relaxed);
	if (a->id && a->id != last_joined) {
		last_joined = a->id;
		atomic_fetch_add_explicit(&joined, 1, memory_order_relaxed);
	}
}

/* ---- graphs ---- */

/* The node's slot, free if it is new; NULL: the table is full. */
static struct node *find_node(uint32_t graph, uint64_t id)
{
	unsigned i = (unsigned)(pmh_mix(id + graph, 0x9e3779b97f4a7c15u) % NODES);

	while (tables->nodes[i].id && (tables->nodes[i].id != id || tables->nodes[i].graph != graph))
		i = (i + 1) % NODES;
	return tables->nodes[i].id || node_count < NODES / 4 * 3 ? &tables->nodes[i] : NULL;
}

/* Ordinal of a node; one that is seen for the first time comes last. 0: there is no room. */
static uint32_t node_ordinal(struct graph *g, uint64_t id)
{
	struct node *n = find_node(g->number, id);

	if (!n) {
		pmh_lose(PM_LOSS_GRAPH_NODES, 1);
		return 0;
	}
	if (!n->id) {
		*n = (struct node){.id = id, .graph = g->number, .ordinal = ++g->node_count};
		node_count++;
	}
	return n->ordinal;
}

/* The waiting activity of the graph with the lowest node above `above`, or NULL. */
static struct activity *next_node(const struct graph *g, uint64_t above)
{
	struct activity *lowest = NULL;

	for (unsigned i = 0; i < waiting_count; i++) {
		struct activity *a = &tables->waiting[i];

		if (a->kind && a->node > above && a->graph == g->number &&
			a->cupti_correlation == g->first_launch && (!lowest || a->node < lowest->node))
			lowest = a;
	}
	return lowest;
}

/* All nodes have been seen, as far as we can tell. What waited for that is written in the next settling. */
static void learn(struct graph *g)
{
	uint64_t above = 0;

	for (struct activity *a; (a = next_node(g, above)); above = a->node)
		node_ordinal(g, a->node);
	g->known = true;
}

/* A graph's slot. Another graph may take it over: then the first begins anew. */
static struct graph *graph_of(const struct activity *a)
{
	struct graph *g = &graphs[a->graph % GRAPHS];

	if (g->number != a->graph)
		*g = (struct graph){.number = a->graph, .first_launch = a->cupti_correlation};
	return g;
}

/* ---- matching ---- */

/* Writes the activity if all is known that it needs. `late`: whatever is known. */
static bool try_write(struct activity *a, bool late)
{
	struct graph *g = NULL;

	if (!a->id)
		a->id = pmh_join_id(a->cupti_correlation);
	/* of a launch in front of a stretch only some nodes may be seen */
	if (a->node && (a->id || !pmh_stretches)) {
		g = graph_of(a);
		if (!g->known && (late || a->cupti_correlation != g->first_launch))
			learn(g);
	}
	if (!late && (!a->id || (g && !g->known)))
		return false;
	write_activity(a, g ? node_ordinal(g, a->node) : 0);
	return true;
}

void pmh_activity_settle(bool all)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < waiting_count; i++) {
		struct activity *a = &tables->waiting[i];

		if (try_write(a, all || a->rounds++ >= ROUNDS))
			a->kind = PM_KIND_NONE;
	}
	for (unsigned i = 0; i < waiting_count; i++)
		if (tables->waiting[i].kind)
			tables->waiting[kept++] = tables->waiting[i];
	waiting_count = kept;
}

static void cupti_activity_take(const struct activity *a)
{
	struct activity copy = *a;

	/* CUPTI found no room for its times, or the work was not done when it was asked for */
	if (a->begin_ns == 0 || a->end_ns < a->begin_ns) {
		pmh_lose(PM_LOSS_CUPTI_UNTIMED, 1);
		return;
	}
	if (waiting_count == WAITING)
		pmh_activity_settle(true);
	/* with a node the first launch must come to the waiting ones before it is asked whether it may be
	 * written */
	if (!copy.node && try_write(&copy, false))
		return;
	tables->waiting[waiting_count++] = copy;
}

/* ---- CUPTI's records ---- */

static uint8_t direction_of(uint8_t copy_kind)
{
	switch (copy_kind) {
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
		return 0;
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
		return 1;
	case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
	case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
		return 2;
	case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
	case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
	case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
	case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
	case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
		return 3;
	default:
		return 4;
	}
}

void pmh_activity_link(const CUpti_Activity *record)
{
	const CUpti_ActivityExternalCorrelation *r = (const void *)record;

	if ((int)record->kind != CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION ||
		r->externalKind != PMH_EXTERNAL_KIND)
		return;
	pmh_join_link(r->correlationId, r->externalId);
}

static void take_kernel(const CUpti_ActivityKernel10 *r)
{
	cupti_activity_take(&(struct activity){.kind = PM_KIND_LAUNCH,
		.begin_ns = r->start,
		.end_ns = r->end,
		.node = r->graphNodeId,
		.name = r->name,
		.cupti_correlation = r->correlationId,
		.graph = r->graphId,
		.device = r->deviceId,
		.stream = r->streamId,
		.shared = (uint32_t)r->dynamicSharedMemory,
		.grid = {r->gridX, r->gridY, r->gridZ},
		.block = {r->blockX, r->blockY, r->blockZ}});
}

/* The fields of the records of copies and sets have the same names. */
#define TAKE_MEMORY(r, of_kind, of_direction) \
	cupti_activity_take(&(struct activity){.kind = of_kind, \
		.begin_ns = (r)->start, \
		.end_ns = (r)->end, \
		.node = (r)->graphNodeId, \
		.bytes = (r)->bytes, \
		.cupti_correlation = (r)->correlationId, \
		.graph = (r)->graphId, \
		.device = (r)->deviceId, \
		.stream = (r)->streamId, \
		.direction = of_direction})

void pmh_activity_record(const CUpti_Activity *record)
{
	const void *r = record;

	switch ((int)record->kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		take_kernel(r);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		TAKE_MEMORY((const CUpti_ActivityMemcpy6 *)r, PM_KIND_COPY,
			direction_of(((const CUpti_ActivityMemcpy6 *)r)->copyKind));
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		TAKE_MEMORY((const CUpti_ActivityMemcpyPtoP4 *)r, PM_KIND_COPY, 3);
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		TAKE_MEMORY((const CUpti_ActivityMemset4 *)r, PM_KIND_SET, 0);
		break;
	default:
		break;
	}
}
