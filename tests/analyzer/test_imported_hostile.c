/* Checks the reading of Chrome-trace JSON where it is hard: cut or damaged files, events across the end of
 * the reader's window, and files that are far larger than what is kept of them. */
#include "imported_make.h"

#include <sys/resource.h>

/* Cut after any byte, or with a byte changed: never more than the whole says, and nothing that breaks. */
static void check_hostile(void)
{
	size_t length = strlen(make_whole), before = 0;
	uint32_t random = 1;
	char *text = malloc(length);

	for (size_t cut = 0; cut < length; cut++) {
		struct imported imported;
		/* A copy of its own, so that a sanitizer sees reading after it. */
		int status = make_read_bytes(&imported, "cut.json", make_whole, cut, IMPORTED_WANT_STEPS);

		CHECK(imported.trouble || cut >= length - 1, "cut at %zu is not noticed", cut);
		CHECK(status == 0 || cut < 1, "cut at %zu: %d", cut, status);
		CHECK(imported.events.count >= before && imported.events.count <= 2, "cut at %zu", cut);
		before = imported.events.count;
		imported_free(&imported);
	}
	for (int i = 0; i < 20000; i++) {
		struct imported imported;

		memcpy(text, make_whole, length);
		for (int j = 0; j < 1 + i % 4; j++) {
			random = random * 1664525 + 1013904223;
			text[(random >> 8) % length] = (char)(random >> 3);
		}
		make_read_bytes(&imported, "odd.json", text, length, ~0u);
		imported_free(&imported);
	}
	for (int i = 0; i < 2000; i++) {
		struct imported imported;

		for (size_t j = 0; j < 200; j++) {
			static const char letters[] = "{}[]\",:\\ tfn1eE-.\0phcatsur\"\"";

			random = random * 1664525 + 1013904223;
			text[j] = letters[(random >> 8) % (sizeof(letters) - 1)];
		}
		text[0] = '[';
		make_read_bytes(&imported, "random.json", text, 200, ~0u);
		imported_free(&imported);
	}
	free(text);
}

/* Events lie across the end of the window at every byte; one is longer than the window. */
static void check_window_ends(void)
{
	static const char event[] = MAKE_KERNEL("k", "123456.789", "10", "7", "42");
	size_t room = 1 << 20, length;
	char *text = malloc(room);
	struct imported imported;

	for (size_t padding = 0; padding < sizeof(event); padding++) {
		size_t count = 0;

		length = (size_t)sprintf(text, "[%*s", (int)padding, "");
		while (length < 530000) {
			length += (size_t)sprintf(text + length, "%s%s", count ? "," : "", event);
			count++;
		}
		length += (size_t)sprintf(text + length, "]");
		CHECK(make_read_bytes(&imported, "many.json", text, length, 0) == 0 && !imported.trouble,
			"%s", imported.trouble);
		CHECK(imported.events.count == count, "padding %zu: %zu events, not %zu", padding,
			imported.events.count, count);
		for (size_t i = 0; i < imported.events.count; i++)
			if (imported.events.begin_ns[i] != 123456789 ||
				imported.events.end_ns[i] != 123466789 ||
				imported.events.correlation[i] != 42) {
				CHECK(false, "padding %zu: event %zu", padding, i);
				break;
			}
		imported_free(&imported);
	}
	length = (size_t)sprintf(text, "[{\"name\": \"long\", \"ph\": \"X\", \"cat\": \"kernel\", \"args\": "
				       "{\"stack\": \"");
	memset(text + length, 'x', 900000);
	length += 900000;
	length += (size_t)sprintf(text + length, "\", \"stream\": 4}, \"ts\": 1, \"dur\": 2}]");
	CHECK(make_read_bytes(&imported, "long.json", text, length, 0) == 0 && !imported.trouble, "%s",
		imported.trouble);
	CHECK(imported.events.count == 1 && imported.queues[0].stream == 4, "an event of 900000 bytes");
	imported_free(&imported);
	free(text);
}

/* However long the file, memory is that of what is kept: 64 MB of operators and flows are passed in a few. */
static void check_memory(void)
{
	static const char operators[] =
		"{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::add\", \"pid\": 1, \"tid\": 1, \"ts\": 5, "
		"\"dur\": 1, \"args\": {\"Call stack\": \"main.py(3): f; main.py(9): g\", \"Input Dims\": [[64, 3]]}},"
		"{\"ph\": \"s\", \"id\": 4, \"pid\": 1, \"tid\": 1, \"ts\": 5, \"cat\": \"ac2g\", \"name\": \"ac2g\"},";
	FILE *file = fopen(make_path("large.json"), "wb");
	struct rusage before, after;
	struct imported imported;

	fputs("{\"traceEvents\": [", file);
	for (size_t bytes = 0; bytes < 64 << 20; bytes += sizeof(operators) - 1)
		fputs(operators, file);
	fputs(MAKE_KERNEL("k", "5", "1", "7", "1") "], \"INFO\": [", file);
	for (size_t bytes = 0; bytes < 4 << 20; bytes += 10)
		fputs("\"a note\", ", file);
	fputs("\"\"]}", file);
	fclose(file);
	getrusage(RUSAGE_SELF, &before);
	CHECK(imported_read(&imported, make_path("large.json"), IMPORTED_WANT_STEPS) == 0 &&
			!imported.trouble,
		"%s", imported.trouble);
	getrusage(RUSAGE_SELF, &after);
	CHECK(imported.events.count == 1, "%zu", imported.events.count);
	CHECK(after.ru_maxrss - before.ru_maxrss < 4096, "%ld KB more", after.ru_maxrss - before.ru_maxrss);
	imported_free(&imported);
	unlink(make_path("large.json"));
}

int main(void)
{
	make_begin();
	/* First, since a greater peak before would hide it. */
	check_memory();
	check_hostile();
	check_window_ends();
	make_end();
	return check_end();
}
