/* Text that others may safely have: see text.h. */
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many bytes the character has that begins with this one; 0: none begins with it. */
static size_t length_by_first(unsigned char first)
{
	return first < 0x80   ? 1
	       : first < 0xc2 ? 0
	       : first < 0xe0 ? 2
	       : first < 0xf0 ? 3
	       : first < 0xf5 ? 4
			      : 0;
}

/* Are the bytes that are there those of a character? */
static bool fits(const unsigned char *bytes, size_t length)
{
	for (size_t i = 1; i < length; i++)
		if (pm_text_begins((char)bytes[i]))
			return false;
	return length < 2 ||
	       !((bytes[0] == 0xe0 && bytes[1] < 0xa0) || (bytes[0] == 0xed && bytes[1] > 0x9f) ||
		       (bytes[0] == 0xf0 && bytes[1] < 0x90) || (bytes[0] == 0xf4 && bytes[1] > 0x8f));
}

int pm_text_columns(const char *text)
{
	int count = 0;

	for (; *text; text++)
		count += pm_text_begins(*text);
	return count;
}

size_t pm_text_character(const char *text, size_t length)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t count = length ? length_by_first(*bytes) : 0;

	return count <= length && fits(bytes, count) ? count : 0;
}

bool pm_text_unfinished(const char *text, size_t length)
{
	const unsigned char *bytes = (const unsigned char *)text;

	return length && length_by_first(*bytes) > length && fits(bytes, length);
}

bool pm_text_controls(const char *text, size_t length)
{
	const unsigned char *bytes = (const unsigned char *)text;

	if (length == 1)
		return (*bytes < 0x20 && *bytes != '\n' && *bytes != '\t') || *bytes == 0x7f;
	return length == 2 && bytes[0] == 0xc2 && bytes[1] < 0xa0;
}

/* What is between a JSON text's strings is ASCII, so that all that is spelled out lies in strings. */
char *pm_text_json(char *json)
{
	size_t length = json ? strlen(json) : 0, used = 0, count;
	char *clean = json ? malloc(6 * length + 1) : NULL;

	for (size_t i = 0; clean && i < length; i += count ? count : 1) {
		const unsigned char *bytes = (const unsigned char *)json + i;

		count = pm_text_character(json + i, length - i);
		if (count == 0 || pm_text_controls(json + i, count)) {
			unsigned code = count == 0 ? 0xfffd : bytes[count - 1];

			used += (size_t)snprintf(clean + used, 7, "\\u%04x", code);
		} else {
			memcpy(clean + used, bytes, count);
			used += count;
		}
	}
	if (clean)
		clean[used] = '\0';
	free(json);
	return clean;
}

const char *pm_text_plural(size_t count)
{
	return count == 1 ? "" : "s";
}

const char *pm_text_slash(const char *folder)
{
	const size_t length = strlen(folder);

	return length && folder[length - 1] == '/' ? "" : "/";
}

const char *pm_text_prefix(double *number, int digits)
{
	static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
	double limit = 1000 - pow(10, 3 - digits) / 2;
	size_t prefix = 0;

	while (fabs(*number) >= limit && prefix + 1 < sizeof(prefixes) / sizeof(*prefixes)) {
		*number /= 1000;
		prefix++;
	}
	return prefixes[prefix];
}
