/*
 * Between the files of the model clock's test. A case runs in a process of its own, as the clock's settings
 * are read once.
 *
 * The one idea: the profile of the tests has round numbers, so that a duration can be said in advance: a
 * kernel of VECTOR kind takes FLOOR_NS and a nanosecond for each RATE bytes, nothing else.
 */
#ifndef TEST_CLOCK_H
#define TEST_CLOCK_H

#include "core/sg.h"
#include "test_common.h"

#define US 1000u
#define MS 1000000u
#define HEAD_NS (60 * MS * patience()) /* a first kernel's, so that none after it is submitted late */
#define FLOOR_NS (5 * US)
#define LAUNCH_NS (20 * US)
#define COPY_NS (10 * US)
#define RATE 100          /* bytes of device memory per ns */
#define TO_DEVICE_RATE 10 /* bytes per ns */
#define TO_HOST_RATE 5

#define DISTURB(text) "SOFTGPU_DISTURB=" text

struct clock_case {
	const char *name;
	void (*run)(void);
	const char *environment[6]; /* NAME=VALUE; SOFTGPU_PROFILE is set unless it is here */
	const char *complaint;      /* it must end with 1 and say this on stderr; NULL: it must end well */
};
extern const struct clock_case host_cases[], order_cases[], disturb_cases[], settings_cases[];

/* By how much longer than usual the host may take: above 1 when a case is tried once more. */
unsigned patience(void);

/* The folder of the case's files, and a path in it. */
const char *test_path(const char *name);

/* Submits a kernel that takes exactly so long (at least FLOOR_NS); fn NULL: nothing to call. */
void kernel(cudaStream_t stream, uint64_t duration_ns);
/* What kernel submits, and how often it has run. */
void count_call(void *arg);
int kernels_called(void);

/* What the device did, in the order of submission; times are off by one constant. Watched from the first call
 * on.
 */
void watch(void);
unsigned seen_count(void);
struct sg_activity seen(unsigned number);
struct sg_activity seen_as_processed(unsigned number);
static inline uint64_t lasted(struct sg_activity a)
{
	return a.end_ns - a.begin_ns;
}

/* cudaEventElapsedTime equals a duration to the float's rounding. */
#define TAKES(begin, end, wanted_ns) CHECK(takes(begin, end, wanted_ns))
int takes(cudaEvent_t begin, cudaEvent_t end, uint64_t wanted_ns);

/* A second stream and so on; non-blocking. */
cudaStream_t new_stream(void);

#endif
