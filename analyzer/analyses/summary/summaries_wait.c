/*
 * Waiting over ranks, from the collectives that summaries keep: see summaries.h.
 *
 * The same call of all ranks is a meeting. None can end before its last rank has begun, which bounds what may
 * be added to a host's clock; within the bounds it is chosen so that a meeting ends at the same time
 * everywhere, on average. Hosts are settled in rounds, each against those that were settled before and that
 * it has meetings with.
 */
#include "summaries.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COMPLETE \
	0.9 /* part of a communicator's ranks that a meeting needs: who is missing may have been last */
#define ROUNDS 64

struct meeting {
	uint64_t hash; /* of the communicator */
	uint32_t key, sequence;
	uint32_t members;         /* sequence 0: workers that have the communicator's function at all */
	uint32_t line;            /* the meeting with sequence 0 */
	int64_t begin_ns, end_ns; /* last begin and first end of members on settled hosts */
	double end_sum_ns;        /* of those members, from base_ns */
	uint32_t settled, last;   /* members on settled hosts; the worker with the last begin */
	uint16_t last_sample;
	double wait_caused_ns, others_ns;
};

struct matching {
	struct summaries *job;
	struct meeting *meetings;
	size_t count, room;
	struct lookup lookup; /* of the meetings */
	uint32_t **places;    /* by worker and part: the meeting */
	int64_t base_ns;      /* some time of the job: differences from it are small */
};

static uint32_t meeting_of(struct matching *m, const struct summary_line *line, uint32_t sequence)
{
	uint64_t hash = mem_hash(mem_hash(line->hash, line->key), sequence);
	uint32_t i;

	for (size_t at = 0; (i = lookup_next(&m->lookup, hash, &at)) != LOOKUP_NONE;) {
		const struct meeting *item = &m->meetings[i];

		if (item->hash == line->hash && item->key == line->key && item->sequence == sequence)
			return i;
	}
	lookup_add(&m->lookup, hash, (uint32_t)m->count);
	*MEM_PUSH(m->meetings, m->count, m->room) =
		(struct meeting){.hash = line->hash, .key = line->key, .sequence = sequence};
	return (uint32_t)m->count - 1;
}

/* For each part its meeting, and for each meeting how many have come. */
static void match(struct matching *m)
{
	for (size_t w = 0; w < m->job->worker_count; w++) {
		const struct summary_worker *figures = m->job->workers[w].figures;
		uint32_t *lines = mem_alloc(figures->line_count, sizeof(*lines));

		m->places[w] = mem_alloc(figures->part_count, sizeof(**m->places));
		for (size_t i = 0; i < figures->line_count; i++) {
			lines[i] = meeting_of(m, &figures->lines[i], 0);
			m->meetings[lines[i]].members++;
		}
		for (size_t i = 0; i < figures->part_count; i++) {
			const struct summary_part *part = &figures->parts[i];
			uint32_t place = meeting_of(m, &figures->lines[part->line], part->sequence);

			m->places[w][i] = place;
			m->meetings[place].members++;
			m->meetings[place].line = lines[part->line];
		}
		free(lines);
	}
}

static bool is_complete(const struct matching *m, const struct meeting *item)
{
	return item->sequence > 0 && item->members > 1 &&
	       (double)item->members >= COMPLETE * (double)m->meetings[item->line].members;
}

/* ---- Clocks ---- */

struct bounds {
	int64_t low_ns, high_ns;
	double sum_ns; /* of what would make ends equal */
	size_t count;
};

/* The part of a worker on the job's axis, as its host's clock is known by now. */
static int64_t on_axis(const struct matching *m, size_t worker, int64_t ns)
{
	return ns + m->job->hosts[m->job->workers[worker].host].offset_ns;
}

