/*
 * Parts of the HTML report, and what they share beyond base/html.h. Whatever comes from a file goes through
 * html_text.
 */
#ifndef HTML_PAGE_H
#define HTML_PAGE_H

#include "baselines/baselines.h"
#include "base/html.h"
#include "base/table.h"
#include "figures.h"

/* What a report is made of. All of it stays the caller's. */
struct html_model {
	struct subject subject;
	struct pm_fit_error test;          /* sample_count 0: there is none */
	struct pm_fit_error fitted;        /* of the samples given, not of those in the model file; as test */
	const struct lambda_path *path;    /* NULL: none was asked for */
	const struct baselines *baselines; /* the same */
};

/* The page up to its body, with the styles of the report and those of the page itself, if any; html_end ends
 * it. */
void html_page_begin(const char *title, const char *own, FILE *out);

/* Writes the report. Ends the program without memory. */
void html_write(const struct html_model *models, size_t count, FILE *out);

enum html_size { HTML_LARGE, HTML_SMALL };

/* One picture with what is said below it (may be NULL; plain text). Thins out and frees the plot. */
void html_figure(struct plot *plot, const char *caption, enum html_size size, FILE *out);

/* Sections. */
void html_summary(const struct html_model *model, FILE *out);
void html_samples(const struct html_model *model, FILE *out);
void html_values(const struct html_model *model, FILE *out);
void html_scaling(const struct html_model *model, FILE *out);
void html_path(const struct html_model *model, FILE *out);
void html_baselines(const struct html_model *model, FILE *out);
void html_compare(const struct html_model *models, size_t count, FILE *out);

/* A table, which may be wider than the page; frees it. */
void html_table(struct print_table *table, FILE *out);

#endif
