/*
 * What each hooked function must leave in the trace, told from the arguments of a call by the table
 * values.txt: an account of its own, written from the vendors' documentation with their names of the
 * parameters, which shares nothing with the rows of pm_hooks.def but the functions' names.
 */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPECT_ARGUMENTS 40
#define EXPECT_VALUES 28

/* An argument of a call: its bytes where the call takes it from, its type as the row spells it. */
struct argument {
	const char *type;
	void *bytes;
	size_t size;
	bool is_pointer;
};

struct call {
	const char *name;
	struct argument arguments[EXPECT_ARGUMENTS];
	unsigned count;
	int scale;            /* what scalars are: 0, 1, or 2 for another number */
	bool device_pointers; /* the handle's scalars lie on the device */
};

/* A value: the number, or the object that a number in the trace must stand for. */
struct value {
	char label[64]; /* "bytes:bytes" */
	enum { VALUE_NUMBER, VALUE_DESCRIPTOR, VALUE_COMMUNICATOR, VALUE_NAME } what;
	uint64_t number; /* or the object's address */
};

struct expectation {
	const char *name;
	char kind[16];
	char does[96]; /* "role:PRODUCT access:IN_PLACE" */
	enum { QUEUE_NONE, QUEUE_DEFAULT, QUEUE_PER_THREAD, QUEUE_STREAM, QUEUE_HANDLE } queue;
	uint64_t queue_of; /* the stream or handle */
	struct value values[EXPECT_VALUES];
	unsigned value_count;
};

/* One function's line of the table. */
struct line {
	char name[80];
	const char *parameters, *body; /* "dst, src, count" and "COPY role:BLOCKS @stream writes:dst ..." */
	const char *reason;            /* why there is no expectation; NULL: there is one */
	bool sets;                     /* changes what later calls mean, which test_effects.c looks at */
	bool has_sum;                  /* an argument counts the elements of an array */
	bool is_used;
};

/* Reads the table. Exits with a message where it makes no sense. */
void expect_read(const char *path);
struct line *expect_line(const char *name);

/* What the call must leave; puts scalars where the call's pointers to them point, and names kernels that it
 * launches. */
void expect_call(const struct line *line, const struct call *call, struct expectation *result);

/* Complains of lines that belong to no function; returns how many. */
unsigned expect_unused(void);

/* A field of a struct that calls take, by value or behind a pointer. */
struct field {
	const char *type, *path;
	size_t offset, size;
};
extern const struct field expect_fields[];

/* Element types: what each library calls them, and what the trace does. */
struct element_type {
	const char *enum_type;
	int enumerator;
	const char *word;
};
extern const struct element_type expect_types[];
extern const size_t expect_type_count;

#endif
