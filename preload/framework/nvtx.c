/*
 * NVTX ranges. Header-only NVTX 3 loads the library that NVTX_INJECTION64_PATH names, at the first call of each library
 * that uses it, and asks it for functions; a constructor sets the variable to this library unless somebody has set it.
 * Where nobody calls NVTX that is all.
 *
 * What is pushed is kept with the thread's other ranges (range.h), from the first push on: the process may not record yet.
 * Ranges that are started and ended (PM_RANGE_LOOSE) are not kept: one that was started while nothing is recorded, or in
 * a hooked call, is not in the trace.
 *
 * Marks and names of threads are let go: their places stay empty, and such a call costs nothing.
 */
#include "nvtx.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest/attribute.h"
#include "guest/clock.h"
#include "guest/libc_dlsym.h"
#include "guest/resolve.h"
#include "guest/settings.h"
#include "guest/state.h"
#include "nvtx_abi.h"
#include "nvtx_name.h"
#include "range.h"
#include "tensorflow.h"
#include "trace/intern.h"
#include "trace/write.h"

#define VARIABLE "NVTX_INJECTION64_PATH"

static bool is_wanted;       /* by the settings, in a process that has this library preloaded */
static bool is_another_tool; /* has set the variable */

/* The calling thread's record; NULL: nothing is to be kept. */
static struct pmh_thread *thread_of_caller(void)
{
	const int state = atomic_load_explicit(&pmh_state, memory_order_acquire);

	if (state == PMH_OFF || state == PMH_COUNTING || pmh_local.quiet || pmh_local.seeking)
		return NULL;
	if (__builtin_expect(!pmh_local.thread, 0) && !pmh_self_make()) {
		pmh_lose(PM_LOSS_RANGES, 1);
		return NULL;
	}
	return pmh_local.thread;
}

static void push(unsigned domain, pmh_nvtx_name name)
{
	struct pmh_thread *self = thread_of_caller();

	if (self)
		pmh_range_push(self, pmh_nvtx_domain(domain), name);
}

static void pop(unsigned domain)
{
	struct pmh_thread *self = thread_of_caller();

	if (self)
		pmh_range_pop(self, pmh_nvtx_domain(domain));
}

/* ---- ranges that overlap ---- */

/* Their numbers, above a bit that says whether the start is in the trace. Those of a program are never 0. */
static uint64_t start(pmh_nvtx_name name)
{
	static _Atomic uint64_t last;
	const uint64_t sequence = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
	struct pmh_thread *self = name ? thread_of_caller() : NULL;
	uint64_t mark = PMH_MARK;
	uint32_t number;
	bool is_written;

	if (!self || !pmh_range_enter(self, &mark))
		return sequence << 1;
	number = pmh_nvtx_number(name);
	is_written = number && pmh_range_begin(self, number, (uint32_t)sequence, 0, PM_RANGE_LOOSE);
	pmh_range_leave(self);
	return sequence << 1 | is_written;
}

static void end(uint64_t id)
{
	struct pmh_thread *self = id & 1 ? thread_of_caller() : NULL;
	uint64_t mark = PMH_MARK;

	if (!self || !pmh_range_may_end(self))
		return;
	pmh_frame_begin(&mark);
	if (self->number == 0)
		pmh_thread_begin();
	pmh_range_end(self, (uint32_t)(id >> 1), PM_RANGE_LOOSE);
	pmh_range_leave(self);
}

/* ---- what NVTX calls ---- */

static pmh_nvtx_name name_of(unsigned domain, const struct nvtx_attributes *a)
{
	uint32_t color;

	if (!a || a->byte_count < sizeof *a)
		return 0;
	color = a->color_type == NVTX_COLOR_IS_ARGB ? a->color : 0;
	switch (a->message_type) {
	case NVTX_MESSAGE_ASCII:
		return pmh_nvtx_name_of(domain, color, a->message.ascii);
	case NVTX_MESSAGE_WIDE:
		return pmh_nvtx_name_of_wide(domain, color, a->message.wide);
	case NVTX_MESSAGE_REGISTERED:
		return pmh_nvtx_name_of_handle(a->message.registered);
	default:
		return 0;
	}
}

