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
 * those of the argument, a NUMBER has digits alone, PERMISSIONS are octal. What is not a value is told, and
 * the default is taken.
 */
#define PMH_SETTINGS(X) \
	X(out, "PMHOOK_OUT", FOLDER, ".", "DIR", \
		"folder for the traces, one file NAME.RANK.pmtrace a process") \
	X(mode, "PMHOOK_MODE", WORDS, "full", "full|count|off", \
		"full: write a trace; count: count the calls, write nothing; off: only pass calls on") \
	X(device, "PMHOOK_DEVICE", WORDS, "auto", "auto|cupti|events|none", \
		"device time by kernel (CUPTI), by call (CUDA events) or none; auto: CUPTI if it is free, else events") \
	X(window, "PMHOOK_WINDOW", WINDOW, "all", "all|A-B|profiler|signal:NAME", \
		"what is recorded: all; iterations A to B, counted from 1 by the repetition of the calls (A from about 10 on: " \
		"the first ones show what repeats); between the program's profiler start and stop; from a signal " \
		"(USR1, USR2, PROF, WINCH) to the next") \
	X(files, "PMHOOK_FILES", WORDS, "on", "on|off", "record file input (open, read, fread, mmap, ...)") \
	X(site_depth, "PMHOOK_SITE_DEPTH", NUMBER, "6", "FRAMES", \
		"callers kept of each distinct operation; 0: do not look at the stack") \
	X(python, "PMHOOK_PYTHON", WORDS, "on", "on|off", \
		"in a Python process, name each operation's nn.Module and its callers") \
	X(max_mb, "PMHOOK_MAX_MB", NUMBER, "4096", "MB", \
		"size at which a trace stops growing; what is lost is counted; 0: no limit") \
	X(file_mode, "PMHOOK_FILE_MODE", PERMISSIONS, "0600", "OCTAL", \
		"permissions of a new trace, before the umask; its owner needs to read and write") \
	X(verbose, "PMHOOK_VERBOSE", WORDS, "off", "on|off", \
		"one line on standard error at exit: records, losses, file") \
	X(strict, "PMHOOK_STRICT", WORDS, "off", "on|off", \
		"abort on trouble inside the hook (for the hook's own tests)")

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

/* PMHOOK_WINDOW: iterations A-B, or A alone; and the number behind signal:NAME. False, 0: it is not that. */
bool pmh_window_iterations(const char *window, unsigned *first, unsigned *last);
int pmh_window_signal(const char *window);

#endif
