/* What libcudart and libcuda agree on about looking up the driver's functions by name. */
#ifndef SG_DRIVER_H
#define SG_DRIVER_H

/* The vendor's flags of such a look-up. */
enum { SG_DRIVER_DEFAULT, SG_DRIVER_LEGACY, SG_DRIVER_PER_THREAD };

/* What *status says, by the vendor's numbers. */
enum { SG_DRIVER_FOUND, SG_DRIVER_UNKNOWN, SG_DRIVER_TOO_OLD };

/*
 * The function of libcuda.so.1 that a base name ("cuMemAlloc") means for a program built for that version of
 * CUDA (13000: 13.0), in the form for per-thread default streams if there is one and it is asked for. NULL:
 * *status says why. Exported by libcuda.so.1 under the name sg_driver_find.
 */
typedef void *sg_driver_lookup(const char *name, int version, int per_thread, int *status);

#endif