/* Push and pop answer what they answer without a tool. */
static int push_ascii(const char *text)
{
	push(0, pmh_nvtx_name_of(0, 0, text));
	return NVTX_NO_DEPTH;
}

static int push_wide(const wchar_t *text)
{
	push(0, pmh_nvtx_name_of_wide(0, 0, text));
	return NVTX_NO_DEPTH;
}

static int push_in(struct nvtx_domain *domain, const struct nvtx_attributes *a)
{
	const unsigned number = pmh_nvtx_domain_number(domain);

	push(number, name_of(number, a));
	return NVTX_NO_DEPTH;
}

static int push_attributes(const struct nvtx_attributes *a)
{
	return push_in(NULL, a);
}

static int pop_in(struct nvtx_domain *domain)
{
	pop(pmh_nvtx_domain_number(domain));
	return NVTX_NO_DEPTH;
}

static int pop_default(void)
{
	return pop_in(NULL);
}

static uint64_t start_ascii(const char *text)
{
	return start(pmh_nvtx_name_of(0, 0, text));
}

static uint64_t start_wide(const wchar_t *text)
{
	return start(pmh_nvtx_name_of_wide(0, 0, text));
}

static uint64_t start_in(struct nvtx_domain *domain, const struct nvtx_attributes *a)
{
	return start(name_of(pmh_nvtx_domain_number(domain), a));
}

static uint64_t start_attributes(const struct nvtx_attributes *a)
{
	return start_in(NULL, a);
}

static void end_in(struct nvtx_domain *domain, uint64_t id)
{
	(void)domain;
	end(id);
}

static const struct nvtx_string *register_ascii(struct nvtx_domain *domain, const char *text)
{
	return pmh_nvtx_register(pmh_nvtx_domain_number(domain), text);
}

static const struct nvtx_string *register_wide(struct nvtx_domain *domain, const wchar_t *text)
{
	return pmh_nvtx_register_wide(pmh_nvtx_domain_number(domain), text);
}

static struct nvtx_domain *create_domain(const char *text)
{
	struct nvtx_domain *domain = pmh_nvtx_domain_of(text);

	if (text && strcmp(text, PMH_TENSORFLOW_DOMAIN) == 0)
		pmh_tensorflow_begin();
	return domain;
}

#define F(function) ((nvtx_function)(function))
static const struct attached {
	enum nvtx_module module;
	unsigned place;
	nvtx_function function;
} attached[] = {
	{NVTX_MODULE_CORE, NVTX_RANGE_START_EX, F(start_attributes)},
	{NVTX_MODULE_CORE, NVTX_RANGE_START_A, F(start_ascii)},
	{NVTX_MODULE_CORE, NVTX_RANGE_START_W, F(start_wide)},
	{NVTX_MODULE_CORE, NVTX_RANGE_END, F(end)},
	{NVTX_MODULE_CORE, NVTX_RANGE_PUSH_EX, F(push_attributes)},
	{NVTX_MODULE_CORE, NVTX_RANGE_PUSH_A, F(push_ascii)},
	{NVTX_MODULE_CORE, NVTX_RANGE_PUSH_W, F(push_wide)},
	{NVTX_MODULE_CORE, NVTX_RANGE_POP, F(pop_default)},
	{NVTX_MODULE_DOMAINS, NVTX_DOMAIN_RANGE_START_EX, F(start_in)},
	{NVTX_MODULE_DOMAINS, NVTX_DOMAIN_RANGE_END, F(end_in)},
	{NVTX_MODULE_DOMAINS, NVTX_DOMAIN_RANGE_PUSH_EX, F(push_in)},
	{NVTX_MODULE_DOMAINS, NVTX_DOMAIN_RANGE_POP, F(pop_in)},
	{NVTX_MODULE_DOMAINS, NVTX_DOMAIN_REGISTER_STRING_A, F(register_ascii)},
	{NVTX_MODULE_DOMAINS, NVTX_DOMAIN_REGISTER_STRING_W, F(register_wide)},
	{NVTX_MODULE_DOMAINS, NVTX_DOMAIN_CREATE_A, F(create_domain)},
	{NVTX_MODULE_DOMAINS, NVTX_DOMAIN_CREATE_W, F(pmh_nvtx_domain_of_wide)},
};

