/* Checks the stepping over JSON: numbers as exact times, strings, and that nothing hangs on where the window
 * ends. */
#include "imported_make.h"
#include "base/json.h"

/* Sums with nothing: rounded to the nearest ns. */
static void check_times(void)
{
	static const struct {
		const char *text;
		int64_t ns;
		uint32_t rest; /* billionths */
		bool bad;
	} cases[] = {
		{"0,", 0, 0, false},
		{"1623142623460111,", 1623142623460111000, 0, false},
		/* as a double this would be 1712170310123456.75 */
		{"1712170310123456.789,", 1712170310123456789, 0, false},
		{"4458676522690.655}", 4458676522690655, 0, false},
		{"848671.6747283936,", 848671674, 728393600, false},
		{"0.5,", 500, 0, false},
		{"2,", 2000, 0, false},
		{"2.,", 2000, 0, false},
		{"-3.25,", -3250, 0, false},
		{"-0.0004,", -1, 600000000, false},
		{"1.6e3,", 1600000, 0, false},
		{"1.6231426234601113e+15 ", 1623142623460111300, 0, false},
		{"25E-1]", 2500, 0, false},
		{"\"12.5\"", 12500, 0, false},
		{"123456789012345678901234567890,", 0, 0, true},
		{"9223372036854775,", 9223372036854775000, 0, false},
		{"9223372036854776,", 0, 0, true},
		{"9223372036854774.999,", 9223372036854774999, 0, false},
		{"9999999999999999.5,", 0, 0, true},
		{"1e400,", 0, 0, true},
		{"1e-400,", 0, 0, false},
		{"0.000000000000000000000000000000000001,", 0, 0, false},
		{"x,", 0, 0, true},
		{"\"soon\"", 0, 0, true},
		{"-,", 0, 0, true},
		{"1e,", 0, 0, true},
		/* the window ends: more digits may follow */
		{"12", 0, 0, true},
		{"12.5", 0, 0, true},
		{"1e5", 0, 0, true},
		{"\"12", 0, 0, true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[128] = {0};
		struct json_time time;
		const char *behind;

		strcpy(text, cases[i].text);
		behind = json_micros(text, &time);
		CHECK(!behind == cases[i].bad, "'%s'", cases[i].text);
		if (!behind || cases[i].bad)
			continue;
		CHECK(time.ns == cases[i].ns && time.rest == cases[i].rest, "'%s': %lld + %u", cases[i].text,
			(long long)time.ns, time.rest);
		CHECK((size_t)(behind - text) == strlen(text) - (*text != '"'),
			"'%s' is stepped over to '%s'", cases[i].text, behind);
	}
}

static void check_sums(void)
{
	/* 0.6 ns + 0.6 ns is 1.2 ns: one rounding, not two. */
	struct json_time a = {10, 600000000}, b = {20, 600000000}, half = {0, 500000000},
			 minus = {-1, 500000000};

	CHECK(json_time_sum(a, b) == 31, "%lld", (long long)json_time_sum(a, b));
	CHECK(json_time_sum(half, (struct json_time){0}) == 1, "half a ns is rounded up");
	CHECK(json_time_sum(minus, half) == 0, "-0.5 + 0.5");
	CHECK(json_time_sum((struct json_time){INT64_MAX, 0}, a) == INT64_MAX, "beyond the end of time");
}

static void check_integers(void)
{
	int64_t value;

	CHECK(json_integer("17,", &value) && value == 17, "%lld", (long long)value);
	CHECK(json_integer("-1}", &value) && value == -1, "%lld", (long long)value);
	CHECK(json_integer("\"25738\"", &value) && value == 25738, "%lld", (long long)value);
	CHECK(json_integer("123456789012345678,", &value) && value == 123456789012345678, "18 digits");
	CHECK(json_integer("1234567890123456789,", &value) && value == 1234567890123456789, "19 digits");
	CHECK(json_integer("12e2,", &value) && value == 1200, "%lld", (long long)value);
	CHECK(json_integer("7.9,", &value) && value == 7, "%lld", (long long)value);
	CHECK(json_integer("18446744073709551615,", &value) && value == -1, "64 bits are kept");
	CHECK(!json_integer("18446744073709551616,", &value), "65 bits are not");
	CHECK(!json_integer("\"stream 7\"", &value), "no number");
	CHECK(!json_integer("null,", &value), "no number");
	CHECK(!json_integer("17", &value), "the window ends");
}

static void check_strings(void)
{
	static const struct {
		const char *text, *plain;
	} cases[] = {
		{"plain\"", "plain"},
		{"\"", ""},
		{"a\\\"b\"", "a\"b"},
		{"back\\\\\"", "back\\"},
		{"\\/\\n\\t\\b\\f\\r\"", "/\n\t\b\f\r"},
		{"\\u0041\\u00e9\\u20ac\"", "A\xc3\xa9\xe2\x82\xac"},
		{"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80"},
		{"\\u0000x\"", "\xef\xbf\xbdx"},
		{"sixteen bytes ok\\\\\"", "sixteen bytes ok\\"},
	};
	char text[128], room[128];
	struct json_text found;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t length;

		memset(text, 0, sizeof(text));
		strcpy(text, cases[i].text);
		CHECK(json_string(text, &found) == text + strlen(text), "'%s'", cases[i].text);
		length = json_unescape(&found, room);
		CHECK(length == strlen(cases[i].plain) && memcmp(room, cases[i].plain, length) == 0,
			"'%s' becomes '%.*s'", cases[i].text, (int)length, room);
		CHECK(found.escaped == (strchr(cases[i].text, '\\') != NULL), "'%s'", cases[i].text);
	}
	memset(text, 0, sizeof(text));
	strcpy(text, "cut\\");
	CHECK(!json_string(text, &found), "an escape that is cut");
}

