/* Inside spans*.c: the host's part of the spans of one iteration. */
#ifndef OUTPUT_HTML_SPANS_HOST_H
#define OUTPUT_HTML_SPANS_HOST_H

#include "spans.h"

/* The layer that a thread is in, from call to call. */
struct html_stay {
	struct html_span span; /* layer: NULL: in none */
	bool launches;         /* the thread has given the device work in this iteration */
};

struct html_host {
	const struct analysis *analysis;
	const struct analysis_worker *worker;
	html_span_taker *take;
	void *context;
	struct html_stay *stays; /* by thread of the process */
	size_t stay_count;
};

void html_host_begin(struct html_host *host, const struct analysis *analysis,
	const struct analysis_worker *worker, html_span_taker *take, void *context);

/* A call of the worker, and its work. */
void html_host_call(struct html_host *host, const struct timeline_call *call, const struct html_span *work);

/* What else the threads of those calls did; frees what `host` has. */
void html_host_end(struct html_host *host, size_t iteration);

#endif
