/* Checks the titles of kernels, and that of a name no byte after its end is read. */
#include "analyses/kernels.h"
#include "base/memory.h"
#include "check.h"

#include <err.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct {
	const char *name, *title;
} names[] = {
	{"", ""},
	{"_", "_"},
	{"_Z", "_Z"},
	{"_ZN", "_ZN"},
	{"_Z3", "_Z3"},
	{"_Z3fo", "_Z3fo"},
	{"_Z3foo", "foo"},
	{"_ZN2at6native3fooILi4EEEvv", "foo"},
	{"void at::native::foo<int>(float*)", "foo"},
	{"Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)"},
};

int main(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct arena arena = {0};

	if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE))
		err(1, "no pages");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char *name = pages + page - strlen(names[i].name) - 1;
		const char *title;

		strcpy(name, names[i].name); /* NOLINT */
		title = kernel_title(&arena, name);
		CHECK(strcmp(title, names[i].title) == 0, "'%s' is '%s', expected '%s'", name, title,
			names[i].title);
	}
	arena_free(&arena);
	munmap(pages, 2 * page);
	return check_end();
}
