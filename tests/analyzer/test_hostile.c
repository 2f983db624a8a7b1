/*
 * Checks that no trace, however broken, does more than get a sentence or an answer: every truncation of
 * small traces of both versions, ten thousand random corruptions, every field of every header, chunk, entry
 * and record at 0, 1 and its greatest value, and files that are no traces.
 */
#include "check.h"
#include "hostile.h"
#include "model.h"
#include "odd_trace.h"
#include "trace/trace.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CORRUPTIONS = 10000, SECONDS = 280 };

static uint64_t random_state = 20240229;

static uint64_t next_random(void)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return random_state >> 33;
}

static void make(struct model *model, bool killed, bool version_1)
{
	struct model_options options = {.net = MODEL_NORM,
		.iterations = 3,
		.batch = 8,
		.processes = 1,
		.gpus = 1,
		.killed = killed,
		.version_1 = version_1};

	model_make(model, &options);
}

static unsigned char *copy_of(const struct builder *builder)
{
	unsigned char *copy = malloc(builder->file.size);

	if (!copy)
		abort();
	memcpy(copy, builder->file.data, builder->file.size);
	return copy;
}

/* Each in memory of its own, of just that size, so that a byte too far is seen. */
static void truncations(const struct builder *builder, size_t step)
{
	size_t answered = 0, expected = 0;

	for (size_t size = 0; size <= builder->file.size; size += step) {
		unsigned char *data = malloc(size ? size : 1);

		if (!data)
			abort();
		memcpy(data, builder->file.data, size);
		answered += hostile_run(data, size);
		free(data);
		expected += size >= builder->header.header_bytes;
	}
	CHECK(answered == expected, "%zu truncations were answered, expected the %zu that have a header",
		answered, expected);
}

static void random_corruptions(const struct builder *builder, int corruptions)
{
	size_t answered = 0;

	for (int i = 0; i < corruptions; i++) {
		unsigned char *data = copy_of(builder);
		uint64_t count = 1 + next_random() % 8;

		for (uint64_t j = 0; j < count; j++) {
			size_t at = next_random() % builder->file.size;

			switch (next_random() % 4) {
			case 0:
				data[at] = (unsigned char)next_random();
				break;
			case 1:
				data[at] ^= (unsigned char)(1u << next_random() % 8);
				break;
			case 2:
				data[at] = next_random() % 2 ? 0xff : 0;
				break;
			default: {
				/* A word copied from elsewhere: plausible values in wrong places. */
				size_t from = next_random() % builder->file.size & ~(size_t)7;

				at &= ~(size_t)7;
				if (at + 8 <= builder->file.size && from + 8 <= builder->file.size)
					memmove(data + at, data + from, 8);
			}
			}
		}
		answered += hostile_run(data, builder->file.size);
		free(data);
	}
	CHECK(answered > (size_t)corruptions / 2, "only %zu of %d corruptions were answered", answered,
		corruptions);
}

static void set_field(const struct builder *builder, size_t offset, size_t size)
{
	static const unsigned char ones[8] = {255, 255, 255, 255, 255, 255, 255, 255}, one[8] = {1}, zero[8];
	const unsigned char *const values[] = {zero, one, ones};

	for (size_t i = 0; i < 4; i++) {
		unsigned char *data = copy_of(builder);

		if (i < 3)
			memcpy(data + offset, values[i], size);
		else
			data[offset + size - 1] ^= 0x80; /* the sign */
		hostile_run(data, builder->file.size);
		free(data);
	}
}

/* The first slots of a chunk, field by field of what each is. */
static void every_slot(const struct builder *builder, size_t offset)
{
#define SIZE(type, name) sizeof(type),
	static const unsigned char first[] = {8, 8, 4, 4, 4, 2, 1, 1, 0};
	static const unsigned char record[] = {PM_FORMAT_RECORD(SIZE) 0}, more[] = {PM_FORMAT_MORE(SIZE) 0},
				   base[] = {PM_FORMAT_BASE(SIZE) 0}, touch[] = {PM_FORMAT_TOUCH(SIZE) 0};
#undef SIZE
	size_t slot_bytes = builder->header.record_bytes;

	for (size_t slot = offset; slot < offset + 10 * slot_bytes && slot + slot_bytes <= builder->file.size;
		slot += slot_bytes) {
		uint8_t kind = builder->file.data[slot + offsetof(struct pm_record, kind)];
		const unsigned char *sizes = builder->header.version == 1 ? first
					     : kind == PM_RECORD_MORE     ? more
					     : kind == PM_RECORD_BASE     ? base
					     : kind == PM_RECORD_TOUCH    ? touch
									  : record;

		for (size_t at = 0; *sizes; at += *sizes++)
			set_field(builder, slot + at, *sizes);
	}
}

