/*
 * Checks the file of a summary: what is written is read again, and what is cut off, damaged, of another
 * version or made to harm is one sentence, or a summary that the report gets along with.
 */
#include "check.h"
#include "analyses/cause/cause.h"
#include "base/output.h"
#include "analyses/summary/summaries.h"
#include "summary_maker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* A summary's file, and what it was made of: writing rounds the times of what it writes, which is another
 * copy. */
struct made {
	struct maker_options options;
	struct summary_names names;
	struct summary summary;
	unsigned char *data;
	size_t bytes;
};

static void fill(struct made *made, struct summary *summary)
{
	struct summary_worker *worker;
	size_t kept = 0;

	maker_make(&made->options, 5, &made->names, summary);
	summary->trouble = summary_intern(&made->names, "it is odd", 9);
	summary->lost_records = UINT64_MAX;
	worker = summary->workers;
	worker->layers[2].unknown = 5;
	/* an iteration of which nothing was kept */
	for (size_t i = 0; i < worker->part_count; i++)
		if (worker->parts[i].sample != 3)
			worker->parts[kept++] = worker->parts[i];
	worker->part_count = kept;
}

static void make(struct made *made)
{
	struct summary written;

	memset(made, 0, sizeof(*made));
	made->options = maker_usual;
	fill(made, &made->summary);
	fill(made, &written);
	made->data = summary_bytes(&written, &made->bytes);
	summary_free(&written);
}

static void drop(struct made *made)
{
	free(made->data);
	summary_free(&made->summary);
	summary_names_free(&made->names);
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1.0 / 256 + 1e-6 * fabs(a);
}

static bool same_spread(const struct summary_spread *a, const struct summary_spread *b)
{
	bool same = near(a->mean, b->mean) && near(a->deviation, b->deviation);

	for (int i = 0; i < SUMMARY_QUANTILES; i++)
		same &= near((double)a->quantiles[i], (double)b->quantiles[i]);
	return same;
}

static void compare_workers(const struct summary_worker *a, const struct summary_worker *b)
{
	CHECK(a->device == b->device && a->found == b->found && a->used == b->used &&
			a->samples == b->samples && a->confidence == b->confidence &&
			a->kinds[1] == b->kinds[1],
		"the worker's numbers");
	CHECK(same_spread(&a->iteration, &b->iteration) && same_spread(&a->compute, &b->compute) &&
			same_spread(&a->lead, &b->lead) && same_spread(&a->host, &b->host),
		"its figures");
	for (int i = 0; i < PHASE_COUNT; i++)
		CHECK(same_spread(&a->exclusive[i], &b->exclusive[i]) &&
				(i >= PHASE_WORK_COUNT || same_spread(&a->busy[i], &b->busy[i])),
			"phase %d", i);
	CHECK(a->model->count == b->model->count && a->model->stage == b->model->stage, "its layers");
	for (size_t l = 0; l < a->model->count; l++) {
		CHECK(strcmp(a->model->names[l].name, b->model->names[l].name) == 0 &&
				strcmp(a->model->names[l].text, b->model->names[l].text) == 0 &&
				strcmp(a->model->names[l].input, b->model->names[l].input) == 0 &&
				a->model->names[l].parameter_bytes == b->model->names[l].parameter_bytes,
			"layer %zu", l);
		for (int c = 0; c < 4; c++)
			CHECK(near(a->layers[l].mean[c], b->layers[l].mean[c]) &&
					near((double)a->layers[l].median[c],
						(double)b->layers[l].median[c]) &&
					near((double)a->layers[l].quarter[c],
						(double)b->layers[l].quarter[c]),
				"layer %zu column %d", l, c);
		CHECK(a->layers[l].unknown == b->layers[l].unknown, "layer %zu", l);
	}
	CHECK(a->line_count == b->line_count && a->part_count == b->part_count && a->sampled == b->sampled,
		"%zu parts of %zu", a->part_count, b->part_count);
	CHECK(a->lines[0].hash == b->lines[0].hash && a->lines[0].key == b->lines[0].key, "its communicator");
	for (size_t i = 0; i < a->part_count && i < b->part_count; i++)
		CHECK(memcmp(&a->parts[i], &b->parts[i], sizeof(a->parts[i])) == 0, "part %zu", i);
}

