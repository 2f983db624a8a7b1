/*
 * Inside imported_*.c: the spans of a file as the ranges that the hook's own traces have (timeline_range.h),
 * so that one code understands both (framework/framework.h): operators, nodes of the backward pass and
 * annotations; modules around them are their module. Threads are numbered as in the file.
 */
#ifndef IMPORT_IMPORTED_RANGE_H
#define IMPORT_IMPORTED_RANGE_H

#include "imported.h"
#include "framework/framework.h"

/* A distinct range: strings of the file. */
struct imported_range_name {
	uint32_t name, module;
	enum pm_range_scope scope;
};

struct imported_ranges {
	struct timeline timeline; /* nothing in it but the ranges of one process, the whole file */
	struct timeline_process process;
	struct imported_range_name *names; /* as timeline.range_names; texts are of the file's strings */
	uint32_t *of_span; /* by span: its range, or the one that it is in; TIMELINE_NO_RANGE: none */
	uint32_t *spans;   /* by range: its span */
};

/*
 * `parents`: by span, the one around it in its thread, or IMPORTED_NONE; `modules`: by span, the string of
 * the modules that it is in, from the outermost, or 0. May add strings. The file must stay;
 * imported_ranges_free frees what is allocated.
 */
void imported_ranges_find(struct imported_ranges *ranges, struct imported *imported, const uint32_t *parents,
	const uint32_t *modules);
void imported_ranges_free(struct imported_ranges *ranges);

#endif
