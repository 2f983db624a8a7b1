/* What the tests share: a check that names its place and counts failures, and the exit code that follows. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>

static int check_failures;

#define CHECK(condition, ...) \
	do { \
		if (!(condition)) { \
			check_failures++; \
			printf("%s:%d: %s: ", __FILE__, __LINE__, #condition); \
			printf(__VA_ARGS__); \
			printf("\n"); \
		} \
	} while (0)

static inline int check_end(void)
{
	if (check_failures)
		printf("%d checks failed\n", check_failures);
	return check_failures != 0;
}

#endif
