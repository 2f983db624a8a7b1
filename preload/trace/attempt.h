/*
 * Which attempt of its job a process belongs to, as its launcher says: the note "attempt: ...".
 */
#ifndef ATTEMPT_H
#define ATTEMPT_H

/*
 * Leaves the note in the trace, if the launcher says that it starts a job again (torchrun, Slurm):
 *
 *     attempt: restart=1 restarts=3 launcher=4711 job=17
 *
 * restart counts from 0; `restarts` is the most that there will be, `launcher` the process of this host that
 * starts the ranks, `job` the name of the job: each only where it is known. Once a process, under the lock of
 * the decision (core/process.c).
 */
void pmh_attempt_note(void);

#endif
