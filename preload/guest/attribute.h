/*
 * Attributes of functions: those that programs find in place of the vendor's and libc's, and those that are
 * compiled into each wrapper.
 */
#ifndef ATTRIBUTE_H
#define ATTRIBUTE_H

#define PMH_EXPORT __attribute__((visibility("default")))
#define PMH_INLINE static inline __attribute__((always_inline))

#endif
