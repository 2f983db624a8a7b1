/*
 * The settings of this process, and what is wrong with them.
 */
#ifndef SETTINGS_HOOK_H
#define SETTINGS_HOOK_H

#include <stdbool.h>

#include "settings.h"

/* Valid once the state (state.h) is decided. */
extern struct pmh_settings pmh_settings;

/* Reads the settings. Under the lock of the decision (core/process.c), as the next. */
void pmh_settings_begin(void);

/* The sentences about what is wrong: the first after NULL, else the one after that which is given; NULL at
 * the end. */
const char *pmh_settings_complaint(const char *before);

/* Trouble of our own: aborts in strict mode, else does nothing. */
void pmh_trouble(void);

#endif
