/* Between the files of hang/. */
#ifndef ANALYSES_HANG_HANG_PRIVATE_H
#define ANALYSES_HANG_HANG_PRIVATE_H

#include "hang.h"

/* What an operation is, the same on all ranks that take part in one collective. */
uint64_t hang_signature(const struct trace *trace, uint32_t op);

/*
 * The first place, of those that are kept, at which the members of a group have entered different
 * collectives. false: there is none.
 */
struct hang_difference {
	const struct hang_group *group;
	uint64_t ordinal;
	uint64_t usual;       /* signature of most of them; 0: there are not most */
	uint64_t *signatures; /* by member, 0: not known; in the arena */
};
bool hang_differ(struct hang *hang, const struct hang_group *group, struct hang_difference *difference);

/* The operation of a member's collective with this ordinal, NULL: it is not kept, or there is none. */
const struct standing_entry *hang_collective(const struct hang_member *member, uint64_t ordinal);

/*
 * The ranks that left the order of their calls: in whose last communication there is a call that is not the
 * one which followed the same calls before. That is what a rank shows that took another way through its
 * program than in earlier iterations. Only as far back as needed to find one: what lies before did no harm.
 * False: none did, or most of `among`, or others not much before; then `odd` (by rank, as `among`) says
 * nothing.
 */
bool hang_find_odd(struct hang *hang, const bool *among, bool *odd);

/*
 * A rank that has left out steps, by what two members of a group did before each of their collectives up to
 * `last`: where one's calls are the other's of some steps later. Whether one left something out or the other
 * did more is the same to see.
 */
struct hang_shift {
	size_t rank, other; /* who has fewer steps than whom */
	unsigned steps;
	uint64_t from, to;           /* collectives, between which it began */
	uint64_t from_step, to_step; /* likewise, from 1; 0: not known */
};
bool hang_find_shift(struct hang *hang, const struct hang_member *one, const struct hang_member *other,
	uint64_t last, struct hang_shift *shift);

/* How many whole steps two members have made, and the same in each, where `other` goes on with one more of
 * them at this collective, as which `one` has entered something else; 0: not known, or what they made
 * differs. */
uint64_t hang_common_steps(
	struct hang *hang, const struct hang_member *one, const struct hang_member *other, uint64_t ordinal);
const char *hang_shift_words(
	struct hang *hang, const struct hang_shift *shift); /* "1 step fewer than rank 0 since step 23" */

enum hang_wait_kind { HANG_WAIT_COLLECTIVE, HANG_WAIT_SEND, HANG_WAIT_RECEIVE, HANG_WAIT_JOIN };

/* One rank waits for another. */
struct hang_wait {
	size_t from, to; /* ranks */
	enum hang_wait_kind kind;
	const struct hang_group *group; /* NULL: a communicator that is being made */
	uint64_t ordinal;               /* of what the other has not entered, from 1 */
	uint32_t op;                    /* of the waiting rank; 0: not known */
	int64_t since_ns;               /* CLOCK_REALTIME */
};

struct hang_waits {
	struct hang_wait *items;
	size_t count, room;
	/* by rank: the oldest wait of it, and for it; NULL: it does not wait, and is not waited for */
	const struct hang_wait **first_of, **first_for;
};

void hang_waits_find(const struct hang *hang, struct hang_waits *waits);
void hang_waits_free(struct hang_waits *waits);

/* Of a job that is over: concludes that one rank ended before the others, where the times of the last calls
 * say so and it is not the only one of `roots`, for whom others wait. False: they do not. */
bool hang_find_first(struct hang *hang, const struct hang_waits *waits, const size_t *roots, size_t count);

/* What a rank is at, and as words that follow its name, in the past of a job that is over. */
enum hang_class hang_class_of(const struct hang *hang, const struct hang_rank *rank);
bool hang_is_definite(enum hang_class class); /* it does not come back */
const char *hang_class_words(enum hang_class class, bool past);
const char *hang_culprit_sentence(
	struct hang *hang, size_t number, enum hang_class class, const struct hang_wait *wait);

/* Of a job that is over: what is not known of its end. A sentence. */
const char *hang_after_the_end(const struct hang *hang);

/* The longest pause between two collectives that is known of the ranks of a group, or of all (NULL). */
double hang_longest_pause(const struct hang *hang, const struct hang_group *only);

