/*
 * TensorFlow's operations, as ranges of NVTX.
 */
#ifndef TENSORFLOW_H
#define TENSORFLOW_H

/* Once TensorFlow, or what is built of the same sources (XLA), has attached NVTX: its domain is made. Looks
 * for TensorFlow's library and has its executor say each operation, unless the settings are against it. Takes
 * the loader's lock. */
#define PMH_TENSORFLOW_DOMAIN "TSL"
void pmh_tensorflow_begin(void);

/* When recording begins: a note whether operations are recorded, if the above has been called. */
void pmh_tensorflow_note(void);

#endif
