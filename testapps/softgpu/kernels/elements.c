/*
 * Kernels that compute element by element: (int n, functor, array of pointers, ...), the first pointer being
 * the result's.
 *
 * The one idea: the functor's type names the operation, and its bytes hold the scalars, at the offsets that
 * C++ gives them.
 */
#include "rule.h"

#include <stdlib.h>
#include <string.h>

enum op { UNKNOWN, FILL, COPY, ABSOLUTE, ADD, MULTIPLY, AND, EQUAL, ORDER };
enum form { TENSORS, SCALAR_FIRST, SCALAR_LAST }; /* where an operation of two operands has its scalar */
#define OP(known) ((enum op)((known)->op & 0xff))
#define FORM(known) ((enum form)((known)->op >> 8))

/* Functors that hold an operation inside, and the operations. */
static const struct {
	const char *spelt;
	enum form form;
} wrappers[] = {
	{"13AUnaryFunctorI", SCALAR_FIRST}, {"13BUnaryFunctorI", SCALAR_LAST}, {"13BinaryFunctorI", TENSORS}};

static const struct {
	const char *spelt; /* followed by the type of its operands */
	enum op op;
} inner[] = {{"10MulFunctorI", MULTIPLY}, {"17BitwiseAndFunctorI", AND}, {"16CompareEqFunctorI", EQUAL}};

static size_t at_multiple(size_t offset, size_t of)
{
	return of > 0 ? (offset + of - 1) / of * of : offset;
}

/* Where a functor's scalar is: after the functor that it wraps, which is one number (a comparison's) or
 * empty (1 byte). */
static size_t scalar_at(const struct sg_known *known)
{
	return at_multiple(OP(known) == EQUAL || OP(known) == ORDER ? 4 : 1, sg_type_size(known->scalar));
}

static int find_wrapped(struct sg_known *known, const char *name)
{
	for (size_t i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++) {
		const char *at = strstr(name, wrappers[i].spelt);

		if (at == NULL)
			continue;
		at += strlen(wrappers[i].spelt);
		known->in = sg_type_read(&at, SG_NO_TYPE);
		sg_type_read(&at, known->in);
		known->out = sg_type_read(&at, known->in);
		for (size_t k = 0; k < sizeof(inner) / sizeof(inner[0]); k++) {
			if (strstr(at, inner[k].spelt) == NULL)
				continue;
			known->scalar = sg_type_after(at, inner[k].spelt);
			known->op = (int)inner[k].op | (int)wrappers[i].form << 8;
			known->arg_bytes[1] = wrappers[i].form == TENSORS
						      ? 4
						      : scalar_at(known) + sg_type_size(known->scalar);
			/* an empty functor has a byte */
			if (wrappers[i].form == TENSORS && inner[k].op != EQUAL)
				known->arg_bytes[1] = 1;
			return 1;
		}
		return 1;
	}
	return 0;
}

/* Functors of their own. */
static void find_plain(struct sg_known *known, const char *name)
{
	static const struct {
		const char *spelt;
		enum op op;
		enum form form;
		size_t scalars; /* in the functor; ADD: the factor, and for one tensor the other operand
				   before it */
	} plain[] = {{"11FillFunctorI", FILL, TENSORS, 1}, {"10AbsFunctorI", ABSOLUTE, TENSORS, 0},
		{"15CUDAFunctor_addI", ADD, TENSORS, 1}, {"21CUDAFunctorOnSelf_addI", ADD, SCALAR_LAST, 2}};

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		if (strstr(name, plain[i].spelt) == NULL)
			continue;
		known->in = known->out = known->scalar = sg_type_after(name, plain[i].spelt);
		/* sums of 16 bits are made in single precision */
		if (plain[i].op == ADD && sg_type_size(known->in) == 2 && known->in != SG_SHORT)
			known->scalar = SG_FLOAT;
		known->op = (int)plain[i].op | (int)plain[i].form << 8;
		known->arg_bytes[1] =
			plain[i].scalars > 0 ? plain[i].scalars * sg_type_size(known->scalar) : 1;
		return;
	}
	if (strstr(name, "direct_copy_kernel_cuda") != NULL) {
		known->op = COPY;
		known->in = known->out = sg_type_after(name, "EUl");
	} else if (strstr(name, "27converting_copy_kernel_cudaI") != NULL) {
		const char *at = strstr(name, "27converting_copy_kernel_cudaI") +
				 strlen("27converting_copy_kernel_cudaI");

		known->op = COPY;
		known->in = sg_type_read(&at, SG_NO_TYPE);
		known->out = sg_type_read(&at, SG_NO_TYPE);
	} else if (strstr(name, "float16_copy_kernel_cuda") != NULL) {
		known->op = COPY;
		known->in = sg_type_after(name, "EUl");
		known->out = strstr(name, "bfloat16_copy_kernel_cuda") != NULL ? SG_BFLOAT : SG_HALF;
	} else if (strstr(name, "14CompareFunctorI") != NULL) {
		known->op = ORDER;
		known->in = sg_type_after(name, "14CompareFunctorI");
		known->out = SG_BOOL;
		known->arg_bytes[1] = 4;
	} else if (strstr(name, "21compare_scalar_kernelI") != NULL) {
		known->op = ORDER | SCALAR_LAST << 8;
		known->in = known->scalar = sg_type_after(name, "21compare_scalar_kernelI");
		known->out = SG_BOOL;
		known->arg_bytes[1] = scalar_at(known) + sg_type_size(known->scalar);
	}
}

