/*
 * NVTX 3 from the side of a tool, as far as it is used here. Each library that uses NVTX carries it whole; at its first
 * call it loads what NVTX_INJECTION64_PATH names and calls InitializeInjectionNvtx2 with a function that hands out its
 * tables. A tool writes its own functions there. tests/nvtx_layout.c holds this against the vendor's headers where
 * there are any.
 */
#ifndef NVTX_ABI_H
#define NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#define NVTX_TABLE_CALLBACKS 1u /* asked of nvtx_tables: struct nvtx_callbacks */

/* The tables of functions, each an array of places where a function's address is kept, by the numbers below; a place
 * may be NULL. The result is not 0 where there is the table; its length is that of the highest number, and one more. */
enum nvtx_module { NVTX_MODULE_CORE = 1, NVTX_MODULE_DOMAINS = 5 };
typedef void (*nvtx_function)(void);
typedef int (*nvtx_module_table)(int module, nvtx_function ***places, unsigned *place_count);
struct nvtx_callbacks {
	size_t byte_count; /* of this */
	nvtx_module_table table;
};
typedef const void *(*nvtx_tables)(uint32_t which);

enum nvtx_core {
	NVTX_RANGE_START_EX = 4,
	NVTX_RANGE_START_A = 5,
	NVTX_RANGE_START_W = 6,
	NVTX_RANGE_END = 7,
	NVTX_RANGE_PUSH_EX = 8,
	NVTX_RANGE_PUSH_A = 9,
	NVTX_RANGE_PUSH_W = 10,
	NVTX_RANGE_POP = 11,
};
enum nvtx_domains {
	NVTX_DOMAIN_RANGE_START_EX = 2,
	NVTX_DOMAIN_RANGE_END = 3,
	NVTX_DOMAIN_RANGE_PUSH_EX = 4,
	NVTX_DOMAIN_RANGE_POP = 5,
	NVTX_DOMAIN_REGISTER_STRING_A = 10,
	NVTX_DOMAIN_REGISTER_STRING_W = 11,
	NVTX_DOMAIN_CREATE_A = 12,
	NVTX_DOMAIN_CREATE_W = 13,
};

/* What the tool makes of a domain and of a registered string; opaque to the program. NULL: the default domain. */
struct nvtx_domain;
struct nvtx_string;

/* What a range is given beside its domain. */
enum nvtx_color_type { NVTX_COLOR_IS_ARGB = 1 };
enum nvtx_message_type { NVTX_MESSAGE_ASCII = 1, NVTX_MESSAGE_WIDE = 2, NVTX_MESSAGE_REGISTERED = 3 };
struct nvtx_attributes {
	uint16_t version;
	uint16_t byte_count; /* of this: later versions are longer */
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t reserved;
	uint64_t payload;
	int32_t message_type;
	union {
		const char *ascii;
		const wchar_t *wide;
		const struct nvtx_string *registered;
	} message;
};

/* What push and pop answer where nobody counts their depth. */
#define NVTX_NO_DEPTH (-2)

#endif
