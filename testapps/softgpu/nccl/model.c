/*
 * How long collectives last under the model clock, from the latency L and the bandwidth B of the links.
 *
 * The one idea: an algorithm is a ring, a tree, or everybody's own port, and each gives a closed form. n
 * ranks, S bytes as the call counts them (per rank where it does so):
 *
 *	all-reduce, ring      2 (n-1) max(L + S / (n B))        over the links of the ring
 *	all-reduce, tree      sum of L up and down the longest way + 2 S / min(B)
 *	all-gather, reduce-scatter
 *	                      (n-1) max(L + S / B)              over the links of the ring
 *	broadcast, reduce     sum of L + S / min(B)             over the ring without its last link
 *	all-to-all            max over ranks and directions of max(L) + sum of S / B over the rank's peers
 *	gather, scatter       the same of the root's one direction
 *
 * The ring all-reduce is Patarasuk and Yuan's (2009), n-1 steps of reduce-scatter and n-1 of all-gather in
 * which all links work at once and the slowest holds up every step: the form of Horovod's predictor (5.1).
 * Ring all-gather and reduce-scatter, and ranks that send one message at a time and receive one, are in
 * Thakur, Rabenseifner and Gropp (2005). Broadcast and reduce go round NCCL's ring in small pieces, so that
 * filling the chain costs its latencies alone. The tree stands for two binary trees with half of the message
 * each (Sanders, Speck and Traeff, 2009), whose inner ranks send and receive no more than S up and S down.
 * All-reduce takes what would be faster for its size if all links were as the slowest of the ring: NCCL's
 * tuner chooses so, by kinds of links, and does not go round one that is broken.
 *
 * The ring goes through the ranks in the order of their numbers in the job, so that it enters and leaves each
 * node once; its link into the next node is what makes it slow. The tree is a heap over the same order: its
 * upper levels are within the first node.
 */
#include <stdlib.h>

#include "nccl_private.h"

struct port {
	double out_latency_ns, out_ns_per_byte; /* over all peers: the largest, the sum */
	double in_latency_ns, in_ns_per_byte;
};

struct nccl_model {
	int n;
	int *job_ranks;       /* of the communicator's ranks */
	int *order, *where;   /* ring: place to rank, rank to place */
	struct sg_link *ring; /* from each place to the next */
	double *way;          /* tree: latencies from the root to a place and back */
	double tree_latency_ns, tree_bytes_per_ns;
	struct port *ports; /* of the ranks; n * n links, so only for those collectives that need them */
	int has_ports;
};

struct sg_link nccl_model_link(const struct nccl_model *model, int from, int to)
{
	return sg_link_between(model->job_ranks[from], model->job_ranks[to]);
}

/* ---- the links of a communicator ---- */

/* Ranks in the order of their numbers in the job. */
static void lay_ring(struct nccl_model *model)
{
	for (int rank = 0; rank < model->n; rank++) {
		int place = 0;

		for (int i = 0; i < model->n; i++)
			place += model->job_ranks[i] < model->job_ranks[rank];
		model->order[place] = rank;
		model->where[rank] = place;
	}
	for (int i = 0; i < model->n; i++)
		model->ring[i] = nccl_model_link(model, model->order[i], model->order[(i + 1) % model->n]);
}

/* The rank at place i hangs below the one at (i - 1) / 2. */
static void grow_tree(struct nccl_model *model)
{
	double *way = model->way;

	for (int i = 1; i < model->n; i++) {
		int parent = (i - 1) / 2;
		struct sg_link up = nccl_model_link(model, model->order[i], model->order[parent]);
		struct sg_link down = nccl_model_link(model, model->order[parent], model->order[i]);
		double slower = up.bytes_per_ns < down.bytes_per_ns ? up.bytes_per_ns : down.bytes_per_ns;

		way[i] = way[parent] + up.latency_ns + down.latency_ns;
		if (way[i] > model->tree_latency_ns)
			model->tree_latency_ns = way[i];
		if (i == 1 || slower < model->tree_bytes_per_ns)
			model->tree_bytes_per_ns = slower;
	}
}

static void open_ports(struct nccl_model *model)
{
	for (int from = 0; from < model->n && !model->has_ports; from++) {
		for (int to = 0; to < model->n; to++) {
			struct port *out = &model->ports[from], *in = &model->ports[to];
			struct sg_link link;

			if (from == to)
				continue;
			link = nccl_model_link(model, from, to);
			out->out_ns_per_byte += 1 / link.bytes_per_ns;
			in->in_ns_per_byte += 1 / link.bytes_per_ns;
			if (link.latency_ns > out->out_latency_ns)
				out->out_latency_ns = link.latency_ns;
			if (link.latency_ns > in->in_latency_ns)
				in->in_latency_ns = link.latency_ns;
		}
	}
	model->has_ports = 1;
}