/* Last begin and first end of each meeting, by the hosts that are settled. */
static void meet(struct matching *m)
{
	for (size_t i = 0; i < m->count; i++) {
		m->meetings[i].begin_ns = INT64_MIN;
		m->meetings[i].end_ns = INT64_MAX;
		m->meetings[i].end_sum_ns = 0;
		m->meetings[i].settled = 0;
	}
	for (size_t w = 0; w < m->job->worker_count; w++) {
		const struct summary_worker *figures = m->job->workers[w].figures;

		if (!m->job->hosts[m->job->workers[w].host].settled)
			continue;
		for (size_t i = 0; i < figures->part_count; i++) {
			struct meeting *item = &m->meetings[m->places[w][i]];
			int64_t begin_ns = on_axis(m, w, figures->parts[i].begin_ns);
			int64_t end_ns = on_axis(m, w, figures->parts[i].end_ns);

			item->settled++;
			item->end_sum_ns += (double)(end_ns - m->base_ns);
			if (end_ns < item->end_ns)
				item->end_ns = end_ns;
			if (begin_ns <= item->begin_ns)
				continue;
			item->begin_ns = begin_ns;
			item->last = (uint32_t)w;
			item->last_sample = figures->parts[i].sample;
		}
	}
}

/* What may be added to the clocks of hosts that are not settled yet. */
static void find_bounds(const struct matching *m, struct bounds *bounds)
{
	for (size_t w = 0; w < m->job->worker_count; w++) {
		const struct summary_worker *figures = m->job->workers[w].figures;
		struct bounds *own = &bounds[m->job->workers[w].host];

		if (m->job->hosts[m->job->workers[w].host].settled)
			continue;
		for (size_t i = 0; i < figures->part_count; i++) {
			const struct meeting *item = &m->meetings[m->places[w][i]];
			int64_t begin_ns = on_axis(m, w, figures->parts[i].begin_ns);
			int64_t end_ns = on_axis(m, w, figures->parts[i].end_ns);

			if (item->settled == 0)
				continue;
			if (own->count == 0 || item->begin_ns - end_ns > own->low_ns)
				own->low_ns = item->begin_ns - end_ns;
			if (own->count == 0 || item->end_ns - begin_ns < own->high_ns)
				own->high_ns = item->end_ns - begin_ns;
			own->sum_ns += item->end_sum_ns / item->settled - (double)(end_ns - m->base_ns);
			own->count++;
		}
	}
}

static void settle_host(struct summaries_host *host, const struct bounds *bounds)
{
	int64_t move_ns = (int64_t)llrint(bounds->sum_ns / (double)bounds->count);

	if (bounds->low_ns > bounds->high_ns) /* they contradict each other: the middle hurts both least */
		move_ns = bounds->low_ns / 2 + bounds->high_ns / 2;
	else if (move_ns < bounds->low_ns)
		move_ns = bounds->low_ns;
	else if (move_ns > bounds->high_ns)
		move_ns = bounds->high_ns;
	host->offset_ns += move_ns;
	host->settled_ns = move_ns;
	host->unsure_ns =
		bounds->high_ns > bounds->low_ns ? ((double)bounds->high_ns - (double)bounds->low_ns) / 2 : 0;
	host->settled = true;
}

static void settle(struct matching *m)
{
	struct summaries *job = m->job;
	struct bounds *bounds = mem_alloc(job->host_count, sizeof(*bounds));
	bool more = true;

	for (size_t h = 0; h < job->host_count; h++) {
		job->hosts[h].offset_ns = job->workers[job->hosts[h].first_worker].summary->real_offset_ns;
		job->hosts[h].unsure_ns = NAN;
	}
	job->hosts[0].settled = true;
	job->hosts[0].unsure_ns = 0;
	for (int round = 0; round < ROUNDS && more; round++) {
		meet(m);
		if (job->host_count == 1)
			break;
		more = false;
		memset(bounds, 0, job->host_count * sizeof(*bounds));
		find_bounds(m, bounds);
		for (size_t h = 0; h < job->host_count; h++)
			if (bounds[h].count) {
				settle_host(&job->hosts[h], &bounds[h]);
				more = true;
			}
	}
	/* Who has no meeting with the others keeps its wall clock. */
	for (size_t h = 0; h < job->host_count; h++)
		job->hosts[h].settled = true;
	meet(m);
	free(bounds);
}

/* ---- Waiting ---- */

/* Sums over the sampled collectives of a worker. */
struct sums {
	double wait_ns;
	size_t kept;     /* parts of complete meetings */
	double *each_ns; /* wait caused, by sample */
};

