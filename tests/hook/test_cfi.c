/*
 * Rules are found for the functions of this program as its compiler wrote them, and reading an unwind table
 * that has wrong bytes ends, and stays within the table, which lies between pages that nobody may read.
 */
#include "describe/cfi.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u
#define TABLES 20000u
#define QUESTIONS 64u

static uint64_t random_state = 88172645463325252u;

struct segment {
	uint64_t header, start, end; /* of the unwind table, and what it lies in */
	uint64_t code_start, code_end;
};

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

/* The program is the first. */
static int find_segment(struct dl_phdr_info *info, size_t size, void *data)
{
	struct segment *s = data;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const uint64_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_GNU_EH_FRAME)
			s->header = at;
		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			s->code_start = at;
			s->code_end = at + p->p_memsz;
		}
	}
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const uint64_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && s->header >= at && s->header - at < p->p_filesz) {
			s->start = at;
			s->end = at + p->p_filesz;
		}
	}
	return 1;
}

static unsigned known_rules(const struct segment *s, unsigned questions)
{
	unsigned known = 0;

	for (unsigned i = 0; i < questions; i++)
		known += pmh_cfi_find(s->code_start + next_random() % (s->code_end - s->code_start),
				 s->header, s->start, s->end)
				 .from != PMH_CFI_UNKNOWN;
	return known;
}

/* The end of what may be read. */
static uint64_t make_end(const struct segment *s)
{
	const size_t whole = (s->end - s->start + PAGE - 1) / PAGE * PAGE;
	char *pages = mmap(NULL, whole + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || mprotect(pages + PAGE, whole, PROT_READ | PROT_WRITE) != 0) {
		printf("no memory\n");
		exit(77);
	}
	return (uint64_t)(uintptr_t)pages + PAGE + whole;
}

/* Its first so many bytes, which end there. Byte by byte: between the constants that lie before the table the
 * address sanitizer has put what memcpy may not touch. */
__attribute__((no_sanitize("address"))) static struct segment copy_of(
	const struct segment *s, uint64_t end, size_t byte_count)
{
	const uint64_t start = end - byte_count, moved = start - s->start;

	for (size_t i = 0; i < byte_count; i++)
		((volatile char *)(uintptr_t)start)[i] = ((const volatile char *)(uintptr_t)s->start)[i];
	return (struct segment){
		s->header + moved, start, start + byte_count, s->code_start + moved, s->code_end + moved};
}

int main(void)
{
	struct segment own = {0}, copy;
	unsigned known, sum = 0;
	uint64_t end;

	dl_iterate_phdr(find_segment, &own);
	if (!own.start) {
		printf("this program has no unwind table\n");
		return 77;
	}
	known = known_rules(&own, 1000);
	printf("rules at %u of 1000 places in this program\n", known);
#if defined(__x86_64__)
	if (known < 500 || pmh_cfi_find((uint64_t)(uintptr_t)&main, own.header, own.start, own.end).from !=
				   PMH_CFI_FROM_RSP) {
		printf("not ok: too few rules, or none where main begins\n");
		return 1;
	}
#endif
	end = make_end(&own);
	for (unsigned i = 0; i < TABLES; i++) {
		const size_t behind_header = own.end - own.header - 12;
		unsigned wrong = (1u << next_random() % 8) - 1;

		copy = copy_of(&own, end, own.header + 12 - own.start + next_random() % behind_header);
		while (wrong-- > 0)
			((unsigned char *)(uintptr_t)copy.header)[next_random() % (copy.end - copy.header)] =
				(unsigned char)next_random();
		sum += known_rules(&copy, QUESTIONS);
	}
	printf("%u rules in %u questions of tables with wrong bytes\n", sum, TABLES * QUESTIONS);
	return 0;
}
