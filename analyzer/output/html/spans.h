/*
 * What the host and the devices of a run did, span by span, for pictures of it: the ranges that the program
 * names, the layers that the host is in, its calls, and each call's work with its lane; the start of a
 * collective apart, which is waiting for the last rank.
 */
#ifndef OUTPUT_HTML_SPANS_H
#define OUTPUT_HTML_SPANS_H

#include "page.h"

/* From above. Of ranges, one in another, the outer ones. */
enum html_lane {
	HTML_LANE_RANGE_1,
	HTML_LANE_RANGE_2,
	HTML_LANE_RANGE_3,
	HTML_LANE_MODULE,
	HTML_LANE_HOST,
	HTML_LANE_COMPUTE,
	HTML_LANE_COMMUNICATION,
	HTML_LANE_COPIES,
	HTML_LANES
};

extern const char *const html_lane_titles[HTML_LANES];

struct html_span {
	int64_t begin_ns, end_ns;
	const struct layer *layer;               /* the first that it belongs to; NULL: none, or not known */
	const char *call;                        /* the function on the host, or the range */
	const struct timeline_range_name *range; /* NULL: it is none */
	uint32_t operation; /* of the kernel or copy; the call's where that is not known; of ranges 0 */
	int kind;           /* a phase, or HTML_WAIT and the next (page.h) */
	enum html_lane lane;
};

static inline bool html_lane_is_host(enum html_lane lane)
{
	return lane < HTML_LANE_COMPUTE;
}

/* Called for each span, which is valid during the call. */
typedef void html_span_taker(void *context, const struct html_span *span);

/* The spans of one of the worker's iterations, in order of the calls that launched them; each call too, and
 * what the host called beside them between the first of them and the last, by the same threads. */
void html_spans(const struct analysis *analysis, const struct analysis_worker *worker, size_t iteration,
	html_span_taker *take, void *context);

/* The iteration of the first rank that is most like its median one: least far in its phases. Position in the
 * worker's list. */
size_t html_typical_iteration(const struct analysis_worker *worker);

/* From the first rank's typical iteration, and what others' iterations of that time have more, within a
 * quarter. */
void html_window(const struct analysis *analysis, int64_t *begin_ns, int64_t *end_ns);

/* The iteration of a worker that has most in common with a stretch of time; its count if none has. */
size_t html_iteration_at(const struct analysis_worker *worker, int64_t begin_ns, int64_t end_ns);

#endif
