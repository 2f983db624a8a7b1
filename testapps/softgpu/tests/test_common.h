/* What the tests of the stand-ins share: checks that say what failed, and gates that hold a stream until they
 * are opened. */
#ifndef TEST_COMMON_H
#define TEST_COMMON_H

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: failed: %s\n", __func__, __LINE__, #condition); \
			exit(1); \
		} \
	} while (0)

#define EXPECT(call, wanted) \
	do { \
		int got_ = (int)(call); \
		if (got_ != (int)(wanted)) { \
			fprintf(stderr, "%s:%d: %s gave %d, not %d\n", __func__, __LINE__, #call, got_, \
				(int)(wanted)); \
			exit(1); \
		} \
	} while (0)

#define OK(call) EXPECT(call, 0)

/* A host function that keeps its stream busy from `reached` to `open`. */
struct gate {
	sem_t reached, open;
};

static inline void gate_init(struct gate *gate)
{
	sem_init(&gate->reached, 0, 0);
	sem_init(&gate->open, 0, 0);
}

static inline void gate_hold(void *arg)
{
	struct gate *gate = arg;

	sem_post(&gate->reached);
	while (sem_wait(&gate->open) != 0)
		;
}

static inline void gate_open(struct gate *gate)
{
	sem_post(&gate->open);
}

#endif
