/*
 * Notes of the program and of its libraries in the trace.
 */
#include "pm_note.h"

#include <errno.h>
#include <string.h>

#include "guest/attribute.h"
#include "guest/state.h"
#include "trace/intern.h"

static bool is_key(const char *key)
{
	const size_t n = strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return n > 0 && n < PM_NOTE_KEY_BYTES && !key[n];
}

PMH_EXPORT int pmhook_note(const char *key, const char *text)
{
	if (atomic_load_explicit(&pmh_state, memory_order_acquire) != PMH_RECORDING || !key || !text ||
		!is_key(key) || strnlen(text, PM_NOTE_TEXT_BYTES) == PM_NOTE_TEXT_BYTES)
		return -1;
	pmh_note_of(key, text);
	return 0;
}
