/* Checks the parts of base/ that everything stands on: the hash table against an array that is searched,
 * texts kept once, CSV that is written and read again, text and tables in pages, the mean and deviation. */
#include "base/csv.h"
#include "base/html.h"
#include "base/intern.h"
#include "base/random.h"
#include "base/statistics.h"
#include "base/table.h"
#include "base/text.h"

#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THINGS 5000

/* Keys whose hashes are often the same, in the half that the table keeps and as a whole. */
static uint64_t hash_of(uint64_t key)
{
	return (key % 701) | key % 3 << 40;
}

static uint32_t find(const struct lookup *lookup, const uint64_t *keys, uint64_t key, size_t *at)
{
	uint32_t i;

	do
		i = lookup_next(lookup, hash_of(key), at);
	while (i != LOOKUP_NONE && keys[i] != key);
	return i;
}

static void check_lookup(bool reserved)
{
	static uint64_t keys[2 * THINGS];
	struct lookup lookup = {0};
	const struct lookup_slot *slots;
	struct random random;
	size_t count = 0, wrong = 0;

	random_init(&random, 1, 0);
	CHECK(find(&lookup, keys, 1, &(size_t){0}) == LOOKUP_NONE, "found in an empty table");
	if (reserved)
		lookup_reserve(&lookup, THINGS);
	slots = lookup.slots;
	for (size_t i = 0; i < THINGS; i++) {
		uint64_t key = random_below(&random, 3000);
		uint32_t before = 0;

		while (before < count && keys[before] != key)
			before++;
		wrong += find(&lookup, keys, key, &(size_t){0}) != (before < count ? before : LOOKUP_NONE);
		if (before == count) {
			lookup_add(&lookup, hash_of(key), (uint32_t)count);
			keys[count++] = key;
		}
	}
	CHECK(wrong == 0 && count > 2000, "%zu of %d keys, %zu different, found wrong", wrong, THINGS, count);
	CHECK(!reserved || lookup.slots == slots, "the table moved though there was room");
	for (uint32_t i = 0; i < count; i++) { /* another number for each key, in the place of the first */
		size_t at = 0;

		find(&lookup, keys, keys[i], &at);
		lookup_replace(&lookup, at, THINGS + i);
		keys[THINGS + i] = keys[i];
	}
	for (uint32_t i = 0; i < count; i++)
		wrong += find(&lookup, keys, keys[i], &(size_t){0}) != THINGS + i;
	CHECK(wrong == 0, "%zu numbers not replaced", wrong);
	lookup_free(&lookup);
}

static void check_intern(void)
{
	struct intern intern = {0};
	const char *first;
	char text[16];

	CHECK(intern_text(&intern, "x", 0) == 0 && strcmp(intern.items[0], "") == 0,
		"the empty text is not 0");
	CHECK(intern_text(&intern, "\0ab", 3) == 0, "a text begins with a zero and is not empty");
	CHECK(intern_text(&intern, "text", 4) == 1 && intern_text(&intern, "te", 2) == 2 &&
			intern_text(&intern, "text and more", 4) == 1 &&
			intern_text(&intern, "text\0b", 6) == 1,
		"equal texts have several numbers");
	first = intern.items[1];
	for (int i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "t%d", i);
		intern_text(&intern, text, strlen(text));
	}
	for (int i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "t%d", i);
		CHECK(intern_text(&intern, text, strlen(text)) == (uint32_t)i + 3, "%s", text);
	}
	CHECK(intern.count == 3003 && intern.items[1] == first && strcmp(first, "text") == 0,
		"%zu texts, the first is %s", intern.count, intern.items[1]);
	intern_free(&intern);
}

static const char *const cells[] = {"plain", "a,b", "\"", "two\nlines", " before", "\ttab", "behind ", "",
	"semi;colon", "end\r", "\"quoted\"", "caf\u00e9", "1.5", "'", "=1+1", "+a", "-b,c", "@d", " =e",
	"'=f", "''@g", "-", "-1", "'-1"};
#define CELLS (sizeof(cells) / sizeof(*cells))

