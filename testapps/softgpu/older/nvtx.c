/*
 * libnvToolsExt.so.1, to which PyTorch 2.4 is bound: ranges and marks for a tool that listens. None does, so these
 * answer as the vendor's do then. Later programs have them in their headers.
 */
#include <stddef.h>
#include <stdint.h>

/* What a range's depth is where nobody counts it. */
#define NOT_TRACKED (-2)

int nvtxRangePushA(const char *message);
int nvtxRangePushW(const wchar_t *message);
int nvtxRangePushEx(const void *attributes);
int nvtxRangePop(void);
uint64_t nvtxRangeStartA(const char *message);
uint64_t nvtxRangeStartW(const wchar_t *message);
uint64_t nvtxRangeStartEx(const void *attributes);
void nvtxRangeEnd(uint64_t range);
void nvtxMarkA(const char *message);
void nvtxMarkW(const wchar_t *message);
void nvtxMarkEx(const void *attributes);
void nvtxNameOsThreadA(uint32_t thread, const char *name);
void nvtxNameOsThreadW(uint32_t thread, const wchar_t *name);

int nvtxRangePushA(const char *message)
{
	(void)message;
	return NOT_TRACKED;
}

int nvtxRangePushW(const wchar_t *message)
{
	(void)message;
	return NOT_TRACKED;
}

int nvtxRangePushEx(const void *attributes)
{
	(void)attributes;
	return NOT_TRACKED;
}

int nvtxRangePop(void)
{
	return NOT_TRACKED;
}

uint64_t nvtxRangeStartA(const char *message)
{
	(void)message;
	return 0;
}

uint64_t nvtxRangeStartW(const wchar_t *message)
{
	(void)message;
	return 0;
}

uint64_t nvtxRangeStartEx(const void *attributes)
{
	(void)attributes;
	return 0;
}

void nvtxRangeEnd(uint64_t range)
{
	(void)range;
}

void nvtxMarkA(const char *message)
{
	(void)message;
}

void nvtxMarkW(const wchar_t *message)
{
	(void)message;
}

void nvtxMarkEx(const void *attributes)
{
	(void)attributes;
}

void nvtxNameOsThreadA(uint32_t thread, const char *name)
{
	(void)thread, (void)name;
}

void nvtxNameOsThreadW(uint32_t thread, const wchar_t *name)
{
	(void)thread, (void)name;
}
