#include "promise.h"

#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROMISES 1024
static struct {
	const char *text;
	int line;
	bool kept;
} promises[PROMISES];
static unsigned promise_count;
#define FIRST 0x40000000u

uintptr_t promise(const char *text, int line)
{
	if (promise_count == PROMISES)
		errx(1, "too many promises");
	promises[promise_count].text = text;
	promises[promise_count].line = line;
	return FIRST + 16 * promise_count++;
}
static _Alignas(64) unsigned char objects[256][1024];
static unsigned object_count;

void *new_object(void)
{
	if (object_count == sizeof objects / sizeof objects[0])
		errx(1, "too many objects");
	return objects[object_count++];
}

/* ---- what the trace says ---- */

static struct peek trace;
static void (*see_also)(const struct peek *, const struct pm_entry_operation *, const char *);
static uint64_t hashes[64];
static unsigned hash_count, bad;

static unsigned ordinal_of(uint64_t hash)
{
	unsigned i = 0;

	while (i < hash_count && hashes[i] != hash)
		i++;
	if (i == hash_count && hash_count < sizeof hashes / sizeof hashes[0])
		hashes[hash_count++] = hash;
	return i + 1;
}

static void print_descriptor(FILE *to, uint64_t number)
{
	static const char *const kinds[] = {"?",
#define PM_FIELD(name, text) #name,
		PM_FORMAT_DESCRIPTORS(PM_FIELD)
#undef PM_FIELD
	};
	const struct pm_entry_descriptor *d = peek_numbered(&trace, PM_ENTRY_DESCRIPTOR, (uint32_t)number);

	if (!d) {
		fputs("none", to);
		return;
	}
	fprintf(to, "{%s", kinds[d->kind]);
	for (unsigned i = 0; i < d->value_count; i++)
		fprintf(to, " %lld", (long long)d->values[i]);
	fputs("}", to);
}

static void print_value(FILE *to, const char *type, uint64_t value, const struct peek_record *r)
{
	const struct pm_entry_communicator *c = NULL;

	if (strncmp(type, "descriptor:", 11) == 0) {
		print_descriptor(to, value);
	} else if (strncmp(type, "communicator:", 13) == 0) {
		c = peek_numbered(&trace, PM_ENTRY_COMMUNICATOR, (uint32_t)value);
		if (c)
			fprintf(to, "%d/%d on %d #%u seq=%u", c->rank, c->size, c->device,
				ordinal_of(c->hash), r->sequence);
		else
			fprintf(to, "none seq=%u", r->sequence);
	} else if (strncmp(type, "string:", 7) == 0) {
		fputs(peek_string(&trace, (uint32_t)value), to);
	} else {
		fprintf(to, "%lld", (long long)value);
	}
}

/* Whether a text has the parts of a promise, which are separated by "...", in their order. */
static bool holds(const char *text, const char *promised)
{
	char parts[1024], *part = parts, *next;

	snprintf(parts, sizeof parts, "%s", promised);
	for (; part; part = next) {
		next = strstr(part, "...");
		if (next) {
			*next = 0;
			next += 3;
		}
		text = strstr(text, part);
		if (!text)
			return false;
		text += strlen(part);
	}
	return true;
}

static void see(const struct peek_record *r, uint32_t thread, void *data)
{
	const struct pm_entry_operation *op = peek_operation(&trace, r->op);
	const struct pm_entry_queue *q = peek_numbered(&trace, PM_ENTRY_QUEUE, r->queue);
	char function[2048], *word, *rest = NULL, *text = NULL;
	size_t size = 0;
	uint64_t id = 0;
	FILE *to;

	(void)thread, (void)data;
	snprintf(function, sizeof function, "%s", op ? peek_function(&trace, op->function) : "");
	strtok_r(function, " ", &rest);
	strtok_r(NULL, " ", &rest);
	word = strtok_r(NULL, " ", &rest);
	if (word && see_also)
		see_also(&trace, op, word);
	to = open_memstream(&text, &size);
	if (!word || !to)
		return;
	fprintf(to, "%s ", word);
	if (q && q->stream > 2)
		fprintf(to, "queue=%d:object ", q->device);
	else if (q)
		fprintf(to, "queue=%d:%d ", q->device, (int)q->stream);
	fprintf(to, "result=%d flags=%d group=%d ", r->result, r->flags, r->group);
	for (unsigned i = 0; (word = strtok_r(NULL, " ", &rest)) && i < op->value_count; i++) {
		fprintf(to, "%s=", strchr(word, ':') + 1);
		print_value(to, word, op->values[i], r);
		fputc(' ', to);
		if (op->values[i] >= FIRST && op->values[i] < FIRST + 16 * promise_count &&
			op->values[i] % 16 == 0)
			id = 1 + (op->values[i] - FIRST) / 16;
	}
	fclose(to);
	if (id && !holds(text, promises[id - 1].text)) {
		printf("line %d: expected %s: %s\n", promises[id - 1].line, promises[id - 1].text, text);
		bad++;
	}
	if (id)
		promises[id - 1].kept = true;
	free(text);
}

unsigned promises_broken(void (*also)(const struct peek *, const struct pm_entry_operation *, const char *))
{
	const char *path = peek_only(getenv("PMHOOK_OUT"));

	if (!path[0])
		errx(1, "the hook left no trace");
	trace = peek_open(path);
	see_also = also;
	peek_records(&trace, see, NULL);
	for (unsigned i = 0; i < promise_count; i++)
		if (!promises[i].kept) {
			printf("line %d: the call is not in the trace\n", promises[i].line);
			bad++;
		}
	peek_close(&trace);
	printf("%u promises, %u broken\n", promise_count, bad);
	return bad;
}