/* What a spreadsheet would compute has an apostrophe before it; numbers have none. */
static void check_csv_formulas(void)
{
	static const struct {
		const char *cell, *written;
	} formulas[] = {{"=HYPERLINK(\"x\")", "\"'=HYPERLINK(\"\"x\"\")\"\n"},
		{"@SUM(A1)", "\"'@SUM(A1)\"\n"}, {"+1+1", "\"'+1+1\"\n"}, {"-x", "\"'-x\"\n"},
		{"\t=1", "\"'\t=1\"\n"}, {"-1", "-1\n"}, {"+2.5e3", "+2.5e3\n"}, {"-", "-\n"},
		{"a=b", "a=b\n"}, {"'=1", "\"''=1\"\n"}};

	for (size_t i = 0; i < sizeof(formulas) / sizeof(*formulas); i++) {
		char written[64] = "";
		FILE *out = fmemopen(written, sizeof(written), "w");
		struct csv_line line = {.out = out};

		csv_put(&line, formulas[i].cell);
		csv_end(&line);
		fclose(out);
		CHECK(strcmp(written, formulas[i].written) == 0, "%s is written as %s", formulas[i].cell,
			written);
	}
}

/* One column more than texts: numbers. */
static void check_csv(void)
{
	static const double numbers[] = {0, -0.1, 1e9, 123456789012345, 1e300, 1.0 / 3, NAN, INFINITY};
	static const char *const written[] = {
		"0", "-0.1", "1000000000", "123456789012345", "1e+300", "0.333333333", "", ""};
	char path[] = "/tmp/test_base.XXXXXX";
	int file = mkstemp(path);
	FILE *out = file < 0 ? NULL : fdopen(file, "w");
	struct csv_line line = {.out = out};
	struct csv csv;

	CHECK(out, "no file");
	if (!out)
		return;
	for (size_t c = 0; c <= CELLS; c++)
		csv_format(&line, c < CELLS ? "text, %zu" : "number", c);
	csv_end(&line);
	for (size_t r = 0; r < 8; r++) {
		for (size_t c = 0; c < CELLS; c++)
			csv_put(&line, c + r < CELLS ? cells[c + r] : NULL);
		csv_put_numbers(&line, &numbers[r], 1);
		csv_end(&line);
	}
	fclose(out);
	CHECK(csv_read(&csv, path) == 0 && csv.column_count == CELLS + 1 && csv.row_count == 8,
		"%s: %zu columns, %zu rows", csv.error, csv.column_count, csv.row_count);
	for (size_t r = 0; r < csv.row_count && csv.column_count == CELLS + 1; r++) {
		char **row = csv.cells + r * csv.column_count;

		for (size_t c = 0; c < CELLS; c++)
			CHECK(strcmp(row[c], c + r < CELLS ? cells[c + r] : "") == 0, "row %zu: '%s'", r,
				row[c]);
		CHECK(strcmp(row[CELLS], written[r]) == 0, "row %zu: %s", r, row[CELLS]);
	}
	CHECK(csv_find(&csv, "text, 3") == 3, "no column 'text, 3'");
	csv_free(&csv);
	unlink(path);
}

static void check_html(void)
{
	static const struct {
		const char *text, *shown;
	} cases[] = {
		{"a<b> & \"c\" 'd'", "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;"},
		{"caf\u00e9 \u2013 \U0001f600", "caf\u00e9 \u2013 \U0001f600"},
		{"\xff|\xc3", "?|?"},                          /* no UTF-8; cut off */
		{"\xc0\xaf|\xe0\x80\xaf", "??|???"},           /* too long a form */
		{"\xed\xa0\x80|\xf4\x90\x80\x80", "???|????"}, /* a surrogate; beyond Unicode */
		{"\x01|\x7f|\t|\n|\x1b[0m|\xc2\x9b", "?|?|?|?|?[0m|?"},
		{"\xef\xbf\xbe|\xef\xbf\xbf|\xef\xbf\xbd", "?|?|\xef\xbf\xbd"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *text = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&text, &size);

		html_text(cases[i].text, out);
		fclose(out);
		CHECK(strcmp(text, cases[i].shown) == 0, "%zu: %s", i, text);
		free(text);
	}
}

