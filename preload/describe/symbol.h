/*
 * Functions by name: the program's own, from the symbol table of its file, which the dynamic linker does not
 * load; and what libraries export, as dladdr would find it, which reads all of a library's symbols each time.
 */
#ifndef SYMBOL_H
#define SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The name of the function at an address; `base` is where the program's first page is mapped. False: none.
 * Inside pmh_run_on_own_stack. */
bool pmh_program_symbol(uint64_t address, uint64_t base, char *name, size_t name_bytes);

/*
 * The name of the exported function at an address in the library of a struct link_map, which is not unloaded
 * meanwhile. True and "": it exports none that lies there. False: it is not known, ask dladdr. The library's
 * symbols are sorted at the first question. Inside pmh_run_on_own_stack.
 */
bool pmh_exported_symbol(const void *map, uint64_t address, char *name, size_t name_bytes);

/* In a child after fork. */
void pmh_symbol_forget(void);

#endif