/* Of a lambda's parameters; the one that computes a launch's index has no place among them. */
static void read_parameters(struct sg_known *known, const char *name)
{
	const char *at = strstr(name, "EUl");
	size_t size = 0;

	if (at == NULL || strncmp(at, "EUliE_EEviT1_", 13) == 0)
		return;
	at += strlen("EUl");
	for (size_t i = 1; i < SG_OPERANDS && (size = sg_type_read_size(&at, size)) > 0; i++)
		known->each[i] = (unsigned char)size;
}

void sg_elements_types(struct sg_known *known, const char *name)
{
	size_t most = 0;

	if (!find_wrapped(known, name))
		find_plain(known, name);
	/* the type of a functor that nothing else is known of: the first of its template or of its lambda */
	if (known->in == SG_NO_TYPE && strstr(name, "EUl") != strstr(name, "EUliE_EEviT1_"))
		known->in = sg_type_after(name, "EUl");
	if (known->in == SG_NO_TYPE)
		known->in = sg_type_after(name, "FunctorI");
	read_parameters(known, name);
	for (size_t i = 1; i < SG_OPERANDS; i++) {
		if (known->each[i] == 0)
			known->each[i] = known->in != SG_NO_TYPE ? (unsigned char)sg_type_size(known->in) : 4;
		most = known->each[i] > most ? known->each[i] : most;
	}
	known->each[0] = (unsigned char)(known->out != SG_NO_TYPE ? sg_type_size(known->out) : most);
}

int sg_elements_find(struct sg_known *known, const char *name)
{
	/* std::array<char*, n>, or before PyTorch 2.6 at::detail::Array */
	const char *array = strstr(name, "IPcL");

	if (array == NULL)
		return 0;
	known->pointers = (unsigned)strtoul(array + strlen("IPcLm"), NULL, 10);
	if (known->pointers == 0 || known->pointers > 16)
		return 0;
	known->arg_bytes[0] = sizeof(int);
	known->arg_bytes[1] = 1;
	known->arg_bytes[2] = known->pointers * sizeof(char *);
	sg_elements_types(known, name);
	/* operands of other types than the functor's: (n, functor, pointers, calculator, calculator, loader,
	 * storer) */
	if (strstr(name, "12LoadWithCastILi") != NULL &&
		strstr(name, "23TrivialOffsetCalculatorILi") != NULL) {
		unsigned inputs = known->pointers - 1;

		known->arg_bytes[3] = known->arg_bytes[4] = 1;
		known->arg_bytes[5] = at_multiple(inputs > 0 ? inputs : 1, 4) + 4 * (inputs > 0 ? inputs : 1);
		known->arg_bytes[6] = 8;
	}
	return 1;
}

static int count_of(void *const *args)
{
	int count = 0;

	memcpy(&count, args[0], sizeof(count));
	return count;
}

/* The type that loader or storer convert, which an argument has for each operand; 0: not known. */
static size_t converted(void *const *args, int number, unsigned operand)
{
	return sg_type_size((enum sg_type)((const signed char *)args[number])[operand]);
}

double sg_elements_bytes(const struct sg_known *known, dim3 grid, void *const *args)
{
	size_t bytes = 0;

	(void)grid;
	for (unsigned i = 0; i < known->pointers; i++) {
		size_t each = known->arg_bytes[5] == 0 ? 0
			      : i == 0                 ? converted(args, 6, 0)
						       : converted(args, 5, i - 1);

		bytes += each > 0 ? each : known->each[i < SG_OPERANDS ? i : SG_OPERANDS - 1];
	}
	return (double)count_of(args) * (double)bytes;
}

