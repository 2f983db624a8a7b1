/* The names of the phases: see phase_name.h. */
#include "phase_name.h"

const char *const phase_keys[PHASE_COUNT] = {
#define ITEM(name, key, symbol, title, text, does, term, colour) key,
	PHASE_LIST(ITEM)
#undef ITEM
};

const char *const phase_symbols[PHASE_COUNT] = {
#define ITEM(name, key, symbol, title, text, does, term, colour) symbol,
	PHASE_LIST(ITEM)
#undef ITEM
};

const char *const phase_titles[PHASE_COUNT] = {
#define ITEM(name, key, symbol, title, text, does, term, colour) title,
	PHASE_LIST(ITEM)
#undef ITEM
};

const struct phase_facts phase_facts[PHASE_COUNT] = {
#define ITEM(name, key, symbol, title, text, does, term, colour) \
	{text, colour, PHASE_DOES_##does, PHASE_TERM_##term},
	PHASE_LIST(ITEM)
#undef ITEM
};

const enum phase phase_of_column[PHASE_LAYER_PHASES] = {[PHASE_LAYER_FORWARD] = PHASE_FORWARD,
	[PHASE_LAYER_BACKWARD] = PHASE_BACKWARD,
	[PHASE_LAYER_COMMUNICATION] = PHASE_COMMUNICATION,
	[PHASE_LAYER_UPDATE] = PHASE_UPDATE};
