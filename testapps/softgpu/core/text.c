/*
 * Reading small texts: see text.h.
 *
 * The one idea: what is not a small text (a folder, a device, a program) is found out here, in one place, and
 * not by a parser that stops in the middle of it.
 */
#include "text.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES ((size_t)256 << 10)

/* The first byte that no text has, or NULL. */
static const char *find_odd(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (byte < ' ' && byte != '\t' && byte != '\n' && byte != '\r')
			return text + i;
	}
	return NULL;
}

char *sg_text_read(const char *path, const char *expected, char *error, size_t error_bytes)
{
	char *text = malloc(TEXT_BYTES);
	FILE *file = fopen(path, "re");
	const char *odd = NULL;
	size_t length = 0;
	int failed = 1;

	if (text != NULL && file != NULL)
		length = fread(text, 1, TEXT_BYTES, file);
	if (text == NULL || file == NULL || ferror(file))
		snprintf(error, error_bytes, "%s: %s; expected %s", path, strerror(errno), expected);
	else if ((odd = find_odd(text, length)) != NULL)
		snprintf(error, error_bytes, "%s: byte %td: found a byte %u, expected %s", path, odd - text,
			(unsigned char)*odd, expected);
	else if (length == TEXT_BYTES)
		snprintf(error, error_bytes, "%s: found 256 KiB or more, expected %s", path, expected);
	else
		failed = 0;
	if (file != NULL)
		fclose(file);
	if (failed) {
		free(text);
		return NULL;
	}
	text[length] = '\0';
	return text;
}

double sg_text_number(const char *text, char **end)
{
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	double value;

	if (plain == (locale_t)0)
		return strtod(text, end);
	value = strtod_l(text, end, plain);
	freelocale(plain);
	return value;
}

double sg_text_time_scale(void)
{
	const char *text = getenv("SOFTGPU_TIME_SCALE");
	char *end;
	double scale;

	if (text == NULL || *text == '\0')
		return 1;
	scale = sg_text_number(text, &end);
	return *end == '\0' && scale >= 0.001 && scale <= 1e6 ? scale : 0;
}
