/* Reads the dynamic section of a library's file. See elf_file.h. */
#include "elf_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE
#endif

/* What lies at an address of the loaded library, and how many bytes of the file are left from there. */
static const void *at_address(const struct sg_elf *elf, ElfW(Addr) address, size_t *left)
{
	const ElfW(Ehdr) *header = (const void *)elf->base;
	const ElfW(Phdr) *segment = (const void *)(elf->base + header->e_phoff);

	for (unsigned i = 0; i < header->e_phnum; i++, segment++) {
		ElfW(Addr) inside = address - segment->p_vaddr;

		if (segment->p_type != PT_LOAD || address < segment->p_vaddr || inside >= segment->p_filesz)
			continue;
		if (segment->p_offset > elf->size || segment->p_filesz > elf->size - segment->p_offset)
			return NULL;
		*left = segment->p_filesz - inside;
		return elf->base + segment->p_offset + inside;
	}
	return NULL;
}

static int is_aligned(uintptr_t at, size_t to)
{
	return at % to == 0;
}

static const void *table(const struct sg_elf *elf, ElfW(Sxword) tag, size_t alignment, size_t *left)
{
	for (size_t i = 0; i < elf->dynamic_count; i++)
		if (elf->dynamic[i].d_tag == tag) {
			const void *found = at_address(elf, elf->dynamic[i].d_un.d_ptr, left);

			return is_aligned((uintptr_t)found, alignment) ? found : NULL;
		}
	return NULL;
}

/* How many symbols come before those that are defined, or how many there are. */
static size_t count_symbols(const struct sg_elf *elf)
{
	size_t left;
	const uint32_t *hash = table(elf, DT_GNU_HASH, sizeof(*hash), &left);

	if (hash != NULL)
		return left >= 2 * sizeof(*hash) ? hash[1] : 0;
	hash = table(elf, DT_HASH, sizeof(*hash), &left);
	return hash != NULL && left >= 2 * sizeof(*hash) ? hash[1] : 0;
}

static int read_dynamic(struct sg_elf *elf)
{
	const ElfW(Ehdr) *header = (const void *)elf->base;
	const ElfW(Phdr) * segment;
	size_t left;

	if (elf->size < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
		header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != MACHINE ||
		(header->e_type != ET_DYN && header->e_type != ET_EXEC) ||
		header->e_phentsize != sizeof(*segment) || header->e_phoff > elf->size ||
		!is_aligned(header->e_phoff, sizeof(void *)) ||
		header->e_phnum > (elf->size - header->e_phoff) / sizeof(*segment))
		return -1;
	segment = (const void *)(elf->base + header->e_phoff);
	for (unsigned i = 0; i < header->e_phnum; i++, segment++)
		if (segment->p_type == PT_DYNAMIC && is_aligned(segment->p_offset, sizeof(void *)) &&
			segment->p_offset <= elf->size &&
			segment->p_filesz <= elf->size - segment->p_offset) {
			elf->dynamic = (const void *)(elf->base + segment->p_offset);
			elf->dynamic_count = segment->p_filesz / sizeof(*elf->dynamic);
		}
	elf->strings = table(elf, DT_STRTAB, 1, &elf->strings_size);
	if (elf->strings == NULL)
		return -1;
	elf->symbols = table(elf, DT_SYMTAB, sizeof(void *), &left);
	elf->symbol_count = elf->symbols != NULL ? count_symbols(elf) : 0;
	if (elf->symbol_count > left / sizeof(*elf->symbols))
		elf->symbol_count = left / sizeof(*elf->symbols);
	elf->versions = table(elf, DT_VERSYM, sizeof(*elf->versions), &left);
	if (elf->versions != NULL && left / sizeof(*elf->versions) < elf->symbol_count)
		elf->versions = NULL;
	elf->needs = table(elf, DT_VERNEED, sizeof(ElfW(Word)), &elf->needs_size);
	return 0;
}

int sg_elf_open(struct sg_elf *elf, const char *path)
{
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *base;

	memset(elf, 0, sizeof(*elf));
	if (descriptor < 0)
		return -1;
	if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) {
		close(descriptor);
		return -1;
	}
	base = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
	close(descriptor);
	if (base == MAP_FAILED)
		return -1;
	elf->base = base;
	elf->size = (size_t)status.st_size;
	elf->device = status.st_dev;
	elf->inode = status.st_ino;
	if (read_dynamic(elf) == 0)
		return 0;
	sg_elf_close(elf);
	return -1;
}

void sg_elf_close(struct sg_elf *elf)
{
	union {
		const void *in;
		void *out;
	} base = {elf->base};

	munmap(base.out, elf->size);
	elf->base = NULL;
}

const char *sg_elf_string(const struct sg_elf *elf, size_t at)
{
	if (at >= elf->strings_size || memchr(elf->strings + at, 0, elf->strings_size - at) == NULL)
		return NULL;
	return elf->strings + at;
}

const char *sg_elf_next(const struct sg_elf *elf, ElfW(Sxword) tag, size_t *at)
{
	const char *found;

	while (*at < elf->dynamic_count && elf->dynamic[*at].d_tag != DT_NULL) {
		const ElfW(Dyn) *entry = &elf->dynamic[(*at)++];

		if (entry->d_tag == tag && (found = sg_elf_string(elf, entry->d_un.d_val)) != NULL)
			return found;
	}
	return NULL;
}

const char *sg_elf_version(const struct sg_elf *elf, size_t symbol, const char **library)
{
	const unsigned number = elf->versions != NULL ? elf->versions[symbol] & 0x7fff : 0;
	size_t at = 0;

	/* 0 and 1 are those of the library itself */
	while (number > 1 && elf->needs != NULL && is_aligned(at, sizeof(ElfW(Word))) &&
		at <= elf->needs_size && elf->needs_size - at >= sizeof(ElfW(Verneed))) {
		const ElfW(Verneed) *need = (const void *)(elf->needs + at);
		size_t inner = at + need->vn_aux;

		for (unsigned i = 0;
			i < need->vn_cnt && is_aligned(inner, sizeof(ElfW(Word))) &&
			inner <= elf->needs_size && elf->needs_size - inner >= sizeof(ElfW(Vernaux));
			i++) {
			const ElfW(Vernaux) *version = (const void *)(elf->needs + inner);

			if (version->vna_other == number) {
				*library = sg_elf_string(elf, need->vn_file);
				return *library != NULL ? sg_elf_string(elf, version->vna_name) : NULL;
			}
			inner += version->vna_next;
		}
		if (need->vn_next == 0)
			break;
		at += need->vn_next;
	}
	return NULL;
}
