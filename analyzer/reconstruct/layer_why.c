/* What rules say of calls: see layer_why.h. */
#include "layer_why.h"

#define LAYER_WHY_KEY(name, key, text) key,
#define LAYER_WHY_TEXT(name, key, text) text,

const char *const layer_why_keys[LAYER_WHY_COUNT] = {LAYER_WHY_LIST(LAYER_WHY_KEY)};
const char *const layer_why_texts[LAYER_WHY_COUNT] = {LAYER_WHY_LIST(LAYER_WHY_TEXT)};
