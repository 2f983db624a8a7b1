/*
 * Kernels' names and parameters. Any thread.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <stdint.h>

#include "layout.h"

/* Kernels by the address that the application launches them with; the name must stay where it is. */
void pmh_kernel_named(const void *function, const char *name);
uint32_t pmh_kernel_name(const void *function); /* number of a string, 0: not known */

/* The same for handles of functions: the name need not stay; a second handle may mean the same function. */
void pmh_function_named(const void *function, const char *name, enum pmh_function kind);
void pmh_function_same(const void *function, const void *as, enum pmh_function kind);
void pmh_kernel_forget(void);

/* Where the arguments are of what is launched by this address or handle. NULL, or one without parameters: not
 * known. */
const struct pmh_layout *pmh_kernel_layout(const void *function);

#endif
