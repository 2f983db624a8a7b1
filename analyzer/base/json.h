/*
 * Reading JSON that is larger than memory: a window over the file (plain or gzip) and functions that step
 * over what is in it. There is never a tree.
 *
 * The one idea: the bytes in the window end with a NUL, which JSON cannot contain, so each stepping function
 * stops there by itself and says so by answering NULL; the caller then asks for more bytes (`json_more`) and
 * takes the item again from its start. Items are small and the window is large, so this is rare, and no
 * function has to look for the end of the window.
 *
 * A struct json belongs to one thread. Functions that step take a place in the window and answer the place
 * after; they change nothing.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json {
	const char *path;      /* the caller's */
	const char *next;      /* where the caller is */
	const char *end;       /* of what is in the window; *end is NUL, and so are JSON_PADDING bytes */
	bool exhausted;        /* nothing follows in the file */
	const char *break_off; /* why the bytes end before the file is whole (gzip), or NULL */
	const char *limit;     /* the sentence of a limit (limit.h) that ended the reading, or NULL */
	struct json_source *source;
	char *window;
	size_t room_bytes;
	uint64_t passed_bytes; /* of the text, before the window */
};

/* Bytes of NUL after the text, so that blocks may be read past its end. */
#define JSON_PADDING 64

/* Text between two places of the window; of a string what is between the quotes, escapes as they are. */
struct json_text {
	const char *begin;
	size_t length;
	bool escaped; /* has escapes */
};

/* A time in ns, exactly: `rest` counts billionths of a ns, so that sums are rounded only once. */
struct json_time {
	int64_t ns;
	uint32_t rest;
};

/* 0, or a negative number (regular_file.h). The first bytes are in the window. */
int json_open(struct json *json, const char *path);
void json_close(struct json *json);

/*
 * More bytes into the window, which moves: places in it are no longer valid except `json->next`, which moves
 * along. False if there are no more, or if what follows `next` has outgrown JSON_ITEM_BYTES.
 */
bool json_more(struct json *json);
#define JSON_ITEM_BYTES ((size_t)64 << 20)

/* All that follows json->next, of a file that is not JSON but may be packed like one; the caller frees it. */
void *json_all(struct json *json, size_t *bytes);

/* Where in the text of the file (unpacked) the place is, from 0. */
uint64_t json_offset(const struct json *json, const char *place);

/* After blanks. */
const char *json_blank(const char *place);

/* `place` is after the opening quote; answers the place after the closing one, or NULL. */
const char *json_string(const char *place, struct json_text *text);

/* After the value that begins at `place`, which is not checked inside; NULL: it does not end here, or there
 * is none. */
const char *json_skip(const char *place);

/* After the end of the `depth` objects and arrays that `place` is in; NULL: it is not in the window. */
const char *json_leave(const char *place, size_t depth);

/*
 * The next member of an object: `place` is at its brace, or after the value before. Answers the place of the
 * value; NULL: there is no further member, or something else is there.
 */
const char *json_member(const char *place, struct json_text *key);

/* After a number, or a string that is one; NULL: there is none. What is after the point is dropped. */
const char *json_integer(const char *place, int64_t *value);

/* A number of microseconds, or a string that is one, as ns; NULL: there is none, or it is beyond 292 years.
 */
const char *json_micros(const char *place, struct json_time *time);

/* Sum of two times, rounded to the nearest ns. */
int64_t json_time_sum(struct json_time a, struct json_time b);

/* Is the text equal to a constant? */
#define JSON_IS(text, constant) \
	((text).length == sizeof(constant) - 1 && \
		__builtin_memcmp((text).begin, constant, sizeof(constant) - 1) == 0)

/* The text with escapes resolved, into `room` (of text.length bytes at least); answers the length. */
size_t json_unescape(const struct json_text *text, char *room);

/*
 * Steps over the value at json->next, however long, without keeping it. False: it does not end in this file
 * or is none.
 */
bool json_pass(struct json *json);

#endif