/* Values are stepped over from each of 32 places, so that marks fall everywhere in a block. */
static void check_skips(void)
{
	static const char *const cases[] = {"17,", "\"a\\\"]}\",", "[],", "{},",
		"{\"a\": [1, {\"}\": \"]\"}]},", "true}", "null]", "[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]],",
		"{\"a long name with } and ] in it, of more than 16 bytes\": 1},"};
	char text[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (size_t place = 0; place < 32; place++) {
			size_t length = strlen(cases[i]);

			memset(text, ' ', sizeof(text));
			memset(text + place + length, 0, sizeof(text) - place - length);
			memcpy(text + place, cases[i], length);
			CHECK(json_skip(text + place) == text + place + length - 1, "'%s' at %zu", cases[i],
				place);
			/* A number or word may go on where the text ends; what has a closing mark not. */
			for (size_t cut = strchr("\"{[", *cases[i]) ? 1 : 0; cut < length - 1; cut++) {
				text[place + length - 1 - cut] = 0;
				CHECK(!json_skip(text + place), "'%s' without the last %zu", cases[i],
					cut + 1);
			}
		}
}

/* A long value that json_pass steps over while the window moves, at all places of its end. */
static void check_pass(void)
{
	char *text = malloc(800 << 10);

	for (size_t length = 262100; length < 262200; length++) {
		size_t bytes = 0;
		struct json json;

		bytes += (size_t)sprintf(text, "{\"a\": [\"");
		memset(text + bytes, length % 3 ? '\\' : 'x', length);
		bytes += length / 2 * 2;
		bytes += (size_t)sprintf(text + bytes, "\"], \"b\": \"}\\\"\"} 7");
		make_bytes(make_path("long.json"), text, bytes);
		json_open(&json, make_path("long.json"));
		CHECK(json_pass(&json), "%zu", length);
		while (json_more(&json))
			;
		CHECK(strcmp(json.next, " 7") == 0, "%zu: behind is '%.20s'", length, json.next);
		CHECK(json_offset(&json, json.next) == bytes - 2, "%zu: offset", length);
		json_close(&json);
		unlink(make_path("long.json"));
	}
	free(text);
}

int main(void)
{
	make_begin();
	check_times();
	check_sums();
	check_integers();
	check_strings();
	check_skips();
	check_pass();
	make_end();
	return check_end();
}
