/* The rules by name: see layer_rule.h. */
#include "layer_rule.h"

#define LAYER_RULE_KEY(name, key, text) key,
#define LAYER_RULE_TEXT(name, key, text) text,

const char *const layer_rule_keys[LAYER_RULE_COUNT] = {LAYER_RULE_LIST(LAYER_RULE_KEY)};
const char *const layer_rule_texts[LAYER_RULE_COUNT] = {LAYER_RULE_LIST(LAYER_RULE_TEXT)};
