/*
 * Calls every wrapper of the hook table with arguments that differ, on a library that answers success or a
 * failure, and compares what the trace says of each call (kind, what it does, labels, values, queue, result) with
 * values.txt. A row that the table does not tell of fails, and so does a line that no row answers to.
 *
 *     test_values TABLE
 *
 * Run with libpmhook.so preloaded and PMHOOK_OUT set to an empty folder.
 */
#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"
#include "null_library.h"
#include "peek.h"
#include "pm_abi.h"
#include "pm_hooks.h"

/* ---- what arguments point to, an object for each place in a list of arguments ---- */

#define PLACES EXPECT_ARGUMENTS
#define ROOM 512
#define STREAM_DEVICE 3
#define HANDLE_DEVICE 2
#define CALL_DEVICE 1
#define FAILURE 7

static _Alignas(16) unsigned char plain[PLACES + 16][ROOM], streams[PLACES][ROOM],
	communicators[PLACES][ROOM];
static _Alignas(16) unsigned char of_floats[PLACES][ROOM], of_doubles[PLACES][ROOM]; /* tensors */
/* handles: with a stream; with the default stream; with scalars on the device; to be changed by the call */
static _Alignas(16) unsigned char with_stream[PLACES][ROOM], with_default[PLACES][ROOM],
	with_pointers[PLACES][ROOM], to_change[PLACES][ROOM];

static bool is_among(const void *p, const void *pool)
{
	return (const unsigned char *)p >= (const unsigned char *)pool &&
	       (const unsigned char *)p < (const unsigned char *)pool + sizeof streams;
}

static uint64_t place_in(uint64_t address, const void *pool)
{
	return (address - (uint64_t)(uintptr_t)pool) / ROOM;
}

bool expect_is_double(const void *descriptor);
bool expect_is_double(const void *descriptor)
{
	return is_among(descriptor, of_doubles);
}

#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	result name PM_PARAMETERS pairs;
#include "pm_hooks.def"

/* In a thread of its own, so that the records of this one are the calls' alone. */
static void *make_objects(void *nothing)
{
	ncclUniqueId id = {.internal = "values"};

	(void)nothing;
	for (int i = 0; i < PLACES; i++) {
		cudaStream_t stream = (cudaStream_t)streams[i];
		cublasHandle_t handles[] = {(cublasHandle_t)with_stream[i], (cublasHandle_t)with_default[i],
			(cublasHandle_t)with_pointers[i], (cublasHandle_t)to_change[i]};
		ncclComm_t comm = (ncclComm_t)communicators[i];

		cudaSetDevice(STREAM_DEVICE);
		cudaStreamCreate(&stream);
		cudaSetDevice(HANDLE_DEVICE);
		for (int k = 0; k < 4; k++)
			cublasCreate_v2(&handles[k]);
		cublasSetStream_v2(handles[0], stream);
		cublasSetPointerMode_v2(handles[2], CUBLAS_POINTER_MODE_DEVICE);
		cudnnSetTensor4dDescriptor((cudnnTensorDescriptor_t)of_floats[i], CUDNN_TENSOR_NCHW,
			CUDNN_DATA_FLOAT, 1000 + i, 2, 3, 4);
		cudnnSetTensor4dDescriptor((cudnnTensorDescriptor_t)of_doubles[i], CUDNN_TENSOR_NCHW,
			CUDNN_DATA_DOUBLE, 2000 + i, 2, 3, 4);
		ncclCommInitRank(&comm, PLACES, id, i);
	}
	return NULL;
}

/* ---- arguments ---- */

/* Kinds of arguments that each row is called with. */
enum variant { ORDINARY, DEFAULT_STREAM, DEVICE_POINTERS, LARGE, NEGATIVE, FAILING, DOUBLE, VARIANTS };

static const struct line *line; /* of the row that is called */
static struct call call;
static enum variant variant;
static unsigned row_count;
/* A row with element types is called with each of them. */
static unsigned type_count, type_turn;

static bool begins_with(const char *text, const char *begin)
{
	return strncmp(text, begin, strlen(begin)) == 0;
}

static bool is_stream(const char *type)
{
	return strcmp(type, "cudaStream_t") == 0 || strcmp(type, "CUstream") == 0;
}

static void *stream_at(unsigned i)
{
	return variant == DEFAULT_STREAM ? NULL : streams[i];
}

