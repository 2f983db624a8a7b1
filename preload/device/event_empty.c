/*
 * What a pair of events takes by itself: two of them now and then with no work between. The median is in the
 * trace as soon as it is about known, and again when it is known better.
 */
#include "event_empty.h"

#include <stdio.h>
#include <string.h>

#include "trace/intern.h"

#define LEAST 8u
#define KEPT 64u /* of the last ones */

void pmh_event_empty(uint32_t ns)
{
	static uint32_t last[KEPT], ordered[KEPT];
	static unsigned count;
	unsigned kept;
	char text[96];

	last[count++ % KEPT] = ns;
	if (count < LEAST || (count & (count - 1)) != 0)
		return;
	kept = count < KEPT ? count : KEPT;
	memcpy(ordered, last, kept * sizeof last[0]);
	for (unsigned i = 1; i < kept; i++)
		for (unsigned j = i; j > 0 && ordered[j - 1] > ordered[j]; j--) {
			const uint32_t higher = ordered[j - 1];

			ordered[j - 1] = ordered[j];
			ordered[j] = higher;
		}
	snprintf(text, sizeof text, "device: a pair of events without work takes %u ns, median of %u",
		ordered[kept / 2], kept);
	pmh_note(text);
}
