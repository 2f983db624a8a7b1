/*
 * The HTML report's events: what the script draws as the timeline over ranks, as JSON beside the picture that
 * is there without script. Names are listed once; the events of a rank's lane are their count, the first
 * one's start in ns since that of the picture and, in order of start, numbers in the base-64 of RFC 4648,
 * with seven bits a byte, the lowest first (the eighth: more follows). Three for each event: its name's place
 * in the list; its start in ns since that of the event before, of the first 0; its duration in ns.
 *
 * So the script decodes a rank when it is first drawn, and not before.
 */
#include "analyses/kernels.h"
#include "base/intern.h"
#include "spans.h"
#include "timeline/timeline_range.h"

#include <err.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
	uint8_t *bytes;
	size_t count, room;
};

/* What decides a name, and its number: names are made once, not for each event. */
struct made {
	const char *call; /* of the host's; else NULL */
	uint32_t operation, number;
	int kind;
	const struct layer *layer;
	const struct timeline_range_name *range;
};

struct event {
	int64_t begin_ns, end_ns;
	uint32_t name;
};

struct lane {
	struct event *items;
	size_t count, room;
};

struct events {
	struct html_page *page;
	const struct html_run *run;
	int64_t begin_ns, end_ns;  /* of the picture */
	int64_t first_ns, last_ns; /* of all events */
	struct intern names;       /* as they are written */
	struct made *made;
	size_t made_count, made_room;
	struct lookup made_lookup;
	struct lane lanes[HTML_LANES]; /* of one rank */
	struct buffer numbers;         /* of one lane */
};

/* A JSON string in which nothing is markup, for a page that is XML too. */
static void write_string(FILE *out, const char *text)
{
	const char *shown;
	size_t bytes;

	fputc('"', out);
	while (*text) {
		size_t taken = html_character(text, &shown, &bytes);

		if (*text == '\\' || (shown[0] == '&' && bytes > 1))
			fprintf(out, "\\u%04x", (unsigned char)*text);
		else
			fwrite(shown, 1, bytes, out);
		text += taken;
	}
	fputc('"', out);
}

static void put_number(struct buffer *buffer, uint64_t number)
{
	for (; number >= 128; number >>= 7)
		*MEM_PUSH(buffer->bytes, buffer->count, buffer->room) = (uint8_t)(number | 128);
	*MEM_PUSH(buffer->bytes, buffer->count, buffer->room) = (uint8_t)number;
}

static void write_base64(FILE *out, const struct buffer *buffer)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < buffer->count; i += 3) {
		size_t left = buffer->count - i;
		uint32_t bits = (uint32_t)buffer->bytes[i] << 16 |
				(left > 1 ? (uint32_t)buffer->bytes[i + 1] << 8 : 0) |
				(left > 2 ? buffer->bytes[i + 2] : 0);

		fputc_unlocked(digits[bits >> 18], out);
		fputc_unlocked(digits[bits >> 12 & 63], out);
		fputc_unlocked(left > 1 ? digits[bits >> 6 & 63] : '=', out);
		fputc_unlocked(left > 2 ? digits[bits & 63] : '=', out);
	}
}

/* Of a range the colour and domain that it was pushed with: ,"#00ff7f","domain"; null, "": none. */
static void write_range(FILE *out, const struct timeline_range_name *range)
{
	if (range->color)
		fprintf(out, ",\"#%06" PRIx32 "\",", range->color & 0xffffff);
	else
		fputs(",null,", out);
	write_string(out, range->domain ? range->domain : "");
}

/* "[2,"kernel","layer","shape",4096]"; bytes are null where they are not known. */
static uint32_t make_name(struct events *events, const struct html_span *span)
{
	const struct timeline *timeline = &events->run->analysis->timeline;
	const char *name = span->call;
	uint64_t bytes;
	uint32_t number;
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		err(1, "out of memory for the page");
	if (!html_lane_is_host(span->lane))
		name = kernel_title(&events->page->arena, kernel_name(timeline, span->operation));
	fprintf(out, "[%d,", span->kind);
	write_string(out, name);
	fputc(',', out);
	write_string(out, span->layer ? layer_title(span->layer) : "");
	fputc(',', out);
	write_string(out, span->layer ? span->layer->text : "");
	if (span->operation &&
		timeline_value(timeline, &timeline->operations[span->operation], "bytes", &bytes) &&
		bytes < (uint64_t)1 << 46)
		fprintf(out, ",%llu", (unsigned long long)bytes);
	else
		fputs(",null", out);
	if (span->range)
		write_range(out, span->range);
	fputc(']', out);
	fclose(out);
	number = intern_text(&events->names, text, length);
	free(text);
	return number;
}

