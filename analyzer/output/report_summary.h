/* The report of a job from its summaries, and the tables it is made of. */
#ifndef OUTPUT_REPORT_SUMMARY_H
#define OUTPUT_REPORT_SUMMARY_H

#include "analyses/summary/summaries.h"
#include "base/table.h"

#define REPORT_MOST_RANKS 16 /* so many have a row each; of more, REPORT_TELLING have */
#define REPORT_TELLING 10
#define REPORT_MOST_WORKERS 64 /* in JSON, phases of each */

/* All of it; with `ranks` a row for each, however many there are. */
void report_summaries(struct summaries *job, bool ranks, FILE *out); /* text */
cJSON *report_summaries_json(struct summaries *job, bool ranks);
void report_summaries_csv(struct summaries *job, FILE *out);

/* Sums over ranks, and the range of what they use. */
struct report_summary_head {
	uint64_t least_used, most_used, least_found, most_found;
	uint64_t kinds[4], gaps[4]; /* of all ranks */
	double gap_ns[4];
	double confidence; /* least */
	size_t by_period;  /* ranks */
	size_t sources[3]; /* ranks, by enum pm_device_source */
	uint64_t sampled_least, sampled_most;
	const char *program;
	bool programs; /* several */
};

/* report_summary_head.c: the head; in one word where device times come from; what was sampled, and the
 * clocks. */
struct report_summary_head report_summary_head(const struct summaries *job);
void report_summary_print_head(struct summaries *job, const struct report_summary_head *head, FILE *out);
const char *report_summary_source(const struct summaries *job, const struct report_summary_head *head);
void report_summary_print_sample(struct summaries *job, const struct report_summary_head *head, FILE *out);

/* The tables (report_summary_tables.c). `text`: without the row of graphs where there are none. */
void report_summary_phases(struct summaries *job, struct print_table *table, bool text);
void report_summary_layers(struct summaries *job, struct print_table *table);
void report_summary_workers(struct summaries *job, struct print_table *table); /* as report_worker_table */
void report_summary_causes(struct summaries *job, const struct cause_list *causes, struct print_table *table);
void report_summary_hosts(struct summaries *job, struct print_table *table);

/* All ranks in order; or only `most` of them: by what the others wait for them, then by computing time. */
void report_summary_ranks(struct summaries *job, size_t most, struct print_table *table);

/* How many ranks have a mean computing time between two bounds. */
void report_summary_distribution(struct summaries *job, struct print_table *table);

#endif
