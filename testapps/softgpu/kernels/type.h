/* Types of elements: how mangled names spell them, and values of them. */
#ifndef SG_TYPE_H
#define SG_TYPE_H

#include <stddef.h>

/* The numbers are those of PyTorch's c10::ScalarType, which kernels get as arguments. */
enum sg_type {
	SG_NO_TYPE = -1,
	SG_BYTE,
	SG_CHAR,
	SG_SHORT,
	SG_INT,
	SG_LONG,
	SG_HALF,
	SG_FLOAT,
	SG_DOUBLE,
	SG_BOOL = 11,
	SG_BFLOAT = 15
};

/* 0: none that twins compute with. */
size_t sg_type_size(enum sg_type type);

/*
 * The type spelt at *at, after which *at then stands. A substitution (S1_) means `before`, the type that was
 * spelt last.
 */
enum sg_type sg_type_read(const char **at, enum sg_type before);
/* Bytes of the type spelt at *at, also of an unsigned one; as above, 0: it is none. */
size_t sg_type_read_size(const char **at, size_t before);
/* The type after the first `text` in a name. */
enum sg_type sg_type_after(const char *name, const char *text);

/* A long double holds every value of these types exactly. */
long double sg_type_load(enum sg_type type, const void *from);
void sg_type_store(enum sg_type type, void *to, long double value);

#endif
