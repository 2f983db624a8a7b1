/*
 * Addresses of the exported symbols of another process's program or library.
 */
#ifndef ELF_SYMBOL_H
#define ELF_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file that a process has mapped, mapped here for reading. */
struct elf_file {
	const unsigned char *bytes;
	size_t byte_count;
	uint64_t bias; /* of its addresses in that process */
};

/* `path` is the process's; `start` is where the file's first byte is mapped there. False: it cannot be read,
 * or is no program or library of this machine. The caller closes it. */
bool elf_open(struct elf_file *file, int pid, const char *path, uint64_t start);
void elf_close(struct elf_file *file);

/* 0: it has none of that name. */
uint64_t elf_symbol(const struct elf_file *file, const char *name);

#endif
