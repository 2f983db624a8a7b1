/* What to say of an option that getopt_long refuses: which one it is, what is wrong with it, which one may be
 * meant. */
#ifndef BASE_OPTION_H
#define BASE_OPTION_H

#include <getopt.h>

#define OPTION_TROUBLE 200 /* bytes, of a sentence with its end */

/* Right after getopt_long gave '?' (opterr is 0): the sentence, without a full stop. */
void option_trouble(const struct option *options, char **arguments, char text[OPTION_TROUBLE]);

#endif
