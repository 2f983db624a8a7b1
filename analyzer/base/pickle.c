/*
 * Python's pickles as data: see pickle.h. A pickle is a program for a machine with a stack of values, marks
 * on it, and a memory of values that come again. Values in the memory may be on the stack or in a container
 * by then; what is taken from the stack without a container (a key, what is dropped) is put aside, not freed,
 * so that what refers to it stays true.
 */
#include "pickle.h"
#include "error_message.h"
#include "limit.h"
#include "memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST 100            /* containers in one another */
#define MEMORY_MOST (1u << 24) /* numbers of values in the memory; larger ones are damage */

struct machine {
	const uint8_t *next, *end;
	cJSON **stack;
	size_t count, room;
	size_t *marks;
	size_t mark_count, mark_room;
	cJSON **memory;
	size_t memory_count, memory_room;
	cJSON *spare;
	uint64_t steps;
	const char *wrong; /* a clause, or the sentence of a limit */
	bool limited;
};

static bool fail(struct machine *machine, const char *wrong)
{
	if (!machine->wrong)
		machine->wrong = wrong;
	return false;
}

/* Little-endian number of some bytes at `next`, which moves past it. */
static bool pickle_take(struct machine *machine, size_t bytes, uint64_t *value)
{
	*value = 0;
	if ((size_t)(machine->end - machine->next) < bytes)
		return fail(machine, "the file ends within an instruction");
	memcpy(value, machine->next, bytes);
	machine->next += bytes;
	return true;
}

static bool push(struct machine *machine, cJSON *value)
{
	if (!value)
		return fail(machine, "out of memory");
	*MEM_PUSH(machine->stack, machine->count, machine->room) = value;
	return true;
}

static cJSON *pop(struct machine *machine)
{
	size_t floor = machine->mark_count ? machine->marks[machine->mark_count - 1] : 0;

	if (machine->count <= floor) {
		fail(machine, "a value is missing");
		return NULL;
	}
	return machine->stack[--machine->count];
}

static void put_aside(struct machine *machine, cJSON *value)
{
	if (value)
		cJSON_AddItemToArray(machine->spare, value);
}

/* The depth of a container is kept in the number that it does not use. */
static bool note_depth(struct machine *machine, cJSON *container, const cJSON *value)
{
	int depth = cJSON_IsArray(value) || cJSON_IsObject(value) ? value->valueint + 1 : 0;

	if (depth > container->valueint)
		container->valueint = depth;
	return depth <= DEEPEST || fail(machine, "values are nested too deeply");
}

static bool append(struct machine *machine, cJSON *list, cJSON *value)
{
	if (!cJSON_IsArray(list) || (list->type & cJSON_IsReference) || !note_depth(machine, list, value)) {
		put_aside(machine, value);
		return fail(machine, "an element for what is no list");
	}
	return cJSON_AddItemToArray(list, value) || fail(machine, "a list in itself");
}

static bool set(struct machine *machine, cJSON *dictionary, cJSON *key, cJSON *value)
{
	char number[32];
	const char *text = cJSON_GetStringValue(key);

	put_aside(machine, key);
	if (cJSON_IsNumber(key)) {
		snprintf(number, sizeof(number), "%.15g", key->valuedouble);
		text = number;
	}
	if (!cJSON_IsObject(dictionary) || (dictionary->type & cJSON_IsReference) ||
		!note_depth(machine, dictionary, value)) {
		put_aside(machine, value);
		return fail(machine, "an entry for what is no dictionary");
	}
	if (!text) { /* of a tuple: nothing of use */
		put_aside(machine, value);
		return true;
	}
	return cJSON_AddItemToObject(dictionary, text, value) || fail(machine, "a dictionary in itself");
}

/* The mark on top goes; answers where the values after it begin, SIZE_MAX: there is no mark. */
static size_t take_mark(struct machine *machine)
{
	if (machine->mark_count == 0) {
		fail(machine, "a mark is missing");
		return SIZE_MAX;
	}
	return machine->marks[--machine->mark_count];
}

/* The container below the values from `first` on gets them. */
static bool fill(struct machine *machine, bool pairs)
{
	size_t first = take_mark(machine), end = machine->count;
	cJSON *container;
	bool good = true;

	if (first == SIZE_MAX || first == 0 || (pairs && (end - first) % 2))
		return fail(machine, "a container is missing");
	container = machine->stack[first - 1];
	machine->count = first;
	for (size_t i = first; i < end; i += pairs ? 2 : 1)
		good = (pairs ? set(machine, container, machine->stack[i], machine->stack[i + 1])
			      : append(machine, container, machine->stack[i])) &&
		       good;
	return good;
}

