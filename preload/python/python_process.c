/*
 * The Python interpreter of this process, if it is one: finds it, and asks it for names on the calling
 * thread's behalf.
 *
 * Never with the interpreter's lock (the GIL): PyTorch has released it before it calls a library of CUDA's,
 * and taking it here could wait for a thread that waits for us. Without it is safe because
 *  - the calling thread's frames do not change while it is in the call, and hold their code and their local
 *    variables; only the modules' dictionaries could be changed by others meanwhile, which programs do before
 *    they train;
 *  - of the process's first thread, once its interpreter's layout was found to fit (python_line.c), what
 * those frames hold is loaded: it is there (python.h says why of each). Every other read, and all of other
 * threads, is a system call that answers with an error where a plain read would fault. Nothing is written; so
 * the worst that a change meanwhile can do is a name that is left out;
 *  - no function of Python's is called but two that only return a pointer: Py_GetVersion, once, and
 *    PyGILState_GetThisThreadState, which returns what the thread keeps in its own storage (and NULL before
 * the interpreter begins and after it ends). "The current thread state" would be that of the lock's holder,
 * and the interpreter's list of threads changes under its own lock.
 */
#include "python_process.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "guest/clock.h"
#include "guest/guest.h"
#include "guest/settings_hook.h"
#include "python.h"
#include "python_line.h"
#include "trace/intern.h"

static struct pmh_python python;
static void *(*thread_state)(void);
static struct pmh_python_reading reading;
static _Atomic bool ready; /* those above are set */
static _Atomic bool wanted;
static _Atomic pid_t process;
static char note[128];                      /* what is to be said of Python, "": nothing */
static struct pmh_python_look look;         /* too big for the stack of a thread that we know nothing of */
static pmh_lock looking = ATOMIC_FLAG_INIT; /* for all of these */
static _Atomic bool is_pytorch_settled;     /* its folder is known, or not to be looked for */
static atomic_ullong loaded_count;          /* libraries that there were when it was last looked for */

/*
 * What was found for a stack of the thread whose frames are loaded (python_line.h), which has this for
 * itself. The modules may have been put elsewhere in their tree since, or be others at the same addresses: so
 * it holds for a while only, long for a program that makes many operations and short for one that makes
 * another network.
 */
#define STACKS 1024u
#define HOLDS_NS 1000000000u
static struct known_stack {
	_Atomic uint64_t stack; /* 0: none */
	uint64_t found_ns;
	bool is_work;
	struct pmh_python_names names;
} known_stacks[STACKS];

/* Reads our own memory. */
static bool fetch(uint64_t from, void *to, size_t byte_count, void *data)
{
	struct iovec local = {.iov_base = to, .iov_len = byte_count};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)from, .iov_len = byte_count};

	(void)data;
	return process_vm_readv(atomic_load_explicit(&process, memory_order_relaxed), &local, 1, &remote, 1,
		       0) == (ssize_t)byte_count;
}

struct version {
	unsigned major, minor;
	bool is_release; /* layouts change until then */
};

static bool find_version(struct version *version)
{
	const char *(*get_version)(void);
	const char *text;
	int length = 0;

	*(void **)&get_version = dlsym(RTLD_DEFAULT, "Py_GetVersion");
	text = get_version ? get_version() : NULL;
	if (!text || sscanf(text, "%u.%u.%*u%n", &version->major, &version->minor, &length) != 2)
		return false;
	version->is_release = length > 0 && (text[length] == ' ' || text[length] == '+');
	return true;
}

/* Finds the interpreter's types and the function. NULL, or what is amiss. */
static const char *find_python(const struct version *version, struct pmh_python *found, void *(**state)(void))
{
	bool is_complete = true;

	found->at = version->major == 3 && version->is_release ? pmh_python_offsets(version->minor) : NULL;
	found->fetch = fetch;
	if (!found->at)
		return "unknown version";
#define PMH_FIELD(name, symbol) \
	found->name##_type = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, #symbol); \
	is_complete &= found->name##_type != 0;
	PMH_PYTHON_TYPES(PMH_FIELD)
#undef PMH_FIELD
	*(void **)state = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
	return is_complete && *state ? NULL : "its types were not found";
}

