/*
 * The formats of other profilers that are read, one row each: how a file of it is recognised, who reads it,
 * how its files are named, and what people are told. What is in no row is refused with the list, and by what
 * it looks like. A new format is a reader and a row here.
 */
#ifndef IMPORT_IMPORTER_H
#define IMPORT_IMPORTER_H

#include "imported.h"

/* The first bytes of a file, unpacked where it is gzip. */
struct importer_head {
	const char *path;
	const char *bytes; /* followed by a NUL, which is not one of them */
	size_t length;
};

struct importer {
	const char *name;          /* of the format, for people: "PyTorch's profiler (Kineto JSON)" */
	const char *const *suffix; /* of its files' names, the longest first; NULL at the end */
	bool (*sniff)(const struct importer_head *head);
	int (*read)(struct imported *imported, unsigned wanted); /* NULL: `instead` says who does */
	const char *instead; /* "pmanalyze hang reads it", where this is no trace of a run's time */
};

/* The first row whose sniff says yes; NULL: none. */
const struct importer *importer_find(const struct importer_head *head);

/* The same of a file; NULL also where it cannot be read. */
const struct importer *importer_of_file(const char *path);

/* Does the text begin with the prefix, after blanks and a byte-order mark? */
const char *importer_text(const struct importer_head *head);

/* Is the word within the head? */
bool importer_has(const struct importer_head *head, const char *word);

bool xplane_sniff(const struct importer_head *head);
bool rocpd_sniff(const struct importer_head *head);
bool rocprof_json_sniff(const struct importer_head *head);

/* The suffix that the file's name ends in, of any row; NULL: none. */
const char *importer_suffix(const char *name);

/* ".sqlite, .db, .json", of all rows: each that ends in no other of them; in the arena. */
const char *importer_suffixes(struct arena *arena);

/* Sets `trouble`: what the file looks like, what to do with it, and all that is read. Answers -1. */
int importer_refuse(struct imported *imported, const struct importer_head *head);

/* A clause of what other file this is, by its first bytes: "an ELF program"; NULL: nothing known. */
const char *importer_looks_like(const struct importer_head *head);

/* "PyTorch's profiler (Kineto JSON); ...", all rows; in the arena. */
const char *importer_list(struct arena *arena);

#endif