static bool tuple(struct machine *machine, size_t first)
{
	cJSON *array = cJSON_CreateArray();
	size_t end = machine->count;
	bool good = array != NULL;

	if (first > end || !good)
		return fail(machine, "a value is missing");
	for (size_t i = first; i < end; i++)
		good = append(machine, array, machine->stack[i]) && good;
	machine->count = first;
	return push(machine, array) && good;
}

static bool tuple_of(struct machine *machine, size_t count)
{
	size_t floor = machine->mark_count ? machine->marks[machine->mark_count - 1] : 0;

	if (machine->count < floor + count)
		return fail(machine, "a value is missing");
	return tuple(machine, machine->count - count);
}

static bool push_text(struct machine *machine, size_t length_bytes)
{
	uint64_t length;
	char *text;
	cJSON *value;

	if (!pickle_take(machine, length_bytes, &length))
		return false;
	if (length > (uint64_t)(machine->end - machine->next))
		return fail(machine, "the file ends within a text");
	text = mem_alloc(length + 1, 1);
	if (length)
		memcpy(text, machine->next, length);
	machine->next += length;
	value = cJSON_CreateString(text);
	free(text);
	return push(machine, value);
}

/* A name, up to the end of its line. */
static bool take_line(struct machine *machine)
{
	const uint8_t *end = memchr(machine->next, '\n', (size_t)(machine->end - machine->next));

	if (!end)
		return fail(machine, "the file ends within a name");
	machine->next = end + 1;
	return true;
}

static bool push_integer(struct machine *machine, size_t bytes, bool is_signed)
{
	uint64_t value;
	int64_t number;

	if (bytes > 8)
		return fail(machine, "a number is too large");
	if (!pickle_take(machine, bytes, &value))
		return false;
	number = (int64_t)value;
	if (is_signed && bytes && bytes < 8 && value >> (8 * bytes - 1))
		number = (int64_t)(value | UINT64_MAX << (8 * bytes));
	return push(machine, cJSON_CreateNumber((double)number));
}

static bool push_long(struct machine *machine)
{
	uint64_t bytes;

	return pickle_take(machine, 1, &bytes) && push_integer(machine, bytes, true);
}

static bool push_double(struct machine *machine)
{
	uint64_t bits;
	double value;

	if (!pickle_take(machine, 8, &bits))
		return false;
	bits = __builtin_bswap64(bits);
	memcpy(&value, &bits, sizeof(value));
	return push(machine, cJSON_CreateNumber(value));
}

static bool remember(struct machine *machine, uint64_t number)
{
	if (number >= MEMORY_MOST || machine->count == 0)
		return fail(machine, "a value to remember is missing");
	while (machine->memory_count <= number)
		*MEM_PUSH(machine->memory, machine->memory_count, machine->memory_room) = NULL;
	machine->memory[number] = machine->stack[machine->count - 1];
	return true;
}

static bool remember_as(struct machine *machine, size_t bytes)
{
	uint64_t number;

	return pickle_take(machine, bytes, &number) && remember(machine, number);
}

/* What comes again refers to the first, containers by their first element. */
static cJSON *again(const cJSON *value)
{
	cJSON *reference;

	if (cJSON_IsString(value))
		return cJSON_CreateStringReference(value->valuestring);
	if (!cJSON_IsArray(value) && !cJSON_IsObject(value))
		return cJSON_Duplicate(value, 0);
	reference = cJSON_IsArray(value) ? cJSON_CreateArrayReference(value->child)
					 : cJSON_CreateObjectReference(value->child);
	if (reference)
		reference->valueint = value->valueint;
	return reference;
}

static bool recall(struct machine *machine, size_t bytes)
{
	uint64_t number;

	if (!pickle_take(machine, bytes, &number))
		return false;
	if (number >= machine->memory_count || !machine->memory[number])
		return fail(machine, "a value to recall is missing");
	return push(machine, again(machine->memory[number]));
}

/* What a call would get instead of what it would make: of one argument itself. */
static bool reduce(struct machine *machine)
{
	cJSON *arguments = pop(machine), *callable = arguments ? pop(machine) : NULL;

	put_aside(machine, callable);
	if (!arguments || !callable) {
		put_aside(machine, arguments);
		return false;
	}
	return push(machine, arguments);
}

static bool drop(struct machine *machine)
{
	cJSON *value = pop(machine);

	put_aside(machine, value);
	return value != NULL;
}

static bool set_one(struct machine *machine)
{
	cJSON *value = pop(machine), *key = value ? pop(machine) : NULL;

	if (!key || machine->count == 0) {
		put_aside(machine, value);
		put_aside(machine, key);
		return fail(machine, "a value is missing");
	}
	return set(machine, machine->stack[machine->count - 1], key, value);
}

