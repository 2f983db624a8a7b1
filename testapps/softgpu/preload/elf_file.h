/*
 * What a shared library's file says that the loader will want: read from the file, without loading it. Any
 * thread; nothing is printed. A file that is damaged is one that says nothing.
 */
#ifndef SG_ELF_FILE_H
#define SG_ELF_FILE_H

#include <link.h>
#include <stddef.h>
#include <sys/types.h>

struct sg_elf {
	const char *base; /* the mapped file */
	size_t size;
	dev_t device;
	ino_t inode;
	const ElfW(Dyn) * dynamic;
	size_t dynamic_count;
	const char *strings;
	size_t strings_size;
	const ElfW(Sym) * symbols;
	size_t symbol_count;         /* those that the library does not define are among the first so many */
	const ElfW(Half) * versions; /* of each symbol; NULL: none has one */
	const char *needs;           /* the versions that it needs of others; NULL: none */
	size_t needs_size;
};

/* Maps the file; 0, or -1 where it is no shared library of this machine's. sg_elf_close releases it. */
int sg_elf_open(struct sg_elf *elf, const char *path);
void sg_elf_close(struct sg_elf *elf);
/* The string at that place; NULL where it is none. */
const char *sg_elf_string(const struct sg_elf *elf, size_t at);
/* The next entry of the dynamic section with that tag, from *at on, which it moves past it; its string, or
 * NULL. */
const char *sg_elf_next(const struct sg_elf *elf, ElfW(Sxword) tag, size_t *at);
/* The version that a symbol asks for, and the library that is to have it; NULL: none. */
const char *sg_elf_version(const struct sg_elf *elf, size_t symbol, const char **library);

#endif
