/*
 * Whether a test would notice that a rule or a constant of the reconstruction is wrong: a build with PM_MUTATION, which nobody but
 * tests/mutation uses, takes one from the environment. PM_MUTATE is "rule KEY", which is then never applied, or "constant NAME
 * FACTOR". In every other build nothing is off, and costs nothing.
 */
#ifndef TIMELINE_MUTATION_H
#define TIMELINE_MUTATION_H

#include <stdbool.h>

bool mutation_is_off(const char *rule); /* by its key */

#endif
