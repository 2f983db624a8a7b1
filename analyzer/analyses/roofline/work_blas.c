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

/* By the function's role. */
static const struct row {
	enum work_kind kind;
	struct amount (*amount)(const struct sizes *sizes); /* NULL: the sizes are not written down */
} rows[PM_ROLE_COUNT] = {
	[PM_ROLE_PRODUCT] = {WORK_PRODUCT, gemm},
	[PM_ROLE_MATRIX_VECTOR] = {WORK_PRODUCT, gemv},
	[PM_ROLE_OUTER_PRODUCT] = {WORK_PRODUCT, ger},
	[PM_ROLE_RANK_K_UPDATE] = {WORK_PRODUCT, syrk},
	[PM_ROLE_SYMMETRIC_PRODUCT] = {WORK_PRODUCT, symm},
	[PM_ROLE_TRIANGULAR_SOLVE] = {WORK_PRODUCT, triangle},
	[PM_ROLE_TRIANGULAR_PRODUCT] = {WORK_PRODUCT, triangle},
	[PM_ROLE_MATRIX_SUM] = {WORK_ELEMENTWISE, geam},
	[PM_ROLE_DIAGONAL_PRODUCT] = {WORK_ELEMENTWISE, dgmm},
	[PM_ROLE_AXPY] = {WORK_ELEMENTWISE, axpy},
	[PM_ROLE_SCALING] = {WORK_ELEMENTWISE, scal},
	[PM_ROLE_TRANSFORM] = {WORK_ELEMENTWISE, NULL},
	[PM_ROLE_VECTOR_COPY] = {WORK_COPY, copy},
	[PM_ROLE_VECTOR_SWAP] = {WORK_COPY, swap},
	[PM_ROLE_DOT] = {WORK_REDUCTION, dot},
	[PM_ROLE_VECTOR_NORM] = {WORK_REDUCTION, norm},
	[PM_ROLE_VECTOR_SUM] = {WORK_REDUCTION, sum},
	[PM_ROLE_EXTREME] = {WORK_REDUCTION, sum},
};

static enum work_type type_of(const struct row *row, uint64_t type)
{
	if (row->amount == gemm)
		return arithmetic(type);
	return type == PM_TYPE_F64 ? WORK_F64 : WORK_F32;
}

struct work work_of_blas(const struct work_source *source)
{
	const struct row *row = &rows[source->function->facts.role];
	uint64_t type = PM_TYPE_F32, batch = 1, side = 0;
	struct sizes s = {.m = work_size(source, "m"),
		.n = work_size(source, "n"),
		.k = work_size(source, "k"),
		.adds = work_adds(source)};
	struct work work = {.kind = row->kind};
	struct amount amount;

	timeline_value(source->timeline, source->operation, "type", &type);
	timeline_value(source->timeline, source->operation, "side", &side);
	timeline_value(source->timeline, source->operation, "batch", &batch);
	s.batch = (int64_t)batch > 0 ? (double)batch : 0;
	s.element = (double)trace_type_bytes(type);
	s.left = side == 0;
	/* a group's sizes lie in arrays that are not written down */
	if (!row->amount || !work_labels(source, "n"))
		return work;
	amount = row->amount(&s);
	work.known = true;
	work.type = type_of(row, type);
	work.flops = s.batch * amount.flops;
	work.bytes = s.batch * amount.elements * s.element;
	if (work_has(source, "aux"))
		work.bytes += s.batch * s.m * s.n * s.element;
	return work;
}
