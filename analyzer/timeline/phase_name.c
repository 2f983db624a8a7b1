/* The names of the phases: see phase_name.h. */
#include "phase_name.h"

const char *const phase_keys[PHASE_COUNT] = {
#define ITEM(name, key, symbol, text) key,
	PHASE_LIST(ITEM)
#undef ITEM
};

const char *const phase_symbols[PHASE_COUNT] = {
#define ITEM(name, key, symbol, text) symbol,
	PHASE_LIST(ITEM)
#undef ITEM
};
