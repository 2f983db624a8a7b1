/*
 * What is known of layers on several GPUs: a table of the GPUs' peak rates, and rows of layers with their
 * operations, bytes, descriptors (sizes, kinds) and, where measured, times.
 */
#ifndef TRANSFER_TABLE_H
#define TRANSFER_TABLE_H

#include "base/csv.h"
#include "base/memory.h"

#include <stdbool.h>

struct transfer_device {
	const char *name;
	double flops;     /* operations a second at most, in the arithmetic that the layers use */
	double bandwidth; /* bytes a second of its memory at most */
};

struct transfer_layer {
	const char *name;    /* of its column "layer"; "": the table has none */
	size_t device;       /* in the table's */
	double flops, bytes; /* at least 0, not both 0 */
	double time;         /* ns; NAN: not measured */
	double *descriptors; /* the table's descriptor_count numbers; logarithms where all are above 0 */
	const char *path;
	size_t line;
};

struct transfer_table {
	struct transfer_device *devices;
	size_t device_count, device_room;
	struct transfer_layer *layers;
	size_t count, room;
	size_t descriptor_count; /* a column of words has one for each of its words: 1 there, else 0 */
	const char **columns;    /* that became descriptors, column_count names */
	size_t column_count;
	size_t skipped; /* rows that were left out */
	char error[512];
	struct arena arena;
};

/* Which columns are what; NULL: by their usual names. */
struct transfer_columns {
	const char *device, *time, *flops, *bytes;
	const char *unit; /* of times: s, ms, us, ns; NULL: by the ending of the time's name */
	const char *const *ignored;
	size_t ignored_count;
	bool skip_bad; /* rows with missing or impossible numbers are left out, else they are an error */
};

/* A CSV file of layers. */
struct transfer_source {
	const char *path;
	const char *device; /* of all its rows; NULL: it has a column for it */
	bool is_asked;      /* its times, if there are any, and devices are not read */
};

/* A number with k, M, G, T or P after it or not, and a unit (FLOP/s, B/s); negative: it is none. */
double transfer_rate(const char *text);

/*
 * Reads GPUs from a CSV file with the columns device, flops, bandwidth (rates as transfer_rate takes them).
 * The table is all zero before. 0 or -EINVAL with table->error; transfer_table_free in either case.
 */
int transfer_devices_read(struct transfer_table *table, const char *path);

/*
 * Then the layers of all sources. Every column that is not known as something else, nor ignored, is a
 * descriptor, and all sources have the first one's. Columns that `pmanalyze roofline --csv` computes from
 * times are ignored. Asked layers get `target`, an index of table->devices, as device, and no time.
 */
int transfer_layers_read(struct transfer_table *table, const struct transfer_columns *columns,
	const struct transfer_source *sources, size_t source_count, size_t target);
void transfer_table_free(struct transfer_table *table);

/* The device of that name, or device_count. */
size_t transfer_device_find(const struct transfer_table *table, const char *name);

/* The roofline's two times of a layer on a device, ns. */
double transfer_flops_ns(
	const struct transfer_table *table, const struct transfer_layer *layer, size_t device);
double transfer_bytes_ns(
	const struct transfer_table *table, const struct transfer_layer *layer, size_t device);

#endif
