/*
 * Mapped once, at the first name that is asked for, and kept: a running program's file cannot be written to.
 * Every size and offset in it is checked, as it may have been stripped or packed by any tool.
 */
#include "symbol.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/guest.h"

static struct {
	const ElfW(Sym) * symbols;
	size_t symbol_count;
	const char *names;
	size_t names_bytes;
	bool is_position_independent;
} table;
static bool sought;
static pmh_lock lock = ATOMIC_FLAG_INIT;

struct file {
	const unsigned char *bytes;
	uint64_t byte_count;
};

static long map_program(void *data)
{
	struct file *file = data;
	long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/exe", O_RDONLY | O_CLOEXEC), p = -1;
	struct stat s;

	if (fd < 0)
		return 0;
	if (fstat((int)fd, &s) == 0 && s.st_size > (off_t)sizeof(ElfW(Ehdr)))
		p = syscall(SYS_mmap, NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, (off_t)0);
	syscall(SYS_close, fd);
	if (p == -1)
		return 0;
	*file = (struct file){(const unsigned char *)p, (uint64_t)s.st_size};
	return 1;
}

static bool is_within(const struct file *file, uint64_t offset, uint64_t byte_count)
{
	return offset <= file->byte_count && byte_count <= file->byte_count - offset && offset % 8 == 0;
}

static bool find_table(const struct file *file)
{
	const ElfW(Ehdr) *elf = (const void *)file->bytes;
	const ElfW(Shdr) *sections = (const void *)(file->bytes + elf->e_shoff);

	if (memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 || elf->e_shentsize != sizeof *sections ||
		!is_within(file, elf->e_shoff, (uint64_t)elf->e_shnum * sizeof *sections))
		return false;
	for (unsigned i = 0; i < elf->e_shnum; i++) {
		const ElfW(Shdr) *symbols = &sections[i], *names;

		if (symbols->sh_type != SHT_SYMTAB || symbols->sh_link >= elf->e_shnum ||
			!is_within(file, symbols->sh_offset, symbols->sh_size))
			continue;
		names = &sections[symbols->sh_link];
		if (names->sh_offset > file->byte_count ||
			names->sh_size > file->byte_count - names->sh_offset || !names->sh_size ||
			file->bytes[names->sh_offset + names->sh_size - 1])
			continue;
		table.symbols = (const void *)(file->bytes + symbols->sh_offset);
		table.symbol_count = symbols->sh_size / sizeof *table.symbols;
		table.names = (const char *)file->bytes + names->sh_offset;
		table.names_bytes = names->sh_size;
		table.is_position_independent = elf->e_type == ET_DYN;
		return true;
	}
	return false;
}

static void seek(void)
{
	struct file file = {0};

	if (pmh_apart_or_here(map_program, &file) && !find_table(&file))
		syscall(SYS_munmap, file.bytes, file.byte_count);
}

bool pmh_program_symbol(uint64_t address, uint64_t base, char *name, size_t name_bytes)
{
	pmh_acquire(&lock);
	if (!sought)
		seek();
	sought = true;
	pmh_release(&lock);
	if (table.is_position_independent)
		address -= base;
	for (size_t i = 0; i < table.symbol_count; i++) {
		const ElfW(Sym) *s = &table.symbols[i];

		if ((s->st_info & 0xf) != STT_FUNC || address - s->st_value >= s->st_size ||
			s->st_name >= table.names_bytes || !table.names[s->st_name])
			continue;
		snprintf(name, name_bytes, "%s", table.names + s->st_name);
		return true;
	}
	return false;
}

void pmh_symbol_forget(void)
{
	pmh_lock_forget(&lock);
}
