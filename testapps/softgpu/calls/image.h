/*
 * Code that the program registers or loads, and what is in it of a kernel: its parameters. Read when they are
 * first asked for. Any thread.
 */
#ifndef SG_IMAGE_H
#define SG_IMAGE_H

#include "fatbin.h"

/* Stays for as long as the process lives, as the kernels do that point to it. */
struct sg_image;

/*
 * An image at an address: a cubin, a fatbin, or what the compiler wraps around that. NULL: it is none of
 * them, or there is no memory. `copy`: the caller may free it before the image is closed.
 */
struct sg_image *sg_image_open(const void *data, int copy);
struct sg_image *sg_image_open_file(const char *path);

/* Nothing more is read of it; what was read stays. NULL is allowed. */
void sg_image_close(struct sg_image *image);

/* The parameters of a kernel in order, for as long as the process lives. NULL: not known. */
const struct sg_param *sg_image_params(struct sg_image *image, const char *name, size_t *count);

/* What a variable of the image holds at first (NULL: zeros), and its bytes; until the image is closed.
 * 0: there is no such variable. */
int sg_image_variable(struct sg_image *image, const char *name, const void **content, size_t *size_bytes);

#endif
