/* What the programs that tests start share: a call of a library that must answer 0. */
#ifndef CALLED_H
#define CALLED_H

#include <err.h>

/* Makes the call; where it answers anything but 0 the program ends with 1 and says which call, where, and the
 * answer. */
#define CHECK(call) \
	do { \
		const int status_ = (int)(call); \
		if (status_ != 0) \
			errx(1, "%s:%d: %s: %d", __FILE__, __LINE__, #call, status_); \
	} while (0)

#endif
