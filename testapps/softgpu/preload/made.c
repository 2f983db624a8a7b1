/*
 * Writes a library of stand-ins into memory and loads it. See made.h.
 *
 * The one idea: a symbol without a version satisfies the loader whatever version is asked for, so that a
 * library of two pages will do: one with symbols and code, one with what the code passes on.
 */
#include "made.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/absent.h"

/* As much as a page of any processor has. */
#define SEGMENT 65536u
#define CODE_BYTES 16u /* of a function */
#define MOST_MADE 200u

/* After the dynamic section, for each function. */
struct passed {
	ptrdiff_t name; /* from here, in bytes */
	intptr_t result;
	_Atomic int said;
};

struct writable {
	ElfW(Dyn) dynamic[8];
	void *called;
	struct passed passed[];
};

struct layout {
	size_t symbols, strings, hash, code, writable, size;
};

static intptr_t called(struct passed *passed)
{
	sg_absent((const char *)passed + passed->name, &passed->said);
	return passed->result;
}

/* passed's address as the first parameter, and on to `called`: distances from the function's first byte. */
static void write_code(unsigned char *to, int32_t passed, int32_t target)
{
#if defined(__x86_64__)
	/* lea passed(%rip), %rdi; jmp *target(%rip) */
	passed -= 7;
	target -= 13;
	memcpy(to, "\x48\x8d\x3d", 3);
	memcpy(to + 3, &passed, sizeof(passed));
	memcpy(to + 7, "\xff\x25", 2);
	memcpy(to + 9, &target, sizeof(target));
#elif defined(__aarch64__)
	/* adr x0, passed; ldr x16, target; br x16 */
	const uint32_t at = (uint32_t)passed;
	const uint32_t code[] = {0x10000000u | (at & 3) << 29 | (at >> 2 & 0x7ffff) << 5,
		0x58000000u | ((uint32_t)(target - 4) >> 2 & 0x7ffff) << 5 | 16, 0xd61f0200u};

	memcpy(to, code, sizeof(code));
#else
	(void)to, (void)passed, (void)target;
#endif
}

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

static struct layout lay_out(const struct sg_made *functions, size_t count)
{
	struct layout l;
	size_t strings = 1;

	for (size_t i = 0; i < count; i++)
		strings += strlen(functions[i].name) + 1;
	l.symbols = sizeof(ElfW(Ehdr)) + 4 * sizeof(ElfW(Phdr));
	l.hash = l.symbols + (count + 1) * sizeof(ElfW(Sym));
	l.strings = l.hash + (count + 4) * sizeof(uint32_t);
	l.code = round_up(l.strings + strings, CODE_BYTES);
	l.writable = round_up(l.code + count * CODE_BYTES, SEGMENT);
	l.size = l.writable + sizeof(struct writable) + count * sizeof(struct passed);
	return l;
}

static void write_headers(char *base, const struct layout *l)
{
	ElfW(Ehdr) *header = (void *)base;
	ElfW(Phdr) *segment = (void *)(header + 1);
	const size_t code = l->writable, rest = l->size - l->writable;

	memcpy(header->e_ident, ELFMAG, SELFMAG);
	header->e_ident[EI_CLASS] = ELFCLASS64;
	header->e_ident[EI_DATA] = ELFDATA2LSB;
	header->e_ident[EI_VERSION] = EV_CURRENT;
	header->e_type = ET_DYN;
	header->e_version = EV_CURRENT;
#if defined(__x86_64__)
	header->e_machine = EM_X86_64;
#elif defined(__aarch64__)
	header->e_machine = EM_AARCH64;
#endif
	header->e_phoff = sizeof(*header);
	header->e_ehsize = sizeof(*header);
	header->e_phentsize = sizeof(*segment);
	header->e_phnum = 4;
	segment[0] = (ElfW(Phdr)){.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_filesz = code,
		.p_memsz = code,
		.p_align = SEGMENT};
	segment[1] = (ElfW(Phdr)){.p_type = PT_LOAD,
		.p_flags = PF_R | PF_W,
		.p_offset = l->writable,
		.p_vaddr = l->writable,
		.p_paddr = l->writable,
		.p_filesz = rest,
		.p_memsz = rest,
		.p_align = SEGMENT};
	segment[2] = segment[1];
	segment[2].p_type = PT_DYNAMIC;
	segment[2].p_filesz = segment[2].p_memsz = sizeof(((struct writable *)NULL)->dynamic);
	segment[2].p_align = sizeof(void *);
	/* without it the loader makes stacks executable */
	segment[3] = (ElfW(Phdr)){.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = sizeof(void *)};
}

