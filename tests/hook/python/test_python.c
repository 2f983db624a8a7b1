/*
 * Reading Python's structures ends, and stays within what it was given, whatever the memory holds: for many
 * seeds and each version's offsets a memory is made up of objects of all kinds that refer to each other at
 * random, in cycles too, with some words that are anything.
 */
#include "python/python.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOT 1024 /* bytes for an object */
#define OBJECT 64 /* it begins here in its slot: some have words in front */
#define COUNT 32  /* objects of each kind */
#define HEAP 0x700000000000u
#define FETCHES_MAX 4096

enum kind {
	THREAD,
	FRAME,
	CODE,
	TEXT,
	NAMES,
	BASES,
	DICT,
	KEYS,
	VALUES,
	INSTANCE,
	CLASS,
	CELL,
	WORD,
	BYTES,
	KINDS
};

static const char *const words[] = {
	"Module", "self", "_modules", "a", "__init__", "<module>", "net", "package.Module", "0", "layer1"};

static struct pmh_python python;
static uint64_t random_state;
static unsigned fetches, wrong_words;
static unsigned char memory[KINDS * COUNT * SLOT];

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

static uint64_t address_of(enum kind kind, uint64_t i)
{
	return HEAP + ((uint64_t)kind * COUNT + i % COUNT) * SLOT + OBJECT;
}

static uint64_t any(enum kind kind)
{
	return address_of(kind, next_random() % COUNT);
}

static void put(uint64_t object, int64_t offset, uint64_t value, size_t byte_count)
{
	memcpy(memory + (object - HEAP) + offset, &value, byte_count);
}

static void put_type(uint64_t object, uint64_t type)
{
	put(object, 8, type, 8);
}

static void make_frame(uint64_t frame)
{
	const struct pmh_python_offsets *at = python.at;

	put(frame, at->frame_code, any(CODE), 8);
	put(frame, at->frame_previous, next_random() % 8 ? any(FRAME) : 0, 8);
	put(frame, at->frame_namespace, next_random() % 2 ? any(DICT) : 0, 8);
	put(frame, at->frame_instruction, any(CODE) + at->code_instructions + next_random() % 64, 8);
	for (unsigned i = 0; i < 8; i++)
		put(frame, at->frame_locals + 8 * i, any(next_random() % 4 ? INSTANCE : CELL), 8);
}

static void make_code(uint64_t code)
{
	const struct pmh_python_offsets *at = python.at;
	uint64_t locals = next_random() % 4;

	put_type(code, python.code_type);
	put(code, at->code_local_count, locals, 4);
	put(code, at->code_slot_count, at->code_cell_names || !locals ? locals : locals + next_random() % 4,
		4);
	put(code, at->code_names, any(NAMES), 8);
	if (at->code_cell_names) {
		put(code, at->code_cell_names, any(NAMES), 8);
		put(code, at->code_free_names, any(NAMES), 8);
	}
	put(code, at->code_name, any(TEXT), 8);
	put(code, at->code_qualified_name, any(TEXT), 8);
	put(code, at->code_file_name, any(TEXT), 8);
	put(code, at->code_first_line, next_random() % 1000, 4);
	put(code, at->code_lines, any(BYTES), 8);
}

static void make_text(uint64_t text, uint64_t i)
{
	const struct pmh_python_offsets *at = python.at;
	const char *word = words[i % (sizeof words / sizeof words[0])];
	const uint64_t kind = next_random() % 8 ? 1 : 1u << next_random() % 3;
	const bool ascii = kind == 1 && next_random() % 8 != 0;

	put_type(text, python.text_type);
	put(text, at->text_length, strlen(word), 8);
	put(text, at->text_state, kind << 2 | 1u << 5 | (uint64_t)ascii << 6, 4);
	for (size_t c = 0; word[c]; c++)
		put(text, (int64_t)((ascii ? at->text_ascii : at->text_compact) + c * kind),
			(unsigned char)word[c] + (ascii ? 0 : next_random() % 300), kind);
}

