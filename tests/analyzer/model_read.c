/* From a made-up training program to its analysis: see model_read.h. */
#include "model_read.h"
#include "timeline/timeline_read.h"

#include <err.h>
#include <stdio.h>

void model_read(const struct model *model, size_t skip, struct analysis *analysis)
{
	struct timeline timeline;

	timeline_init(&timeline);
	for (int p = 0; p < model->process_count; p++) {
		const struct builder *builder = &model->processes[p].builder;
		struct trace trace;
		char name[32];

		snprintf(name, sizeof(name), "model.%d.pmtrace", p);
		if (trace_parse(&trace, name, builder->file.data, builder->file.size) < 0)
			errx(1, "%s", trace.error);
		timeline_add(&timeline, &trace);
		trace_close(&trace);
	}
	timeline_settle(&timeline);
	analysis_init(analysis, &timeline, skip);
}
