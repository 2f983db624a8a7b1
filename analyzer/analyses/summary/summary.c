/* Summaries as files, and the texts they share: see summary.h. */
#include "summary.h"
#include "base/limit.h"
#include "base/regular_file.h"
#include "summary_code.h"
#include "trace/trace_name.h"

#include <assert.h>
#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* ---- Texts and models ---- */

const char *summary_intern(struct summary_names *names, const char *text, size_t length)
{
	uint32_t number = intern_text(&names->texts, text, length); /* the items may move */

	return names->texts.items[number];
}

static uint64_t hash_name(uint64_t hash, const struct summary_name *name, bool all)
{
	hash = mem_hash_text(hash, name->text);
	hash = mem_hash(hash, name->parameter_bytes);
	if (!all)
		return hash;
	hash = mem_hash_text(hash, name->name);
	hash = mem_hash_text(hash, name->module);
	hash = mem_hash_text(hash, name->input);
	hash = mem_hash_text(hash, name->activation);
	return mem_hash(hash, name->parameter_count);
}

static bool equal_names(const struct summary_name *a, const struct summary_name *b)
{
	return a->name == b->name && a->module == b->module && a->text == b->text && a->input == b->input &&
	       a->activation == b->activation && a->parameter_count == b->parameter_count &&
	       a->parameter_bytes == b->parameter_bytes;
}

