/*
 * Checks what an export is made of, by itself: JSON strings of any bytes, times to the ns, slices that
 * overlap on lanes of their own, and a stretch of time cut by who has it.
 */
#include "check.h"
#include "output/export/track.h"
#include "reconstruct/phase_sweep.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What was written since the last time; the caller frees it. */
static char *take(struct export_out *out, const char *path)
{
	static char text[1 << 20];
	FILE *file;
	size_t count;

	if (export_close(out) < 0)
		err(1, "%s", path);
	file = fopen(path, "r");
	if (!file)
		err(1, "%s", path);
	count = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[count] = 0;
	return strdup(text);
}

static void test_strings(const char *path)
{
	static const struct {
		const char *text, *json;
	} cases[] = {
		{"", "\"\""}, {"conv2", "\"conv2\""}, {"a\"b\\c", "\"a\\\"b\\\\c\""},
		{"\n\t\x1b\x7f", "\"\\u000a\\u0009\\u001b\\u007f\""},
		{"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82", "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82\""},
		{"\xff|\x80|\xc3", "\"\\ufffd|\\ufffd|\\ufffd\""},
		{"\xc0\xaf", "\"\\ufffd\\ufffd\""},                       /* overlong */
		{"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},            /* a surrogate */
		{"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""}, /* beyond U+10FFFF */
		{"\xe2\x82", "\"\\ufffd\\ufffd\""},                       /* ends early */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct export_out out;
		char *text;

		if (export_open(&out, path) < 0)
			err(1, "%s", path);
		export_string(&out, cases[i].text);
		text = take(&out, path);
		CHECK(strcmp(text, cases[i].json) == 0, "case %zu: %s", i, text);
		free(text);
	}
}

/* A name longer than the buffer is whole. */
static void test_long(const char *path)
{
	static char name[200001];
	struct export_out out;
	char *text;

	memset(name, 'n', sizeof(name) - 1);
	if (export_open(&out, path) < 0)
		err(1, "%s", path);
	export_format(&out, "%d", 7);
	export_string(&out, name);
	text = take(&out, path);
	CHECK(strlen(text) == sizeof(name) - 1 + 3, "%zu", strlen(text));
	CHECK(strncmp(text, "7\"nnn", 5) == 0 && text[sizeof(name) + 1] == '"', "%.8s", text);
	free(text);
}

static void test_lanes(const char *path)
{
	static const struct {
		int64_t begin_ns, end_ns;
		uint32_t lane;
	} slices[] = {
		{1000, 2000, 1},
		{1500, 1600, 2}, /* within the first */
		{1600, 2600, 2}, /* just after it */
		{1999, 2001, 3},
		{2000, 2000, 1}, /* no length */
		{2000, 1900, 1}, /* none either: it ends before it begins */
		{2000, 3000, 1},
		{2700, 123456789012, 2},
	};
	struct export_track track = {.name = "stream", .order = 5};
	struct export_tracks tracks = {.origin_ns = 999, .process = 3};
	struct export_out out;
	char *text;

	if (export_open(&out, path) < 0)
		err(1, "%s", path);
	tracks.out = &out;
	for (size_t i = 0; i < sizeof(slices) / sizeof(*slices); i++) {
		uint32_t lane = export_slice(
			&tracks, &track, slices[i].begin_ns, slices[i].end_ns, "device", "kernel");

		CHECK(lane == slices[i].lane, "slice %zu on lane %u", i, lane);
		export_format(&out, "}");
	}
	text = take(&out, path);
	CHECK(strstr(text, "{\"ph\":\"X\",\"pid\":3,\"tid\":1,\"ts\":0.001,\"dur\":1.000,\"cat\":\"device\","
			   "\"name\":\"kernel\"}"),
		"%s", text);
	CHECK(strstr(text, "\"ts\":1.701,\"dur\":123456786.312"), "%s", text);
	CHECK(strstr(text, "{\"name\":\"stream\"}") && strstr(text, "{\"name\":\"stream (3)\"}"), "%s", text);
	CHECK(!strstr(text, "stream (4)") && !strstr(text, "\"dur\":-"), "%s", text);
	free(text);
	export_track_free(&track);
}

static void test_cut(void)
{
	static const struct phase_span expected[] = {{0, 10, PHASE_LEVELS}, {10, 20, 4}, {20, 40, 1},
		{40, 60, 4}, {60, 70, PHASE_LEVELS}, {70, 100, 2}};
	struct phase_spans spans = {0}, stretches = {0};

	phase_add_span(&spans, 10, 60, 4);
	phase_add_span(&spans, 20, 30, 1);
	phase_add_span(&spans, 25, 40, 1); /* joins the one before */
	phase_add_span(&spans, 70, 200, 2);
	phase_cut(spans.items, spans.count, &(struct phase_span){0, 100, 0}, &stretches);
	CHECK(stretches.count == 6, "%zu", stretches.count);
	for (size_t i = 0; i < 6 && i < stretches.count; i++)
		CHECK(stretches.items[i].begin_ns == expected[i].begin_ns &&
				stretches.items[i].end_ns == expected[i].end_ns &&
				stretches.items[i].level == expected[i].level,
			"%zu", i);
	free(spans.items);
	free(stretches.items);
}

int main(void)
{
	char folder[] = "/tmp/export.XXXXXX", path[64];

	if (!mkdtemp(folder))
		err(1, "%s", folder);
	snprintf(path, sizeof(path), "%s/out", folder);
	test_strings(path);
	test_long(path);
	test_lanes(path);
	test_cut();
	unlink(path);
	rmdir(folder);
	return check_end();
}