static void attach(const struct nvtx_callbacks *callbacks, const struct attached *a)
{
	nvtx_function **places = NULL;
	unsigned place_count = 0;

	if (callbacks->table((int)a->module, &places, &place_count) && places && a->place < place_count &&
		places[a->place])
		*places[a->place] = a->function;
}

/* Called by each library that carries NVTX. 0: it goes on without a tool; so do those in a program that was started
 * by one that had this library, and has it not. */
PMH_EXPORT int InitializeInjectionNvtx2(nvtx_tables tables);
PMH_EXPORT int InitializeInjectionNvtx2(nvtx_tables tables)
{
	const int state = atomic_load_explicit(&pmh_state, memory_order_acquire);
	const struct nvtx_callbacks *callbacks;

	if (!is_wanted || (state != PMH_UNDECIDED && state != PMH_RECORDING))
		return 0;
	callbacks = tables(NVTX_TABLE_CALLBACKS);
	if (!callbacks || callbacks->byte_count < sizeof *callbacks)
		return 0;
	for (size_t i = 0; i < sizeof attached / sizeof attached[0]; i++)
		attach(callbacks, &attached[i]);
	return 1;
}

/* ---- the process ---- */

/* Whether programs find libc's functions here, as they do where this library is preloaded: one that other libraries, as a
 * sanitizer's, do not take for themselves. */
static bool is_preloaded(void)
{
	return pmh_is_ours(pmh_libc_dlsym(RTLD_DEFAULT, "dlvsym"));
}

/* By the settings as they are read when the process decides whether to record, which NVTX may be called before. */
static bool is_switched_off(void)
{
	static char room[PMH_SETTINGS_BYTES];
	struct pmh_settings settings;

	if (atomic_load(&pmh_state) == PMH_OFF)
		return true;
	if (!getenv("PMHOOK_NVTX") && !getenv("PMHOOK_MODE"))
		return false;
	pmh_settings_read(&settings, room, NULL, NULL);
	return strcmp(settings.nvtx, "off") == 0 || strcmp(settings.mode, "off") == 0 ||
	       strcmp(settings.mode, "count") == 0;
}

/* The path of this library, whatever folder the program or its children go to. */
static const char *own_path(char room[PATH_MAX])
{
	Dl_info info;

	return dladdr((void *)(uintptr_t)InitializeInjectionNvtx2, &info) ? realpath(info.dli_fname, room) : NULL;
}

__attribute__((constructor)) static void begin(void)
{
	static char room[PATH_MAX];
	const int saved_errno = errno;
	const char *there = getenv(VARIABLE), *path;

	if (is_switched_off() || !is_preloaded())
		return;
	path = own_path(room);
	is_wanted = path && (!there || strcmp(there, path) == 0);
	is_another_tool = there && !is_wanted;
	if (is_wanted && !there)
		setenv(VARIABLE, path, 1);
	if (is_wanted)
		pmh_clock_init(); /* what is pushed has a time before the process records */
	errno = saved_errno;
}

void pmh_nvtx_note(void)
{
	if (is_another_tool)
		pmh_note_of("nvtx", "ranges are not recorded: " VARIABLE " names another tool");
	pmh_tensorflow_note();
}

void pmh_nvtx_forget(void)
{
	pmh_nvtx_names_forget();
	if (pmh_local.thread)
		pmh_self.is_ready = false;
}
