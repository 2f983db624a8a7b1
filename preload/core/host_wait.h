/*
 * How long the process's threads waited for a processor, against how long they ran: whether the host was
 * shared, so that a comparison of two runs knows whose time it measures. Written to the trace as a note at
 * the process's end.
 */
#ifndef HOST_WAIT_H
#define HOST_WAIT_H

/* Inside pmh_run_on_own_stack, before the trace is closed. Of threads that are there then; nothing where the
 * kernel does not count it (CONFIG_SCHED_INFO). */
void pmh_host_wait_note(void);

#endif
