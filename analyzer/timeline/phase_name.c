/* The names of the phases: see phase_name.h. */
#include "phase_name.h"

const char *const phase_keys[PHASE_COUNT] = {
#define ITEM(name, key, symbol, title, text) key,
	PHASE_LIST(ITEM)
#undef ITEM
};

const char *const phase_symbols[PHASE_COUNT] = {
#define ITEM(name, key, symbol, title, text) symbol,
	PHASE_LIST(ITEM)
#undef ITEM
};

const char *const phase_titles[PHASE_COUNT] = {
#define ITEM(name, key, symbol, title, text) title,
	PHASE_LIST(ITEM)
#undef ITEM
};
