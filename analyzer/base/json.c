/*
 * Stepping over JSON text: see json.h. Strings and nested values are passed over sixteen bytes at a time
 * where the machine can compare so many at once.
 */
#include "json.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#ifdef __SSE2__
/* One bit for each of the 16 bytes that ends or escapes a string, or ends the window. */
static inline unsigned string_marks(const char *place)
{
	__m128i bytes = _mm_loadu_si128((const __m128i *)place);
	__m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
	__m128i escape = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
	__m128i end = _mm_cmpeq_epi8(bytes, _mm_setzero_si128());

	return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, escape), end));
}

/* The same for what opens or closes a value or a string. A bracket and a brace differ in one bit. */
static inline unsigned value_marks(const char *place)
{
	__m128i bytes = _mm_loadu_si128((const __m128i *)place);
	__m128i braces = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
	__m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
	__m128i open = _mm_cmpeq_epi8(braces, _mm_set1_epi8('{'));
	__m128i close = _mm_cmpeq_epi8(braces, _mm_set1_epi8('}'));
	__m128i end = _mm_cmpeq_epi8(bytes, _mm_setzero_si128());

	return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, open), _mm_or_si128(close, end)));
}
#endif

/* The first quote, backslash or NUL from here on. */
static inline const char *to_string_mark(const char *place)
{
#ifdef __SSE2__
	unsigned marks;

	while (!(marks = string_marks(place)))
		place += 16;
	return place + __builtin_ctz(marks);
#else
	while (*place && *place != '"' && *place != '\\')
		place++;
	return place;
#endif
}

/* The first quote, brace, bracket or NUL from here on. */
static inline const char *to_value_mark(const char *place)
{
#ifdef __SSE2__
	unsigned marks;

	while (!(marks = value_marks(place)))
		place += 16;
	return place + __builtin_ctz(marks);
#else
	while (*place && *place != '"' && (*place | 0x20) != '{' && (*place | 0x20) != '}')
		place++;
	return place;
#endif
}

const char *json_blank(const char *place)
{
	while (*place == ' ' || *place == '\n' || *place == '\r' || *place == '\t')
		place++;
	return place;
}

const char *json_string(const char *place, struct json_text *text)
{
	text->begin = place;
	text->escaped = false;
	for (;;) {
		place = to_string_mark(place);
		if (*place == '"') {
			text->length = (size_t)(place - text->begin);
			return place + 1;
		}
		if (!*place || !place[1])
			return NULL;
		text->escaped = true;
		place += 2;
	}
}

const char *json_leave(const char *place, size_t depth)
{
	struct json_text text;

	for (;;) {
		place = to_value_mark(place);
		if (*place == '"') {
			place = json_string(place + 1, &text);
			if (!place)
				return NULL;
			continue;
		}
		if (!*place)
			return NULL;
		if (*place == '{' || *place == '[')
			depth++;
		else if (--depth == 0)
			return place + 1;
		place++;
	}
}

const char *json_skip(const char *place)
{
	struct json_text text;
	const char *begin = place;

	if (*place == '"')
		return json_string(place + 1, &text);
	if (*place == '{' || *place == '[')
		return json_leave(place + 1, 1);
	while ((unsigned char)*place > ' ' && *place != ',' && *place != '}' && *place != ']')
		place++;
	return *place && place > begin ? place : NULL;
}

const char *json_member(const char *place, struct json_text *key)
{
	place = json_blank(place);
	if (*place == ',' || *place == '{')
		place = json_blank(place + 1);
	if (*place != '"')
		return NULL;
	place = json_string(place + 1, key);
	if (!place)
		return NULL;
	place = json_blank(place);
	return *place == ':' ? json_blank(place + 1) : NULL;
}

/* The next mark of the long value that json->next is in, for which the window may move; NULL: the file ends.
 */
static const char *next_mark(struct json *json, bool string)
{
	for (;;) {
		const char *place = string ? to_string_mark(json->next) : to_value_mark(json->next);
		const char *stop = *place == '\\' ? place + 1 : place;

		json->next = place;
		if (*stop)
			return place;
		if (stop < json->end || !json_more(json))
			return NULL;
	}
}

bool json_pass(struct json *json)
{
	size_t depth = 0;
	bool string = false;
	const char *place;

	while (!*json->next)
		if (!json_more(json))
			return false;
	if (*json->next != '{' && *json->next != '[' && *json->next != '"') {
		while (!(place = json_skip(json->next)))
			if (!json_more(json))
				return false;
		json->next = place;
		return true;
	}
	do {
		place = next_mark(json, string);
		if (!place)
			return false;
		json->next = place + (*place == '\\' ? 2 : 1);
		if (*place == '"')
			string = !string;
		else if (!string && (*place == '{' || *place == '['))
			depth++;
		else if (!string)
			depth--;
	} while (string || depth > 0);
	return true;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The code of \uXXXX whose digits begin at `place`; -1: they are not there. */
static int32_t code_at(const char *place, const char *end)
{
	int32_t code = 0;

	if (end - place < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int value = hex_value(place[i]);

		if (value < 0)
			return -1;
		code = code * 16 + value;
	}
	return code;
}

static size_t put_code(int32_t code, char *room)
{
	if (code < 0x80) {
		room[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		room[0] = (char)(0xc0 | code >> 6);
		room[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		room[0] = (char)(0xe0 | code >> 12);
		room[1] = (char)(0x80 | (code >> 6 & 0x3f));
		room[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	room[0] = (char)(0xf0 | code >> 18);
	room[1] = (char)(0x80 | (code >> 12 & 0x3f));
	room[2] = (char)(0x80 | (code >> 6 & 0x3f));
	room[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

size_t json_unescape(const struct json_text *text, char *room)
{
	const char *place = text->begin, *end = place + text->length;
	size_t length = 0;

	while (place < end) {
		static const char names[] = "bfnrt", values[] = "\b\f\n\r\t";
		const char *name;
		int32_t code, low;

		if (*place != '\\' || place + 1 >= end) {
			room[length++] = *place++;
			continue;
		}
		place++;
		if (*place == 'u' && (code = code_at(place + 1, end)) >= 0) {
			place += 5;
			if (code >= 0xd800 && code < 0xdc00 && end - place >= 6 && place[0] == '\\' &&
				place[1] == 'u' && (low = code_at(place + 2, end)) >= 0xdc00 &&
				low < 0xe000) {
				code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
				place += 6;
			}
			/* A NUL would end the name for everybody else. */
			length += put_code(code ? code : 0xfffd, room + length);
			continue;
		}
		name = strchr(names, *place);
		room[length++] = name ? values[name - names] : *place;
		place++;
	}
	return length;
}
