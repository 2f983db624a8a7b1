/*
 * What the devices of a run did, span by span, for pictures of it: each call's work with its lane, and the
 * begin of a collective apart, which is waiting for the last rank.
 */
#ifndef OUTPUT_HTML_SPANS_H
#define OUTPUT_HTML_SPANS_H

#include "page.h"

enum html_lane { HTML_LANE_COMPUTE, HTML_LANE_COMMUNICATION, HTML_LANE_COPIES, HTML_LANES };

struct html_span {
	int64_t begin_ns, end_ns;
	const struct layer *layer; /* the first that it belongs to; NULL: none, or not known */
	const char *call;          /* the function on the host */
	uint32_t operation;        /* of the kernel or copy; the call's where that is not known */
	int kind;                  /* a phase, or HTML_WAIT */
	enum html_lane lane;
};

/* Called for each span, which is valid during the call. */
typedef void html_span_taker(void *context, const struct html_span *span);

/* The spans of one of the worker's iterations, in order of the calls that launched them. */
void html_spans(const struct analysis *analysis, const struct analysis_worker *worker, size_t iteration,
	html_span_taker *take, void *context);

/* From the first rank's median iteration, and what others' iterations of that time have more, within a
 * quarter. */
void html_window(const struct analysis *analysis, int64_t *begin_ns, int64_t *end_ns);

/* The iteration of a worker that has most in common with a stretch of time; its count if none has. */
size_t html_iteration_at(const struct analysis_worker *worker, int64_t begin_ns, int64_t end_ns);

#endif
