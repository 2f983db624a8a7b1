/* In builds with PM_MUTATION alone, where a rule may be off: see rule.h. */
#include "rule.h"

#define RULE_KEY(name, key, stage, evidence, strength, needs, proposes, test) key,

bool rule_is_on(enum rule rule)
{
	static const char *const keys[] = {RULE_LIST(RULE_KEY)};

	return !mutation_is_off(keys[rule]);
}
