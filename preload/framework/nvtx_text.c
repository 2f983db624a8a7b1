/* Counters and attributes in texts of ranges: see nvtx_text.h. Characters are those of ASCII, whatever the
 * locale. */
#include "nvtx_text.h"

#include <stdint.h>
#include <string.h>

#define WIDE_MOST 256u /* characters that are looked at: attributes may follow */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80);
}

/* Of a character that touches a number: the number is part of a word. */
static bool is_of_word(char c)
{
	return is_letter(c) || is_digit(c) || c == '.' || c == '-';
}

/* After a comma: "name =". */
static bool is_attribute(const char *p)
{
	while (*p == ' ')
		p++;
	if (!is_letter(*p))
		return false;
	while (is_letter(*p) || is_digit(*p))
		p++;
	while (*p == ' ')
		p++;
	return *p == '=';
}

/* The length of a number that is a word of its own, decimals with it; 0: it is not. before: the character in
 * front of it, 0: none. */
static size_t number_length(const char *p, char before)
{
	size_t n = 0;

	if (!is_digit(*p) || is_of_word(before))
		return 0;
	while (is_digit(p[n]))
		n++;
	if (p[n] == '.' && is_digit(p[n + 1]))
		for (n++; is_digit(p[n]);)
			n++;
	/* a full stop, or a range of numbers */
	return is_of_word(p[n]) && (is_letter(p[n]) || is_of_word(p[n + 1])) ? 0 : n;
}

/* Cuts what is left of a character, and spaces. */
static size_t end_text(char *out, size_t n, bool is_cut)
{
	size_t start = n;

	while (is_cut && start > 0 && (out[start - 1] & 0xc0) == 0x80)
		start--;
	if (is_cut && start > 0 && (out[start - 1] & 0xc0) == 0xc0)
		n = start - 1;
	while (n > 0 && out[n - 1] == ' ')
		n--;
	out[n] = 0;
	return n;
}

/* Characters that are not always themselves: the end, control characters, commas and digits. */
static const bool is_special[256] = {[0 ... ' ' - 1] = true, [','] = true, ['0' ... '9'] = true};

/* ---- XLA's ---- */

#define PROGRAM "XlaModule:#"
#define LAUNCH "Thunk:#"

/* The value after "key=" in a list "#key=value,key=value#" of *length characters; NULL: it is not there. */
static const char *value_of(const char *list, const char *key, size_t *length)
{
	const size_t n = strlen(key);

	for (const char *p = list; (p = strstr(p, key)) != NULL; p += n)
		if (p > list && (p[-1] == '#' || p[-1] == ',') && p[n] == '=') {
			*length = strcspn(p + n + 1, ",#");
			return p + n + 1;
		}
	return NULL;
}

static size_t put(char *out, size_t n, const char *text, size_t length, size_t most)
{
	if (length > most)
		length = most;
	memcpy(out + n, text, length);
	return n + length;
}

#define PUT(text) put(out, n, text, strlen(text), PMH_TEXT_BYTES)

static size_t put_program(char *out, const char *list)
{
	enum { NAME_MOST = 48, NUMBER_MOST = 20 };
	size_t name_length, number_length, n = 0;
	const char *name = value_of(list, "hlo_module", &name_length);
	const char *number = value_of(list, "program_id", &number_length);

	if (!name || !number)
		return 0;
	n = PUT(PROGRAM "hlo_module=");
	n = put(out, n, name, name_length, NAME_MOST);
	n = PUT(",program_id=");
	n = put(out, n, number, number_length, NUMBER_MOST);
	n = PUT("#");
	out[n] = 0;
	return n;
}

/* An instruction's name that is too long is not cut: it would be another's. */
static size_t put_launch(char *out, const char *list)
{
	size_t length, n = 0;
	const char *instruction = value_of(list, "hlo_op", &length);

	if (!instruction || length > PMH_TEXT_BYTES - sizeof LAUNCH "hlo_op=#")
		return 0;
	n = PUT(LAUNCH "hlo_op=");
	n = put(out, n, instruction, length, length);
	n = PUT("#");
	out[n] = 0;
	return n;
}

/* The range around a run of a program, and that around a launch: what names the program and the instruction.
 * 0: it is neither. */
static size_t put_xla(char *out, const char *text)
{
	if (text[0] == 'X' && strncmp(text, PROGRAM, strlen(PROGRAM)) == 0)
		return put_program(out, text + strlen(PROGRAM) - 1);
	if (text[0] == 'T' && strncmp(text, LAUNCH, strlen(LAUNCH)) == 0)
		return put_launch(out, text + strlen(LAUNCH) - 1);
	return 0;
}