static bool equal_models(const struct summary_model *a, const struct summary_model *b)
{
	if (a->hash != b->hash || a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (!equal_names(&a->names[i], &b->names[i]))
			return false;
	return true;
}

struct summary_model *summary_intern_model(struct summary_names *names, const struct summary_model *model)
{
	struct summary_model like = *model, *found;

	like.hash = like.stage = MEM_HASH_START;
	for (size_t i = 0; i < like.count; i++) {
		like.hash = hash_name(like.hash, &like.names[i], true);
		if (like.names[i].parameter_bytes)
			like.stage = hash_name(like.stage, &like.names[i], false);
	}
	for (found = names->models; found; found = found->next)
		if (equal_models(found, &like))
			return found;
	found = arena_alloc(&names->arena, 1, sizeof(*found));
	*found = like;
	found->names = arena_alloc(&names->arena, like.count, sizeof(*found->names));
	if (like.count)
		memcpy(found->names, like.names, like.count * sizeof(*found->names));
	found->next = names->models;
	names->models = found;
	return found;
}

void summary_names_free(struct summary_names *names)
{
	intern_free(&names->texts);
	arena_free(&names->arena);
	memset(names, 0, sizeof(*names));
}

void summary_free(struct summary *summary)
{
	for (size_t i = 0; i < summary->worker_count && summary->workers; i++) {
		free(summary->workers[i].layers);
		free(summary->workers[i].lines);
		free(summary->workers[i].parts);
	}
	free(summary->workers);
	summary->workers = NULL;
	summary->worker_count = 0;
}

void summary_list_free(struct summary_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		summary_free(&list->items[i]);
	free(list->items);
	memset(list, 0, sizeof(*list));
}

/* ---- Bytes ---- */

struct head {
	char magic[8];
	uint32_t byte_order, version, stored_bytes, packed_bytes, check, zero;
};

/* Unpacked bytes that are nobody's harm, whatever they were packed to. */
#define RATIO_FREE_BYTES (1u << 20)

static_assert(sizeof(struct head) == SUMMARY_HEAD_BYTES, "no padding");

unsigned char *summary_bytes(struct summary *summary, size_t *bytes)
{
	struct summary_code code = {0};
	struct head head = {.magic = SUMMARY_MAGIC};
	unsigned char *data;
	uLongf stored;

	summary_fields(&code, summary);
	stored = compressBound(code.bytes);
	data = mem_alloc(SUMMARY_HEAD_BYTES + stored, 1);
	/* It fails only for want of memory, as mem_alloc does. */
	if (compress2(data + SUMMARY_HEAD_BYTES, &stored, code.data, code.bytes, 9) != Z_OK)
		mem_alloc(SIZE_MAX, SIZE_MAX);
	head.byte_order = htole32(SUMMARY_BYTE_ORDER);
	head.version = htole32(SUMMARY_VERSION);
	head.stored_bytes = htole32((uint32_t)stored);
	head.packed_bytes = htole32((uint32_t)code.bytes);
	head.check = htole32((uint32_t)crc32(0, data + SUMMARY_HEAD_BYTES, (uInt)stored));
	memcpy(data, &head, sizeof(head));
	*bytes = SUMMARY_HEAD_BYTES + stored;
	free(code.data);
	return data;
}

/* What is wrong with a head that has `left` bytes after its start; NULL: nothing. */
static const char *check_head(struct arena *arena, const struct head *head, size_t left)
{
	uint32_t order = le32toh(head->byte_order);

	if (memcmp(head->magic, SUMMARY_MAGIC, sizeof(head->magic)) != 0)
		return "not a summary: wrong magic number";
	if (order == __builtin_bswap32(SUMMARY_BYTE_ORDER))
		return "the summary has the opposite byte order";
	if (order != SUMMARY_BYTE_ORDER)
		return "the summary header is corrupt";
	if (le32toh(head->version) != SUMMARY_VERSION)
		return arena_format(arena,
			"summary version %u, expected %u: make it again with this pmanalyze reduce",
			le32toh(head->version), SUMMARY_VERSION);
	if (le32toh(head->stored_bytes) > left - SUMMARY_HEAD_BYTES)
		return arena_format(arena, "truncated summary: %u bytes expected, %zu present",
			le32toh(head->stored_bytes), left - SUMMARY_HEAD_BYTES);
	if (le32toh(head->packed_bytes) > SUMMARY_MOST_BYTES || le32toh(head->zero) != 0)
		return "the summary header is corrupt";
	if (le32toh(head->packed_bytes) > RATIO_FREE_BYTES &&
		le32toh(head->packed_bytes) > pm_limit_value(PM_LIMIT_RATIO) * le32toh(head->stored_bytes))
		return pm_limit_met(PM_LIMIT_RATIO);
	return NULL;
}

/* What is wrong with one summary; NULL: nothing, and it was appended. */
static const char *read_one(struct summary_list *list, struct summary_names *names, const char *path,
	const struct head *head, const unsigned char *stored)
{
	uLongf packed = le32toh(head->packed_bytes);
	unsigned char *data;
	struct summary_code code = {.reads = true, .names = names};
	struct summary *summary;

	if (crc32(0, stored, le32toh(head->stored_bytes)) != le32toh(head->check))
		return "the summary is corrupt: checksum mismatch";
	data = mem_alloc(packed, 1);
	if (uncompress(data, &packed, stored, le32toh(head->stored_bytes)) != Z_OK ||
		packed != le32toh(head->packed_bytes)) {
		free(data);
		return "the summary is corrupt: decompression failed";
	}
	code.data = data;
	code.bytes = packed;
	summary = MEM_PUSH(list->items, list->count, list->room);
	memset(summary, 0, sizeof(*summary));
	summary->path = path;
	summary_fields(&code, summary);
	free(data);
	if (code.wrong) {
		summary_free(summary);
		list->count--;
		return arena_format(&names->arena, "the summary is corrupt: %s", code.wrong);
	}
	return NULL;
}

int summary_read(struct summary_list *list, struct summary_names *names, const char *path, const void *data,
	size_t bytes, const char **error)
{
	const unsigned char *begin = data;
	const char *wrong = NULL;
	size_t at = 0;

	path = summary_intern(names, path, strlen(path));
	if (bytes == 0)
		wrong = "the file is empty";
	while (at < bytes && !wrong) {
		struct head head;

		wrong = pm_limit_at(at);
		if (wrong)
			break;
		if (bytes - at < sizeof(head)) {
			wrong = memcmp(begin + at, SUMMARY_MAGIC, bytes - at < 8 ? bytes - at : 8) == 0
					? "truncated summary: incomplete header"
					: "not a summary: wrong magic number";
			break;
		}
		memcpy(&head, begin + at, sizeof(head));
		wrong = check_head(&names->arena, &head, bytes - at);
		if (!wrong)
			wrong = read_one(list, names, path, &head, begin + at + sizeof(head));
		if (!wrong)
			at += sizeof(head) + le32toh(head.stored_bytes);
	}
	if (wrong && strncmp(wrong, path, strlen(path)) == 0) /* a limit's sentence says where */
		*error = arena_format(&names->arena, "%s", wrong);
	else if (wrong)
		*error = arena_format(&names->arena, "%s: byte %zu: %s", path, at, wrong);
	return wrong ? -1 : 0;
}

/* ---- Files ---- */

/* All of a file, which the caller frees, or NULL and what is wrong. */
static unsigned char *read_file(const char *path, size_t *bytes, const char **wrong)
{
	int file = regular_file_open(path);
	unsigned char *data = NULL;
	size_t room = 0;
	ssize_t got = -1;
	struct stat status;

	*bytes = 0;
	if (file < 0) {
		*wrong = regular_file_trouble(file);
		return NULL;
	}
	if (fstat(file, &status) < 0)
		status.st_size = 0;
	mem_reserve((void **)&data, 0, &room, 1, (uint64_t)status.st_size + 1);
	do {
		if (*bytes == room)
			mem_reserve((void **)&data, *bytes, &room, 1, room + 4096);
		got = read(file, data + *bytes, room - *bytes);
		if (got > 0)
			*bytes += (size_t)got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	if (got < 0) {
		*wrong = strerror(errno);
		free(data);
		data = NULL;
	}
	close(file);
	return data;
}

int summary_load(struct summary_list *list, struct summary_names *names, const char *path, const char **error)
{
	size_t bytes;
	const char *wrong = NULL;
	unsigned char *data = read_file(path, &bytes, &wrong);
	int rc;

	if (!data) {
		*error = arena_format(&names->arena, "%s: %s", path, wrong);
		return -1;
	}
	pm_limit_begin(path, bytes, "byte");
	rc = summary_read(list, names, path, data, bytes, error);
	pm_limit_end();
	free(data);
	return rc;
}

static bool has_summaries(const char *path)
{
	DIR *folder = opendir(path);
	bool found = false, traces = false;

	for (struct dirent *entry; folder && !traces && (entry = readdir(folder));) {
		const char *dot = strrchr(entry->d_name, '.');

		found |= dot && strcmp(dot, ".pmsum") == 0;
		traces = trace_name_stem(entry->d_name) > 0;
	}
	if (folder)
		closedir(folder);
	return found && !traces;
}

bool summary_looks(const char *path)
{
	struct stat status;
	char magic[8];
	ssize_t got;
	int file;

	if (stat(path, &status) < 0)
		return false;
	if (S_ISDIR(status.st_mode))
		return has_summaries(path);
	if (!S_ISREG(status.st_mode))
		return false;
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return false;
	got = read(file, magic, sizeof(magic));
	close(file);
	return got == sizeof(magic) && memcmp(magic, SUMMARY_MAGIC, sizeof(magic)) == 0;
}
