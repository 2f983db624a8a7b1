/*
 * The distinct texts of NVTX ranges, and their domains. They are kept from the first on, before the process records,
 * and get their number in a trace when one is written. Any thread; errno stays. What is new takes a lock.
 */
#ifndef NVTX_NAME_H
#define NVTX_NAME_H

#include <stdint.h>
#include <wchar.h>

#include "nvtx_abi.h"

/* A text with its domain, and the colour that it came with first. 0: none, there are too many (counted), or it is one
 * of those that are not recorded: XLA's passes, of which there are thousands while it compiles. */
typedef uint16_t pmh_nvtx_name;
pmh_nvtx_name pmh_nvtx_name_of(unsigned domain, uint32_t color, const char *text);
pmh_nvtx_name pmh_nvtx_name_of_wide(unsigned domain, uint32_t color, const wchar_t *text);

/* The same of a text that ranges may come to have, as a handle of the program's; it is one of the names when the first
 * does. A handle that we did not give is no name. */
const struct nvtx_string *pmh_nvtx_register(unsigned domain, const char *text);
const struct nvtx_string *pmh_nvtx_register_wide(unsigned domain, const wchar_t *text);
pmh_nvtx_name pmh_nvtx_name_of_handle(const struct nvtx_string *handle);

/* The number of the name's PM_ENTRY_RANGE, 0: there is no room for it. While the process records. */
uint32_t pmh_nvtx_number(pmh_nvtx_name name);

/* A domain, from 0, the default one; those that there are too many of are one. A handle that we did not give is the
 * default domain's. */
struct nvtx_domain *pmh_nvtx_domain_of(const char *text);
struct nvtx_domain *pmh_nvtx_domain_of_wide(const wchar_t *text);
unsigned pmh_nvtx_domain_number(const struct nvtx_domain *domain);
const struct nvtx_domain *pmh_nvtx_domain(unsigned number);

/* In a child after fork: its trace has none of them yet. */
void pmh_nvtx_names_forget(void);

#endif
