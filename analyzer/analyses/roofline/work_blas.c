/*
 * Operations and bytes of cuBLAS and cublasLt: see work.h. Sizes are m, n, k as BLAS names them; counts of
 * operations are those of the reference BLAS (LAPACK Working Note 41, appendix C), an addition or
 * multiplication each.
 */
#include "work_take.h"

#include "trace/trace.h"

#include <string.h>

/* Products of floats stay floats unless the program asks for more, which the trace does not tell. */
static enum work_type arithmetic(uint64_t type)
{
	switch (type) {
	case PM_TYPE_F64:
		return WORK_F64;
	case PM_TYPE_F16:
		return WORK_F16;
	case PM_TYPE_BF16:
		return WORK_BF16;
	case PM_TYPE_I8:
	case PM_TYPE_I32:
		return WORK_I8;
	default:
		return WORK_F32;
	}
}

struct sizes {
	double m, n, k, batch, element;
	bool adds, left;
};

/* Operations and elements, per matrix of the batch. */
struct amount {
	double flops, elements;
};

/* A square operand of m or n, by the side it is on. */
static double square(const struct sizes *s)
{
	double side = s->left ? s->m : s->n;

	return side * side;
}

static struct amount gemm(const struct sizes *s)
{
	return (struct amount){
		2 * s->m * s->n * s->k, s->m * s->k + s->k * s->n + (s->adds ? 2 : 1) * s->m * s->n};
}

static struct amount syrk(const struct sizes *s)
{
	return (struct amount){s->n * (s->n + 1) * s->k, s->n * s->k + (s->adds ? 2 : 1) * s->n * s->n / 2};
}

static struct amount symm(const struct sizes *s)
{
	return (struct amount){
		2 * s->m * s->n * (s->left ? s->m : s->n), square(s) / 2 + (s->adds ? 3 : 2) * s->m * s->n};
}

/* Of a triangle, with or without a result of its own. */
static struct amount triangle(const struct sizes *s)
{
	return (struct amount){s->m * s->n * (s->left ? s->m : s->n), square(s) / 2 + 2 * s->m * s->n};
}

static struct amount gemv(const struct sizes *s)
{
	/* x and y are n and m long, or the other way round; y is then read too */
	return (struct amount){2 * s->m * s->n, s->m * s->n + s->m + s->n};
}

static struct amount ger(const struct sizes *s)
{
	return (struct amount){2 * s->m * s->n, 2 * s->m * s->n + s->m + s->n};
}

static struct amount geam(const struct sizes *s)
{
	return (struct amount){3 * s->m * s->n, 3 * s->m * s->n};
}

static struct amount dgmm(const struct sizes *s)
{
	return (struct amount){s->m * s->n, 2 * s->m * s->n + s->m};
}

/* On vectors: flops and elements for each of the n. */
#define VECTOR(name, flops, elements) \
	static struct amount name(const struct sizes *s) \
	{ \
		return (struct amount){(flops)*s->n, (elements)*s->n}; \
	}
VECTOR(axpy, 2, 3)
VECTOR(scal, 1, 2)
VECTOR(copy, 0, 2)
VECTOR(swap, 0, 4)
VECTOR(dot, 2, 2)
VECTOR(norm, 2, 1)
VECTOR(sum, 1, 1)

static const struct {
	const char *word; /* in the function's name, in small letters, behind "cublas" and its type */
	enum work_kind kind;
	struct amount (*amount)(const struct sizes *sizes);
} rows[] = {
	{"gemm", WORK_PRODUCT, gemm},
	{"gemv", WORK_PRODUCT, gemv},
	{"ger", WORK_PRODUCT, ger},
	{"syrk", WORK_PRODUCT, syrk},
	{"symm", WORK_PRODUCT, symm},
	{"trsm", WORK_PRODUCT, triangle},
	{"trmm", WORK_PRODUCT, triangle},
	{"geam", WORK_ELEMENTWISE, geam},
	{"dgmm", WORK_ELEMENTWISE, dgmm},
	{"axpy", WORK_ELEMENTWISE, axpy},
	{"scal", WORK_ELEMENTWISE, scal},
	{"copy", WORK_COPY, copy},
	{"swap", WORK_COPY, swap},
	{"dot", WORK_REDUCTION, dot},
	{"nrm2", WORK_REDUCTION, norm},
	{"asum", WORK_REDUCTION, sum},
	{"amax", WORK_REDUCTION, sum},
	{"amin", WORK_REDUCTION, sum},
};

/* "cublasSgemm_v2", "cublasGemmEx": does the word stand behind the library's name, with a type or without? */
static bool is_named(const char *name, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(name, "cublas", 6) != 0)
		return false;
	for (size_t skip = 6; skip <= 8 && strlen(name) >= skip; skip++)
		if (strncasecmp(name + skip, word, length) == 0)
			return true;
	return false;
}

static struct work light(const struct work_source *source, const struct sizes *sizes, uint64_t type)
{
	struct sizes s = *sizes;
	struct amount amount;
	struct work work = {.kind = WORK_PRODUCT, .type = arithmetic(type), .known = true};

	if (strstr(source->name, "Transform")) {
		/* the layouts are not written down */
		work.kind = WORK_ELEMENTWISE;
		work.known = false;
		return work;
	}
	amount = gemm(&s);
	work.flops = s.batch * amount.flops;
	work.bytes = s.batch * amount.elements * s.element;
	if (work_has(source, "aux"))
		work.bytes += s.batch * s.m * s.n * s.element;
	return work;
}

struct work work_of_blas(const struct work_source *source)
{
	uint64_t type = PM_TYPE_F32, batch = 1, side = 0;
	struct sizes s = {.m = work_size(source, "m"),
		.n = work_size(source, "n"),
		.k = work_size(source, "k"),
		.adds = work_adds(source)};
	struct work work = {.kind = WORK_PRODUCT};

	timeline_value(source->timeline, source->operation, "type", &type);
	timeline_value(source->timeline, source->operation, "side", &side);
	timeline_value(source->timeline, source->operation, "batch", &batch);
	s.batch = (int64_t)batch > 0 ? (double)batch : 0;
	s.element = (double)trace_type_bytes(type);
	s.left = side == 0;
	if (strncmp(source->name, "cublasLt", 8) == 0)
		return light(source, &s, type);
	/* a group's sizes lie in arrays that are not written down */
	if (strstr(source->name, "Grouped"))
		return work;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct amount amount;

		if (!is_named(source->name, rows[i].word))
			continue;
		amount = rows[i].amount(&s);
		work.kind = rows[i].kind;
		work.known = true;
		work.type = rows[i].amount == gemm ? arithmetic(type)
			    : type == PM_TYPE_F64  ? WORK_F64
						   : WORK_F32;
		work.flops = s.batch * amount.flops;
		work.bytes = s.batch * amount.elements * s.element;
		return work;
	}
	work.kind = WORK_OTHER;
	return work;
}
