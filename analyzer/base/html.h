/*
 * What every page has that the programs write: the frame, the style sheet, and text that is safe in it. A
 * page is XML as well as HTML, stands alone (no network), and has light and dark.
 */
#ifndef BASE_HTML_H
#define BASE_HTML_H

#include <stddef.h>
#include <stdio.h>

/*
 * Both ends of the file, body included. The title is plain text; `styles`, ended by NULL, follow the style
 * sheet that all pages have (html.c), which has:
 *   colours  --bg, --fg, --dim, --line, --panel, --warn; --k0 to --k7 for series; --more and --less of two
 * sides classes  dim, warn, lead (what is to be read first), scroll (around a wide table), l (a cell to the
 * left), long (its text is broken anywhere), list (a table with every second row shaded), axis (of a
 * picture), rule (a row with a line above it), w (a cell with a picture, whose lines may be "mark"), key (a
 * coloured square)
 */
void html_begin(const char *title, const char *const *styles, FILE *out);
void html_end(FILE *out);

/* Class of a table's cell with this text: long ones may be broken anywhere. */
const char *html_class(const char *text);

/* Writes text for content and attributes: what is not UTF-8, or no character of XML, becomes '?'. */
void html_text(const char *text, FILE *out);

/* The same, of one character: what stands for it, `*bytes` long. Answers the bytes of the character itself;
 * `text` is not at its end. */
size_t html_character(const char *text, const char **shown, size_t *bytes);

#endif
