/*
 * The packed fields of a summary: see summary_code.h. Each function here goes both ways, so that writer and
 * reader cannot disagree; what a reader must check it checks where the value is coded.
 */
#include "summary_code.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FINE 256.0                    /* units in a ns */
#define MOST_UNITS ((int64_t)1 << 61) /* 285 years are beyond anything */
#define MOST_TEXT 4096u
#define MOST_NS ((double)(INT64_MAX / 16)) /* as the reader of traces allows */

static_assert(PHASE_COUNT == 13 && PHASE_WORK_COUNT == 9 && SUMMARY_COLUMNS == 5,
	"a different set of phases needs a new format version");

static void fail(struct summary_code *code, const char *what)
{
	if (!code->wrong)
		code->wrong = what;
	code->at = code->bytes;
}

static void put_byte(struct summary_code *code, unsigned byte)
{
	*MEM_PUSH(code->data, code->bytes, code->room) = (unsigned char)byte;
}

static void number(struct summary_code *code, uint64_t *value)
{
	uint64_t left = *value;
	unsigned shift = 0;

	if (!code->reads) {
		for (; left >= 128; left >>= 7)
			put_byte(code, 128 | (unsigned)(left & 127));
		put_byte(code, (unsigned)left);
		return;
	}
	*value = 0;
	for (;; shift += 7) {
		unsigned char byte;

		if (code->at >= code->bytes) {
			fail(code, "truncated fields");
			*value = 0;
			return;
		}
		byte = code->data[code->at++];
		if (shift > 63 || (shift == 63 && byte > 1)) {
			fail(code, "a number has more than 64 bits");
			*value = 0;
			return;
		}
		*value |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return;
	}
}

/* A number that is at most `most`. */
static void below(struct summary_code *code, uint64_t *value, uint64_t most)
{
	number(code, value);
	if (code->reads && *value > most) {
		fail(code, "a number is out of range");
		*value = 0;
	}
}

static void small(struct summary_code *code, uint32_t *value)
{
	uint64_t wide = *value;

	below(code, &wide, UINT32_MAX);
	*value = (uint32_t)wide;
}

static void flag(struct summary_code *code, bool *value)
{
	uint64_t wide = *value;

	below(code, &wide, 1);
	*value = wide;
}

static void whole(struct summary_code *code, int64_t *value)
{
	uint64_t folded = ((uint64_t)*value << 1) ^ (*value < 0 ? UINT64_MAX : 0);

	number(code, &folded);
	*value = (int64_t)(folded >> 1) ^ -(int64_t)(folded & 1);
}

static void small_whole(struct summary_code *code, int32_t *value)
{
	int64_t wide = *value;

	whole(code, &wide);
	if (wide < INT32_MIN || wide > INT32_MAX) {
		fail(code, "a number is out of range");
		wide = 0;
	}
	*value = (int32_t)wide;
}

static int64_t units_of(double ns)
{
	return isfinite(ns) ? llrint(fmin(fmax(ns, -MOST_NS), MOST_NS) * FINE) : 0;
}

/* A time as its distance from `*units`, which it then is. */
static void near(struct summary_code *code, double *ns, int64_t *units)
{
	int64_t step = code->reads ? 0 : units_of(*ns) - *units;

	whole(code, &step);
	if (__builtin_add_overflow(*units, step, units) || *units > MOST_UNITS || *units < -MOST_UNITS) {
		fail(code, "a time is out of range");
		*units = 0;
	}
	*ns = (double)*units / FINE;
}

static void time_of(struct summary_code *code, double *ns)
{
	int64_t units = 0;

	near(code, ns, &units);
}

static void near_float(struct summary_code *code, float *ns, int64_t *units)
{
	double wide = (double)*ns;

	near(code, &wide, units);
	*ns = (float)wide;
}

static void text(struct summary_code *code, const char **value)
{
	uint64_t length = code->reads ? 0 : strnlen(*value, MOST_TEXT);

	below(code, &length, MOST_TEXT);
	if (!code->reads) {
		for (uint64_t i = 0; i < length; i++)
			put_byte(code, (unsigned char)(*value)[i]);
		return;
	}
	if (length > code->bytes - code->at) {
		fail(code, "a string exceeds its length");
		length = 0;
	}
	*value = summary_intern(code->names, (const char *)code->data + code->at, length);
	code->at += length;
}