static void write_library(char *base, const struct layout *l, const struct sg_made *functions, size_t count)
{
	ElfW(Sym) *symbol = (void *)(base + l->symbols);
	uint32_t *hash = (void *)(base + l->hash);
	struct writable *w = (void *)(base + l->writable);
	size_t string = 1;

	write_headers(base, l);
	/* one bucket, and a chain through all of them */
	hash[0] = 1;
	hash[1] = (uint32_t)count + 1;
	hash[2] = (uint32_t)count;
	for (size_t i = 1; i <= count; i++) {
		const struct sg_made *f = &functions[i - 1];
		const size_t code = l->code + (i - 1) * CODE_BYTES, length = strlen(f->name) + 1;
		const size_t passed =
			l->writable + offsetof(struct writable, passed) + (i - 1) * sizeof(struct passed);

		hash[3 + i] = (uint32_t)i - 1;
		symbol[i] = (ElfW(Sym)){.st_name = (ElfW(Word))string,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = 1,
			.st_value = code,
			.st_size = CODE_BYTES};
		write_code((unsigned char *)base + code, (int32_t)(passed - code),
			(int32_t)(l->writable + offsetof(struct writable, called) - code));
		memcpy(base + l->strings + string, f->name, length);
		w->passed[i - 1] = (struct passed){
			.name = (ptrdiff_t)(l->strings + string) - (ptrdiff_t)passed, .result = f->result};
		string += length;
	}
	w->dynamic[0] = (ElfW(Dyn)){.d_tag = DT_HASH, .d_un.d_ptr = l->hash};
	w->dynamic[1] = (ElfW(Dyn)){.d_tag = DT_SYMTAB, .d_un.d_ptr = l->symbols};
	w->dynamic[2] = (ElfW(Dyn)){.d_tag = DT_STRTAB, .d_un.d_ptr = l->strings};
	w->dynamic[3] = (ElfW(Dyn)){.d_tag = DT_STRSZ, .d_un.d_val = string};
	w->dynamic[4] = (ElfW(Dyn)){.d_tag = DT_SYMENT, .d_un.d_val = sizeof(*symbol)};
	w->called = (void *)called;
}

int sg_make(const struct sg_made *functions, size_t count, void *(*open)(const char *, int))
{
	static _Atomic unsigned made;
	const struct layout l = lay_out(functions, count);
	const unsigned number = atomic_fetch_add(&made, 1);
	char path[MOST_MADE + 64];
	void *base, *library;
	int file;

	if (number >= MOST_MADE)
		return -1;
	file = memfd_create("softgpu", MFD_CLOEXEC);
	if (file < 0)
		return -1;
	base = ftruncate(file, (off_t)l.size) == 0
		       ? mmap(NULL, l.size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
		       : MAP_FAILED;
	if (base == MAP_FAILED) {
		close(file);
		return -1;
	}
	write_library(base, &l, functions, count);
	munmap(base, l.size);
	/* the loader takes a path that it knows for the library that it knows: one slash more each time */
	memset(path, '/', number + 1);
	snprintf(path + number + 1, sizeof(path) - number - 1, "proc/self/fd/%d", file);
	library = open(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
	close(file);
	return library != NULL ? 0 : -1;
}
