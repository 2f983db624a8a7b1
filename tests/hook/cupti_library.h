/* What cupti_host and its library share. */
#ifndef CUPTI_LIBRARY_H
#define CUPTI_LIBRARY_H

#define LIBRARY_KERNELS 3 /* of one call */

extern __attribute__((visibility("default")))
const char kernel_spin; /* the application's, registered there */

#endif
