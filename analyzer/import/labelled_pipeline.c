/* Primus' pipeline data (pipeline_log.h) as a job of labelled phases: a worker for each stage. */
#include "labelled.h"
#include "pipeline_log.h"

int labelled_read_pipeline(struct labelled *job, const char *path, const char **error)
{
	static const uint8_t types[] = {
		[PIPELINE_LOG_FORWARD] = LABELLED_FORWARD, [PIPELINE_LOG_BACKWARD] = LABELLED_BACKWARD};
	struct pipeline_log log;
	int rc = pipeline_log_read(&log, path, error);

	if (rc == 0 && log.weight_count) {
		*error = "weight gradients computed apart (a zero-bubble schedule) are not replayed; "
			 "pmanalyze report has the time of each stage";
		rc = -1;
	}
	if (rc < 0)
		*error = arena_format(&job->arena, "%s%s%s", log.weight_count ? path : "",
			log.weight_count ? ": " : "", *error);
	for (size_t i = 0; i < log.count && rc == 0; i++) {
		const struct pipeline_log_item *item = &log.items[i];
		uint32_t thread = labelled_find_thread(job, (uint32_t)job->file_count, item->stage, 0);

		job->threads[thread].place.stage = item->stage;
		*MEM_PUSH(job->operations, job->operation_count, job->operation_room) =
			(struct labelled_operation){.begin_ns = item->begin_ns,
				.end_ns = item->end_ns,
				.worker = thread,
				.step = item->iteration,
				.chunk = item->chunk,
				.batch = item->batch,
				.sequence = -1,
				.type = types[item->kind]};
	}
	if (rc == 0) {
		labelled_warn(job,
			"%s: of data rank 0 alone, and without the time between computing: ranks are taken to start an "
			"iteration together",
			path);
		if (log.missing)
			labelled_warn(job, "%s", log.missing);
		if (log.together)
			labelled_warn(job,
				"%s: %zu forward and backward passes ran interleaved and were timed as one: each is "
				"given half",
				path, log.together);
		*MEM_PUSH(job->files, job->file_count, job->file_room) = path;
	}
	pipeline_log_free(&log);
	return rc;
}
