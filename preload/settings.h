/*
 * Every setting of the hook: an environment variable, its default, and what it does. The hook reads them
 * here, once; `pmrun --help` prints them from here; nothing else of the project is set by the environment.
 */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdint.h>

/* X(field, NAME, default, argument, help). Numbers and words alike; the hook takes what it cannot read for
 * the default. */
#define PMH_SETTINGS(X) \
	X(out, "PMHOOK_OUT", ".", "DIR", "folder for the traces, one file NAME.RANK.pmtrace a process") \
	X(mode, "PMHOOK_MODE", "full", "full|count|off", \
		"full: write a trace; count: count the calls, write nothing; off: only pass calls on") \
	X(device, "PMHOOK_DEVICE", "auto", "auto|cupti|events|none", \
		"device time by kernel (CUPTI), by call (CUDA events) or none; auto: CUPTI if it is free, else events") \
	X(window, "PMHOOK_WINDOW", "all", "all|A-B|profiler|signal:NAME", \
		"what is recorded: all; iterations A to B, counted from 1 by the repetition of the calls (A from about 10 on: " \
		"the first ones show what repeats); between the program's profiler start and stop; from a signal " \
		"(USR1, USR2, PROF, WINCH) to the next") \
	X(files, "PMHOOK_FILES", "on", "on|off", "record file input (open, read, fread, mmap, ...)") \
	X(site_depth, "PMHOOK_SITE_DEPTH", "6", "FRAMES", \
		"callers kept of each distinct operation; 0: do not look at the stack") \
	X(python, "PMHOOK_PYTHON", "on", "on|off", \
		"in a Python process, name each operation's nn.Module and its callers") \
	X(max_mb, "PMHOOK_MAX_MB", "4096", "MB", \
		"size at which a trace stops growing; what is lost is counted") \
	X(verbose, "PMHOOK_VERBOSE", "off", "on|off", \
		"one line on standard error at exit: records, losses, file") \
	X(strict, "PMHOOK_STRICT", "off", "on|off", \
		"abort on trouble inside the hook (for the hook's own tests)")

/* Where launchers say which rank a process is: torchrun, Open MPI, MPICH and Intel MPI, Slurm. */
#define PMH_RANK_VARIABLES "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"

/* The values as text, from the environment or the defaults. */
struct pmh_settings {
#define PMH_FIELD(field, name, initial, argument, help) const char *field;
	PMH_SETTINGS(PMH_FIELD)
#undef PMH_FIELD
};

#endif