static void add_waits(struct matching *m, struct sums *sums)
{
	for (size_t w = 0; w < m->job->worker_count; w++) {
		const struct summary_worker *figures = m->job->workers[w].figures;

		sums[w].each_ns = mem_alloc(figures->sampled, sizeof(*sums[w].each_ns));
		for (size_t i = 0; i < figures->part_count; i++) {
			struct meeting *item = &m->meetings[m->places[w][i]];
			int64_t begin_ns = on_axis(m, w, figures->parts[i].begin_ns);
			int64_t end_ns = on_axis(m, w, figures->parts[i].end_ns);
			int64_t until_ns = item->begin_ns < end_ns ? item->begin_ns : end_ns;

			if (!is_complete(m, item))
				continue;
			sums[w].kept++;
			if (item->last == w)
				continue;
			item->others_ns += (double)(end_ns - begin_ns);
			if (until_ns <= begin_ns)
				continue;
			sums[w].wait_ns += (double)(until_ns - begin_ns);
			item->wait_caused_ns += (double)(until_ns - begin_ns);
		}
	}
}

static void add_wait_caused(struct matching *m, struct sums *sums)
{
	struct summaries *job = m->job;

	for (size_t i = 0; i < m->count; i++) {
		const struct meeting *item = &m->meetings[i];

		if (item->sequence == 0)
			continue;
		if (!is_complete(m, item)) {
			job->partial_count++;
			continue;
		}
		job->meeting_count++;
		if (item->begin_ns > item->end_ns && (item->begin_ns - item->end_ns) / 2 > job->residual_ns)
			job->residual_ns = (item->begin_ns - item->end_ns) / 2;
		sums[item->last].each_ns[item->last_sample] += item->wait_caused_ns;
		job->workers[item->last].last_count +=
			item->wait_caused_ns > 0 && item->wait_caused_ns >= BALANCE_WAITED * item->others_ns;
	}
}

/* From the sample to an iteration. */
static void conclude(struct summaries *job, const struct sums *sums)
{
	double iteration_ns =
		summaries_pool(job->workers, job->worker_count, offsetof(struct summary_worker, iteration))
			.median;

	for (size_t w = 0; w < job->worker_count; w++) {
		struct summaries_worker *worker = &job->workers[w];
		const struct summary_worker *figures = worker->figures;
		double scale = ldexp(1, (int)figures->thin), sum_ns = 0;

		worker->wait_ns = worker->wait_caused_ns = NAN;
		if (sums[w].kept == 0)
			continue;
		/* What was left out is taken to be like the rest. */
		scale *= (double)figures->part_count / (double)sums[w].kept;
		worker->sample_count = figures->sampled;
		for (size_t s = 0; s < figures->sampled; s++) {
			sum_ns += sums[w].each_ns[s];
			worker->late_count += sums[w].each_ns[s] * scale >
					      CAUSE_WAITING * (double)(job->worker_count - 1) * iteration_ns;
		}
		worker->wait_ns = sums[w].wait_ns * scale / (double)figures->sampled;
		worker->wait_caused_ns = sum_ns * scale / (double)figures->sampled;
	}
}

void summaries_wait(struct summaries *job)
{
	struct matching m = {.job = job};
	struct sums *sums = mem_alloc(job->worker_count, sizeof(*sums));

	if (job->worker_count > 0) {
		m.places = mem_alloc(job->worker_count, sizeof(*m.places));
		match(&m);
		for (size_t w = 0; w < job->worker_count && !m.base_ns; w++)
			if (job->workers[w].figures->part_count)
				m.base_ns = job->workers[w].figures->parts[0].begin_ns +
					    job->workers[w].summary->real_offset_ns;
		settle(&m);
		add_waits(&m, sums);
		add_wait_caused(&m, sums);
		conclude(job, sums);
		for (size_t w = 0; w < job->worker_count; w++) {
			free(m.places[w]);
			free(sums[w].each_ns);
		}
	}
	free(m.places);
	free(m.meetings);
	lookup_free(&m.lookup);
	free(sums);
}
