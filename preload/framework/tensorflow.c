/*
 * TensorFlow's operations. Its executor puts an annotation around each operation, with the operation's name
 * and type, while anybody wants annotations: a switch that its profiler turns on
 * (tsl::profiler::AnnotationStack). Annotations are NVTX ranges wherever a tool has attached to NVTX, so that
 * nothing but the switch is missing. It is one of the library's exported functions: it raises a number
 * atomically, and does nothing more.
 *
 * Where TensorFlow's own profiler runs and stops, it turns the switch off: operations are recorded until
 * then.
 */
#include "tensorflow.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "guest/guest.h"
#include "guest/settings.h"
#include "guest/settings_hook.h"
#include "guest/state.h"
#include "library.h"
#include "trace/intern.h"

static _Atomic enum { NONE, SWITCHED_ON, NO_SWITCH } state;

/* NVTX may be attached before the process has decided whether to record, and read its settings. */
static bool is_wanted(void)
{
	static char room[PMH_SETTINGS_BYTES];
	struct pmh_settings settings;

	if (atomic_load_explicit(&pmh_state, memory_order_acquire) == PMH_RECORDING)
		return strcmp(pmh_settings.framework, "on") == 0;
	pmh_settings_read(&settings, room, NULL, NULL);
	return strcmp(settings.framework, "on") == 0;
}

static void switch_on(void *unused)
{
	static atomic_flag has_begun = ATOMIC_FLAG_INIT;
	void (*enable)(bool) = NULL;
	void *library;

	(void)unused;
	if (atomic_flag_test_and_set(&has_begun) || !is_wanted())
		return;
	library = pmh_library_loaded("libtensorflow_framework.so.2");
	if (!library)
		return;
	*(void **)&enable = dlsym(library, "_ZN3tsl8profiler15AnnotationStack6EnableEb");
	if (enable)
		enable(true);
	atomic_store(&state, enable ? SWITCHED_ON : NO_SWITCH);
}

void pmh_tensorflow_begin(void)
{
	const int saved_errno = errno;

	pmh_run_on_own_stack(switch_on, NULL);
	if (atomic_load_explicit(&pmh_state, memory_order_acquire) == PMH_RECORDING)
		pmh_tensorflow_note();
	errno = saved_errno;
}

void pmh_tensorflow_note(void)
{
	switch (atomic_load(&state)) {
	case SWITCHED_ON:
		pmh_note_of("tensorflow", "operations are recorded");
		break;
	case NO_SWITCH:
		pmh_note_of("tensorflow",
			"operations are not recorded: the library has no switch for annotations");
		break;
	default:
		break;
	}
}
