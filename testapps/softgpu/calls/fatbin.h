/*
 * Kernels' parameters and variables, read from the code that nvcc puts into programs: a cubin (an ELF file),
 * or a fatbin that holds one for each architecture, each as it is, LZ4 or zstd.
 *
 * Nothing in an image is believed: what lies beyond its end, or contradicts itself, is as if it were not
 * there.
 */
#ifndef SG_FATBIN_H
#define SG_FATBIN_H

#include <stddef.h>
#include <stdint.h>

struct sg_param {
	uint16_t offset, size_bytes; /* in the arguments as the kernel sees them */
};

/* The bytes of the image at this address, by what it says of itself; 0: it is none of these. */
size_t sg_image_bytes(const void *image);

/*
 * Calls `take` for each kernel of the image's best code for an architecture (90: sm_90): its own, else the
 * latest before it, else any, for parameters rarely depend on it. The parameters are in order; the name and
 * they are gone after the call. Nothing for an image that is damaged, or whose compression is not known.
 */
typedef void sg_take_kernel(void *data, const char *name, const struct sg_param *params, size_t count);
/* The same for each variable: what it holds at first (NULL: zeros), gone after the call too. */
typedef void sg_take_variable(void *data, const char *name, const void *content, size_t size_bytes);
void sg_image_read(const void *image, size_t image_bytes, unsigned architecture, sg_take_kernel *take_kernel,
	sg_take_variable *take_variable, void *data);

#endif
