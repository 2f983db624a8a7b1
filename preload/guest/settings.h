/*
 * Every setting of the hook: an environment variable, its default, and what it does. The hook and pmrun read
 * them by one parser (settings.c), and `pmrun --help` prints them from here; nothing else of the project is
 * set by the environment.
 */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * X(field, NAME, kind, default, argument, help). The kind says which texts are values (settings.c): WORDS are
 * those of the argument, a NUMBER has digits alone, PERCENT likewise, up to 100, PERMISSIONS are octal. An
 * invalid value is reported, and the default is used.
 */
#define PMH_SETTINGS(X) \
	X(out, "PMHOOK_OUT", FOLDER, ".", "DIR", \
		"folder for the traces, one file NAME.RANK.pmtrace per process; made if its parent is there") \
	X(mode, "PMHOOK_MODE", WORDS, "full", "full|ring|count|off", \
		"full: write a trace; ring: one of constant size, for runs of any length; count: count calls only; " \
		"off: pass calls through") \
	X(ring_mb, "PMHOOK_RING_MB", NUMBER, "64", "MB", \
		"in mode ring, room for records, 1 to 1024: the first quarter keeps the start of the run, the rest the " \
		"latest records; of those between there are statistics") \
	X(device, "PMHOOK_DEVICE", WORDS, "auto", "auto|cupti|events|none", \
		"device time per kernel (CUPTI), per call (CUDA events) or none; auto: CUPTI if available, else events, " \
		"and not all the time (PMHOOK_DEVICE_SHARE)") \
	X(device_share, "PMHOOK_DEVICE_SHARE", PERCENT, "5", "PERCENT", \
		"with PMHOOK_DEVICE=auto, the share of the time in which device times are taken after the first minute of " \
		"work for a device; 100: always") \
	X(new_share, "PMHOOK_NEW_SHARE", PERCENT, "1", "PERCENT", \
		"how much of the run describing new operations (call site, layer, memory) may take, after ten seconds of them " \
		"and beyond a second; what comes later is counted; 100: no limit") \
	X(cupti_join, "PMHOOK_CUPTI_JOIN", WORDS, "callback", "callback|external", \
		"how a kernel of CUPTI's finds its call: callback: CUPTI calls the hook at each launch; external: CUPTI records " \
		"each launch (for comparison)") \
	X(cost, "PMHOOK_COST", WORDS, "estimate", "estimate|measure", \
		"what the recording costs: estimate: from a sample of calls; measure: for some ten seconds " \
		"alternate stretches with and without recording; the latter are missing in the trace") \
	X(window, "PMHOOK_WINDOW", WINDOW, "all", "all|A-B|profiler|signal:NAME", \
		"recording window: all; iterations A to B, counted from 1 by call repetition (A of about 10 or more: the " \
		"first iterations establish the pattern); between the program's profiler start and stop; from a signal " \
		"(USR1, USR2, PROF, WINCH) to the next") \
	X(files, "PMHOOK_FILES", WORDS, "on", "on|off", "record file input (open, read, fread, mmap, ...)") \
	X(site_depth, "PMHOOK_SITE_DEPTH", NUMBER, "6", "FRAMES", \
		"stack frames kept per distinct operation; 0: no stack unwinding") \
	X(python, "PMHOOK_PYTHON", WORDS, "on", "on|off", \
		"in a Python process, record each operation's nn.Module and its callers") \
	X(framework, "PMHOOK_FRAMEWORK", WORDS, "on", "on|off", \
		"record what PyTorch says that the program does: in samples of the run its operators and the nodes of the " \
		"backward pass, always the ranges of record_function, optimizers and data loaders; the operations of " \
		"TensorFlow's graphs; of JAX the instructions of what XLA compiles") \
	X(nvtx, "PMHOOK_NVTX", WORDS, "on", "on|off", \
		"record NVTX ranges, those of the program and of libraries, unless NVTX_INJECTION64_PATH names another tool") \
	X(flow, "PMHOOK_FLOW", WORDS, "sample", "sample|all|off", \
		"record which device memory calls work on: of samples (the first calls, until the loop has run several " \
		"times without anything new, and others now and then); of all calls; off: of samples, but not what the " \
		"arguments of kernels say") \
	X(arguments, "PMHOOK_ARGUMENTS", WORDS, "off", "on|off", \
		"record the command's arguments, with *** for the values of options whose names say key, token, secret, " \
		"password or the like; off: only the program's name and, of Python, the script's") \
	X(max_mb, "PMHOOK_MAX_MB", NUMBER, "4096", "MB", \
		"maximum trace size; lost records are counted; 0: no limit") \
	X(file_mode, "PMHOOK_FILE_MODE", PERMISSIONS, "0600", "OCTAL", \
		"permissions of a new trace, before the umask; the owner needs read and write") \
	X(verbose, "PMHOOK_VERBOSE", WORDS, "off", "on|off", \
		"one line on standard error at exit: records, losses, file") \
	X(strict, "PMHOOK_STRICT", WORDS, "off", "on|off", \
		"abort on internal errors of the hook (for its own tests)")

/* Where launchers say which rank a process is: torchrun, Open MPI, MPICH and Intel MPI, Slurm. */
#define PMH_RANK_VARIABLES "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"

/* The values as text, from the environment or the defaults. All are as they should be, so they can be read
 * without care. */
struct pmh_settings {
#define PMH_FIELD(field, name, kind, initial, argument, help) const char *field;
	PMH_SETTINGS(PMH_FIELD)
#undef PMH_FIELD
};

/*
 * Reads all settings. The values are copied to `room`, because a program may overwrite its environment; in so
 * many bytes each fits. `complain`, if not NULL, is called with a sentence for each text that is not a value
 * and for each variable that looks like a setting and is none. Allocates nothing, is not for two threads at
 * once.
 */
#define PMH_SETTINGS_BYTES 8192
void pmh_settings_read(struct pmh_settings *settings, char room[PMH_SETTINGS_BYTES],
	void (*complain)(const char *sentence, void *data), void *data);

/* PMHOOK_WINDOW: iterations A-B, or A alone; and the number after signal:NAME. False, 0: it is not that. */
bool pmh_window_iterations(const char *window, unsigned *first, unsigned *last);
int pmh_window_signal(const char *window);

#endif