/* ---- TensorFlow's ---- */

/* The colon of "path:Type", with *type_length characters after it, arguments ("#from=x") apart; NULL: it is
 * none. */
static const char *colon_of(const char *text, size_t *type_length)
{
	const char *colon = text + strcspn(text, ": ,#");
	const char after = *colon == ':' ? colon[1] : 0;
	size_t n;

	if (colon == text || !is_letter(after))
		return NULL;
	n = 1 + strcspn(colon + 1, ": ,#");
	*type_length = n - 1;
	return colon[n] == 0 || colon[n] == '#' ? colon : NULL;
}

/* Without the functions that call it. */
static const char *without_calls(const char *path)
{
	static const char *const calls[] = {"StatefulPartitionedCall/", "PartitionedCall/"};

	for (unsigned i = 0; i < sizeof calls / sizeof calls[0];)
		if (strncmp(path, calls[i], strlen(calls[i])) == 0)
			path += strlen(calls[i]), i = 0;
		else
			i++;
	return path;
}

/* Of one that is too long the calls are left out, then the end of its path is cut: its type and the layer
 * that it is in are kept. */
static size_t put_operation(char *out, const char *text)
{
	enum { TYPE_MOST = 40 };
	size_t type_length, n = 0;
	const char *colon = colon_of(text, &type_length);

	if (!colon)
		return 0;
	if (type_length > TYPE_MOST)
		type_length = TYPE_MOST;
	if ((size_t)(colon - text) + 1 + type_length >= PMH_TEXT_BYTES)
		text = without_calls(text);
	n = put(out, n, text, (size_t)(colon - text), PMH_TEXT_BYTES - 2 - type_length);
	n = put(out, n, colon, 1 + type_length, 1 + type_length);
	out[n] = 0;
	return n;
}

bool pmh_nvtx_is_exact(const char *text)
{
	size_t type_length;

	return colon_of(text, &type_length) ||
	       strncmp(text, LAUNCH "hlo_op=", strlen(LAUNCH "hlo_op=")) == 0 ||
	       (strncmp(text, PROGRAM, strlen(PROGRAM)) == 0 && strstr(text, ",program_id="));
}

size_t pmh_nvtx_text(char out[PMH_TEXT_BYTES], const char *text)
{
	size_t n = put_xla(out, text), number;
	const char *p = text;

	if (n || (n = put_operation(out, text)))
		return n;
	for (;;) {
		for (; !is_special[(unsigned char)*p] && n < PMH_TEXT_BYTES - 1; p++)
			out[n++] = *p;
		if (!*p || (*p == ',' && is_attribute(p + 1)))
			return end_text(out, n, false);
		if (n == PMH_TEXT_BYTES - 1)
			return end_text(out, n, true);
		number = number_length(p, p > text ? p[-1] : 0);
		out[n++] = number ? '#' : *p < ' ' ? ' ' : *p;
		p += number ? number : 1;
	}
}

/* A character as UTF-8. */
static size_t put_wide(char *out, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = '?';
	if (c < 0x80)
		return *out = (char)c, 1;
	if (c < 0x800)
		return out[0] = (char)(0xc0 | c >> 6), out[1] = (char)(0x80 | (c & 63)), 2;
	if (c < 0x10000)
		return out[0] = (char)(0xe0 | c >> 12), out[1] = (char)(0x80 | (c >> 6 & 63)),
		       out[2] = (char)(0x80 | (c & 63)), 3;
	return out[0] = (char)(0xf0 | c >> 18), out[1] = (char)(0x80 | (c >> 12 & 63)),
	       out[2] = (char)(0x80 | (c >> 6 & 63)), out[3] = (char)(0x80 | (c & 63)), 4;
}

size_t pmh_nvtx_wide_text(char out[PMH_TEXT_BYTES], const wchar_t *text)
{
	char narrow[WIDE_MOST * 4 + 1];
	size_t n = 0;

	for (unsigned i = 0; i < WIDE_MOST && text[i]; i++)
		n += put_wide(narrow + n, (uint32_t)text[i]);
	narrow[n] = 0;
	return pmh_nvtx_text(out, narrow);
}

bool pmh_nvtx_stem(char out[PMH_TEXT_BYTES], const char *text)
{
	size_t n = 0;
	bool has_number = false;

	for (const char *p = text; *p; p++) {
		const bool is_number = is_digit(*p);

		if (!is_number || n == 0 || !is_digit(p[-1]))
			out[n++] = is_number ? '#' : *p;
		has_number |= is_number;
	}
	out[n] = 0;
	return has_number;
}
