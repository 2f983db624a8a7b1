/*
 * JAX's compiler: programs that XLA compiles, or loads from its cache, are read as it has them then, through
 * the interface that JAX itself uses (PJRT's, in C), and their instructions written to the trace.
 */
#ifndef PJRT_H
#define PJRT_H

/*
 * In place of a plugin's function GetPjrtApi that a look-up has found: one that answers the plugin's table
 * with two functions exchanged. `found` itself where that cannot be: of a second plugin. Allocates nothing
 * and calls nothing of libc's.
 */
#define PMH_PJRT_NAME "GetPjrtApi"
void *pmh_pjrt_exchanged(void *found);

/* In a child after fork. */
void pmh_pjrt_forget(void);

#endif
