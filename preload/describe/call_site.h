/*
 * Where a call was made: the stack above the wrapper, as text. Any thread.
 */
#ifndef CALL_SITE_H
#define CALL_SITE_H

#include <stddef.h>

/* Loads the unwinder. Takes the loader's lock, so no lock of ours may be held. */
void pmh_call_site_init(void);

/* The stack of the hooked call as text, "symbol < caller < ...", innermost first; "" where it cannot be had.
 * python: the callers in Python, which come last; "": none.
 */
void pmh_call_site(const char *python, char *text, size_t text_bytes);
void pmh_call_site_forget(void);

#endif