/* A long name stands in its cell and in its bar's title; text that is hostile ends neither. */
static void check_html_table(void)
{
	static const char *const names[][2] = {
		{"<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"},
		{"\"' onload='x' & \"", "&quot;&#39; onload=&#39;x&#39; &amp; &quot;"},
		{"\x01\n\x1b[31m", "\\x01\\x0a\\x1b[31m"},
		{"\xff|\xc3", "\\xff|\\xc3"},
	};
	static char longest[20001];
	const size_t count = sizeof(names) / sizeof(*names);
	struct arena arena = {0};
	struct print_table table;
	char *text = NULL, *at;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	memset(longest, '<', sizeof(longest) - 1);
	print_init(&table, &arena);
	print_column(&table, "name", "name <b>", PRINT_WORD);
	table.columns[print_column(&table, "time", "time", PRINT_TIME)].bar = "plain";
	for (size_t i = 0; i <= count + 1; i++) {
		table.rule = i == count + 1;
		print_row(&table);
		print_word(&table, 0, i < count ? names[i][0] : i == count ? longest : "unknown");
		print_number(&table, 1, i <= count ? 1e6 * (double)(i + 1) : NAN);
	}
	print_colour(&table, 0, "forward");
	print_html(&table, out);
	fclose(out);
	at = strstr(text, "<th class=\"l\">name &lt;b&gt;</th><th></th><th>time, ms</th>");
	CHECK(at != NULL, "titles: %.300s", text);
	for (size_t i = 0; at && i < count; i++) {
		char *row = NULL;

		/* The greatest of the five known is 5 ms. */
		CHECK(asprintf(&row,
			      "\n<tr><td class=\"l\">%s</td><td class=\"w\" style=\"width:90%%;min-width:90px\"><svg "
			      "height=\"14\" role=\"img\"><rect class=\"plain\" x=\"0.000%%\" width=\"%.3f%%\" "
			      "height=\"100%%\"><title>%s: %zu.000 ms</title></rect></svg></td><td>%zu.000</td></tr>\n",
			      names[i][1], 20.0 * (double)(i + 1), names[i][1], i + 1, i + 1) > 0,
			"out of memory");
		CHECK(strstr(text, row) != NULL, "row %zu: no %s in %.2000s", i, row, text);
		free(row);
	}
	CHECK(strstr(text,
		      "\n<tr class=\"rule\"><td class=\"l\"><svg class=\"key\"><rect class=\"forward\" "
		      "width=\"12\" height=\"12\" rx=\"2\"/></svg>unknown</td><td class=\"w\" "
		      "style=\"width:90%;min-width:90px\"><svg height=\"14\" role=\"img\"></svg></td><td>-</td></tr>") !=
			NULL,
		"a line, a square, and no bar of what is unknown");
	CHECK(size > 2 * 4 * (sizeof(longest) - 1) && !strstr(text, "<<"), "the long name: %zu bytes", size);
	free(text);
	print_free(&table);
	arena_free(&arena);
}

/* Pieces of -50 to 150 ns share a scale, on which 0 is at 25%; text has none of it. */
static void check_pictures(void)
{
	static const struct print_column columns[] = {
		PRINT_COLUMN("name", "name", PRINT_WORD),
		PRINT_COLUMN("change", "change", PRINT_TIME, .bar = "", .swatch = "forward", .sign = true),
	};
	static const char *const parts[] = {
		"<th><svg class=\"key\"><rect class=\"forward\" width=\"12\" height=\"12\" "
		"rx=\"2\"/></svg>change, ns</th>",
		"<tr data-layer=\"&lt;a&gt;\" data-run=\"0\"><td class=\"l\" title=\"long &lt;a&gt;\">a</td>",
		"<svg height=\"22\" role=\"img\"><line x1=\"25.000%\" x2=\"25.000%\" y1=\"0\" y2=\"22\"/>"
		"<rect class=\"more\" x=\"25.000%\" width=\"50.000%\" y=\"0\" height=\"10\"><title>t &amp; "
		"u</title></rect><rect class=\"less\" x=\"0.000%\" width=\"25.000%\" y=\"12\" height=\"10\">"
		"</rect><line class=\"mark\" x1=\"62.500%\" x2=\"100.000%\" y1=\"11\" y2=\"11\"/>"
		"<line class=\"mark\" x1=\"50.000%\" x2=\"50.000%\" y1=\"0\" y2=\"22\"/></svg></td>"
		"<td>+100</td></tr>",
		"<tr><td class=\"l\">b</td><td class=\"w\" style=\"width:90%;min-width:90px\"><svg "
		"height=\"22\" role=\"img\"></svg></td><td>-50</td></tr>",
	};
	struct arena arena = {0};
	struct print_table table;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	print_init(&table, &arena);
	print_columns(&table, columns, 2);
	print_row(&table);
	print_word(&table, 0, "b");
	print_number(&table, 1, -50);
	print_row(&table);
	print_word(&table, 0, "a");
	print_tip(&table, 0, "long <a>");
	print_number(&table, 1, 100);
	print_piece(&table, 1, (struct print_piece){.end = 100, .kind = "more", .tip = "t & u"});
	print_piece(&table, 1, (struct print_piece){.end = -50, .kind = "less", .lane = 1});
	print_piece(&table, 1, (struct print_piece){.end = NAN, .kind = "unknown"});
	print_piece(&table, 1, (struct print_piece){.start = 5, .end = 5, .kind = "nothing"});
	print_piece(&table, 1, (struct print_piece){PRINT_INTERVAL, .start = 75, .end = 150});
	print_piece(&table, 1, (struct print_piece){PRINT_MARK, .end = 50});
	print_data(&table, 1, "run", "0");
	print_data(&table, 1, "layer", "<a>");
	print_first(&table, (const bool[]){false, true});
	print_html(&table, out);
	print_text(&table, NULL, out);
	fclose(out);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		CHECK(strstr(text, parts[i]) != NULL, "no %s in %s", parts[i], text);
	CHECK(strstr(text, "</div>\n  name  change\n  a       +100\n  b        -50\n") != NULL, "text: %s",
		text);
	free(text);
	print_free(&table);
	arena_free(&arena);
}