static void round_trip(void)
{
	struct summary_list list = {0};
	struct summary_names names = {0};
	const char *error = NULL;
	struct made made;
	unsigned char *twice;

	make(&made);
	CHECK(made.bytes < 8192, "%zu bytes", made.bytes);
	twice = mem_alloc(2, made.bytes);
	memcpy(twice, made.data, made.bytes);
	memcpy(twice + made.bytes, made.data, made.bytes);
	CHECK(summary_read(&list, &names, "two", twice, 2 * made.bytes, &error) == 0, "%s", error);
	CHECK(list.count == 2, "%zu summaries", list.count);
	for (size_t i = 0; i < list.count; i++) {
		const struct summary *a = &list.items[i], *b = &made.summary;

		CHECK(a->rank == 5 && a->world == b->world && a->pid == b->pid && a->ended &&
				!a->graphs_left && a->real_offset_ns == b->real_offset_ns &&
				a->run_ns == b->run_ns && a->lost_records == UINT64_MAX &&
				a->device_source == PM_DEVICE_CUPTI,
			"the process's numbers");
		CHECK(strcmp(a->host, "node0001") == 0 && strcmp(a->program, "train") == 0 &&
				strcmp(a->trouble, "it is odd") == 0 && strcmp(a->source, b->source) == 0 &&
				strcmp(a->path, "two") == 0,
			"its texts");
		compare_workers(&a->workers[0], &b->workers[0]);
	}
	CHECK(list.count < 2 || list.items[0].workers[0].model == list.items[1].workers[0].model,
		"equal layers are kept once");
	free(twice);
	summary_list_free(&list);
	summary_names_free(&names);
	drop(&made);
}

/* Must be refused with these words. */
static void refused(const char *what, const void *data, size_t bytes, const char *words)
{
	struct summary_list list = {0};
	struct summary_names names = {0};
	const char *error = "";
	int rc = summary_read(&list, &names, "name", data, bytes, &error);

	CHECK(rc < 0, "%s was accepted", what);
	CHECK(rc == 0 || (strstr(error, words) && strncmp(error, "name: byte ", 11) == 0 &&
				 !strchr(error, '\n')),
		"%s: '%s', expected '%s'", what, error, words);
	summary_list_free(&list);
	summary_names_free(&names);
}

static void damage(void)
{
	static const struct {
		const char *what;
		size_t offset;
		unsigned char bytes[4];
		const char *words;
	} cases[] = {
		{"another file", 0, {'#', '!', '/', 'b'}, "not a summary: wrong magic number"},
		{"the other byte order", 8, {1, 2, 3, 4}, "the opposite byte order"},
		{"no byte order", 8, {9, 9, 9, 9}, "header is corrupt"},
		{"a later version", 12, {2, 0, 0, 0}, "summary version 2, expected 1"},
		{"a length beyond the file", 16, {0xff, 0xff, 0xff, 0x7f},
			"truncated summary: 2147483647 bytes expected"},
		{"more than may be", 20, {0xff, 0xff, 0xff, 0x7f}, "header is corrupt"},
		{"another size inside", 20, {1, 0, 0, 0}, "decompression failed"},
		{"a wrong check sum", 24, {1, 2, 3, 4}, "checksum mismatch"},
		{"a field of the future", 28, {1, 0, 0, 0}, "header is corrupt"},
		{"a damaged body", 100, {0xff, 0xfe, 0xfd, 0xfc}, "checksum mismatch"},
	};
	struct made made;
	unsigned char *copy;

	make(&made);
	copy = mem_alloc(made.bytes + 64, 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		memcpy(copy, made.data, made.bytes);
		memcpy(copy + cases[i].offset, cases[i].bytes, 4);
		refused(cases[i].what, copy, made.bytes, cases[i].words);
	}
	refused("nothing", copy, 0, "the file is empty");
	for (size_t bytes = 1; bytes < made.bytes; bytes++) {
		/* in memory of its own: reading after it would be seen */
		unsigned char *cut = mem_alloc(bytes, 1);

		memcpy(cut, made.data, bytes);
		refused("a part", cut, bytes, "truncated summary");
		free(cut);
	}
	memcpy(copy, made.data, made.bytes);
	refused("something behind it", copy, made.bytes + 3, "not a summary: wrong magic number");
	free(copy);
	drop(&made);
}

/* The file with other fields, and a check sum that is right again. */
static unsigned char *repack(
	const unsigned char *head, unsigned char *packed, size_t packed_bytes, size_t *bytes)
{
	uLongf stored = compressBound(packed_bytes);
	unsigned char *data = mem_alloc(SUMMARY_HEAD_BYTES + stored, 1);
	uint32_t fields[3];

	memcpy(data, head, SUMMARY_HEAD_BYTES);
	CHECK(compress2(data + SUMMARY_HEAD_BYTES, &stored, packed, packed_bytes, 1) == Z_OK, "deflate");
	fields[0] = (uint32_t)stored;
	fields[1] = (uint32_t)packed_bytes;
	fields[2] = (uint32_t)crc32(0, data + SUMMARY_HEAD_BYTES, (uInt)stored);
	memcpy(data + 16, fields, sizeof(fields));
	*bytes = SUMMARY_HEAD_BYTES + stored;
	return data;
}

