/*
 * Parts of the HTML report, and what they share.
 *
 * The page is XML as well as HTML. Horizontal places in pictures are percentages of the width there is, so
 * that text keeps its size on any screen. Colours are classes of the style sheet, which has them for light
 * and dark. Whatever comes from a trace goes through html_escape.
 */
#ifndef HTML_PAGE_H
#define HTML_PAGE_H

#include "cause.h"
#include "print.h"
#include "run.h"

struct html_page {
	FILE *out;
	struct arena arena; /* of the page */
};

/* A run with what is computed once for all parts. */
struct html_run {
	struct run *run;
	struct analysis *analysis;
	struct balance balance;
	struct cause_list causes;
	const char **names; /* of workers, escaped */
};

#define HTML_WAIT PHASE_COUNT /* class and text beside those of the phases: waiting for the last rank */

/* Both ends of the file, with the style sheet. */
void html_page_begin(struct html_page *page, const char *title);
void html_page_end(struct html_page *page);

/* Escaped for text and attributes, in the page's arena. What is not UTF-8 or no character becomes '?'. */
const char *html_escape(struct html_page *page, const char *text);

/* Class of a table's cell with this text: long ones may be broken anywhere. */
const char *html_class(const char *text);

/* "12.300 ms"; "–" where it is not a number. */
const char *html_time(struct html_page *page, double ns);

/* A coloured square. */
void html_swatch(struct html_page *page, int phase);

/* A piece of a bar: places in percent. `tip` is escaped. */
void html_piece(struct html_page *page, int phase, double from, double wide, const char *tip);

/* Key of a phase (and class), and words for people; of HTML_WAIT too. */
const char *html_phase_key(int phase);
const char *html_phase_title(int phase);

/* Mean exclusive times of `count` workers, stacked; `whole_ns` is the full width. */
void html_phase_bar(
	struct html_page *page, const struct analysis_worker *workers, size_t count, double whole_ns);

/* Does any of the runs spend time on the phase? */
bool html_phase_present(const struct run *runs, size_t run_count, int phase);

/* What to do, in sentences (html_words.c). */
void html_words(struct html_page *page, const struct html_run *run);

/* "a layer is slower: conv2, costs 1.2 ms: evidence.", escaped. */
const char *html_cause_words(struct html_page *page, const struct html_run *run, const struct cause *cause);

/* Sections. */
void html_phases(struct html_page *page, const struct html_run *run);
void html_timeline(struct html_page *page, const struct html_run *run);
void html_layers(struct html_page *page, const struct html_run *run);
void html_heat(struct html_page *page, const struct html_run *run);
void html_roofline(struct html_page *page, const struct html_run *run);
void html_waits(struct html_page *page, const struct html_run *run);
void html_compare(struct html_page *page, struct run *runs, size_t run_count);

/* For pictures that cannot show all: chosen[w] says whether worker w is among at most `most`: those that
 * others wait for, the slowest, then the first. Answers how many; the caller frees `chosen`. */
size_t html_choose(const struct html_run *run, size_t most, bool **chosen);

#endif