/* Conclusion: all processes are stopped, as a scheduler or Ctrl-Z does with a job. False: they are not. */
bool hang_find_suspended(struct hang *hang);

/* Conclusions: of a job in which nobody waits for another. */
void hang_find_alone(struct hang *hang, int64_t patience_ns);

/* Conclusions: of a group whose members differ, and of ranks that all wait for another one. */
void hang_find_different(struct hang *hang, const struct hang_difference *difference);
void hang_find_order(struct hang *hang, const struct hang_waits *waits, int64_t patience_ns);

void hang_free_rank(struct hang_rank *rank);

/* Leaves out the processes of earlier attempts of the job. The ranks are in order. */
void hang_attempts(struct hang *hang);

/* Of a job whose processes have all ended: whether its launcher may start it again. */
bool hang_is_between_attempts(const struct hang *hang);
const char *hang_attempt_words(struct hang *hang); /* "attempt 2 of at most 4" */
const char *hang_earlier_words(struct hang *hang); /* a sentence on those that are left out, or NULL */

/* Which ranks have no trace. */
void hang_find_absent(struct hang *hang);         /* after the groups are known */
const char *hang_absent_words(struct hang *hang); /* "rank 0", "ranks 1-5 and 7" */
bool hang_waits_for_absent(struct hang *hang, int64_t patience_ns);

/* Looks for a moment at the processes of those ranks of the list that run on this host and make no call:
 * their progress. */
void hang_look_at(struct hang *hang, const size_t *ranks, size_t count);

/* So much of a processor's time, or so many bytes, as one that merely waits does not take. */
bool hang_progress_is_work(const struct hang_progress *progress);

/* Those of the list that have made a call not long ago, which was no communication: they work. */
void hang_find_calls(struct hang *hang, const size_t *ranks, size_t count, int64_t patience_ns);
const char *hang_progress_words(struct hang *hang, const struct hang_progress *progress); /* follows "and " */

bool hang_any_works(const struct hang *hang); /* of the culprits, as far as they were looked at */
void hang_add_progress(struct hang *hang);    /* to their sentences */

/*
 * What the rank's thread is at outside of all recorded calls, as the system says now, to follow its name: "is
 * in read of /data/a (descriptor 7)"; NULL: it does not say. And the command that says more, a sentence
 * without a stop.
 */
const char *hang_where(struct hang *hang, struct hang_rank *rank);
const char *hang_look_further(struct hang *hang, const struct hang_rank *rank);

/* Reads where the threads of a rank of this host are in Python, once. And of one of them, NULL: not known. */
void hang_read_stacks(struct hang *hang, struct hang_rank *rank);
const char *hang_python(const struct hang_rank *rank, uint32_t tid);

/* /proc/PID/stat from the state letter on, in `text`; NULL: there is no such process. "PID/task/TID": of a
 * thread. */
char *hang_process_stat(const char *pid, char *text, size_t text_bytes);

/* Whether the system runs the process that writes this trace. */
enum hang_process hang_process_of(const struct trace *trace);

/* Whether the launcher of the process is of this host, and still runs. */
bool hang_launcher_runs(const struct trace *trace, uint32_t launcher);

/* Sentences and parts of them, in the arena. Places are of the ranks' own traces. */
const char *hang_duration(struct hang *hang, double ns);
const char *hang_age(struct hang *hang, int64_t real_ns); /* the duration since then */
const char *hang_place(
	struct hang *hang, const struct trace *trace, uint32_t op); /* " (net.fc1, train.py:12)", or "" */
const char *hang_call(struct hang *hang, const struct trace *trace, uint32_t op);
const char *hang_state(struct hang *hang, const struct hang_rank *rank); /* "has been in ... for 12.3 s" */
const char *hang_communicator(struct hang *hang, const struct hang_group *group);
const char *hang_missing(struct hang *hang, const struct hang_wait *wait); /* follows "has not " */
const char *hang_capital(struct hang *hang, const char *text);

/* The conclusion is put down by these. The sentence lives in the arena. */
void hang_add_culprit(struct hang *hang, size_t rank, const char *sentence);
void hang_add_state(struct hang *hang, size_t rank); /* with what the rank's thread is at */
const char *hang_culprits(struct hang *hang);        /* "ranks 1 and 2" */
void hang_conclude(
	struct hang *hang, enum hang_class class, enum hang_strength strength, const char *headline);

#endif
