/* Lists of layer widths, as --hidden has them. */
#ifndef WIDTHS_H
#define WIDTHS_H

#include <err.h>
#include <stdlib.h>

/* Reads "512,256" into widths; answers how many. Exits with 2 for anything else, or for more than `max`. */
static inline int widths_parse(const char *text, int *widths, int max)
{
	for (int count = 0; count < max; count++) {
		char *end = NULL;
		long width = strtol(text, &end, 10);

		if (end == text || width < 1 || width > 100000)
			break;
		widths[count] = (int)width;
		if (*end == '\0')
			return count + 1;
		if (*end != ',')
			break;
		text = end + 1;
	}
	errx(2, "--hidden: expected up to %d numbers from 1 to 100000 separated by commas", max);
}

#endif
