/*
 * TensorFlow's operations, as ranges of NVTX.
 */
#ifndef TENSORFLOW_H
#define TENSORFLOW_H

#define PMH_TENSORFLOW_DOMAIN "TSL" /* of TensorFlow, and of XLA, which has the same sources */

/* The domain is made. Looks for TensorFlow's library and has its executor say each operation, unless the
 * settings are against it. Takes the loader's lock. */
void pmh_tensorflow_begin(void);

/* When recording begins: a note whether operations are recorded, if the above has been called. */
void pmh_tensorflow_note(void);

#endif
