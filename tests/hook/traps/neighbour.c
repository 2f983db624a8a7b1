/* Libraries that find each other by $ORIGIN, and a function that several of them have. */
#include <dlfcn.h>
#include <stddef.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int which(void);
EXPORTED int outer_work(void);

int which(void)
{
	return WHICH;
}

#if WHICH == 1
/* The first: opens its neighbour by a bare name, and asks for the next `which` after itself. */
int outer_work(void)
{
	void *neighbour = dlopen("libtrap_neighbour.so", RTLD_NOW);
	int (*of_neighbour)(void) = neighbour ? (int (*)(void))dlsym(neighbour, "which") : NULL;
	int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "which");
	int (*any)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "which");

	return 100 * (of_neighbour ? of_neighbour() : 9) + 10 * (next ? next() : 9) + (any ? any() : 9);
}
#endif
