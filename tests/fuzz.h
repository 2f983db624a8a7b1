/*
 * Fuzz targets: each is one reader, on bytes that may be anything. With clang and -DPM_FUZZ=ON they are
 * libFuzzer's programs; else fuzz_main.c runs them once for each file that is named.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file with these bytes, for readers that want a path. It lives until the next call. */
const char *fuzz_file(const uint8_t *data, size_t size);

#endif