/* A number that no other argument of the call has. */
static uint64_t number_for(const char *type, size_t size, unsigned i)
{
	static const uint8_t primes[] = {3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67,
		71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167,
		173, 179};
	const uint64_t n = primes[i % sizeof primes];

	if (line->has_sum)
		return 1 + n % 8;
	if (variant == LARGE && !line->sets && size >= 4)
		return size == 8 ? n << 18 : 40000 + n;
	if (variant == NEGATIVE && !strstr(line->body, "bytes:") &&
		(strcmp(type, "int") == 0 || strcmp(type, "int64_t") == 0 || strcmp(type, "long long") == 0))
		return -n;
	return n;
}

static void put(void *to, size_t size, uint64_t number)
{
	memset(to, 0, size);
	memcpy(to, &number, size < sizeof number ? size : sizeof number);
}

/* The fields that calls look at of a struct, where `type` is one or points to one. */
static bool fill_struct(void *to, const char *type, unsigned i)
{
	const char *bare = begins_with(type, "const ") ? type + 6 : type;
	size_t n = strcspn(bare, "*");
	bool known = false;

	while (n && bare[n - 1] == ' ')
		n--;
	for (const struct field *f = expect_fields; f->type; f++) {
		unsigned char *at = (unsigned char *)to + f->offset;

		if (strlen(f->type) != n || strncmp(f->type, bare, n) != 0)
			continue;
		known = true;
		if (strcmp(f->path, "stream") == 0 || strcmp(f->path, "hStream") == 0)
			memcpy(at, &(void *){stream_at(i)}, sizeof(void *));
		else if (strstr(f->path, "MemoryType"))
			put(at, f->size, 1 + (variant + (f->path[0] == 'd' ? row_count : 0)) % 4);
		else if (strcmp(f->path, "kind") == 0)
			put(at, f->size, (variant + row_count) % 5);
		else
			put(at, f->size,
				number_for("size_t", f->size, 3 + i + (unsigned)(f - expect_fields) % 30));
	}
	return known;
}

static void *pointer_for(const char *type, unsigned i)
{
	if (is_stream(type))
		return stream_at(i);
	if (strcmp(type, "ncclComm_t") == 0)
		return communicators[i];
	if (strchr(line->body, '@') &&
		(strcmp(type, "cudnnHandle_t") == 0 || strcmp(type, "cublasHandle_t") == 0))
		return line->sets                   ? to_change[i]
		       : variant == DEFAULT_STREAM  ? with_default[i]
		       : variant == DEVICE_POINTERS ? with_pointers[i]
						    : with_stream[i];
	if (!line->sets && begins_with(type, "cudnn") && strstr(type, "Descriptor_t") && !strchr(type, '*'))
		return variant >= NEGATIVE ? of_doubles[i] : of_floats[i];
	memset(plain[i], 0, ROOM);
	if (strcmp(type, "const size_t *") == 0 || strcmp(type, "size_t *") == 0)
		for (unsigned k = 0; k < ROOM / sizeof(size_t); k++)
			((size_t *)(void *)plain[i])[k] = 1000 * (k + 1) + i;
	else
		fill_struct(plain[i], type, i);
	return plain[i];
}

static void sample(void *argument, size_t size, const char *type, bool is_pointer)
{
	const unsigned i = call.count++;
	unsigned known = 0;

	if (i == EXPECT_ARGUMENTS)
		errx(1, "%s: too many arguments", call.name);
	call.arguments[i] =
		(struct argument){.type = type, .bytes = argument, .size = size, .is_pointer = is_pointer};
	memset(argument, 0, size);
	for (size_t k = 0; k < expect_type_count; k++)
		known += begins_with(type, expect_types[k].enum_type);
	if (is_pointer) {
		memcpy(argument, &(void *){pointer_for(type, i)}, sizeof(void *));
	} else if (known) {
		unsigned wanted = (variant + 7 * i + type_turn) % known;

		type_count = known;

		for (size_t k = 0; k < expect_type_count; k++)
			if (begins_with(type, expect_types[k].enum_type) && wanted-- == 0)
				put(argument, size, (uint64_t)expect_types[k].enumerator);
	} else if (strcmp(type, "enum cudaMemcpyKind") == 0) {
		put(argument, size, (variant + row_count) % 5);
	} else if (!fill_struct(argument, type, i) && size <= 8) {
		put(argument, size, number_for(type, size, i));
	}
}

/* ---- the calls, and what is expected of each ---- */

#define CALLS (1u << 14)
static struct {
	struct expectation expected;
	int result, device;
} calls[CALLS];
static unsigned call_count, bad;
static int current_device;

static void complain(const char *name, const char *what, const char *detail)
{
	printf("%s: %s %s\n", name, what, detail);
	bad++;
}

