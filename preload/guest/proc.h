/*
 * What the system says of processes: files of /proc, read apart (guest.h), so that no descriptor is the
 * program's. The calling thread's errno may change.
 */
#ifndef PROC_H
#define PROC_H

#include <stdbool.h>
#include <stddef.h>

/* A whole file, as far as there is room, and a zero after it; the length, 0: it cannot be read. */
size_t pmh_proc_read(const char *path, char *text, size_t text_bytes);

/* The same inside pmh_run_in_clone_task. */
size_t pmh_proc_read_apart(const char *path, char *text, size_t text_bytes);

/* 0: not known. */
int pmh_proc_parent(int pid);

/* Whether both run the same executable file; false also where that is not known. */
bool pmh_proc_same_program(int pid, int other);

#endif
