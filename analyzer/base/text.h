/*
 * Text from files, paths and other programs, as others may safely have it. What is no UTF-8 and what would
 * control a terminal (C0, DEL and C1) is spelled out; all else stays.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the UTF-8 character that the text, of `length` bytes, begins with; 0: with none. Overlong forms
 * and surrogates are none. */
size_t pm_text_character(const char *text, size_t length);

/* Does a character begin with this byte of UTF-8? */
static inline bool pm_text_begins(char byte)
{
	return ((unsigned char)byte & 0xc0) != 0x80;
}

/* Characters of a text, as they take columns of a terminal or room in a picture. */
int pm_text_columns(const char *text);

/* Could the text, of `length` bytes, be the start of a character whose rest is missing? */
bool pm_text_unfinished(const char *text, size_t length);

/* Does the character, of `length` bytes, control a terminal? Newline and tab do not count. */
bool pm_text_controls(const char *text, size_t length);

/* Printed JSON with escapes for what is not text, which JSON's printers leave as it is; the text that is
 * given is freed. NULL: given, or out of memory. */
char *pm_text_json(char *json);

/* The ending of a counted noun: "" for one, else "s". */
const char *pm_text_plural(size_t count);

/* What joins a folder's path and a name in it: "/", or "" where the path ends with one. */
const char *pm_text_slash(const char *folder);

/* The SI prefix, "" to "E", with which `digits` digits of the number are printed; divides *number by it. What
 * rounds to 1000 gets the next prefix. */
const char *pm_text_prefix(double *number, int digits);

#endif