static void make_tuple(uint64_t tuple, enum kind of, uint64_t first)
{
	put_type(tuple, python.tuple_type);
	put(tuple, 16, 1 + next_random() % 5, 8);
	put(tuple, python.at->tuple_items, first, 8);
	for (unsigned i = 1; i < 6; i++)
		put(tuple, python.at->tuple_items + 8 * i, any(of), 8);
}

static void make_dict(uint64_t dict)
{
	put_type(dict, next_random() % 2 ? python.dict_type : python.ordered_dict_type);
	put(dict, python.at->dict_keys, any(KEYS), 8);
	put(dict, python.at->dict_values, next_random() % 2 ? any(VALUES) : 0, 8);
}

static void make_keys(uint64_t keys)
{
	const struct pmh_python_offsets *at = python.at;
	const bool is_log = at->keys_size_is_log;
	const unsigned word_count = is_log && next_random() % 2 ? 2 : 3;
	const uint64_t general = word_count == 3 ? 0 : 1;

	put(keys, at->keys_size, is_log ? 3 | 3u << 8 | general << 16 : 8, 8);
	put(keys, at->keys_count, next_random() % 8, 8);
	for (unsigned i = 0; i < 8; i++) {
		const uint64_t entry = keys + at->keys_index + 8 + i * word_count * 8 + (word_count - 2) * 8;

		put(entry, 0, i == 0 ? address_of(TEXT, 2) : any(TEXT), 8);
		put(entry, 8, any(next_random() % 2 ? DICT : INSTANCE), 8);
	}
}

static void make_instance(uint64_t instance)
{
	const struct pmh_python_offsets *at = python.at;

	put_type(instance, any(CLASS));
	put(instance, -32, any(VALUES), 8);
	put(instance, -24, next_random() % 2 ? any(DICT) : 0, 8);
	if (at->instance_form == PMH_INSTANCE_TAGGED && next_random() % 2)
		put(instance, -24, any(VALUES) - 1, 8);
	put(instance, 16, any(DICT), 8);
	if (at->instance_form == PMH_INSTANCE_INLINE)
		put(instance, 16, 0x01010808, 8);
	for (unsigned i = 0; i < 8; i++)
		put(instance, 24 + 8 * i, any(next_random() % 2 ? DICT : INSTANCE), 8);
}

static void make_class(uint64_t class, uint64_t i)
{
	const struct pmh_python_offsets *at = python.at;

	put_type(class, python.type_type);
	put(class, at->type_name, any(WORD), 8);
	put(class, at->type_basic_bytes, 16, 8);
	put(class, at->type_flags, 1u << 9 | next_random() % 32, 8);
	put(class, at->type_dict_offset, next_random() % 8 ? 16 : UINT64_MAX, 8);
	put(class, at->type_mro, address_of(BASES, i), 8);
	put(class, at->type_cached_keys, any(KEYS), 8);
}

static void make_thread(uint64_t thread)
{
	const struct pmh_python_offsets *at = python.at;

	put(thread, at->thread_frame, at->thread_frame_link ? thread + 8 : any(FRAME), 8);
	put(thread, 8 + at->link_frame, any(FRAME), 8);
}

static void make_object(enum kind kind, uint64_t i)
{
	const uint64_t object = address_of(kind, i);

	switch (kind) {
	case THREAD:
		make_thread(object);
		break;
	case FRAME:
		make_frame(object);
		break;
	case CODE:
		make_code(object);
		break;
	case TEXT:
		make_text(object, i);
		break;
	case NAMES:
		make_tuple(object, TEXT, next_random() % 8 ? address_of(TEXT, 1) : any(TEXT));
		break;
	case BASES:
		make_tuple(object, CLASS, address_of(CLASS, i));
		break;
	case DICT:
		make_dict(object);
		break;
	case KEYS:
		make_keys(object);
		break;
	case VALUES:
		for (unsigned j = 0; j < 8; j++)
			put(object, 8 * j, any(next_random() % 2 ? DICT : INSTANCE), 8);
		break;
	case INSTANCE:
		make_instance(object);
		break;
	case CLASS:
		make_class(object, i);
		break;
	case CELL:
		put_type(object, python.cell_type);
		put(object, python.at->cell_content, any(INSTANCE), 8);
		break;
	case WORD:
		snprintf((char *)memory + (object - HEAP), 32, "%s",
			words[i % (sizeof words / sizeof words[0])]);
		break;
	default:
		put_type(object, python.bytes_type);
		put(object, 16, next_random() % 256, 8);
		for (unsigned j = 0; j < 32; j++)
			put(object, python.at->bytes_first + 8 * j, next_random(), 8);
	}
}

