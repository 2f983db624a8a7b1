/*
 * Forward and backward stretches of made-up iterations that go through the model in turns, as the schedules
 * of pipelines do: a letter is a call with that parameter.
 */
#include "check.h"
#include "reconstruct/layer_flow.h"

#include <ctype.h>
#include <string.h>

#define MOST 64 /* calls */

/* How many passes there are; 0: the order says nothing. */
static uint32_t find_stretches(const char *text, struct flow_turns *turns)
{
	struct flow_place places[128];
	struct flow_step steps[MOST] = {0};
	struct flow_touch touches[MOST] = {0};
	const struct flow_work work = {
		.steps = steps, .touches = touches, .places = places, .place_count = 128};
	uint32_t few[MOST], count = 0;

	for (size_t p = 0; p < 128; p++)
		places[p] = (struct flow_place){.parameter = true};
	for (; *text; text++)
		if (isalpha((unsigned char)*text)) {
			few[count] = count;
			steps[count] = (struct flow_step){.first = count, .count = 1};
			touches[count++].place = (unsigned char)*text;
		}
	return flow_stretches(&work, few, count, turns);
}

static const struct {
	const char *what, *calls;
	uint32_t passes;
	uint32_t second; /* the call that the second pass begins with */
} cases[] = {
	{"two batches forward, two back", "abcd abcd dcba dcba", 2, 12},
	{"biases, of which no call goes back", "aAbBcCdD aAbBcCdD dcba dcba", 2, 20},
	{"one call of 16 goes not back", "abcdefgh abcdefgh hgfedcba hgfedcb", 2, 24},
	{"one of eight: work is done again", "abcd abcd dcba dcb", 0, 0},
};

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct flow_turns turns[MOST] = {{0}};
		const uint32_t passes = find_stretches(cases[i].calls, turns);

		CHECK(passes == cases[i].passes && (passes < 2 || turns[1].first == cases[i].second),
			"%s: %u passes, the second from call %u", cases[i].what, passes, turns[1].first);
	}
	return check_end();
}
