#include "peek.h"

#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct peek peek_open(const char *path)
{
	struct peek t;
	struct stat s;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || fstat(fd, &s) != 0)
		err(1, "%s", path);
	t.size = (size_t)s.st_size;
	t.bytes = mmap(NULL, t.size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (t.bytes == MAP_FAILED)
		err(1, "%s", path);
	close(fd);
	t.header = (const void *)t.bytes;
	if (t.size < sizeof *t.header || memcmp(t.header->magic, PM_MAGIC, 8) != 0)
		errx(1, "%s: no trace", path);
	return t;
}

void peek_close(struct peek *t)
{
	munmap((void *)(uintptr_t)t->bytes, t->size);
}

const char *peek_only(const char *folder)
{
	static char path[4096];
	DIR *d = opendir(folder);
	struct dirent *e;

	if (!d)
		err(1, "%s", folder);
	path[0] = 0;
	while ((e = readdir(d))) {
		if (!strstr(e->d_name, ".pmtrace"))
			continue;
		if (path[0])
			errx(1, "%s: more than one trace", folder);
		snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
	}
	closedir(d);
	return path;
}

static const struct pm_chunk *next_chunk(const struct peek *t, const struct pm_chunk *chunk)
{
	size_t at = chunk ? (size_t)((const unsigned char *)chunk - t->bytes) + chunk->chunk_bytes
			  : t->header->header_bytes;

	if (at + sizeof *chunk > t->size)
		return NULL;
	chunk = (const void *)(t->bytes + at);
	return chunk->magic == PM_CHUNK_MAGIC ? chunk : NULL;
}

static void peek_chunk(const struct pm_chunk *c, void (*f)(const struct peek_record *, uint32_t, void *),
	void (*ranges)(const struct pm_range *, uint64_t, uint32_t, void *), void *data)
{
	const struct pm_record *r = (const void *)(c + 1);
	const void *end = (const unsigned char *)c + c->chunk_bytes;
	uint64_t base[2] = {c->ticks, c->monotonic_ns};
	struct pm_more more = {0};

	for (; (const void *)(r + 1) <= end && r->kind; r++) {
		if (r->kind == PM_RECORD_BASE) {
			const struct pm_base *b = (const void *)r;

			base[b->clock & 1] = b->base;
		} else if (r->kind == PM_RECORD_MORE) {
			memcpy(&more, r, sizeof more);
		} else if (r->kind == PM_RECORD_RANGE) {
			const struct pm_range *range = (const void *)r;

			if (ranges)
				ranges(range, base[0] + range->ticks, c->thread, data);
		} else {
			uint64_t begin = base[r->kind == PM_RECORD_DEVICE] + r->begin;
			uint64_t duration = r->duration | (uint64_t)more.duration_high << 32;

			f(&(struct peek_record){.begin = begin,
				  .end = begin + duration,
				  .op = r->op,
				  .correlation = more.correlation,
				  .sequence = more.sequence,
				  .result = more.result,
				  .queue = r->queue,
				  .kind = r->kind,
				  .flags = r->flags,
				  .group = more.group},
				c->thread, data);
			more = (struct pm_more){0};
		}
	}
}

void peek_records_and_ranges(const struct peek *t, void (*f)(const struct peek_record *, uint32_t, void *),
	void (*ranges)(const struct pm_range *, uint64_t, uint32_t, void *), void *data)
{
	for (const struct pm_chunk *c = next_chunk(t, NULL); c; c = next_chunk(t, c))
		if (c->kind == PM_CHUNK_RECORDS)
			peek_chunk(c, f, ranges, data);
}

void peek_records(const struct peek *t, void (*f)(const struct peek_record *, uint32_t, void *), void *data)
{
	peek_records_and_ranges(t, f, NULL, data);
}

void peek_entries(
	const struct peek *t, enum pm_entry_type type, void (*f)(const void *, size_t, void *), void *data)
{
	for (const struct pm_chunk *c = next_chunk(t, NULL); c; c = next_chunk(t, c)) {
		const unsigned char *p = (const void *)(c + 1), *end = p + c->used_bytes;

		if (c->kind != PM_CHUNK_DICTIONARY)
			continue;
		while (p < end) {
			const struct pm_entry *e = (const void *)p;

			if (e->type == type)
				f(e + 1, e->entry_bytes - sizeof *e, data);
			p += e->entry_bytes;
		}
	}
}

struct search {
	uint32_t number;
	const void *found;
};

/* Every numbered entry begins with its number. */
static void match(const void *body, size_t body_bytes, void *data)
{
	struct search *s = data;

	(void)body_bytes;
	if (*(const uint32_t *)body == s->number)
		s->found = body;
}

const void *peek_numbered(const struct peek *t, enum pm_entry_type type, uint32_t number)
{
	struct search s = {.number = number};

	peek_entries(t, type, match, &s);
	return s.found;
}

const struct pm_entry_operation *peek_operation(const struct peek *t, uint32_t number)
{
	return peek_numbered(t, PM_ENTRY_OPERATION, number);
}

const char *peek_function(const struct peek *t, uint32_t number)
{
	const struct pm_entry_function *f = peek_numbered(t, PM_ENTRY_FUNCTION, number);

	return f ? f->text : "";
}

const char *peek_string(const struct peek *t, uint32_t number)
{
	const struct pm_entry_string *s = peek_numbered(t, PM_ENTRY_STRING, number);

	return s ? s->text : "";
}

const struct pm_footer *peek_footer(const struct peek *t)
{
	for (const struct pm_chunk *c = next_chunk(t, NULL); c; c = next_chunk(t, c))
		if (c->kind == PM_CHUNK_FOOTER && c->used_bytes >= sizeof(struct pm_footer))
			return (const void *)(c + 1);
	return NULL;
}

/* Operations of one function, and what their calls add up to. */
struct count {
	const char *name;
	uint32_t function;
	bool is_counted[1 << 17]; /* by number of the operation */
	unsigned calls;
	int64_t sum;
};

static void match_function(const void *body, size_t body_bytes, void *data)
{
	const struct pm_entry_function *function = body;
	struct count *c = data;
	/* library, kind, name */
	const char *name = strchr(strchr(function->text, ' ') + 1, ' ') + 1;
	size_t n = strlen(c->name);

	(void)body_bytes;
	if (strncmp(name, c->name, n) == 0 && (name[n] == 0 || name[n] == ' '))
		c->function = function->number;
}

static void mark_operation(const void *body, size_t body_bytes, void *data)
{
	const struct pm_entry_operation *op = body;
	struct count *c = data;

	(void)body_bytes;
	if (op->function == c->function)
		c->is_counted[op->number] = true;
}

static void count_call(const struct peek_record *r, uint32_t thread, void *data)
{
	struct count *c = data;

	(void)thread;
	if (r->kind == PM_RECORD_CALL && c->is_counted[r->op]) {
		c->calls++;
		c->sum += r->result;
	}
}

unsigned peek_calls(const struct peek *t, const char *name, int64_t *result_sum)
{
	static struct count c;

	memset(&c, 0, sizeof c);
	c.name = name;
	peek_entries(t, PM_ENTRY_FUNCTION, match_function, &c);
	peek_entries(t, PM_ENTRY_OPERATION, mark_operation, &c);
	peek_records(t, count_call, &c);
	if (result_sum)
		*result_sum = c.sum;
	return c.calls;
}