/* How many items follow, each of which has `least` bytes or more. */
static void count_of(struct summary_code *code, size_t *count, size_t least)
{
	uint64_t wide = *count;

	below(code, &wide, code->reads ? (code->bytes - code->at) / least : UINT64_MAX);
	*count = (size_t)wide;
}

static void spread(struct summary_code *code, struct summary_spread *item)
{
	int64_t units = 0;

	time_of(code, &item->mean);
	time_of(code, &item->deviation);
	for (int i = 0; i < SUMMARY_QUANTILES; i++)
		near_float(code, &item->quantiles[i], &units);
	for (int i = 1; i < SUMMARY_QUANTILES; i++)
		if (item->quantiles[i] < item->quantiles[i - 1])
			fail(code, "quantiles are not ascending");
}

static void name_fields(struct summary_code *code, struct summary_name *name)
{
	text(code, &name->name);
	text(code, &name->module);
	text(code, &name->text);
	text(code, &name->input);
	text(code, &name->activation);
	number(code, &name->parameter_count);
	number(code, &name->parameter_bytes);
}

static void layer_fields(struct summary_code *code, struct summary_layer *layer)
{
	uint64_t unknown = layer->unknown;

	below(code, &unknown, 31);
	layer->unknown = (uint8_t)unknown;
	for (int i = 0; i < SUMMARY_COLUMNS; i++)
		time_of(code, &layer->mean[i]);
	for (int i = 0; i < 4; i++) {
		int64_t units = units_of(layer->mean[i]);
		double deviation = (double)layer->deviation[i];

		time_of(code, &deviation);
		layer->deviation[i] = (float)deviation;
		near_float(code, &layer->median[i], &units);
		near_float(code, &layer->quarter[i], &units);
	}
}

static void layers(struct summary_code *code, struct summary_worker *worker)
{
	struct summary_model model = {0};
	size_t count = worker->model ? worker->model->count : 0;

	count_of(code, &count, 14);
	model.count = count;
	model.names = code->reads ? mem_alloc(count, sizeof(*model.names)) : NULL;
	if (code->reads)
		worker->layers = mem_alloc(count, sizeof(*worker->layers));
	for (size_t i = 0; i < count; i++) {
		name_fields(code, code->reads ? &model.names[i] : &worker->model->names[i]);
		layer_fields(code, &worker->layers[i]);
	}
	if (code->reads)
		worker->model = summary_intern_model(code->names, &model);
	free(model.names);
}

static void line_fields(struct summary_code *code, struct summary_line *line)
{
	for (int i = 0; i < 8; i++) {
		uint64_t byte = line->hash >> (8 * i) & 255;

		below(code, &byte, 255);
		line->hash = (line->hash & ~((uint64_t)255 << (8 * i))) | byte << (8 * i);
	}
	small(code, &line->key);
	small_whole(code, &line->size);
}

/* Parts follow one another closely: steps from one to the next are short. */
static void parts(struct summary_code *code, struct summary_worker *worker)
{
	int64_t before_ns = 0;
	uint32_t *sequences = mem_alloc(worker->line_count, sizeof(*sequences));
	uint64_t sample = 0;

	for (size_t i = 0; i < worker->part_count && !code->wrong; i++) {
		struct summary_part *part = &worker->parts[i];
		uint64_t line = part->line, next = part->sample - sample, ns;
		int64_t step_ns = part->begin_ns - before_ns, steps;

		below(code, &line, worker->line_count ? worker->line_count - 1 : 0);
		if (worker->line_count == 0)
			fail(code, "a collective has no communicator line");
		if (code->wrong)
			break;
		below(code, &next, UINT16_MAX);
		sample += next;
		if (code->reads && sample >= worker->sampled)
			fail(code, "collectives span more iterations than were sampled");
		steps = (int64_t)part->sequence - (int64_t)sequences[line];
		whole(code, &steps);
		whole(code, &step_ns);
		ns = (uint64_t)(part->end_ns - part->begin_ns);
		below(code, &ns, (uint64_t)INT64_MAX / 16);
		if (steps < -(int64_t)UINT32_MAX || steps > (int64_t)UINT32_MAX)
			fail(code, "a sequence number is out of range");
		if (__builtin_add_overflow(before_ns, step_ns, &before_ns) || before_ns < -INT64_MAX / 16 ||
			before_ns > INT64_MAX / 16) {
			fail(code, "a time is out of range");
			before_ns = 0;
		}
		sequences[line] += (uint32_t)steps;
		*part = (struct summary_part){before_ns, before_ns + (int64_t)ns, sequences[line],
			(uint16_t)line, (uint16_t)sample};
	}
	free(sequences);
}

