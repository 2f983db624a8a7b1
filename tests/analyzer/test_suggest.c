/* Checks the distance of words, and which known word is suggested for a misspelled one. */
#include "base/suggest.h"

#include "check.h"

#include <string.h>

#define LONG "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" /* 80 */

static void check_distances(void)
{
	static const struct {
		const char *one, *other;
		size_t distance;
	} cases[] = {
		{"", "", 0},
		{"", "path", 4},
		{"path", "", 4},
		{"report", "report", 0},
		{"rport", "report", 1},
		{"reeport", "report", 1},
		{"repart", "report", 1},
		{"reprot", "report", 1},
		{"kitten", "sitting", 3},
		{LONG, "", 60},
		{LONG, LONG "b", 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		CHECK(suggest_distance(cases[i].one, cases[i].other) == cases[i].distance, "%s, %s: %zu",
			cases[i].one, cases[i].other, suggest_distance(cases[i].one, cases[i].other));
}

static void check_suggestions(void)
{
	static const char *const words[] = {"report", "layers", "balance", "comm", "path", "window", "dump"};
	static const struct {
		const char *typed, *near;
	} cases[] = {
		{"report", "report"},
		{"reprot", "report"},
		{"layer", "layers"},
		{"ballance", "balance"},
		{"com", "comm"},
		{"frobnicate", NULL},
		{"", NULL},
		{LONG, NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *near = suggest(cases[i].typed, words, sizeof(words) / sizeof(*words));
		const char *expected = cases[i].near ? cases[i].near : "none";

		CHECK(strcmp(near ? near : "none", expected) == 0, "%s: %s, expected %s", cases[i].typed,
			near ? near : "none", expected);
	}
	CHECK(suggest("x", NULL, 0) == NULL, "a suggestion out of nothing");
}

int main(void)
{
	check_distances();
	check_suggestions();
	return check_end();
}
