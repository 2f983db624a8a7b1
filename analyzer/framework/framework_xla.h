/*
 * What XLA says of a process's calls (JAX): the instruction that a call was made for, by XLA's own ranges
 * around it, and of a command buffer's nodes by their kernels (hlo_program.h). Inside framework.c, and for
 * what looks for iterations.
 */
#ifndef FRAMEWORK_FRAMEWORK_XLA_H
#define FRAMEWORK_FRAMEWORK_XLA_H

#include "framework.h"
#include "hlo_program.h"

struct xla;

/* NULL: no program of XLA's is known. The timeline must stay. xla_free frees it; NULL is fine. */
struct xla *xla_read(const struct timeline *timeline, const struct timeline_process *process);
void xla_free(struct xla *xla);

/* That of a framework; NULL: it has none. */
const struct xla *framework_xla(const struct framework *framework);

/* The program that a range is a run of, or is in; NULL: none that is known. */
const struct hlo_module *xla_module(const struct xla *xla, uint32_t range);

/* The range of that run, TIMELINE_NO_RANGE: none. */
uint32_t xla_run(const struct xla *xla, uint32_t range);

/* Of a call of that process which is made in a range. False: it is in no run of a program that is known.
 * Modules are as long as the xla is. */
bool xla_word(struct xla *xla, uint32_t call, uint32_t range, struct framework_word *word);

#endif