static void collectives(struct summary_code *code, struct summary_worker *worker)
{
	below(code, &worker->sampled, UINT16_MAX);
	below(code, &worker->thin, 31);
	count_of(code, &worker->line_count, 10);
	if (worker->line_count > UINT16_MAX) {
		fail(code, "too many communicators");
		worker->line_count = 0;
	}
	if (code->reads)
		worker->lines = mem_alloc(worker->line_count, sizeof(*worker->lines));
	for (size_t i = 0; i < worker->line_count; i++)
		line_fields(code, &worker->lines[i]);
	count_of(code, &worker->part_count, 5);
	if (code->reads)
		worker->parts = mem_alloc(worker->part_count, sizeof(*worker->parts));
	parts(code, worker);
	if (code->wrong)
		worker->part_count = 0;
}

static void worker_fields(struct summary_code *code, struct summary_worker *worker)
{
	double parts_per_million = worker->confidence * 1e6;
	uint64_t confidence = parts_per_million > 0 ? (uint64_t)llrint(parts_per_million) : 0;

	small_whole(code, &worker->device);
	flag(code, &worker->by_period);
	below(code, &confidence, 1000000);
	worker->confidence = (double)confidence / 1e6;
	below(code, &worker->found, UINT32_MAX);
	below(code, &worker->used, worker->found);
	time_of(code, &worker->samples);
	for (int i = 0; i < 4; i++) {
		below(code, &worker->kinds[i], UINT32_MAX);
		below(code, &worker->gaps[i], UINT32_MAX);
		below(code, &worker->gap_calls[i], UINT64_MAX >> 8);
		time_of(code, &worker->gap_ns[i]);
	}
#define CODE_SPREAD(name) spread(code, &worker->name);
	SUMMARY_SPREADS(CODE_SPREAD)
#undef CODE_SPREAD
	for (int i = 0; i < PHASE_WORK_COUNT; i++)
		spread(code, &worker->busy[i]);
	for (int i = 0; i < PHASE_COUNT; i++)
		spread(code, &worker->exclusive[i]);
	layers(code, worker);
	collectives(code, worker);
}

void summary_fields(struct summary_code *code, struct summary *summary)
{
	uint64_t *const losses[] = {&summary->lost_records, &summary->lost_device_times,
		&summary->lost_operations, &summary->refused_records, &summary->unjoined_intervals,
		&summary->unseen_calls};

	text(code, &summary->source);
	text(code, &summary->host);
	text(code, &summary->program);
	text(code, &summary->trouble);
	small_whole(code, &summary->rank);
	small_whole(code, &summary->world);
	number(code, &summary->pid);
	below(code, &summary->device_source, PM_DEVICE_CUPTI);
	flag(code, &summary->ended);
	flag(code, &summary->graphs_left);
	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++)
		number(code, losses[i]);
	whole(code, &summary->real_offset_ns);
	if (summary->real_offset_ns > INT64_MAX / 4 || summary->real_offset_ns < -INT64_MAX / 16)
		fail(code, "a time is out of range");
	number(code, &summary->own_ns);
	number(code, &summary->run_ns);
	count_of(code, &summary->worker_count, 250);
	if (code->reads)
		summary->workers = mem_alloc(summary->worker_count, sizeof(*summary->workers));
	for (size_t i = 0; i < summary->worker_count; i++)
		worker_fields(code, &summary->workers[i]);
	if (code->reads && !code->wrong && code->at != code->bytes)
		fail(code, "trailing data after the last field");
}
