/* The rules as data, and in builds with PM_MUTATION whether one is on: see rule.h. */
#include "rule.h"

#define RULE_ROW(name, key, stage, evidence, strength, needs, proposes, test) \
	{key, RULE_FINDS_##stage, RULE_BY_##evidence, RULE_IS_##strength},
#define RULE_WORD_KEY(name, key) key,

const struct rule_row rule_rows[RULE_COUNT] = {RULE_LIST(RULE_ROW)};
const char *const rule_evidence_keys[] = {RULE_EVIDENCE_LIST(RULE_WORD_KEY)};
const char *const rule_strength_keys[] = {RULE_STRENGTH_LIST(RULE_WORD_KEY)};

#ifdef PM_MUTATION
bool rule_is_on(enum rule rule)
{
	return !mutation_is_off(rule_rows[rule].key);
}
#endif
