/*
 * The process: its decision to record, and its end.
 */
#ifndef PROCESS_H
#define PROCESS_H

/* First hooked call of the process, or of the child after fork: reads the settings, opens the trace. At
 * depth 1. */
void pmh_activate(void);

/* Runs pmh_finish at exit before the libraries that are in use by now take themselves down. */
void pmh_finish_at_exit(void);

#endif
