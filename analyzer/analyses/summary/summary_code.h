/* Inside summary*.c: the packed fields of a summary, in one list for writing and reading. */
#ifndef ANALYSES_SUMMARY_SUMMARY_CODE_H
#define ANALYSES_SUMMARY_SUMMARY_CODE_H

#include "summary.h"

/*
 * Bytes that are written or read. Reading, `wrong` becomes what was wrong first; from then on nothing is
 * taken from the data any more and all values are 0.
 */
struct summary_code {
	unsigned char *data; /* writing: grows, the caller frees it; reading: the caller's */
	size_t at, bytes, room;
	bool reads;
	const char *wrong;
	struct summary_names *names; /* reading: where texts and layers go */
};

/* Writes all fields of a summary, or reads them into one of zeros, whose workers are then to be freed. */
void summary_fields(struct summary_code *code, struct summary *summary);

#endif
