/* The words for the enums of pm_fit.h, in files, options and reports. */
#ifndef WORDS_H
#define WORDS_H

extern const char *const words_roles[],
	*const words_methods[],
		*const words_penalties[],
			*const words_scales[], *const words_kinds[],
						       *const words_ends[],
							       *const words_flags[]; /* each ends with NULL */

/* The place of a word in its list, -1 if it is not there. */
int words_find(const char *const *words, const char *word);

#endif
