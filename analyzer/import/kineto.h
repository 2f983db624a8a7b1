/* What the parts of the Chrome-trace JSON reader share: kineto.c steps through the file, kineto_event.c says
 * what an event is. */
#ifndef IMPORT_KINETO_H
#define IMPORT_KINETO_H

#include "base/json.h"
#include "imported.h"

/* An event as it is in the window: where its members are; NULL or empty where it has none. */
struct kineto_event {
	char phase; /* of "ph" */
	struct json_text category, name;
	const char *process, *thread, *id; /* pid, tid */
	const char *begin, *duration, *arguments;
};

/* What the category of an event tells. */
enum kineto_category {
	KINETO_UNKNOWN,
	KINETO_KERNEL,
	KINETO_COPY,
	KINETO_SET,
	KINETO_RUNTIME,
	KINETO_ANNOTATION,
	KINETO_DEVICE_ANNOTATION,
	KINETO_OPERATOR,
	KINETO_PYTHON,
	KINETO_NOTHING, /* the profiler's own */
};

/* A phase that has begun ("B" or "b") and not ended. */
struct kineto_open {
	uint32_t thread;
	uint64_t id;
	uint32_t name;
	int32_t step;
	struct json_time begin;
};

struct kineto_reader {
	struct json json;
	struct imported *imported;
	unsigned wanted;
	const char *expected; /* what was not found at `wrong` */
	const char *wrong;
	int64_t base_ns;
	bool kineto;     /* something of Kineto's was seen */
	bool devices;    /* a process is named after a device (imported_device.h) */
	bool has_first;  /* so was a complete event */
	bool has_events; /* so was the array of events */
	struct kineto_open *open;
	size_t open_count, open_room;
	char *scratch;
	size_t scratch_room;
	/* By string, as far as it goes: 2: the shapes of such an operator are of use, 1: not; 0: not asked
	 * yet. */
	uint8_t *shaped;
	size_t shaped_room;
};

enum kineto_category kineto_category_of(const struct json_text *text);

/* Is it the name of a step? */
bool kineto_is_step(const struct json_text *name);

/* Is it the name of a call of a module? */
bool kineto_is_module(const struct json_text *name);

/* False: nobody wants the event, as far as it is known. May be asked before all members are. */
bool kineto_wants(const struct kineto_reader *reader, const struct kineto_event *event);

/* Adds the event to the tables. */
void kineto_take(struct kineto_reader *reader, const struct kineto_event *event);

/* String number of a text in the window. */
uint32_t kineto_string(struct kineto_reader *reader, const struct json_text *text);

/* A number that stands for what is at the place: a number for itself, also in quotes; a name by a hash,
 * negative. */
int64_t kineto_identity(const char *place);

/* The thread of an event. */
uint32_t kineto_thread(struct kineto_reader *reader, const struct kineto_event *event);

/* A number above 0, also in quotes; 0: there is none. */
uint64_t kineto_unsigned(const char *value);

/* What the arguments of an operator say, to the span that it has become. */
void kineto_take_operator(struct kineto_reader *reader, const char *arguments, uint32_t span);

/* The step that an event is of: what its name says, or "step" of its arguments; -1: neither. */
int32_t kineto_step(const struct kineto_event *event);

void kineto_add_span(struct imported *imported, int64_t begin_ns, int64_t end_ns, uint32_t name,
	uint32_t thread, int32_t step, enum imported_span_kind kind);

/* "B" and "E" nest on a thread; "b" and "e" belong together by their id, on any thread. */
void kineto_begin(struct kineto_reader *reader, const struct kineto_event *event);
void kineto_end(struct kineto_reader *reader, const struct kineto_event *event);

/* Names of processes and threads. */
void kineto_name(struct kineto_reader *reader, const struct kineto_event *event);

/*
 * For a trace without device events: workers by the names of its processes and threads, and the labelled
 * phases as events. -1 with the file's trouble: its labels mean nothing here.
 */
int kineto_label_workers(struct imported *imported);

#endif
