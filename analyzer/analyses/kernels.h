/*
 * What ran on the devices, by name: kernels, copies, sets and collectives, each with its phase. Kernels of a
 * captured graph are counted under their names too, and how much of a row is in graphs is said; graphs are
 * also listed as the units that they are launched as.
 */
#ifndef ANALYSES_KERNELS_H
#define ANALYSES_KERNELS_H

#include "base/table.h"
#include "reconstruct/analysis.h"

struct kernel_row {
	const char *name;  /* as recorded */
	const char *title; /* shortened for people: without arguments of templates and functions */
	enum phase phase;
	const char *layer;            /* title; "": none, or not known */
	size_t layer_count;           /* different layers; `layer` is the first of them */
	double count;                 /* in an iteration of a worker, mean over workers and iterations */
	double time_ns;               /* likewise */
	double share;                 /* of the time of all rows */
	double graph_share;           /* part of its time in graphs */
	double least_ns, greatest_ns; /* time of the worker with least and most, of an iteration */
	size_t greatest;              /* that worker */
	double *workers_ns;           /* by worker, of an iteration, mean */
	bool assumed; /* its duration is an assumption of the device's (timeline_process.assumed) */
};

/* Launches of graphs with so many kernels, of one launching function. */
struct kernel_graph {
	const char *call;
	size_t kernels;
	double count, time_ns; /* as above; time: sum over its kernels */
};

struct kernels {
	struct kernel_row *rows; /* the most time first */
	size_t row_count, row_room;
	struct kernel_graph *graphs; /* likewise */
	size_t graph_count, graph_room;
	double time_ns; /* of all rows */
	struct {
		size_t names;      /* different kernels */
		double share;      /* of the time of all rows */
		const char *most;  /* title of the one with the most time; NULL: there is none */
		double most_share; /* likewise of all rows */
	} assumed;
	struct arena arena;
};

void kernels_find(const struct analysis *analysis, struct kernels *kernels);
void kernels_free(struct kernels *kernels);

/* The `most` costliest; a page has the full names, times as bars, and each kernel's fastest rank too. */
void kernels_table(struct print_table *table, struct analysis *analysis, const struct kernels *kernels,
	size_t most, enum print_form form);

/* "Modelled durations: 31% of ...", a sentence of those that are assumptions; in the arena. NULL: none are.
 */
const char *kernels_assumed_text(struct arena *arena, const struct kernels *kernels);

/* The kernel's name where the operation has one among its values, else the function's. */
const char *kernel_name(const struct timeline *timeline, uint32_t number);

/* "void at::native::foo<4, bar>(int, float*)" is "foo"; a mangled "_ZN2at6native3fooE" too. In the arena. */
const char *kernel_title(struct arena *arena, const char *name);

#endif