static long double compute(const struct sg_known *known, int way, long double a, long double b)
{
	switch (OP(known)) {
	case ABSOLUTE:
		return a < 0 ? -a : a;
	case MULTIPLY:
		return a * b;
	case AND:
		return (long double)((long long)a & (long long)b);
	case EQUAL:
		return way == 0 ? a == b : a != b;
	case ORDER:
		return way == 0 ? a >= b : way == 1 ? a > b : way == 2 ? a <= b : a < b;
	default:
		return a;
	}
}

/* What the operands' types are when loader and storer convert. */
static void read_types(const struct sg_known *known, void *const *args, enum sg_type *in, enum sg_type *out)
{
	unsigned inputs = known->pointers - 1;

	*out = known->out;
	for (unsigned i = 0; i < inputs; i++)
		in[i] = known->in;
	if (known->arg_bytes[5] == 0)
		return;
	for (unsigned i = 0; i < inputs; i++)
		in[i] = (enum sg_type)((const signed char *)args[5])[i];
	*out = (enum sg_type) * (const signed char *)args[6];
}

static int runs(const struct sg_known *known, int count)
{
	return OP(known) != UNKNOWN && count > 0 && count <= SG_TWIN_ELEMENTS && known->pointers <= 3 &&
	       sg_type_size(known->out) > 0 && (OP(known) == FILL || sg_type_size(known->in) > 0) &&
	       (FORM(known) == TENSORS || sg_type_size(known->scalar) > 0);
}

int sg_elements_is_copy(const struct sg_known *known)
{
	return OP(known) == COPY;
}

int sg_elements_begin(
	const struct sg_known *known, const char *functor, int count, struct sg_elements *elements)
{
	long double *scalars = elements->scalars;

	if (!runs(known, count))
		return 0;
	*elements = (struct sg_elements){known, 0, {0, 1}};
	if (OP(known) == EQUAL || OP(known) == ORDER)
		memcpy(&elements->way, functor, sizeof(elements->way));
	if (OP(known) == FILL)
		scalars[0] = sg_type_load(known->scalar, functor);
	else if (OP(known) == ADD && FORM(known) == TENSORS)
		scalars[1] = sg_type_load(known->scalar, functor);
	else if (OP(known) == ADD) {
		scalars[0] = sg_type_load(known->scalar, functor);
		scalars[1] = sg_type_load(known->scalar, functor + sg_type_size(known->scalar));
	} else if (FORM(known) != TENSORS)
		scalars[0] = sg_type_load(known->scalar, functor + scalar_at(known));
	return 1;
}

long double sg_elements_value(
	const struct sg_elements *elements, const char *const *from, const enum sg_type *in)
{
	const struct sg_known *known = elements->known;
	long double a = known->pointers > 1 ? sg_type_load(in[0], from[0]) : elements->scalars[0];
	long double b = known->pointers > 2 ? sg_type_load(in[1], from[1]) : elements->scalars[0];

	if (OP(known) == ADD)
		return a + elements->scalars[1] * b;
	return FORM(known) == SCALAR_FIRST ? compute(known, elements->way, b, a)
					   : compute(known, elements->way, a, b);
}

int sg_elements_run(const struct sg_known *known, dim3 grid, void *const *args)
{
	struct sg_elements elements;
	int count = count_of(args);
	enum sg_type in[2] = {SG_NO_TYPE, SG_NO_TYPE}, out;
	char *data[3];

	(void)grid;
	memcpy(data, args[2], (known->pointers < 3 ? known->pointers : 3) * sizeof(data[0]));
	if (!sg_elements_begin(known, args[1], count, &elements)) {
		sg_memory_forget(data[0]);
		return 0;
	}
	read_types(known, args, in, &out);
	for (int i = 0; i < count; i++) {
		const char *from[2] = {NULL, NULL};

		for (unsigned k = 1; k < known->pointers; k++)
			from[k - 1] = data[k] + (size_t)i * sg_type_size(in[k - 1]);
		sg_type_store(
			out, data[0] + (size_t)i * sg_type_size(out), sg_elements_value(&elements, from, in));
	}
	sg_memory_written(data[0], (size_t)count * sg_type_size(out));
	return 1;
}
