/* Exported symbols of a file: see elf_symbol.h. Files may be anything: what does not lie within one is not
 * read. */
#include "elf_symbol.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* `count` things of a size at an offset; NULL: not all of them are there. */
static const void *at(const struct elf_file *file, uint64_t offset, uint64_t count, size_t size)
{
	if (offset > file->byte_count || offset % 4 || count > (file->byte_count - offset) / size)
		return NULL;
	return file->bytes + offset;
}

static const ElfW(Ehdr) * head_of(const struct elf_file *file)
{
	const ElfW(Ehdr) *head = at(file, 0, 1, sizeof *head);

	return head && memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 &&
			       head->e_ident[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)
		       ? head
		       : NULL;
}

/* The first segment lies where the file's first byte is mapped. */
static bool find_bias(struct elf_file *file, uint64_t start)
{
	const ElfW(Ehdr) *head = head_of(file);
	const ElfW(Phdr) *segments = head ? at(file, head->e_phoff, head->e_phnum, sizeof *segments) : NULL;

	for (unsigned i = 0; segments && i < head->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD && segments[i].p_offset == 0) {
			file->bias = start - segments[i].p_vaddr;
			return true;
		}
	return false;
}

bool elf_open(struct elf_file *file, int pid, const char *path, uint64_t start)
{
	char full[PATH_MAX];
	struct stat s;
	void *bytes = MAP_FAILED;
	int fd;

	/* the process may have another root folder */
	if (snprintf(full, sizeof full, "/proc/%d/root%s", pid, path) >= (int)sizeof full)
		return false;
	fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size > 0)
		bytes = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		return false;
	*file = (struct elf_file){bytes, (size_t)s.st_size, 0};
	if (find_bias(file, start))
		return true;
	elf_close(file);
	return false;
}

void elf_close(struct elf_file *file)
{
	munmap((void *)(uintptr_t)file->bytes, file->byte_count);
}

static uint64_t find_in(
	const struct elf_file *file, const ElfW(Shdr) * table, const ElfW(Shdr) * names, const char *name)
{
	const uint64_t count = table->sh_size / sizeof(ElfW(Sym));
	const ElfW(Sym) *symbols = at(file, table->sh_offset, count, sizeof *symbols);
	const char *texts = at(file, names->sh_offset & ~(uint64_t)3, 1, 1);
	const size_t bytes = strlen(name) + 1;

	if (!symbols || !texts || names->sh_offset > file->byte_count ||
		names->sh_size > file->byte_count - names->sh_offset)
		return 0;
	texts = (const char *)file->bytes + names->sh_offset;
	for (uint64_t i = 0; i < count; i++)
		if (symbols[i].st_shndx != SHN_UNDEF && symbols[i].st_name < names->sh_size &&
			bytes <= names->sh_size - symbols[i].st_name &&
			memcmp(texts + symbols[i].st_name, name, bytes) == 0)
			return file->bias + symbols[i].st_value;
	return 0;
}

uint64_t elf_symbol(const struct elf_file *file, const char *name)
{
	const ElfW(Ehdr) *head = head_of(file);
	const ElfW(Shdr) *sections = head ? at(file, head->e_shoff, head->e_shnum, sizeof *sections) : NULL;

	for (unsigned i = 0; sections && i < head->e_shnum; i++)
		if (sections[i].sh_type == SHT_DYNSYM && sections[i].sh_link < head->e_shnum)
			return find_in(file, &sections[i], &sections[sections[i].sh_link], name);
	return 0;
}
