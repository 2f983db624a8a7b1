/*
 * Parts of the HTML report, and what they share.
 *
 * The frame and the style sheet are base/html.h's. Horizontal places in pictures are percentages of the width
 * there is, so that text keeps its size on any screen. Colours are classes of the style sheet, which has them
 * for light and dark. Whatever comes from a trace goes through html_escape.
 */
#ifndef OUTPUT_HTML_PAGE_H
#define OUTPUT_HTML_PAGE_H

#include "analyses/finding/finding.h"
#include "analyses/replay/critical.h"
#include "analyses/replay/whatif.h"
#include "analyses/roofline/roofline.h"
#include "base/html.h"
#include "base/table.h"
#include "reconstruct/run.h"

/* A heading that the table of contents lists. */
struct html_entry {
	const char *title; /* escaped */
	bool top;          /* a run, or the comparison; else a section of it */
};

struct html_page {
	FILE *out;
	bool progress;      /* said on standard error, for what takes a while */
	size_t event_most;  /* of a run, for the script */
	size_t run;         /* ordinal of the run that is written: data-run of what the script looks for */
	struct arena arena; /* of the page */
	struct html_entry *entries;
	size_t entry_count, entry_room;
	struct finding_list *findings; /* by run; its part of the page takes them over, and frees them */
};

/* A run with what is computed once for all parts. */
struct html_run {
	struct run *run;
	struct analysis *analysis;
	struct finding_list findings;
	const char **names;         /* of workers, escaped */
	struct replay_job job;      /* of it the two below; without iterations where there is nothing */
	struct whatif_list changes; /* no items: not known */
	struct critical path;       /* without slacks */
	struct roofline roofline;
};

#define HTML_FACTOR \
	2 /* what if a layer, or communication, were so many times as fast: the words say "twice" */

/* Classes and texts beside those of the phases: waiting for the last rank; calls that give the device no
 * work, in which the host is blocked, or is not; ranges that the program names. */
enum {
	HTML_WAIT = PHASE_COUNT,
	HTML_BLOCKED,
	HTML_CALL,
	HTML_RANGE,
	HTML_KINDS,
};

/* script_*.js, at the end of the page. */
extern const unsigned char html_script[];
extern const size_t html_script_bytes;

/* The page up to its body, with the styles of the report; html_end ends it. The title is plain text. The
 * contents, by the entries, are written once all are known. */
void html_page_begin(struct html_page *page, const char *title);
void html_page_contents(struct html_page *page);

/* Opens a section, with its heading (escaped) and its place in the contents. */
void html_section(struct html_page *page, const char *title);

/* An entry of the contents; answers the number in the anchor "sN". */
size_t html_entry(struct html_page *page, const char *title, bool top);

/* Escaped for text and attributes, in the page's arena. What is not UTF-8 or no character becomes '?'. */
const char *html_escape(struct html_page *page, const char *text);

/* "12.300 ms"; "–" where it is not a number. */
const char *html_time(struct html_page *page, double ns);

/* A coloured square. */
void html_swatch(struct html_page *page, int phase);

/* A piece of a bar: places in percent. `tip` is escaped. */
void html_piece(struct html_page *page, int phase, double from, double wide, const char *tip);

/* Key of a phase (and class), and what people call it, as text does; of HTML_WAIT and the next too. And what
 * it means, in words. */
const char *html_phase_key(int phase);
const char *html_phase_title(int phase);
const char *html_phase_text(enum phase phase);

/* Mean exclusive times of `count` workers, stacked, as the picture of the last row's cell. */
void html_stack_phases(
	struct print_table *table, size_t column, const struct analysis_worker *workers, size_t count);

/* The findings (text.c), and what the data do not tell (missing.c). */
void html_words(struct html_page *page, struct html_run *run);
void html_missing(struct html_page *page, const struct html_run *run);

/* "Straggler rank 2: slower layer conv2: at most 4 ms a step (22%)", escaped. */
const char *html_finding_title(
	struct html_page *page, const struct html_run *run, const struct finding *finding);

/* "0 ms   5   10": the row of a table below pictures that show so long (timeline.c). */
void html_axis(struct html_page *page, double whole_ns);

/* What ran where, and how it was recorded; with warnings. */
void html_head(struct html_page *page, const struct html_run *run);

/* Sections. */
void html_phases(struct html_page *page, const struct html_run *run);
void html_timeline(struct html_page *page, const struct html_run *run);
void html_events(struct html_page *page, const struct html_run *run); /* inside that section */
void html_layers(struct html_page *page, const struct html_run *run);
void html_heat(struct html_page *page, const struct html_run *run);
void html_roofline(struct html_page *page, const struct html_run *run);
void html_flame(struct html_page *page, const struct html_run *run);
void html_kernels(struct html_page *page, const struct html_run *run);
void html_calls(struct html_page *page, const struct html_run *run);
void html_waits(struct html_page *page, const struct html_run *run);
void html_help(struct html_page *page, const struct html_run *run);
void html_path(struct html_page *page, const struct html_run *run);
void html_model(struct html_page *page, const struct html_run *run);
void html_whole_run(struct html_page *page, const struct html_run *run);
void html_iterations(struct html_page *page, const struct html_run *run);
void html_slowdown(struct html_page *page, const struct html_run *run);

/* Do the data tell operations or bytes of any layer? */
bool html_work_known(const struct roofline *roofline);
void html_compare(struct html_page *page, struct run *runs, size_t run_count);

/* For pictures that cannot show all: chosen[w] says whether worker w is among at most `most`: those that
 * others wait for, the slowest, then the first. Answers how many; the caller frees `chosen`. */
#define HTML_MOST_RANKS 16 /* rows by rank that are not folded */
size_t html_choose(const struct html_run *run, size_t most, bool **chosen);

#endif
