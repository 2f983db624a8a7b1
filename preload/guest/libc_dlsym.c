/*
 * libc's dlsym, read from its table of symbols: dlsym itself is hooked, and others may have put theirs in
 * front of it.
 */
#include "libc_dlsym.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "plain.h"

__attribute__((visibility("hidden"))) void *(*pmh_real_dlsym)(void *, const char *);
__attribute__((visibility("hidden"))) void *(*pmh_real_dlvsym)(void *, const char *, const char *);

static void *(*libc_dlsym)(void *, const char *);

/* DT_GNU_HASH's function of names. */
static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

/* By the chain of the name's hash alone: a walk over all of libc's symbols costs each process 100 us. */
static void *defined(ElfW(Addr) base, const ElfW(Dyn) * dynamic, const char *name)
{
	const ElfW(Sym) *symbols = NULL;
	const uint32_t *gnu = NULL, *buckets, *chain;
	const uint32_t hash = hash_of(name);
	const char *strings = NULL;

	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		/* the loader has made addresses of these, except in the kernel's own object */
		ElfW(Addr) at = dynamic->d_un.d_ptr < base ? base + dynamic->d_un.d_ptr : dynamic->d_un.d_ptr;

		if (dynamic->d_tag == DT_SYMTAB)
			symbols = (const void *)at;
		else if (dynamic->d_tag == DT_STRTAB)
			strings = (const void *)at;
		else if (dynamic->d_tag == DT_GNU_HASH)
			gnu = (const void *)at;
	}
	if (!symbols || !strings || !gnu || !gnu[0])
		return NULL;
	buckets = gnu + 4 + gnu[2] * (sizeof(ElfW(Addr)) / 4);
	chain = buckets + gnu[0];
	for (uint32_t i = buckets[hash % gnu[0]]; i >= gnu[1]; i++) {
		if ((chain[i - gnu[1]] | 1) == (hash | 1) && symbols[i].st_shndx != SHN_UNDEF &&
			plain_equal(strings + symbols[i].st_name, name))
			return (void *)(base + symbols[i].st_value);
		if (chain[i - gnu[1]] & 1)
			break;
	}
	return NULL;
}

/* libc, and libdl, which has the functions before glibc 2.34; under any version. */
static bool is_libc(const char *path)
{
	const char *base = plain_base(path);

	return plain_begins(base, "libc.so", NULL) || plain_begins(base, "libdl.so", NULL);
}

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

/*
 * For the host the next object after us that has both functions, libc or another library like this one; for
 * us libc's own. The loader's list is in the order in which symbols are searched. after: any object is, as in a
 * program that was started without us and has loaded us late (framework/nvtx.c).
 */
static void find_real(bool behind)
{
	for (const struct link_map *m = _r_debug.r_map; m && !libc_dlsym; m = m->l_next) {
		void *f, *versioned;

		if (m->l_ld == _DYNAMIC)
			behind = true;
		else if (behind && (f = defined(m->l_addr, m->l_ld, "dlsym")) &&
			 (versioned = defined(m->l_addr, m->l_ld, "dlvsym"))) {
			if (!pmh_real_dlsym) {
				*(void **)&pmh_real_dlvsym = versioned;
				*(void **)&pmh_real_dlsym = f;
			}
			if (is_libc(m->l_name))
				*(void **)&libc_dlsym = f;
		}
	}
}

void pmh_find_dlsym(void)
{
	if (!libc_dlsym)
		find_real(false);
	if (!libc_dlsym && !pmh_real_dlsym)
		find_real(true);
	if (!libc_dlsym)
		libc_dlsym = pmh_real_dlsym;
}

void *pmh_libc_dlsym(void *handle, const char *name)
{
	pmh_find_dlsym();
	return libc_dlsym(handle, name);
}
