/* What the parts of pmrun share: its command line (options.c), folders and paths (pmrun.c), starting and
 * watching ranks (ranks.c), and the demonstration (demo.c). */
#ifndef PMRUN_H
#define PMRUN_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PMRUN_RANKS 1024

struct pmrun_options {
	int ranks; /* 0: one process, and nothing said of ranks */
	char *output;
	bool made_output; /* the folder was not there before */
	bool softgpu;
	bool quiet;
	bool prefix; /* the ranks' lines begin with their rank */
	bool demo, demo_html;
	bool launched; /* one process of a launcher's job, as this rank */
	int rank;
	int grace_seconds;
	int hang_after;          /* seconds; 0: the job is not watched */
	bool hang_end;           /* a job that cannot go on is ended */
	double hang_end_minutes; /* and one that has probably hung for so long; 0: never */
	char **command;
};

/* Fills in the options, after their defaults, from the command line, and SOFTGPU_PROFILE in the environment.
 * Ends the program after --help and the like, and with status 2 for an invalid option. */
void pmrun_parse(int argument_count, char **arguments, struct pmrun_options *options);

/* The path of libpmhook.so, of PATH_MAX bytes; exits where there is none. */
void pmrun_find_hook(char *found);
void pmrun_print_versions(void);

/* The processes below ranks (pid 0: none), of the same session, are listed; and those that still run are
 * killed. */
void pmrun_list_below(const pid_t *pids, int count);
void pmrun_kill_below(void);

/* Is the process one of these (pid 0: none), or below one? */
bool pmrun_is_below(pid_t pid, const pid_t *pids, int count);

/* Prints where each thread of a process is in Python, "TID: innermost < caller < ...". NULL, or why that
 * cannot be read; some lines may have been written then. */
const char *pmrun_write_stacks(int pid, FILE *out);

/*
 * Keeps beside the traces where ranks that have made no call for half of --hang-after are in Python, without
 * waiting; and, when the job has ended, takes it away from those that have ended in order.
 */
void pmrun_keep_stacks(const struct pmrun_options *options, const pid_t *pids, int count, double now);
void pmrun_keep_end(const struct pmrun_options *options);

/* The traces in a folder. */
struct pmrun_traces {
	int files;
	int unreadable;
	uint64_t size_bytes;
	uint64_t lost_records;
	int unfinished; /* without a footer: their process was killed */
};
struct pmrun_traces pmrun_traces(const char *path);

/*
 * Runs the command, with the environment as it is, and prints the summary. Returns the exit status to hand
 * on; does not return when the command was ended by a signal.
 */
int pmrun_ranks(const struct pmrun_options *options);

/* Whether a launcher says which rank this process is. */
bool pmrun_launched(int *rank);
/* A name that the job's processes have in common, fit for a file's name; false where the launcher gives none.
 */
bool pmrun_launched_job(char *name, size_t size);

/* The path of a program that is installed beside pmrun; exits where there is none. `found` has PATH_MAX
 * bytes. */
void pmrun_find_program(const char *name, char *found);
bool pmrun_has_program(const char *name, char *found);

/* A path as a shell takes it, in quotes where need be. `quoted` has PMRUN_QUOTED bytes. */
#define PMRUN_QUOTED (4 * PATH_MAX + 3)
void pmrun_quote(const char *path, char *quoted);

/*
 * Looks now and again, without waiting, whether the job hangs (pmanalyze hang), and prints why it does, once,
 * and again when that is surer. true: it is to be ended (hang_end, hang_end_minutes). Of a launcher's job
 * rank 0 looks.
 */
bool pmrun_hang_watch(const struct pmrun_options *options, double now);
/* The same at once, before ranks are ended; waits for it for some seconds. Prints nothing if nobody waits for
 * another, or if the last look has said who. */
void pmrun_hang_report(const struct pmrun_options *options);
/* Ends a look that is under way; the report of the one before stays. */
void pmrun_hang_end(const struct pmrun_options *options);

/* Columns of what pmrun says to people: the terminal's, 80 at most. */
int pmrun_help_width(void);

/* `pmrun demo`: fills in the options and the environment, prints what is about to be done, and, after the
 * run, what came of it. */
void pmrun_demo_prepare(struct pmrun_options *options);
void pmrun_demo_begin(const struct pmrun_options *options);
void pmrun_demo_end(const struct pmrun_options *options);

#endif
