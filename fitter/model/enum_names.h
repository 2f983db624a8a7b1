/* The names of the enumerators of pm_fit.h, in files, options and reports. */
#ifndef ENUM_NAMES_H
#define ENUM_NAMES_H

#include <stdbool.h>

/* Each ends with NULL. Of the flags the place is the number of the bit. */
extern const char *const enum_names_roles[];
extern const char *const enum_names_methods[];
extern const char *const enum_names_penalties[];
extern const char *const enum_names_scales[];
extern const char *const enum_names_kinds[];
extern const char *const enum_names_ends[];
extern const char *const enum_names_flags[];

/* Whether a value has a name in its list. */
bool enum_names_has(const char *const *names, unsigned value);

/* The place of a name in its list, -1 if it is not there. */
int enum_names_find(const char *const *names, const char *name);

#endif