static bool append_one(struct machine *machine)
{
	cJSON *value = pop(machine);

	if (value && machine->count)
		return append(machine, machine->stack[machine->count - 1], value);
	put_aside(machine, value);
	return fail(machine, "a value is missing");
}

static bool global(struct machine *machine)
{
	bool good = take_line(machine); /* the module */

	return good && take_line(machine) && push(machine, cJSON_CreateNull());
}

static bool stack_global(struct machine *machine)
{
	bool good = drop(machine); /* the name */

	return good && drop(machine) && push(machine, cJSON_CreateNull());
}

static bool mark(struct machine *machine)
{
	*MEM_PUSH(machine->marks, machine->mark_count, machine->mark_room) = machine->count;
	return true;
}

static bool tuple_from_mark(struct machine *machine)
{
	size_t first = take_mark(machine);

	return first != SIZE_MAX && tuple(machine, first);
}

/* Instructions with one value, or an operand at once. */
static bool push_value(struct machine *machine, uint8_t code)
{
	switch (code) {
	case '}':
		return push(machine, cJSON_CreateObject());
	case ']':
	case ')':
	case 0x8f:
		return push(machine, cJSON_CreateArray());
	case 'N':
		return push(machine, cJSON_CreateNull());
	case 0x88:
	case 0x89:
		return push(machine, cJSON_CreateBool(code == 0x88));
	case 'K':
		return push_integer(machine, 1, false);
	case 'M':
		return push_integer(machine, 2, false);
	case 'J':
		return push_integer(machine, 4, true);
	case 0x8a:
		return push_long(machine);
	case 'G':
		return push_double(machine);
	case 0x8c:
	case 'C':
		return push_text(machine, 1);
	case 'X':
	case 'B':
		return push_text(machine, 4);
	case 0x8d:
	case 0x8e:
		return push_text(machine, 8);
	default:
		return fail(machine, "an instruction that data have no need of");
	}
}

/* One instruction; false with `wrong` where it cannot be. */
static bool step(struct machine *machine, uint8_t code)
{
	uint64_t ignored;

	switch (code) {
	case 0x80: /* protocol */
		return pickle_take(machine, 1, &ignored);
	case 0x95: /* frame */
		return pickle_take(machine, 8, &ignored);
	case '(':
		return mark(machine);
	case 'u':
	case 'e':
	case 0x90:
		return fill(machine, code == 'u');
	case 's':
		return set_one(machine);
	case 'a':
		return append_one(machine);
	case 't':
	case 0x91:
		return tuple_from_mark(machine);
	case 0x85:
	case 0x86:
	case 0x87:
		return tuple_of(machine, code - 0x84u);
	case 'q':
	case 'r':
		return remember_as(machine, code == 'q' ? 1 : 4);
	case 0x94:
		return remember(machine, machine->memory_count);
	case 'h':
	case 'j':
		return recall(machine, code == 'h' ? 1 : 4);
	case 'c':
		return global(machine);
	case 0x93:
		return stack_global(machine);
	case 'R':
	case 0x81:
		return reduce(machine);
	case 'b':
	case '0':
		return drop(machine);
	default:
		return push_value(machine, code);
	}
}

/* Up to the end of the program; false: `wrong`. */
static bool work(struct machine *machine)
{
	while (machine->next < machine->end) {
		const uint8_t code = *machine->next++;
		const char *limit;

		if (code == '.')
			return true;
		if (!step(machine, code))
			return false;
		if (++machine->steps % 4096)
			continue;
		limit = pm_limit_at(machine->steps);
		limit = limit ? limit : pm_limit_memory(4096 * sizeof(cJSON));
		if (limit) {
			machine->limited = true;
			return fail(machine, limit);
		}
	}
	return fail(machine, "the file ends before the pickle does");
}

const char *pickle_read(struct pickle *pickle, const char *path, const void *bytes, size_t count)
{
	struct machine machine = {
		.next = bytes, .end = (const uint8_t *)bytes + count, .spare = cJSON_CreateArray()};
	const char *error = NULL;

	*pickle = (struct pickle){0};
	if (!work(&machine))
		error = machine.limited ? error_message("%s", machine.wrong)
					: error_message("%s: byte %td: no pickle of data: %s", path,
						  machine.next - (const uint8_t *)bytes, machine.wrong);
	else if (machine.count == 0)
		error = error_message("%s: an empty pickle", path);
	else
		pickle->root = machine.stack[--machine.count];
	while (machine.count)
		put_aside(&machine, machine.stack[--machine.count]);
	pickle->spare = machine.spare;
	free(machine.stack);
	free(machine.marks);
	free(machine.memory);
	return error;
}

void pickle_free(struct pickle *pickle)
{
	cJSON_Delete(pickle->root);
	cJSON_Delete(pickle->spare);
	*pickle = (struct pickle){0};
}