/* Reads the bytes beside a good summary, as a job; true if they were accepted. */
static bool survives(const char *folder, const unsigned char *data, size_t bytes, const struct made *good)
{
	char path[256], *paths[1] = {path}, *error;
	unsigned char *both = mem_alloc(good->bytes + bytes, 1);
	struct summaries job;
	struct cause_list causes;
	bool accepted;

	snprintf(path, sizeof(path), "%s/hostile.pmsum", folder);
	memcpy(both, good->data, good->bytes);
	memcpy(both + good->bytes, data, bytes);
	CHECK(pm_output_write(path, both, good->bytes + bytes) == 0, "%s cannot be written", path);
	free(both);
	if (summaries_open(&job, paths, 1, &error) < 0) {
		CHECK(false, "%s", error);
		free(error);
		return false;
	}
	accepted = job.trouble_count == 0 || strstr(job.troubles[0], "more than once");
	CHECK(accepted || strstr(job.troubles[0], "the summary is corrupt: "), "'%s'",
		job.trouble_count ? job.troubles[0] : "");
	summaries_causes(&job, &causes);
	summaries_warnings(&job);
	cause_free(&causes);
	summaries_close(&job);
	unlink(path);
	return accepted;
}

/* Each byte of the fields is made 0, all ones, and one more; then they are cut anywhere: the check sum is
 * right. */
static void hostile(void)
{
	char folder[] = "/tmp/test_summary.XXXXXX";
	size_t accepted = 0, tried = 0;
	struct made made, other;
	uLongf packed_bytes;
	unsigned char *packed;

	make(&made);
	memset(&other, 0, sizeof(other));
	other.options = maker_usual;
	maker_make(&other.options, 2, &other.names, &other.summary);
	other.data = summary_bytes(&other.summary, &other.bytes);
	CHECK(mkdtemp(folder) != NULL, "no folder");
	packed_bytes = (uLongf)made.data[20] | (uLongf)made.data[21] << 8 | (uLongf)made.data[22] << 16;
	packed = mem_alloc(packed_bytes, 1);
	CHECK(uncompress(packed, &packed_bytes, made.data + SUMMARY_HEAD_BYTES,
		      made.bytes - SUMMARY_HEAD_BYTES) == Z_OK,
		"inflate");
	for (size_t at = 0; at < packed_bytes; at++)
		for (int way = 0; way < 4; way++) {
			unsigned char kept = packed[at], *data;
			size_t bytes, length = way < 3 ? packed_bytes : at;

			packed[at] = way == 0 ? 0 : way == 1 ? 0xff : (unsigned char)(kept + (way == 2));
			data = repack(made.data, packed, length, &bytes);
			packed[at] = kept;
			tried++;
			if (survives(folder, data, bytes, &other)) {
				accepted++;
				CHECK(way < 3, "fields that end after %zu bytes were accepted", at);
			}
			free(data);
		}
	/* Most bytes are times and may have any value. */
	CHECK(accepted > tried / 8 && accepted < tried * 3 / 4, "%zu of %zu accepted", accepted, tried);
	CHECK(rmdir(folder) == 0, "something was left in %s", folder);
	free(packed);
	drop(&other);
	drop(&made);
}

static void files(void)
{
	struct summary_list list = {0};
	struct summary_names names = {0};
	const char *error = "";

	CHECK(summary_load(&list, &names, "/no/such/file", &error) < 0 && strstr(error, "No such file"), "%s",
		error);
	CHECK(summary_load(&list, &names, "/dev/zero", &error) < 0 && strstr(error, "not a regular file"),
		"%s", error);
	CHECK(summary_load(&list, &names, "/", &error) < 0 && strstr(error, "a folder"), "%s", error);
	CHECK(pm_output_write("/no/such/folder/a.pmsum", "a", 1) == -2, "no folder");
	CHECK(!summary_looks("/dev/zero") && !summary_looks("/no/such/file") && !summary_looks("/"),
		"no summaries");
	summary_names_free(&names);
}

int main(void)
{
	round_trip();
	damage();
	hostile();
	files();
	return check_end();
}