/* A host's name has no sizes: it is that of the function, or of the range. */
static struct made key_of(const struct html_span *span)
{
	const bool host = html_lane_is_host(span->lane);

	return (struct made){.call = host ? span->call : NULL,
		.operation = host ? 0 : span->operation,
		.kind = span->kind,
		.layer = span->layer,
		.range = span->range};
}

static uint32_t name_of(struct events *events, const struct html_span *span)
{
	struct made key = key_of(span);
	uint64_t hash =
		mem_hash(mem_hash(mem_hash(mem_hash(MEM_HASH_START, key.operation), (uint64_t)key.kind),
				 (uint64_t)(uintptr_t)key.layer),
			(uint64_t)(uintptr_t)(key.range ? (const void *)key.range : key.call));
	uint32_t i;

	for (size_t at = 0; (i = lookup_next(&events->made_lookup, hash, &at)) != LOOKUP_NONE;)
		if (events->made[i].operation == key.operation && events->made[i].kind == key.kind &&
			events->made[i].layer == key.layer && events->made[i].call == key.call &&
			events->made[i].range == key.range)
			return events->made[i].number;
	lookup_add(&events->made_lookup, hash, (uint32_t)events->made_count);
	key.number = make_name(events, span);
	*MEM_PUSH(events->made, events->made_count, events->made_room) = key;
	return key.number;
}

static void add_event(void *context, const struct html_span *span)
{
	struct events *events = context;
	struct lane *lane = &events->lanes[span->lane];

	if (span->end_ns < span->begin_ns)
		return;
	*MEM_PUSH(lane->items, lane->count, lane->room) =
		(struct event){span->begin_ns, span->end_ns, name_of(events, span)};
	if (span->begin_ns < events->first_ns)
		events->first_ns = span->begin_ns;
	if (span->end_ns > events->last_ns)
		events->last_ns = span->end_ns;
}

/* Iterations around the one of the picture, `more` on each side. */
static void iterations_of(const struct events *events, const struct analysis_worker *worker, size_t more,
	size_t *first, size_t *end)
{
	size_t middle = html_iteration_at(worker, events->begin_ns, events->end_ns);
	size_t count = worker->iterations.count;

	*first = middle > more ? middle - more : 0;
	*end = middle == count ? *first : middle + more + 1 < count ? middle + more + 1 : count;
	if (middle == count)
		*first = *end;
}

static void count_event(void *context, const struct html_span *span)
{
	(void)span;
	++*(size_t *)context;
}

/* Events of the iterations so far from the picture's, of the ranks that are chosen. */
static size_t count_events(const struct events *events, const bool *chosen, size_t distance)
{
	const struct analysis *analysis = events->run->analysis;
	size_t count = 0;

	for (size_t w = 0; w < analysis->worker_count; w++) {
		const struct analysis_worker *worker = &analysis->workers[w];
		const size_t middle = html_iteration_at(worker, events->begin_ns, events->end_ns);

		if (!chosen[w] || middle == worker->iterations.count)
			continue;
		if (middle >= distance)
			html_spans(analysis, worker, middle - distance, count_event, &count);
		if (distance && middle + distance < worker->iterations.count)
			html_spans(analysis, worker, middle + distance, count_event, &count);
	}
	return count;
}

/* As many iterations as there is room for, of all ranks; else one, of as many ranks as there is room for.
 * Answers how many on each side of the picture's. */
static size_t choose(struct events *events, bool **chosen)
{
	size_t ranks = events->run->analysis->worker_count, most = events->page->event_most, more = 0, all;

	html_choose(events->run, ranks, chosen);
	all = count_events(events, *chosen, 0);
	if (all > most) {
		free(*chosen);
		ranks = ranks * most / all;
		html_choose(events->run, ranks ? ranks : 1, chosen);
		return 0;
	}
	for (size_t next; (next = count_events(events, *chosen, more + 1)) && all + next <= most; more++)
		all += next;
	return more;
}

