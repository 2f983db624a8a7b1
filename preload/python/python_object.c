/*
 * Python's objects, read from outside: strings, tuples, classes, dictionaries and the attributes of
 * instances.
 *
 * Nothing is believed by its place alone: an object is what its type pointer says, and that is compared with
 * the addresses of the types; lengths are compared with limits; and a look fails after a number of reads
 * (python_memory.c).
 */
#include "python.h"

#include <string.h>

#define BASES_MAX 64
#define TABLE_LOG_MAX 24

/* Bits of a type's flags. */
#define INLINE_VALUES (1u << 2)
#define MANAGED_DICT (1u << 4)
#define HEAP_TYPE (1u << 9)

const struct pmh_python_offsets *pmh_python_offsets(unsigned minor)
{
	static const struct pmh_python_offsets rows[] = {
#define PMH_FIELD_8(name, a, b, c, d, e, f, g) .name = a,
#define PMH_FIELD_9(name, a, b, c, d, e, f, g) .name = b,
#define PMH_FIELD_10(name, a, b, c, d, e, f, g) .name = c,
#define PMH_FIELD_11(name, a, b, c, d, e, f, g) .name = d,
#define PMH_FIELD_12(name, a, b, c, d, e, f, g) .name = e,
#define PMH_FIELD_13(name, a, b, c, d, e, f, g) .name = f,
#define PMH_FIELD_14(name, a, b, c, d, e, f, g) .name = g,
		{.minor = 8, PMH_PYTHON_OFFSETS(PMH_FIELD_8)},
		{.minor = 9, PMH_PYTHON_OFFSETS(PMH_FIELD_9)},
		{.minor = 10, PMH_PYTHON_OFFSETS(PMH_FIELD_10)},
		{.minor = 11, PMH_PYTHON_OFFSETS(PMH_FIELD_11)},
		{.minor = 12, PMH_PYTHON_OFFSETS(PMH_FIELD_12)},
		{.minor = 13, PMH_PYTHON_OFFSETS(PMH_FIELD_13)},
		{.minor = 14, PMH_PYTHON_OFFSETS(PMH_FIELD_14)},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (rows[i].minor == minor)
			return &rows[i];
	return NULL;
}

/* ---- strings and tuples ---- */

struct string {
	uint64_t characters; /* address */
	uint64_t length;
	unsigned kind; /* bytes of a character */
};

static bool open_string(struct pmh_python_look *look, uint64_t object, struct string *s)
{
	const struct pmh_python_offsets *at = look->python->at;
	uint32_t state;
	bool compact, ascii;

	if (!object || pmh_python_type(look, object) != look->python->text_type)
		return false;
	state = pmh_python_half(look, object + at->text_state);
	/* bits: 2 interned, 3 kind, 1 compact, 1 ASCII */
	s->kind = state >> 2 & 7;
	compact = state >> 5 & 1;
	ascii = state >> 6 & 1;
	s->length = pmh_python_word(look, object + at->text_length);
	s->characters = object + (ascii ? at->text_ascii : at->text_compact);
	return compact && (s->kind == 1 || s->kind == 2 || s->kind == 4) && !look->failed;
}

/* Appends a character as UTF-8; what a terminal would not print becomes '?'. Returns bytes written, 0: no
 * room.
 */
static size_t put_character(char *to, size_t room, uint32_t c)
{
	char bytes[4];
	size_t n;

	if (c < 0x20 || c == 0x7f || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		c = '?';
	if (c < 0x80) {
		bytes[0] = (char)c;
		n = 1;
	} else if (c < 0x800) {
		bytes[0] = (char)(0xc0 | c >> 6);
		n = 2;
	} else if (c < 0x10000) {
		bytes[0] = (char)(0xe0 | c >> 12);
		n = 3;
	} else {
		bytes[0] = (char)(0xf0 | c >> 18);
		n = 4;
	}
	for (size_t i = 1; i < n; i++)
		bytes[i] = (char)(0x80 | (c >> 6 * (n - 1 - i) & 0x3f));
	if (n > room)
		return 0;
	memcpy(to, bytes, n);
	return n;
}

/* Appends a string's piece. False: no room. */
static bool put_piece(const unsigned char *piece, size_t byte_count, unsigned kind, char *text,
	size_t text_bytes, size_t *used)
{
	for (size_t at = 0; at < byte_count; at += kind) {
		uint32_t c = piece[at];
		size_t n = 1;

		if (kind > 1)
			memcpy(&c, piece + at, kind);
		if (c >= 0x20 && c < 0x7f && *used + 1 < text_bytes)
			text[*used] = (char)c;
		else
			n = put_character(text + *used, text_bytes - 1 - *used, c);
		if (n == 0)
			return false;
		*used += n;
	}
	return true;
}

bool pmh_python_text(struct pmh_python_look *look, uint64_t object, char *text, size_t text_bytes)
{
	struct string s;
	unsigned char piece[64];
	size_t used = 0;
	uint64_t left;

	text[0] = 0;
	if (!open_string(look, object, &s) || s.length == 0 || s.length >= text_bytes)
		return false;
	for (left = s.length * s.kind; left > 0;) {
		const size_t n = left < sizeof piece ? (size_t)left : sizeof piece;

		if (!pmh_python_bytes(look, s.characters, piece, n) ||
			!put_piece(piece, n, s.kind, text, text_bytes, &used))
			break;
		s.characters += n;
		left -= n;
	}
	text[left ? 0 : used] = 0;
	return left == 0;
}

bool pmh_python_is_word(struct pmh_python_look *look, uint64_t object, const char *word, uint64_t *known)
{
	struct string s;
	char there[24];
	size_t length = strlen(word);

	if (object && known && object == *known)
		return true;
	if (length > sizeof there || !open_string(look, object, &s) || s.length != length || s.kind != 1 ||
		!pmh_python_bytes(look, s.characters, there, length) || memcmp(there, word, length) != 0)
		return false;
	if (known)
		*known = object;
	return true;
}

uint64_t pmh_python_item_count(struct pmh_python_look *look, uint64_t tuple)
{
	return pmh_python_type(look, tuple) == look->python->tuple_type ? pmh_python_word(look, tuple + 16)
									: 0;
}

uint64_t pmh_python_item(struct pmh_python_look *look, uint64_t tuple, uint64_t i)
{
	if (i >= pmh_python_item_count(look, tuple))
		return 0;
	return pmh_python_word(look, tuple + look->python->at->tuple_items + 8 * i);
}

/* ---- classes ---- */

/* Names of classes are C strings, "package.Name" for those that C code defines. */
bool pmh_python_class_name(struct pmh_python_look *look, uint64_t class, char *text, size_t text_bytes)
{
	uint64_t name = pmh_python_word(look, class + look->python->at->type_name);
	size_t used = 0;

	for (unsigned i = 0; i < 1024 && name && !look->failed; i++) {
		char c = (char)pmh_python_byte(look, name + i);

		if (used < text_bytes)
			text[used] = c > 0 && (c < 0x20 || c == 0x7f) ? '?' : c;
		if (c == 0 && used < text_bytes && !look->failed)
			return used > 0;
		used = c == '.' ? 0 : used + 1;
	}
	text[0] = 0;
	return false;
}

/* Whether nn.Module is among the bases. It is the last but one of most modules' bases. */
static bool find_module_class(struct pmh_python_look *look, uint64_t bases, uint64_t base_count)
{
	char name[8];

	for (uint64_t i = 0; look->module_class && i < base_count; i++)
		if (pmh_python_item(look, bases, i) == look->module_class)
			return true;
	for (uint64_t i = base_count; i-- > 0;) {
		uint64_t base = pmh_python_item(look, bases, i);

		if (pmh_python_class_name(look, base, name, sizeof name) && strcmp(name, "Module") == 0) {
			look->module_class = base;
			return true;
		}
	}
	return false;
}

/* What the class itself says. */
static void read_class(struct pmh_python_look *look, uint64_t class, struct pmh_python_class *c)
{
	const struct pmh_python_offsets *at = look->python->at;

	c->bases = pmh_python_word(look, class + at->type_mro);
	c->name = pmh_python_word(look, class + at->type_name);
	c->flags = pmh_python_word(look, class + at->type_flags);
	c->cached_keys = c->flags & HEAP_TYPE ? pmh_python_word(look, class + at->type_cached_keys) : 0;
	c->dict_offset = (int64_t)pmh_python_word(look, class + at->type_dict_offset);
	c->basic_bytes = (int64_t)pmh_python_word(look, class + at->type_basic_bytes);
}

/* Whether a class that an earlier look met is still the same. */
static bool is_same_class(struct pmh_python_look *look, struct pmh_python_class *c)
{
	struct pmh_python_class now;

	if (c->look_number == look->number)
		return true;
	read_class(look, c->address, &now);
	if (look->failed || now.bases != c->bases || now.name != c->name || now.flags != c->flags ||
		now.cached_keys != c->cached_keys || now.dict_offset != c->dict_offset ||
		now.basic_bytes != c->basic_bytes)
		return false;
	c->look_number = look->number;
	return true;
}

/* Its bases may be others by now, so they are fetched. */
static const struct pmh_python_class *new_class(
	struct pmh_python_look *look, uint64_t class, struct pmh_python_class *c)
{
	uint64_t base_count;

	c->address = 0;
	read_class(look, class, c);
	/* that a class is the first of its own bases tells it from other memory */
	if (!c->bases || pmh_python_item(look, c->bases, 0) != class)
		return NULL;
	base_count = pmh_python_item_count(look, c->bases);
	if (base_count > BASES_MAX)
		return NULL;
	c->is_module = find_module_class(look, c->bases, base_count);
	if (look->failed)
		return NULL;
	c->address = class;
	c->look_number = look->number;
	return c;
}

const struct pmh_python_class *pmh_python_class(struct pmh_python_look *look, uint64_t object)
{
	const bool before = look->is_loaded;
	const uint64_t class = pmh_python_type(look, object);
	struct pmh_python_class *c = &look->classes[class / 64 % PMH_PYTHON_CLASSES];
	const struct pmh_python_class *found;

	if (!class)
		return NULL;
	if (c->address == class && is_same_class(look, c))
		return c;
	look->is_loaded = false;
	found = new_class(look, class, c);
	look->is_loaded = before;
	return found;
}

bool pmh_python_fits(struct pmh_python_look *look)
{
	const struct pmh_python *p = look->python;
	const uint64_t types[] = {p->type_type, p->code_type, p->frame_type, p->text_type, p->dict_type};
	const uint64_t sizes[] = {p->at->type_bytes, p->at->code_bytes, p->at->frame_bytes, p->at->text_bytes,
		p->at->dict_bytes};
	char name[8];

	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (pmh_python_type(look, types[i]) != p->type_type ||
			pmh_python_word(look, types[i] + p->at->type_basic_bytes) != sizes[i])
			return false;
	return pmh_python_class_name(look, p->code_type, name, sizeof name) && strcmp(name, "code") == 0 &&
	       !look->failed;
}

/* ---- dictionaries ---- */

/* From 3.11 on keys that are all strings have entries without a hash. */
static bool open_keys(
	struct pmh_python_look *look, uint64_t keys, uint64_t values, struct pmh_python_table *table)
{
	const struct pmh_python_offsets *at = look->python->at;
	uint64_t size, index_bytes;
	bool has_hash = true;

	if (!keys)
		return false;
	if (at->keys_size_is_log) {
		unsigned size_log = pmh_python_byte(look, keys + at->keys_size);
		unsigned bytes_log = pmh_python_byte(look, keys + at->keys_size + 1u);

		if (size_log > TABLE_LOG_MAX || bytes_log > TABLE_LOG_MAX + 3)
			return false;
		size = 1u << size_log;
		index_bytes = 1u << bytes_log;
		has_hash = pmh_python_byte(look, keys + at->keys_size + 2u) == 0;
	} else {
		size = pmh_python_word(look, keys + at->keys_size);
		if (size > 1u << TABLE_LOG_MAX)
			return false;
		index_bytes = size * (size <= 0xff ? 1 : size <= 0xffff ? 2 : 4);
	}
	table->entry_bytes = has_hash ? 24 : 16;
	table->key_offset = has_hash ? 8 : 0;
	table->entries = keys + at->keys_index + index_bytes;
	table->values = values ? values + at->values_first : 0;
	table->left = pmh_python_word(look, keys + at->keys_count);
	return table->left <= size && !look->failed;
}

bool pmh_python_dict(struct pmh_python_look *look, uint64_t dict, struct pmh_python_table *table)
{
	const struct pmh_python *p = look->python;
	uint64_t type = pmh_python_type(look, dict);

	return type && (type == p->dict_type || type == p->ordered_dict_type) &&
	       open_keys(look, pmh_python_word(look, dict + p->at->dict_keys),
		       pmh_python_word(look, dict + p->at->dict_values), table);
}

/* An instance that may have its values without a dictionary; the keys are its class's. */
static bool open_managed(struct pmh_python_look *look, uint64_t object, const struct pmh_python_class *class,
	struct pmh_python_table *table)
{
	const unsigned form = look->python->at->instance_form;
	uint64_t dict = pmh_python_word(look, object - 24), values = 0;

	if (form == PMH_INSTANCE_BEFORE) {
		values = dict ? 0 : pmh_python_word(look, object - 32);
	} else if (form == PMH_INSTANCE_TAGGED && dict & 1) {
		values = dict + 1;
		dict = 0;
	} else if (form == PMH_INSTANCE_INLINE && !dict && class->flags & INLINE_VALUES) {
		values = object + (uint64_t) class->basic_bytes;
		/* its fourth byte: the values are in use */
		if (!pmh_python_byte(look, values + 3))
			return false;
	}
	if (dict)
		return pmh_python_dict(look, dict, table);
	return values && open_keys(look, class->cached_keys, values, table);
}

bool pmh_python_attributes(struct pmh_python_look *look, uint64_t object, struct pmh_python_table *table)
{
	const struct pmh_python_class *class = pmh_python_class(look, object);

	if (!class)
		return false;
	if (look->python->at->instance_form != PMH_INSTANCE_PLAIN && class->flags & MANAGED_DICT)
		return open_managed(look, object, class, table);
	return class->dict_offset > 0 &&
	       pmh_python_dict(look, pmh_python_word(look, object + (uint64_t) class->dict_offset), table);
}

bool pmh_python_next(
	struct pmh_python_look *look, struct pmh_python_table *table, uint64_t *key, uint64_t *value)
{
	while (table->left > 0 && !look->failed) {
		const uint64_t entry = table->entries + table->key_offset;
		const uint64_t value_at = table->values ? table->values : entry + 8;

		*key = pmh_python_word(look, entry);
		*value = pmh_python_word(look, value_at);
		table->entries += table->entry_bytes;
		table->values += table->values ? 8 : 0;
		table->left--;
		if (*key && *value)
			return !look->failed;
	}
	return false;
}

uint64_t pmh_python_key_of(struct pmh_python_look *look, struct pmh_python_table table, uint64_t wanted)
{
	uint64_t key, value;

	while (pmh_python_next(look, &table, &key, &value))
		if (value == wanted)
			return key;
	return 0;
}

uint64_t pmh_python_value_of(
	struct pmh_python_look *look, struct pmh_python_table table, const char *wanted, uint64_t *known)
{
	struct pmh_python_table again = table;
	uint64_t key, value;

	/* a word in a program's text is one object everywhere, mostly */
	while (*known && pmh_python_next(look, &again, &key, &value))
		if (key == *known)
			return value;
	while (pmh_python_next(look, &table, &key, &value))
		if (pmh_python_is_word(look, key, wanted, known))
			return value;
	return 0;
}
