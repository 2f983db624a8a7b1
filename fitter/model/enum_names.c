/* The names of enumerators: see enum_names.h. */
#include "enum_names.h"
#include "pm_fit.h"

#include <string.h>

const char *const enum_names_roles[] = {[PM_FIT_IGNORED] = "ignored",
	[PM_FIT_INTRINSIC] = "intrinsic",
	[PM_FIT_CATEGORICAL] = "categorical",
	[PM_FIT_EXTRINSIC] = "extrinsic",
	[PM_FIT_FACTOR] = "factor",
	[PM_FIT_OFFSET] = "offset",
	NULL};
const char *const enum_names_methods[] = {[PM_FIT_JSO] = "jso",
	[PM_FIT_VARPRO] = "varpro",
	[PM_FIT_DE] = "de",
	NULL};
const char *const enum_names_penalties[] = {
	[PM_FIT_NO_PENALTY] = "none", [PM_FIT_L1] = "l1", [PM_FIT_L2] = "l2", NULL};
const char *const enum_names_scales[] = {
	[PM_FIT_SCALE_ALL] = "all", [PM_FIT_SCALE_INPUTS] = "inputs", [PM_FIT_SCALE_NONE] = "none", NULL};
const char *const enum_names_kinds[] = {[PM_FIT_KIND_COEFFICIENT] = "coefficient",
	[PM_FIT_KIND_LEVEL] = "level",
	[PM_FIT_KIND_BASE] = "base",
	[PM_FIT_KIND_CONSTANT] = "constant",
	[PM_FIT_KIND_POWER] = "power",
	[PM_FIT_KIND_EXTRINSIC] = "exponent",
	[PM_FIT_KIND_FACTOR] = "log factor",
	NULL};
const char *const enum_names_ends[] = {[PM_FIT_END_CONVERGED] = "converged",
	[PM_FIT_END_LIMIT] = "limit",
	[PM_FIT_END_PLATEAU] = "plateau",
	[PM_FIT_END_INTERRUPTED] = "interrupted",
	NULL};
/* in the order of the bits */
const char *const enum_names_flags[] = {
	"at lower bound", "at upper bound", "dead", "undetermined", "outside", NULL};

bool enum_names_has(const char *const *names, unsigned value)
{
	unsigned count = 0;

	while (names[count])
		count++;
	return value < count;
}

int enum_names_find(const char *const *names, const char *name)
{
	for (int i = 0; name && names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return -1;
}