static uint64_t make_wrong(void)
{
	switch (next_random() % 4) {
	case 0:
		return next_random();
	case 1:
		return UINT64_MAX - next_random() % 64;
	case 2:
		return next_random() % 100000;
	default:
		return HEAP + next_random() % sizeof memory;
	}
}

static void make_memory(void)
{
	memset(memory, 0, sizeof memory);
	for (enum kind kind = 0; kind < KINDS; kind++)
		for (uint64_t i = 0; i < COUNT; i++)
			make_object(kind, i);
	for (unsigned i = 0; i < wrong_words; i++) {
		uint64_t word = make_wrong();

		memcpy(memory + next_random() % (sizeof memory / 8) * 8, &word, sizeof word);
	}
}

static bool fetch(uint64_t from, void *to, size_t byte_count, void *data)
{
	(void)data;
	fetches++;
	if (from < HEAP || from - HEAP > sizeof memory - byte_count)
		return false;
	memcpy(to, memory + (from - HEAP), byte_count);
	return true;
}

static void must(bool is_so, const char *what)
{
	if (is_so)
		return;
	printf("not ok: %s; Python 3.%u, random numbers stand at %llu\n", what, python.at->minor,
		(unsigned long long)random_state);
	exit(1);
}

static bool is_text(const char *text, size_t text_bytes)
{
	const char *end = memchr(text, 0, text_bytes);

	for (const char *p = text; end && p < end; p++)
		if (*p >= 0 && *p < ' ')
			return false;
	return end != NULL;
}

static unsigned count_found(uint64_t thread)
{
	struct pmh_python_look look;
	unsigned found = 0;
	char text[256];

	for (unsigned what = 0; what < 2; what++) {
		bool is_found;

		memset(text, 1, sizeof text);
		fetches = 0;
		pmh_python_look(&look, &python);
		is_found = what ? pmh_python_find_callers(&look, thread, text, sizeof text)
				: pmh_python_find_module(&look, thread, text, sizeof text);
		must(is_text(text, sizeof text), "a text does not end or cannot be printed");
		must(is_found == (text[0] != 0), "a text and no answer, or the other way round");
		must(fetches <= FETCHES_MAX, "too many reads");
		found += is_found;
	}
	return found;
}

int main(int argc, char **argv)
{
	const unsigned memories = argc > 1 ? (unsigned)atoi(argv[1]) : 50;
	uint64_t type = HEAP - 65536;
	unsigned found[14] = {0};

	python.fetch = fetch;
#define PLACE(name, symbol) \
	python.name##_type = type; \
	type += 1024;
	PMH_PYTHON_TYPES(PLACE)
	/* 0 is the state of no xorshift */
	random_state = argc > 2 ? strtoull(argv[2], NULL, 10) : 88172645463325252u;
	for (unsigned minor = 8; minor <= 13; minor++) {
		python.at = pmh_python_offsets(minor);
		for (unsigned i = 0; i < memories; i++) {
			wrong_words = i % 2 ? 0 : 1u << next_random() % 14;
			make_memory();
			for (unsigned thread = 0; thread < COUNT; thread++)
				found[minor] += count_found(address_of(THREAD, thread));
		}
		printf("Python 3.%u: %u texts in %u looks\n", minor, found[minor], 2 * COUNT * memories);
		must(found[minor] > 0, "nothing is ever found, so nothing is tested");
	}
	return 0;
}