/* Of 1 to n the mean is (n + 1) / 2 and the variance n (n + 1) / 12; a great number added changes neither
 * much. */
static void check_spread(void)
{
	struct statistics_spread spread = {0};

	CHECK(statistics_deviation(&spread) == 0, "of nothing");
	statistics_add(&spread, 1e9 + 1);
	CHECK(spread.mean == 1e9 + 1 && statistics_deviation(&spread) == 0, "of one");
	for (int i = 2; i <= 1000; i++)
		statistics_add(&spread, 1e9 + i);
	CHECK(fabs(spread.mean - 1e9 - 500.5) < 1e-5 &&
			fabs(statistics_deviation(&spread) - sqrt(1000 * 1001 / 12.0)) < 1e-6,
		"mean %.9g, deviation %.9g", spread.mean - 1e9, statistics_deviation(&spread));
}

/* What rounds to 1000 with so many digits gets the next prefix; beyond the last one numbers grow. */
static void check_prefix(void)
{
	static const struct {
		double number;
		int digits;
		const char *prefix;
		double divided;
	} rows[] = {{0, 3, "", 0}, {999.4, 3, "", 999.4}, {999.5, 3, "k", 0.9995}, {999.5, 6, "", 999.5},
		{-2.5e9, 3, "G", -2.5}, {1e22, 3, "E", 1e4}, {0.001, 3, "", 0.001}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		double number = rows[i].number;
		const char *prefix = pm_text_prefix(&number, rows[i].digits);

		CHECK(strcmp(prefix, rows[i].prefix) == 0 && fabs(number - rows[i].divided) < 1e-9,
			"%g: %g %s", rows[i].number, number, prefix);
	}
}

/* As many digits as count, and none of them an exponent's where people read it. */
static void check_figures(void)
{
	static const struct {
		double number;
		int digits;
		const char *text;
	} cases[] = {{0, 4, "0"}, {0.12346, 4, "0.1235"}, {9.9994, 4, "9.999"}, {9999.6, 4, "10000"},
		{13250.4, 4, "13250"}, {-13250, 4, "-13250"}, {999.9, 3, "1000"}, {1e15, 4, "1e+15"},
		{1e-5, 4, "1e-05"}, {NAN, 4, "nan"}};
	struct arena arena = {0};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		CHECK(strcmp(print_figure(&arena, cases[i].number, cases[i].digits), cases[i].text) == 0,
			"%g: %s, not %s", cases[i].number,
			print_figure(&arena, cases[i].number, cases[i].digits), cases[i].text);
	arena_free(&arena);
}

int main(void)
{
	check_figures();
	check_lookup(false);
	check_lookup(true);
	check_intern();
	check_csv();
	check_csv_formulas();
	check_html();
	check_html_table();
	check_pictures();
	check_spread();
	check_prefix();
	return check_end();
}
