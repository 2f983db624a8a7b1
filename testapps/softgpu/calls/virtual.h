/*
 * Memory whose addresses and contents are had apart: reserving a range, creating memory of a device, mapping
 * one into the other. Any thread.
 */
#ifndef SG_VIRTUAL_H
#define SG_VIRTUAL_H

#include "calls.h"

#define SG_GRANULARITY ((size_t)2 << 20) /* of sizes and addresses */

/* A range of addresses, a block of device memory from now on; and its end, when nothing is mapped there:
 * cudaErrorInvalidValue. */
cudaError_t sg_range_reserve(void **address, size_t size_bytes);
cudaError_t sg_range_free(void *address, size_t size_bytes);

/* Memory of a device without an address: a handle, counted against the device's memory until its last
 * reference and mapping are gone. `described` are bytes of the caller's, kept. */
#define SG_DESCRIBED_BYTES 32
cudaError_t sg_physical_create(uint64_t *handle, size_t size_bytes, int device, const void *described);
cudaError_t sg_physical_release(uint64_t handle);
cudaError_t sg_physical_describe(uint64_t handle, void *described);
/* The handle that is mapped at an address, with one more reference. */
cudaError_t sg_physical_at(uint64_t *handle, const void *address);

cudaError_t sg_map(void *address, size_t size_bytes, uint64_t handle);
/* Unmaps all that lies in the range, and forgets its contents. */
cudaError_t sg_unmap(void *address, size_t size_bytes);

#endif