static void call_begin(const char *name)
{
	call = (struct call){.name = name};
	call.scale = (int)(((unsigned[]){0, 1, 2, 2, 1, 0, 2}[variant] + type_turn) % 3);
	null_answer = variant == FAILING ? FAILURE : 0;
}

static void call_expect(void)
{
	if (call_count == CALLS)
		errx(1, "too many calls");
	call.device_pointers = call.count && call.arguments[0].size == sizeof(void *) &&
			       variant == DEVICE_POINTERS &&
			       strcmp(call.arguments[0].type, "cublasHandle_t") == 0;
	expect_call(line, &call, &calls[call_count].expected);
	calls[call_count].result = null_answer;
	calls[call_count++].device = current_device;
}

#define CLASS_POINTER 5 /* of __builtin_classify_type */
#define SAMPLE(type, name) \
	type name; \
	sample((void *)(uintptr_t)&name, sizeof name, #type, __builtin_classify_type(name) == CLASS_POINTER);
#define SAMPLE_NONE
#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	static void call_##name(void) \
	{ \
		call_begin(#name); \
		PM_PAIRS(SAMPLE, PM_NOTHING, PM_OPEN pairs) \
		call_expect(); \
		name PM_ARGUMENTS pairs; \
	}
#include "pm_hooks.def"

static void set_device(int number)
{
	line = expect_line("cudaSetDevice");
	variant = ORDINARY;
	call_begin("cudaSetDevice");
	call.arguments[call.count++] =
		(struct argument){.type = "int", .bytes = &number, .size = sizeof number};
	call_expect();
	cudaSetDevice(number);
	current_device = number;
}

static struct line *line_of(const char *name, bool has_values)
{
	struct line *l = expect_line(name);

	if (!l) {
		complain(name, "has no line in the table of values", "");
		return NULL;
	}
	l->is_used = true;
	if (has_values && l->reason)
		complain(name, "needs an expectation, and has a reason:", l->reason);
	return has_values && l->reason ? NULL : l;
}

static void call_row(const char *name, void (*f)(void), const char *after)
{
	struct line *l = line_of(name, true);

	row_count++;
	if (l && (after[0] != 0) != l->sets)
		complain(name, "is said wrongly (or not) to change what later calls mean", after);
	type_count = 1;
	for (type_turn = 0; l && type_turn < type_count; type_turn++)
		for (unsigned v = 0; v < VARIANTS; v++) {
			line = l;
			variant = (enum variant)v;
			f();
			if (l->sets)
				set_device(CALL_DEVICE);
		}
}

#define TEXT(x) TEXT_(x)
#define TEXT_(...) #__VA_ARGS__
static void call_all(void)
{
#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	call_row(#name, call_##name, TEXT(after));
#define PM_READ(kind, result, name, pairs, fd, bytes, ...) line_of(#name, false);
#define PM_HANDWRITTEN(library, kind, result, name, pairs, values, ...) line_of(#name, false);
#define PM_DECODED(library, kind, name, values, ...) line_of(#name, false);
#define PM_WATCH(library, result, name, pairs, after, ...) line_of(#name, false);
#define PM_DESTROYS(library, result, name, pairs, before, ...) line_of(#name, false);
#include "pm_hooks.def"
}

/* ---- what the trace says ---- */

static struct peek trace;
static unsigned seen; /* calls compared */

static void complain_of(const struct expectation *e, const char *what, uint64_t expected, uint64_t found)
{
	char detail[160];

	snprintf(detail, sizeof detail, "is %llu (0x%llx), expected %llu (0x%llx)", (unsigned long long)found,
		(unsigned long long)found, (unsigned long long)expected, (unsigned long long)expected);
	complain(e->name, what, detail);
}

static void compare_value(const struct expectation *e, const struct value *v, uint64_t found)
{
	uint64_t expected = v->number;

	if (v->what == VALUE_DESCRIPTOR) {
		const struct pm_entry_descriptor *d =
			peek_numbered(&trace, PM_ENTRY_DESCRIPTOR, (uint32_t)found);
		bool is_double = is_among((void *)(uintptr_t)expected, of_doubles);

		/* type n dims[4] ... */
		found = d && d->value_count > 2 ? (uint64_t)d->values[2] : 0;
		expected = is_double ? 2000 + place_in(expected, of_doubles)
				     : 1000 + place_in(expected, of_floats);
	} else if (v->what == VALUE_COMMUNICATOR) {
		const struct pm_entry_communicator *c =
			peek_numbered(&trace, PM_ENTRY_COMMUNICATOR, (uint32_t)found);

		found = c ? (uint64_t)c->rank : UINT64_MAX;
		expected = place_in(expected, communicators);
	} else if (v->what == VALUE_NAME) {
		char name[64];

		snprintf(name, sizeof name, "kernel_%p", (void *)(uintptr_t)expected);
		found = strcmp(peek_string(&trace, (uint32_t)found), name) == 0 ? expected : found;
	}
	if (found != expected)
		complain_of(e, v->label, expected, found);
}

static void compare_queue(const struct expectation *e, int current, uint32_t number)
{
	const struct pm_entry_queue *q = peek_numbered(&trace, PM_ENTRY_QUEUE, number);
	uint64_t stream = 0;
	int on = current;

	if ((number != 0) != (e->queue != QUEUE_NONE)) {
		complain(e->name, number ? "has a queue" : "has no queue", "");
		return;
	}
	if (!number)
		return;
	if (e->queue == QUEUE_PER_THREAD) {
		stream = 2; /* cudaStreamPerThread */
	} else if (e->queue == QUEUE_STREAM) {
		stream = e->queue_of;
		on = STREAM_DEVICE;
	} else if (e->queue == QUEUE_HANDLE && is_among((void *)(uintptr_t)e->queue_of, with_stream)) {
		stream = (uint64_t)(uintptr_t)streams[place_in(e->queue_of, with_stream)];
		on = STREAM_DEVICE;
	} else if (e->queue == QUEUE_HANDLE) {
		on = HANDLE_DEVICE;
	}
	if (!q || q->stream != stream)
		complain_of(e, "the queue's stream", stream, q ? q->stream : 0);
	if (!q || q->device != on)
		complain_of(e, "the queue's device", (uint64_t)on, q ? (uint64_t)q->device : UINT64_MAX);
}

static void compare(const struct peek_record *r, uint32_t thread, void *data)
{
	const struct pm_entry_operation *op = peek_operation(&trace, r->op);
	char text[2048], *word, *rest = NULL;
	const struct expectation *e;
	const char *does = op ? peek_function(&trace, op->function) : "\0";
	unsigned count = 0;

	(void)data;
	does += strlen(does) + 1; /* the second text of the entry */
	snprintf(text, sizeof text, "%s", op ? peek_function(&trace, op->function) : "");
	word = strtok_r(text, " ", &rest);
	if (thread != 2 || !word || strcmp(word, "libc") == 0)
		return;
	if (seen == call_count)
		errx(1, "there are more calls in the trace than were made");
	e = &calls[seen].expected;
	word = strtok_r(NULL, " ", &rest);
	if (strcmp(word, e->kind) != 0)
		complain(e->name, "is of another kind in the trace:", word);
	if (strcmp(does, e->does) != 0)
		complain(e->name, "does something else in the trace:", does);
	word = strtok_r(NULL, " ", &rest);
	if (strcmp(word, e->name) != 0)
		errx(1, "call %u: the trace has %s, expected %s", seen, word, e->name);
	while ((word = strtok_r(NULL, " ", &rest)) && count < e->value_count) {
		if (strcmp(word, e->values[count].label) != 0)
			complain(e->name, e->values[count].label, word);
		else if (count < op->value_count)
			compare_value(e, &e->values[count], op->values[count]);
		count++;
	}
	if (word || count != e->value_count || op->value_count != count)
		complain_of(e, "the count of values", e->value_count, op->value_count);
	compare_queue(e, calls[seen].device, r->queue);
	if (r->result != calls[seen].result)
		complain_of(e, "the result", (uint64_t)calls[seen].result, (uint64_t)r->result);
	if (r->flags || r->group)
		complain_of(e, "flags and group", 0, r->flags | r->group);
	seen++;
}

int main(int argc, char **argv)
{
	pthread_t maker;
	const char *path;

	if (argc < 2 || !getenv("PMHOOK_OUT")) {
		puts("no table of values, or PMHOOK_OUT is not set");
		return 77;
	}
	expect_read(argv[1]);
	if (pthread_create(&maker, NULL, make_objects, NULL) != 0 || pthread_join(maker, NULL) != 0)
		errx(1, "no thread");
	set_device(CALL_DEVICE);
	calls[0].device = 0;
	call_all();
	bad += expect_unused();
	path = peek_only(getenv("PMHOOK_OUT"));
	if (!path[0])
		errx(1, "the hook left no trace");
	trace = peek_open(path);
	peek_records(&trace, compare, NULL);
	if (seen != call_count)
		complain(
			calls[seen].expected.name, "is the first of the calls that are not in the trace", "");
	peek_close(&trace);
	printf("%u rows, %u calls, %u wrong\n", row_count, call_count, bad);
	return bad != 0;
}
