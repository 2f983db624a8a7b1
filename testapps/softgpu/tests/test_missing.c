/*
 * Libraries that ask softgpu for functions of a CUDA that it does not know: they load, and say at the first
 * call what is missing; what is broken otherwise fails with the loader's own message. With `hostile FILE`: a
 * file that is damaged, wherever, is read to its end.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/elf_file.h"
#include "test_common.h"

static void *function(void *library, const char *name)
{
	void *found = library != NULL ? dlsym(library, name) : NULL;

	if (found == NULL) {
		printf("not ok: no %s: %s\n", name, dlerror());
		exit(1);
	}
	return found;
}

/* What was said on stderr, which goes to a file. */
static int said(int file, const char *line)
{
	static char text[4096];
	const ssize_t length = pread(file, text, sizeof(text) - 1, 0);
	int count = 0;

	text[length > 0 ? length : 0] = 0;
	for (const char *at = text; (at = strstr(at, line)) != NULL; at += strlen(line))
		count++;
	return count;
}

static void test_loading(void)
{
	int (*outer)(void), (*ask_runtime)(void), (*ask_nccl)(void);
	const char *(*ask_text)(void), *error;
	char name[] = "/tmp/test_missing.XXXXXX";
	const int file = mkstemp(name), before = dup(2);
	void *asks;

	CHECK(file >= 0 && before >= 0 && dup2(file, 2) == 2);
	CHECK(dlsym(RTLD_DEFAULT, "cudaGetDevice") != NULL && dlsym(RTLD_DEFAULT, "cudaNoSuchThing") == NULL);
	/* by this program's run path, and what it needs by its own */
	*(void **)&outer = function(dlopen("libmissing_outer.so", RTLD_NOW), "outer");
	CHECK(said(file, "softgpu") == 0);
	CHECK(outer() == 801 && outer() == 801);
	asks = dlopen("libmissing_asks.so", RTLD_NOW);
	*(void **)&ask_runtime = function(asks, "ask_runtime");
	*(void **)&ask_nccl = function(asks, "ask_nccl");
	*(void **)&ask_text = function(asks, "ask_text");
	CHECK(ask_runtime() == 801 && ask_nccl() == 5 && ask_nccl() == 5);
	CHECK(strstr(ask_text(), "not supported") != NULL);
	CHECK(said(file, "softgpu: cudaNoSuchThing is not supported\n") == 1);
	CHECK(said(file, "softgpu: ncclNoSuchThing is not supported\n") == 1);
	CHECK(said(file, "softgpu") == 3);
	CHECK(dlopen("libmissing_broken.so", RTLD_NOW) == NULL);
	error = dlerror();
	CHECK(error != NULL && strstr(error, "undefined symbol: no_such_function") != NULL &&
		dlerror() == NULL);
	CHECK(dlopen("/nowhere/libcudart_user.so", RTLD_NOW) == NULL);
	error = dlerror();
	CHECK(error != NULL && strstr(error, "/nowhere/libcudart_user.so") != NULL);
	CHECK(dlopen(NULL, RTLD_NOW) != NULL && dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD) != NULL);
	dup2(before, 2);
	unlink(name);
}

/* Reads all of a file that the preload library would read. */
static size_t read_all(const char *path)
{
	const char *text, *from;
	size_t at = 0, sum = 0;
	struct sg_elf elf;

	if (sg_elf_open(&elf, path) != 0)
		return 0;
	while ((text = sg_elf_next(&elf, DT_NEEDED, &at)) != NULL)
		sum += strlen(text);
	for (size_t i = 0; i < elf.symbol_count; i++) {
		text = sg_elf_string(&elf, elf.symbols[i].st_name);
		sum += text != NULL ? strlen(text) : 0;
		text = sg_elf_version(&elf, i, &from);
		sum += text != NULL ? strlen(text) + strlen(from) : 0;
	}
	sg_elf_close(&elf);
	return sum;
}

static void test_hostile(const char *path)
{
	static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
	char name[] = "/tmp/test_missing.XXXXXX", *bytes;
	const int file = open(path, O_RDONLY), damaged = mkstemp(name);
	const off_t size = lseek(file, 0, SEEK_END);

	CHECK(size > 0 && damaged >= 0 && read_all(path) > 0);
	bytes = malloc((size_t)size);
	CHECK(bytes != NULL && pread(file, bytes, (size_t)size, 0) == (ssize_t)size);
	CHECK(write(damaged, bytes, (size_t)size) == (ssize_t)size && read_all(name) == read_all(path));
	for (off_t n = 0; n < size; n++) {
		for (size_t i = 0; i < sizeof(values); i++) {
			CHECK(pwrite(damaged, &values[i], 1, n) == 1);
			read_all(name);
		}
		CHECK(pwrite(damaged, &bytes[n], 1, n) == 1);
	}
	for (off_t n = size; n > 0; n -= n > 4096 ? 101 : 1) {
		CHECK(ftruncate(damaged, n) == 0);
		read_all(name);
	}
	close(file);
	close(damaged);
	unlink(name);
	free(bytes);
}

int main(int argc, char **argv)
{
	if (argc > 2)
		test_hostile(argv[2]);
	else
		test_loading();
	return 0;
}