struct nccl_model *nccl_model_new(const struct nccl_segment *segment)
{
	size_t n = (size_t)segment->rank_count;
	size_t each = sizeof(struct port) + sizeof(struct sg_link) + sizeof(double) + 3 * sizeof(int);
	struct nccl_model *model = calloc(1, sizeof(*model) + n * each);

	if (model == NULL)
		return NULL;
	model->n = segment->rank_count;
	model->ports = (struct port *)(void *)(model + 1);
	model->ring = (struct sg_link *)(void *)(model->ports + n);
	model->way = (double *)(void *)(model->ring + n);
	model->job_ranks = (int *)(void *)(model->way + n);
	model->order = model->job_ranks + n;
	model->where = model->order + n;
	nccl_place_all(segment, model->job_ranks);
	lay_ring(model);
	grow_tree(model);
	return model;
}

struct nccl_model *nccl_model_of(struct ncclComm *comm)
{
	if (comm->model == NULL)
		comm->model = nccl_model_new(&comm->segment);
	return comm->model;
}

/* ---- the algorithms ---- */

/* One step of a ring, in which each rank hands `bytes` on. */
static double ring_step(const struct nccl_model *model, double bytes)
{
	double longest = 0;

	for (int i = 0; i < model->n; i++) {
		double time_ns = model->ring[i].latency_ns + bytes / model->ring[i].bytes_per_ns;

		longest = time_ns > longest ? time_ns : longest;
	}
	return longest;
}

/* Cut fine and handed on round the ring, all but its link from place `without`. */
static double chain(const struct nccl_model *model, int without, double bytes)
{
	double latency_ns = 0, longest = 0;

	for (int i = 0; i < model->n; i++) {
		double time_ns = bytes / model->ring[i].bytes_per_ns;

		if (i == without)
			continue;
		latency_ns += model->ring[i].latency_ns;
		longest = time_ns > longest ? time_ns : longest;
	}
	return latency_ns + longest;
}

static double ring_all_reduce(const struct nccl_model *model, double bytes)
{
	return 2 * (model->n - 1) * ring_step(model, bytes / model->n);
}

static double all_reduce(const struct nccl_model *model, double bytes)
{
	double latency_ns = 0, longest = 0, ring_ns, tree_ns;
	int levels = 0;

	for (int i = 0; i < model->n; i++) {
		double time_ns = bytes / model->ring[i].bytes_per_ns;

		longest = time_ns > longest ? time_ns : longest;
		if (model->ring[i].latency_ns > latency_ns)
			latency_ns = model->ring[i].latency_ns;
	}
	while (2 << levels <= model->n)
		levels++;
	ring_ns = 2 * (model->n - 1) * (latency_ns + longest / model->n);
	tree_ns = 2 * (levels * latency_ns + longest);
	if (ring_ns < tree_ns)
		return ring_all_reduce(model, bytes);
	return model->tree_latency_ns + 2 * bytes / model->tree_bytes_per_ns;
}

static double out_of(const struct nccl_model *model, int rank, double bytes)
{
	return model->ports[rank].out_latency_ns + bytes * model->ports[rank].out_ns_per_byte;
}

static double into(const struct nccl_model *model, int rank, double bytes)
{
	return model->ports[rank].in_latency_ns + bytes * model->ports[rank].in_ns_per_byte;
}

static double all_to_all(const struct nccl_model *model, double bytes)
{
	double longest = 0;

	for (int i = 0; i < model->n; i++) {
		double out_ns = out_of(model, i, bytes), in_ns = into(model, i, bytes);

		longest = out_ns > longest ? out_ns : longest;
		longest = in_ns > longest ? in_ns : longest;
	}
	return longest;
}

static double duration(const struct nccl_model *model, enum nccl_kind kind, int root, double bytes)
{
	int n = model->n, place = model->where[root];

	switch (kind) {
	case NCCL_ALL_REDUCE:
		return all_reduce(model, bytes);
	case NCCL_ALL_GATHER:
	case NCCL_REDUCE_SCATTER:
		return (n - 1) * ring_step(model, bytes);
	case NCCL_BROADCAST: /* ends just before the root */
		return chain(model, (place + n - 1) % n, bytes);
	case NCCL_REDUCE: /* begins just after it */
		return chain(model, place, bytes);
	case NCCL_ALL_TO_ALL:
		return all_to_all(model, bytes);
	case NCCL_GATHER:
		return into(model, root, bytes);
	case NCCL_SCATTER:
		return out_of(model, root, bytes);
	default:
		return 0;
	}
}

uint64_t nccl_model_collective(struct nccl_model *model, enum nccl_kind kind, int root, double bytes)
{
	if (kind == NCCL_ALL_TO_ALL || kind == NCCL_GATHER || kind == NCCL_SCATTER)
		open_ports(model);
	return sg_whole_ns(duration(model, kind, root, bytes));
}

uint64_t nccl_model_copy(int device, size_t bytes)
{
	const struct sg_cost cost = {.kind = SG_COST_VECTOR, .bytes = 2 * (double)bytes};

	return sg_cost_ns(device, &cost);
}