static void find_mains(struct pmh_python_code *mains)
{
	static const char *const names[] = {"Py_BytesMain", "Py_RunMain", "Py_Main"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		void *address = dlsym(RTLD_DEFAULT, names[i]);
		const ElfW(Sym) *symbol = NULL;
		Dl_info info;

		if (!address || !dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
			continue;
		mains[i].start = (uint64_t)(uintptr_t)address;
		mains[i].end = mains[i].start + symbol->st_size;
	}
}

/* The same of what can be read. Under the lock. */
static const char *try_python(const struct pmh_python *found)
{
	pmh_python_look(&look, found);
	if (pmh_python_type(&look, found->type_type) == 0)
		return "the kernel denies a process access to its own memory";
	return pmh_python_fits(&look) ? NULL : "unknown build configuration";
}

void pmh_python_init(void)
{
	struct pmh_python found = {0};
	void *(*state)(void) = NULL;
	struct version version;
	const char *amiss;
	struct pmh_python_reading words = {0};
	void *const *stack_end;

	atomic_store(&process, getpid());
	if (!find_version(&version))
		return;
	amiss = find_python(&version, &found, &state);
	find_mains(words.mains);
	stack_end = dlsym(RTLD_DEFAULT, "__libc_stack_end");
	words.stack_end = stack_end ? (uint64_t)(uintptr_t)*stack_end : 0;
	words.at = found.at;
	words.code_type = found.code_type;
	words.cell_type = found.cell_type;
	words.tuple_type = found.tuple_type;
	words.thread_state = state;
	pmh_acquire(&looking);
	if (!amiss)
		amiss = try_python(&found);
	memcpy(found.pytorch, python.pytorch, sizeof found.pytorch);
	python = found;
	thread_state = state;
	reading = words;
	atomic_store(&ready, amiss == NULL);
	snprintf(note, sizeof note, "python: %u.%u, %s%s", version.major, version.minor,
		amiss ? "module names unavailable: " : "module names are recorded", amiss ? amiss : "");
	pmh_release(&looking);
}

void pmh_python_begin(void)
{
	char text[sizeof note];

	atomic_store(&wanted, strcmp(pmh_settings.python, "off") != 0);
	pmh_acquire(&looking);
	memcpy(text, note, sizeof text);
	pmh_release(&looking);
	if (text[0] && atomic_load(&wanted))
		pmh_note(text);
}

void pmh_python_forget(void)
{
	/* fork can leave the loader's lock held */
	atomic_store(&is_pytorch_settled, true);
	pmh_lock_forget(&looking);
	for (unsigned i = 0; i < STACKS; i++)
		if (atomic_load_explicit(&known_stacks[i].stack, memory_order_relaxed))
			atomic_store_explicit(&known_stacks[i].stack, 0, memory_order_relaxed);
}

/* ---- PyTorch's folder ---- */

struct search {
	char folder[PMH_PYTHON_PATH];       /* of the library found, "": none */
	uint64_t loaded_before, loaded_now; /* how many libraries were ever loaded */
};

/* The package's own library is torch/_C.NAME.so, and Python has opened it by the path of the package. */
static int is_pytorch_library(struct dl_phdr_info *library, size_t info_bytes, void *data)
{
	static const char folder[] = "/torch/", file[] = "_C.";
	const size_t least_bytes = sizeof folder - 1;
	struct search *search = data;
	const char *base = strrchr(library->dlpi_name, '/');
	size_t folder_bytes;

	(void)info_bytes;
	search->loaded_now = library->dlpi_adds;
	if (search->loaded_now == search->loaded_before)
		return 1;
	if (!base || strncmp(++base, file, sizeof file - 1) != 0)
		return 0;
	folder_bytes = (size_t)(base - library->dlpi_name);
	if (folder_bytes < least_bytes || folder_bytes >= sizeof search->folder ||
		strncmp(base - least_bytes, folder, least_bytes) != 0)
		return 0;
	memcpy(search->folder, library->dlpi_name, folder_bytes);
	search->folder[folder_bytes] = 0;
	return 1;
}

/* Looks again whenever libraries were loaded since. Takes the loader's lock, so no lock of ours may be held.
 */
static void find_pytorch(void)
{
	struct search search = {.loaded_before = atomic_load(&loaded_count)};

	if (atomic_load_explicit(&is_pytorch_settled, memory_order_relaxed))
		return;
	dl_iterate_phdr(is_pytorch_library, &search);
	atomic_store(&loaded_count, search.loaded_now);
	if (!search.folder[0])
		return;
	pmh_acquire(&looking);
	memcpy(python.pytorch, search.folder, sizeof python.pytorch);
	pmh_release(&looking);
	atomic_store(&is_pytorch_settled, true);
}

/* The calling thread's state, 0 where it runs no Python (then *none) or is not known. Begins a look; under
 * the lock. */
static uint64_t begin_look(bool *none)
{
	uint64_t thread = atomic_load(&ready) ? (uint64_t)(uintptr_t)thread_state() : 0;
	bool before, is_ours;

	*none = atomic_load(&ready) && !thread;
	if (!thread)
		return 0;
	pmh_python_look_again(&look, &python);
	look.is_own = pmh_self.reads_python;
	look.now_ns = pmh_monotonic_ns();
	before = pmh_python_own_begin(&look);
	is_ours = pmh_python_word(&look, thread + python.at->thread_ident) == (uint64_t)pthread_self();
	pmh_python_own_end(&look, before);
	return is_ours ? thread : 0;
}

static bool is_asked(void)
{
	return atomic_load_explicit(&wanted, memory_order_relaxed) &&
	       atomic_load_explicit(&ready, memory_order_acquire);
}

bool pmh_python_is_running(void)
{
	return is_asked() && thread_state() != NULL;
}

/* Under the lock. */
static void look_for_work(uint64_t thread, struct pmh_python_names *names)
{
	pmh_python_reader_reset(&look);
	pmh_python_find_module(&look, thread, names->module, sizeof names->module);
	pmh_python_reader_reset(&look);
	if (pmh_python_find_outer(&look, thread, names->outer, sizeof names->outer))
		names->frames = PMH_PYTHON_FRAMES;
	else if (!look.failed)
		names->frames = PMH_PYTHON_NO_FRAME;
	pmh_python_reader_reset(&look);
	pmh_python_find_line(&look, thread, &names->line);
}

static void look_for_names(bool is_work, struct pmh_python_names *names)
{
	uint64_t thread;
	bool none;

	find_pytorch();
	pmh_acquire(&looking);
	thread = begin_look(&none);
	if (thread) {
		pmh_python_find_callers(&look, thread, names->callers, sizeof names->callers);
		if (is_work)
			look_for_work(thread, names);
	} else if (none) {
		names->frames = PMH_PYTHON_NO_FRAME;
	}
	pmh_release(&looking);
}

void pmh_python_names(bool is_work, struct pmh_python_names *names)
{
	const uint64_t stack = is_asked() ? pmh_python_stack() : 0, now_ns = stack ? pmh_monotonic_ns() : 0;
	struct known_stack *known = &known_stacks[(stack >> 32) % STACKS];

	if (stack && atomic_load_explicit(&known->stack, memory_order_relaxed) == stack &&
		known->is_work >= is_work && now_ns - known->found_ns < HOLDS_NS) {
		*names = known->names;
		return;
	}
	names->callers[0] = names->module[0] = names->outer[0] = names->line.text[0] = 0;
	names->frames = PMH_PYTHON_UNKNOWN;
	if (!is_asked())
		return;
	look_for_names(is_work, names);
	if (!stack)
		return;
	known->is_work = is_work;
	known->found_ns = now_ns;
	known->names = *names;
	atomic_store_explicit(&known->stack, stack, memory_order_relaxed);
}

bool pmh_python_look_line(struct pmh_python_line *line)
{
	bool found = false, none;
	uint64_t thread;

	if (!is_asked())
		return false;
	pmh_acquire(&looking);
	thread = begin_look(&none);
	if (thread)
		found = pmh_python_find_line(&look, thread, line) && !look.failed;
	pmh_release(&looking);
	return found;
}

bool pmh_python_look_self(struct pmh_python_here *here,
	bool (*is_known)(const struct pmh_python_self *self, void *data), void *data)
{
	bool found = false, none = false;
	uint64_t thread;

	here->module[0] = 0;
	here->is_unknown = true;
	here->is_class_named = false;
	here->self = (struct pmh_python_self){0};
	if (!is_asked())
		return false;
	find_pytorch();
	pmh_acquire(&looking);
	thread = begin_look(&none);
	if (thread) {
		found = pmh_python_find_self(&look, thread, &here->self);
		here->is_unknown = look.failed || here->self.is_unknown;
		here->known_self = look.known_self;
	} else {
		here->is_unknown = !none;
	}
	if (found && !is_known(&here->self, data)) {
		pmh_python_reader_reset(&look);
		if (!pmh_python_find_module(&look, thread, here->module, sizeof here->module))
			here->module[0] = 0;
		here->is_class_named = look.is_class_named;
	}
	pmh_release(&looking);
	return found;
}

bool pmh_python_look_program(struct pmh_python_program *program)
{
	bool found = false, none;
	uint64_t thread;

	program->passed_count = 0;
	if (!is_asked())
		return false;
	find_pytorch();
	pmh_acquire(&looking);
	thread = begin_look(&none);
	if (thread)
		found = pmh_python_find_program(
			&look, thread, &program->line, program->passed, &program->passed_count);
	pmh_release(&looking);
	return found;
}

bool pmh_python_reading(struct pmh_python_reading *words)
{
	pmh_acquire(&looking);
	*words = reading;
	pmh_release(&looking);
	return is_asked();
}
