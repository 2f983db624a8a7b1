/* The program's own functions by name, from the symbol table of its file, which the dynamic linker does not
 * load. */
#ifndef SYMBOL_H
#define SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The name of the function at an address; `base` is where the program's first page is mapped. False: none.
 * Inside pmh_rarely. */
bool pmh_program_symbol(uint64_t address, uint64_t base, char *name, size_t name_bytes);

/* In a child after fork. */
void pmh_symbol_forget(void);

#endif
