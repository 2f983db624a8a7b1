/* Checks which file or folder input is said to come from: the one with more than half of the time of the used
 * iterations. */
#include "analyses/input_file.h"
#include "check.h"

#include <math.h>
#include <string.h>

#define FILES 4

struct reading {
	const char *path; /* NULL: the trace does not tell */
	int64_t ns;
};

/* Reads of one iteration, as they are used; another iteration, which is not, reads long from elsewhere. */
static bool find(const struct reading reads[FILES], struct arena *arena, struct input_file *found)
{
	static const struct timeline_label label = {PM_VALUE_STRING, "file"};
	const char *strings[FILES + 2] = {"", "/elsewhere/other.bin"};
	struct timeline_function functions[2] = {{.label_count = 1, .labels = &label}, {.name = "read"}};
	struct timeline_operation operations[FILES + 1];
	struct timeline_call calls[FILES + 1];
	uint64_t values[FILES + 1];
	uint32_t numbers[FILES + 1];
	struct iteration items[2] = {
		{.first_read = 0, .read_end = 1}, {.first_read = 1, .read_end = FILES + 1}};
	uint32_t used = 1;
	struct worker worker = {.reads = numbers, .read_count = FILES + 1};
	struct analysis analysis = {.timeline = {.strings = strings,
					    .string_count = FILES + 2,
					    .functions = functions,
					    .operations = operations,
					    .calls = calls}};
	struct analysis_worker of = {.worker = &worker,
		.iterations = {.items = items, .count = 2},
		.used = &used,
		.used_count = 1};

	for (uint32_t i = 0; i <= FILES; i++) {
		const struct reading *read = i ? &reads[i - 1] : &(struct reading){strings[1], 1000000};

		strings[i + 1] = read->path ? read->path : "";
		numbers[i] = i;
		values[i] = i + 1;
		operations[i] = (struct timeline_operation){.function = read->path ? 0 : 1,
			.value_count = read->path ? 1 : 0,
			.values = &values[i]};
		calls[i] = (struct timeline_call){.begin_ns = 10, .end_ns = 10 + read->ns, .operation = i};
	}
	return input_file_find(&analysis, &of, arena, found);
}

int main(void)
{
	static const struct {
		struct reading reads[FILES];
		const char *name; /* NULL: none */
		double share;
	} rows[] = {
		{{{"/data/a.bin", 60}, {"/data/b.bin", 20}, {"/data/a.bin", 10}, {"/c", 10}}, "/data/a.bin",
			0.6},
		{{{"/d/1.jpg", 30}, {"/d/2.jpg", 30}, {"/d/sub/3.jpg", 20}, {"/e/4", 20}}, "files in /d",
			0.6},
		{{{"/d/1.jpg", 25}, {"/dd/2.jpg", 25}, {"/e/3.jpg", 25}, {"/f/4", 25}}, NULL, 0},
		{{{"/d/1", 40}, {NULL, 50}, {"/d/2", 5}, {"/e/3", 5}}, NULL, 0},
		{{{NULL, 40}, {NULL, 50}, {NULL, 5}, {NULL, 5}}, NULL, 0},
		{{{"/1", 30}, {"/2", 30}, {"/3", 30}, {"/e/4", 10}}, "files in /", 0.9},
		{{{"/d/\033[1m", 100}, {"/2", 0}, {"/3", 0}, {"/4", 0}}, "/d/\\x1b[1m", 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct arena arena = {0};
		struct input_file found = {.name = NULL};
		bool is_found = find(rows[i].reads, &arena, &found);

		CHECK(is_found == (rows[i].name != NULL), "row %zu: %s", i, is_found ? found.name : "none");
		if (is_found && rows[i].name) {
			CHECK(strcmp(found.name, rows[i].name) == 0, "row %zu: %s", i, found.name);
			CHECK(fabs(found.share - rows[i].share) < 1e-9, "row %zu: %g", i, found.share);
		}
		arena_free(&arena);
	}
	return check_end();
}
