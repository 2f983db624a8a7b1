/*
 * Of the program: mapped once, at the first name that is asked for, and kept: a running program's file cannot
 * be written to. Every size and offset in it is checked, as it may have been stripped or packed by any tool.
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
#include "trace/intern.h"

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

	if (pmh_run_in_clone_task_or_here(map_program, &file) && !find_table(&file))
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

/* ---- what libraries export ---- */

/* A library's symbols by where they begin: those of a piece of 2^shift bytes from `base` on are
 * order[starts[i]] to order[starts[i + 1]], in the order of the library's table. */
struct exported {
	uint64_t key; /* what library it is; 0: none */
	const ElfW(Sym) * symbols;
	const char *names;
	uint64_t bias, base;
	uint32_t *starts, *order;
	uint32_t piece_count;
	unsigned shift;
};

#define LIBRARIES 64
#define SYMBOLS_MAX (1u << 24)
#define PIECES_BACK \
	4096 /* functions are not longer than so many pieces, in each of which one begins in the mean */
static struct exported libraries[LIBRARIES];
static unsigned library_count;

/* How many there are is in the table of hashes only: after the last chain. */
static uint32_t count_symbols(const uint32_t *hash)
{
	const uint32_t bucket_count = hash[0], first = hash[1], filter_words = hash[2];
	const uint32_t *buckets = hash + 4 + 2 * (size_t)filter_words, *chains = buckets + bucket_count;
	uint32_t last = 0;

	for (uint32_t i = 0; i < bucket_count; i++)
		last = buckets[i] > last ? buckets[i] : last;
	if (last < first)
		return 0;
	while (last < SYMBOLS_MAX && !(chains[last - first] & 1))
		last++;
	return last < SYMBOLS_MAX ? last + 1 : 0;
}

static bool is_exported(const ElfW(Sym) * s)
{
	return s->st_shndx != SHN_UNDEF && s->st_value != 0 && (s->st_info & 0xf) != STT_TLS;
}

/* False: the library is not as usual, or there is no memory. */
static bool sort_symbols(struct exported *library, uint32_t symbol_count)
{
	uint64_t low = UINT64_MAX, high = 0;
	uint32_t kept = 0, before = 0;
	size_t byte_count;
	long p;

	for (uint32_t i = 0; i < symbol_count; i++) {
		const ElfW(Sym) *s = &library->symbols[i];

		if (!is_exported(s))
			continue;
		low = s->st_value < low ? s->st_value : low;
		high = s->st_value > high ? s->st_value : high;
		kept++;
	}
	if (!kept)
		return false;
	library->base = low;
	while ((high - low) >> library->shift >= kept)
		library->shift++;
	library->piece_count = (uint32_t)((high - low) >> library->shift) + 1;
	byte_count = ((size_t)library->piece_count + 1 + kept) * sizeof *library->starts;
	p = syscall(SYS_mmap, NULL, byte_count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		(off_t)0);
	if (p == -1)
		return false;
	library->starts = (uint32_t *)p;
	library->order = library->starts + library->piece_count + 1;
	for (uint32_t i = 0; i < symbol_count; i++)
		if (is_exported(&library->symbols[i]))
			library->starts[(library->symbols[i].st_value - low) >> library->shift]++;
	for (uint32_t i = 0; i <= library->piece_count; i++) {
		const uint32_t count = library->starts[i];

		library->starts[i] = before;
		before += count;
	}
	/* each start moves to the next one's place while its piece is filled */
	for (uint32_t i = 0; i < symbol_count; i++)
		if (is_exported(&library->symbols[i]))
			library->order[library->starts[(library->symbols[i].st_value - low) >>
						       library->shift]++] = i;
	memmove(library->starts + 1, library->starts, library->piece_count * sizeof *library->starts);
	library->starts[0] = 0;
	return true;
}

/* The tables' addresses, which the dynamic linker has added the library's own to. */
static bool open_library(const struct link_map *map, struct exported *library)
{
	const uint32_t *hash = NULL;

	*library = (struct exported){.bias = map->l_addr};
	for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			library->symbols = (const ElfW(Sym) *)d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			library->names = (const char *)d->d_un.d_ptr;
		else if (d->d_tag == DT_GNU_HASH)
			hash = (const uint32_t *)d->d_un.d_ptr;
	}
	return hash && library->symbols && library->names && (uintptr_t)hash > map->l_addr &&
	       (uintptr_t)library->symbols > map->l_addr && sort_symbols(library, count_symbols(hash));
}

/* Another library may come to lie where one was, hardly with the same name and the same tables. */
static uint64_t key_of(const struct link_map *map)
{
	const uint64_t words[] = {map->l_addr, (uintptr_t)map->l_ld, (uintptr_t)map};

	return pmh_hash(pmh_hash(0, words, sizeof words), map->l_name, strlen(map->l_name));
}

/* NULL: it cannot be had. Under the lock. */
static const struct exported *find_library(const struct link_map *map)
{
	const uint64_t key = key_of(map);

	for (unsigned i = 0; i < library_count; i++)
		if (libraries[i].key == key)
			return libraries[i].starts ? &libraries[i] : NULL;
	if (library_count == LIBRARIES)
		return NULL;
	if (!open_library(map, &libraries[library_count]))
		libraries[library_count].starts = NULL;
	libraries[library_count].key = key;
	return libraries[library_count++].starts ? &libraries[library_count - 1] : NULL;
}

/* As dladdr: of the symbols that the address lies in the one that begins last, of several there the first. */
static const ElfW(Sym) * find_symbol(const struct exported *library, uint64_t at)
{
	uint64_t piece = (at - library->base) >> library->shift;
	const ElfW(Sym) *found = NULL;
	bool passed = false; /* one that begins before the address */

	if (at < library->base)
		return NULL;
	if (piece >= library->piece_count)
		piece = library->piece_count - 1;
	for (unsigned back = 0; back < PIECES_BACK && !passed; back++) {
		for (uint32_t i = library->starts[piece]; i < library->starts[piece + 1]; i++) {
			const ElfW(Sym) *s = &library->symbols[library->order[i]];

			passed |= s->st_value <= at;
			if (s->st_value <= at &&
				(s->st_size ? at - s->st_value < s->st_size : at == s->st_value) &&
				(!found || s->st_value > found->st_value))
				found = s;
		}
		if (piece-- == 0)
			break;
	}
	return found;
}

bool pmh_exported_symbol(const void *map, uint64_t address, char *name, size_t name_bytes)
{
	const struct exported *library;
	const ElfW(Sym) *s = NULL;

	pmh_acquire(&lock);
	library = find_library(map);
	pmh_release(&lock);
	if (!library)
		return false;
	s = find_symbol(library, address - library->bias);
	snprintf(name, name_bytes, "%s", s ? library->names + s->st_name : "");
	return true;
}

void pmh_symbol_forget(void)
{
	pmh_lock_forget(&lock);
}
