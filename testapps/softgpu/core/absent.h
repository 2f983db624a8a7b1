/*
 * Functions of the vendor's that softgpu does not have: they exist, so that a program that is bound at load
 * binds, and say that they are not supported. Includes no vendor header: these definitions have no
 * parameters.
 */
#ifndef SG_ABSENT_H
#define SG_ABSENT_H

/* Says on stderr, at the first call of each function, that `name` is not supported. SOFTGPU_ABSENT=off: says
 * nothing. Any thread. */
void sg_absent(const char *name, _Atomic int *said);

#endif
