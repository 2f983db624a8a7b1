/*
 * Whether this process records. Decided at the first call of a hooked library (core/process.c); any thread
 * may read it.
 */
#ifndef STATE_H
#define STATE_H

#include <stdatomic.h>

enum pmh_state {
	PMH_UNDECIDED, /* no call to a hooked library yet; also after fork, in the child */
	PMH_RECORDING,
	PMH_COUNTING,
	PMH_OFF,
};

/* Read with acquire: the settings, the clock and whatever else was decided come with it. */
extern _Atomic int pmh_state;

/* Has the kernel make the state PMH_UNDECIDED in every child, however it is made. */
void pmh_state_wipe_on_fork(void);

#endif