/* The file is walked as the writer laid it out; the reader is not asked. */
static void every_field(const struct builder *builder)
{
	size_t offset = builder->header.header_bytes, words = 0;

	for (size_t at = 8; at < 80; at += 2)
		set_field(builder, at, 2);
	for (size_t at = 8; at + 4 <= builder->header.header_bytes; at += 4)
		set_field(builder, at, 4);
	for (size_t at = 48; at + 8 <= builder->header.header_bytes; at += 8)
		if (at < 80 || at >= offsetof(struct pm_header, worker_count))
			set_field(builder, at, 8);
	while (offset + sizeof(struct pm_chunk) <= builder->file.size) {
		struct pm_chunk chunk;
		size_t payload = offset + sizeof(chunk);

		memcpy(&chunk, builder->file.data + offset, sizeof(chunk));
		for (size_t at = 0; at < sizeof(chunk); at += at < 12 ? 4 : at < 16 ? 2 : at < 24 ? 4 : 8)
			set_field(builder, offset + at, at < 12 ? 4 : at < 16 ? 2 : at < 24 ? 4 : 8);
		if (chunk.kind == PM_CHUNK_DICTIONARY)
			for (size_t at = payload; at + 4 <= payload + chunk.used_bytes; at += 4, words++)
				set_field(builder, at, 4);
		if (chunk.kind == PM_CHUNK_RECORDS)
			every_slot(builder, payload);
		if (chunk.kind == PM_CHUNK_FOOTER)
			for (size_t at = 0; at < chunk.used_bytes; at += 8)
				set_field(builder, payload + at, 8);
		offset += chunk.chunk_bytes;
	}
	CHECK(words > 20, "only %zu words of the dictionary were changed", words);
}

static void refused(const char *what, const void *data, size_t size, const char *sentence)
{
	struct trace trace;

	CHECK(trace_parse(&trace, what, data, size) < 0, "%s was accepted", what);
	CHECK(strstr(trace.error, sentence) != NULL, "%s: '%s', expected '%s'", what, trace.error, sentence);
	trace_close(&trace);
}

static void wrong_headers(const struct builder *builder)
{
	static const struct {
		const char *what;
		size_t offset;
		uint32_t value;
		size_t size;
		const char *sentence;
	} cases[] = {
		{"magic", 0, 0x74736574, 4, "byte 0: not a trace"},
		{"other byte order", 8, 0x04030201, 4,
			"byte 8: byte order 0x04030201, expected 0x01020304: written on"},
		{"no byte order", 8, 7, 4, "byte 8: byte order 0x00000007, expected 0x01020304"},
		{"version", 12, 5, 2, "byte 12: version 5, expected 1 to 4"},
		{"no version", 12, 0, 2, "byte 12: version 0, expected 1 to 4"},
		{"first version", 12, 1, 2, "byte 14: records of 16 bytes, expected 32 or more"},
		{"record size", 14, 15, 2, "byte 14: records of 15 bytes, expected 16 or more"},
		{"header size", 16, 8, 4, "byte 16: a header of 8 bytes, expected 208"},
		{"long header", 16, 0x7fffffff, 4, "byte 16: a header of 2147483647 bytes"},
		{"chunk header size", 20, 0, 4, "byte 20: chunk headers of 0 bytes, expected 64 or more"},
		{"clock", 24, 9, 4, "byte 24: clock 9, expected 1 or 2"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		unsigned char *data = copy_of(builder);

		memcpy(data + cases[i].offset, &cases[i].value, cases[i].size);
		refused(cases[i].what, data, builder->file.size, cases[i].sentence);
		free(data);
	}
	refused("empty", "", 0, "byte 0: the file is empty");
	refused("text", "#!/bin/sh\necho hello\n", 21, "byte 0: not a trace");
}

static void wrong_files(void)
{
	struct trace trace;

	CHECK(trace_open(&trace, "/") < 0 && strstr(trace.error, "a folder, expected one trace"),
		"a folder: %s", trace.error);
	trace_close(&trace);
	CHECK(trace_open(&trace, "/dev/zero") < 0 && strstr(trace.error, "not a regular file"),
		"a device: %s", trace.error);
	trace_close(&trace);
	CHECK(trace_open(&trace, "/no/such/file") < 0 && strstr(trace.error, "No such file"), "no file: %s",
		trace.error);
	trace_close(&trace);
}

int main(void)
{
	struct model model, killed, first;
	struct builder odd;
	struct rlimit limit;

	alarm(SECONDS);
	/* A sanitizer needs its shadow; elsewhere a huge allocation fails, and failing ends the program. */
#if !defined(__SANITIZE_ADDRESS__)
	limit.rlim_cur = limit.rlim_max = (rlim_t)1 << 30;
	setrlimit(RLIMIT_AS, &limit);
#else
	(void)limit;
#endif
	make(&model, false, false);
	make(&killed, true, false);
	make(&first, false, true);
	odd_trace(&odd);
	CHECK(hostile_run(model.processes[0].builder.file.data, model.processes[0].builder.file.size),
		"the trace as it is");
	CHECK(hostile_run(killed.processes[0].builder.file.data, killed.processes[0].builder.file.size),
		"without its end");
	CHECK(hostile_run(first.processes[0].builder.file.data, first.processes[0].builder.file.size),
		"of version 1");
	CHECK(hostile_run(odd.file.data, odd.file.size), "with a graph");
	wrong_headers(&model.processes[0].builder);
	wrong_files();
	truncations(&model.processes[0].builder, 1);
	truncations(&killed.processes[0].builder, 7);
	truncations(&first.processes[0].builder, 7);
	truncations(&odd, 1);
	every_field(&model.processes[0].builder);
	every_field(&first.processes[0].builder);
	every_field(&odd);
	random_corruptions(&model.processes[0].builder, CORRUPTIONS * 6 / 10);
	random_corruptions(&first.processes[0].builder, CORRUPTIONS / 10);
	random_corruptions(&odd, CORRUPTIONS * 3 / 10);
	model_free(&model);
	model_free(&killed);
	model_free(&first);
	builder_free(&odd);
	return check_end();
}