static int compare_events(const void *left, const void *right)
{
	const struct event *a = left, *b = right;

	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

/* [3,1200,"..."] */
static void write_lane(struct events *events, struct lane *lane)
{
	int64_t first_ns = events->begin_ns, since_ns;

	events->numbers.count = 0;
	if (lane->count) {
		qsort(lane->items, lane->count, sizeof(*lane->items), compare_events);
		first_ns = lane->items[0].begin_ns;
	}
	since_ns = first_ns;
	for (size_t i = 0; i < lane->count; i++) {
		const struct event *event = &lane->items[i];

		put_number(&events->numbers, event->name);
		put_number(&events->numbers, (uint64_t)(event->begin_ns - since_ns));
		put_number(&events->numbers, (uint64_t)(event->end_ns - event->begin_ns));
		since_ns = event->begin_ns;
	}
	fprintf(events->page->out, "[%zu,%lld,\"", lane->count, (long long)(first_ns - events->begin_ns));
	write_base64(events->page->out, &events->numbers);
	fputs("\"]", events->page->out);
	lane->count = 0;
}

static void write_rank(struct events *events, size_t w, size_t more)
{
	struct analysis *analysis = events->run->analysis;
	const struct analysis_worker *worker = &analysis->workers[w];
	FILE *out = events->page->out;
	size_t first, end;

	iterations_of(events, worker, more, &first, &end);
	for (size_t i = first; i < end; i++)
		html_spans(analysis, worker, i, add_event, events);
	fputs("{\"name\":", out);
	write_string(out, analysis_worker_name(analysis, worker));
	fputs(",\"steps\":[", out);
	for (size_t i = first; i < end; i++)
		fprintf(out, "%s%lld,%lld", i > first ? "," : "",
			(long long)(worker->iterations.items[i].begin_ns - events->begin_ns),
			(long long)(worker->iterations.items[i].end_ns - events->begin_ns));
	fputs("],\"lanes\":[", out);
	for (int lane = 0; lane < HTML_LANES; lane++) {
		fputs(lane ? "," : "", out);
		write_lane(events, &events->lanes[lane]);
	}
	fputs("]}", out);
}

static void write_ranks(struct events *events, const bool *chosen, size_t more)
{
	const struct analysis *analysis = events->run->analysis;
	FILE *out = events->page->out;
	const char *before = "";

	events->first_ns = events->begin_ns;
	events->last_ns = events->end_ns;
	fputs("\"ranks\":[", out);
	for (size_t w = 0; w < analysis->worker_count; w++)
		if (chosen[w]) {
			fputs(before, out);
			write_rank(events, w, more);
			before = ",\n";
		}
	fprintf(out, "],\n\"limits\":[%lld,%lld],\n", (long long)(events->first_ns - events->begin_ns),
		(long long)(events->last_ns - events->begin_ns));
}

static void events_free(struct events *events)
{
	for (int lane = 0; lane < HTML_LANES; lane++)
		free(events->lanes[lane].items);
	intern_free(&events->names);
	lookup_free(&events->made_lookup);
	free(events->made);
	free(events->numbers.bytes);
}

void html_events(struct html_page *page, const struct html_run *run)
{
	struct events events = {.page = page, .run = run};
	bool *chosen;
	size_t more;

	if (page->event_most == 0)
		return;
	html_window(run->analysis, &events.begin_ns, &events.end_ns);
	more = choose(&events, &chosen);
	fprintf(page->out,
		"<script type=\"application/json\" class=\"events\" data-run=\"%zu\">{\"window\":%lld,\"all\":%zu,",
		page->run, (long long)(events.end_ns - events.begin_ns), run->analysis->worker_count);
	write_ranks(&events, chosen, more);
	fputs("\"phases\":[", page->out);
	for (int kind = 0; kind < HTML_KINDS; kind++) {
		fprintf(page->out, "%s[\"%s\",", kind ? "," : "", html_phase_key(kind));
		write_string(page->out, html_phase_title(kind));
		fputc(']', page->out);
	}
	fputs("],\n\"lanes\":[", page->out);
	for (int lane = 0; lane < HTML_LANES; lane++)
		fprintf(page->out, "%s\"%s\"", lane ? "," : "", html_lane_titles[lane]);
	/* Number 0 is the empty text, which names nothing. */
	fputs("],\n\"names\":[0", page->out);
	for (size_t i = 1; i < events.names.count; i++)
		fprintf(page->out, ",\n%s", events.names.items[i]);
	fputs("]}</script>\n", page->out);
	events_free(&events);
	free(chosen);
}
