/*
 * What header-only NVTX 3 is in a program: functions that do nothing until a tool has put its own there, which is looked
 * for at load. The layouts are written down here once more, apart from the hook's.
 */
#ifndef NVTX_LOADER_H
#define NVTX_LOADER_H

#include <stdint.h>
#include <wchar.h>

struct attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	const void *message;
};

/* Of domains: NULL is the default one. Without a tool push and pop are -2, start is 0, and handles are NULL. */
int nvtx_push(const char *text);
int nvtx_push_wide(const wchar_t *text);
int nvtx_push_with(void *domain, const struct attributes *attributes);
int nvtx_pop(void);
int nvtx_pop_of(void *domain);
uint64_t nvtx_start(const char *text);
void nvtx_end(uint64_t id);
void *nvtx_domain(const char *text);
void *nvtx_register(void *domain, const char *text);

/* Looks for the tool; whether one has come. */
int nvtx_load(void);

#endif
