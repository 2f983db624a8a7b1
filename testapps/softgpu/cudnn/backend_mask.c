/*
 * Which programs are attention, and what share of the scores it computes.
 *
 * The one idea: whatever frontends put between them, attention is a product whose values go through an
 * exponential into another product; and a mask is a choice by a condition that is linear in a score's row and
 * column, so that in a row it leaves an interval of columns.
 */
#include "backend.h"

#include "cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Kernels compute a tile of scores or leave it out. */
#define TILE 128
/* Rows of tiles that are looked at; there is no need to know every one of a long sequence. */
#define TILE_ROWS_MAX 64
/* Conditions that a choice rests on, and those of all masks. */
#define PLANES_MAX 4
#define MASKS_MAX 16

/* ---- finding attention ---- */

/* What a tensor's values have come through. */
struct trail {
	int product; /* the step they come from; -1 */
	bool is_exponential;
};

static bool step_writes(const struct sg_step *step, int role)
{
	switch (step->kind) {
	case SG_STEP_PRODUCT:
		return role == SG_MATMUL_OP_C;
	case SG_STEP_POINTWISE:
		return role == SG_POINTWISE_OP_Y || role == SG_POINTWISE_OP_DX;
	default:
		return false;
	}
}

/* A step passes on what it reads. Roles that it writes have no trail yet, or pass on their own. */
static struct trail trail_of(const struct sg_step *step, const struct trail *trails)
{
	struct trail trail = {-1, false};

	for (int role = 0; role < SG_ROLES_MAX; role++) {
		const struct trail *read = step->tensor[role] < 0 || step_writes(step, role)
						   ? NULL
						   : &trails[step->tensor[role]];

		if (read == NULL || read->product < 0)
			continue;
		if (trail.product < 0 || (read->is_exponential && !trail.is_exponential))
			trail = *read;
	}
	return trail;
}

/* The first product of scores and the product of probabilities, or false. */
static bool find_products(const struct sg_program *program, struct trail *trails, int *first, int *second)
{
	for (int t = 0; t < program->tensor_count; t++)
		trails[t] = (struct trail){-1, false};
	for (int s = 0; s < program->step_count; s++) {
		const struct sg_step *step = &program->step[s];
		struct trail trail = trail_of(step, trails);

		if (step->kind == SG_STEP_PRODUCT && trail.is_exponential) {
			*first = trail.product;
			*second = s;
			return true;
		}
		if (step->kind == SG_STEP_PRODUCT)
			trail = (struct trail){s, false};
		if (step->kind == SG_STEP_EXPONENTIAL)
			trail.is_exponential = trail.product >= 0;
		for (int role = 0; role < SG_ROLES_MAX; role++) {
			int t = step->tensor[role];

			if (t >= 0 && program->tensor[t].is_written && trails[t].product < 0)
				trails[t] = trail;
		}
	}
	return false;
}

/* Of a cache of pages only those are read that a sequence has. */
static double page_bytes(const struct sg_program *program)
{
	double bytes = 0;

	for (int s = 0; s < program->step_count; s++) {
		const struct sg_step *step = &program->step[s];
		const struct sg_graph_tensor *pages, *y;
		double whole, part;

		if (step->kind != SG_STEP_PAGES)
			continue;
		pages = &program->tensor[step->tensor[SG_PAGED_CONTAINER]];
		y = &program->tensor[step->tensor[SG_PAGED_Y]];
		whole = sg_cost_bytes(&pages->shape);
		part = (double)sg_shape_count(&y->shape) * (double)sg_type_bytes(pages->shape.type);
		bytes += part < whole ? part - whole : 0;
	}
	return bytes;
}

static void fill_attention(
	struct sg_program *program, const struct sg_step *first, const struct sg_step *second)
{
	const struct sg_graph_tensor *tensor = program->tensor;
	const struct sg_shape *q = &tensor[first->tensor[SG_MATMUL_OP_A]].shape;
	struct sg_shape k = tensor[first->tensor[SG_MATMUL_OP_B]].shape;
	struct sg_shape v = tensor[second->tensor[SG_MATMUL_OP_C]].shape;
	struct sg_cost cost;
	int products = 0;

	if (q->ndims != 4 || k.ndims != 4 || v.ndims != 4)
		return;
	for (int s = 0; s < program->step_count; s++)
		products += program->step[s].kind == SG_STEP_PRODUCT;
	program->is_attention = true;
	program->queries = q->dim[2];
	program->keys = k.dim[3];
	program->query_lengths = first->tensor[SG_MATMUL_OP_M];
	program->key_lengths = first->tensor[SG_MATMUL_OP_N];
	/* The product's second operand has the keys turned. */
	k.dim[2] = program->keys;
	k.dim[3] = q->dim[3];
	cost = sg_cost_attention(q, &k, &v, products > 2);
	cost.bytes += program->cost.bytes + page_bytes(program);
	program->cost = cost;
}

void sg_attention_find(struct sg_program *program)
{
	struct trail *trails = calloc((size_t)program->tensor_count + 1, sizeof(*trails));
	int first, second;

	if (trails != NULL && program->status == CUDNN_STATUS_SUCCESS &&
		find_products(program, trails, &first, &second))
		fill_attention(program, &program->step[first], &program->step[second]);
	free(trails);
}

/* ---- masks ---- */

/* row * i + column * j + one > 0, or >= 0. */
struct plane {
	double row, column, one;
	bool is_strict;
};

/* What is known of a tensor's elements: a linear function of their row and column, or a condition that all
 * the planes hold. */
struct known {
	bool is_linear, is_condition;
	struct plane linear;
	struct plane plane[PLANES_MAX];
	int plane_count;
};

struct masks {
	struct plane plane[MASKS_MAX];
	int count;
};

static struct known constant(double value)
{
	return (struct known){.is_linear = true, .linear = {0, 0, value, false}};
}

/* What is there before the first step: scalars, and lengths, which are taken for the longest. */
static struct known known_at_first(const struct sg_program *program, int t, const void *value)
{
	if (value != NULL)
		return constant((double)sg_scalar_load(value, program->tensor[t].shape.type));
	if (t == program->query_lengths)
		return constant(program->queries);
	if (t == program->key_lengths)
		return constant(program->keys);
	return (struct known){0};
}

static struct plane difference(const struct plane *a, const struct plane *b, bool is_strict)
{
	return (struct plane){a->row - b->row, a->column - b->column, a->one - b->one, is_strict};
}

static struct known condition(const struct plane *a, const struct plane *b, bool is_strict)
{
	return (struct known){.is_condition = true, .plane = {difference(a, b, is_strict)}, .plane_count = 1};
}

static struct known both(const struct known *a, const struct known *b)
{
	struct known all = *a;

	for (int i = 0; i < b->plane_count && all.plane_count < PLANES_MAX; i++)
		all.plane[all.plane_count++] = b->plane[i];
	return all;
}

static void add_masks(struct masks *masks, const struct known *chosen_by)
{
	for (int i = 0; i < chosen_by->plane_count && masks->count < MASKS_MAX; i++)
		masks->plane[masks->count++] = chosen_by->plane[i];
}

static struct known after_pointwise(const struct sg_step *step, const struct known *known)
{
	static const struct known nothing;
	int x_at = step->tensor[SG_POINTWISE_OP_X], b_at = step->tensor[SG_POINTWISE_OP_B];
	const struct known *x = x_at >= 0 ? &known[x_at] : &nothing, *b = b_at >= 0 ? &known[b_at] : &nothing;
	struct known result = {.is_linear = true};

	if (step->by.pointwise.mode == CUDNN_POINTWISE_GEN_INDEX) {
		result.linear.row = step->by.pointwise.axis == 2;
		result.linear.column = step->by.pointwise.axis == 3;
		result.is_linear = step->by.pointwise.axis >= 2;
		return result;
	}
	if (step->by.pointwise.mode == CUDNN_POINTWISE_IDENTITY)
		return *x;
	if (step->by.pointwise.mode == CUDNN_POINTWISE_LOGICAL_AND && x->is_condition && b->is_condition)
		return both(x, b);
	if (!x->is_linear || !b->is_linear)
		return nothing;
	switch (step->by.pointwise.mode) {
	case CUDNN_POINTWISE_ADD:
		result.linear = (struct plane){x->linear.row + b->linear.row,
			x->linear.column + b->linear.column, x->linear.one + b->linear.one, false};
		return result;
	case CUDNN_POINTWISE_SUB:
		result.linear = difference(&x->linear, &b->linear, false);
		return result;
	case CUDNN_POINTWISE_CMP_GT:
	case CUDNN_POINTWISE_CMP_GE:
		return condition(&x->linear, &b->linear, step->by.pointwise.mode == CUDNN_POINTWISE_CMP_GT);
	case CUDNN_POINTWISE_CMP_LT:
	case CUDNN_POINTWISE_CMP_LE:
		return condition(&b->linear, &x->linear, step->by.pointwise.mode == CUDNN_POINTWISE_CMP_LT);
	default:
		return nothing;
	}
}

static double one_of(const struct sg_step *step, int role, const struct known *known, bool *is_known)
{
	int t = step->tensor[role];

	if (t < 0)
		return 0;
	*is_known = *is_known && known[t].is_linear;
	return known[t].linear.one;
}

static void add_band(struct masks *masks, const struct sg_step *step, const struct known *known,
	const struct sg_program *program)
{
	bool is_left = step->tensor[SG_BAND_LEFT] >= 0, is_known = true;
	double bound = one_of(step, is_left ? SG_BAND_LEFT : SG_BAND_RIGHT, known, &is_known);
	double shift =
		(step->tensor[SG_BAND_LENGTH_KV] >= 0 || step->tensor[SG_BAND_SUM_KV] >= 0 ? program->keys
											   : 0) -
		(step->tensor[SG_BAND_LENGTH_Q] >= 0 || step->tensor[SG_BAND_SUM_Q] >= 0 ? program->queries
											 : 0);
	struct known kept = {.is_condition = true, .plane_count = 1};

	kept.plane[0] = (struct plane){is_left ? -1 : 1, is_left ? 1 : -1,
		is_left ? bound - shift : bound + shift, step->by.comparison == CUDNN_POINTWISE_CMP_GT};
	if (is_known)
		add_masks(masks, &kept);
}

static void find_masks(const struct sg_program *program, struct known *known, struct masks *masks)
{
	for (int s = 0; s < program->step_count; s++) {
		const struct sg_step *step = &program->step[s];

		if (step->kind == SG_STEP_BAND)
			add_band(masks, step, known, program);
		if (step->kind != SG_STEP_POINTWISE || step->tensor[SG_POINTWISE_OP_Y] < 0)
			continue;
		if (step->by.pointwise.mode == CUDNN_POINTWISE_BINARY_SELECT)
			add_masks(masks, &known[step->tensor[SG_POINTWISE_OP_T]]);
		else
			known[step->tensor[SG_POINTWISE_OP_Y]] = after_pointwise(step, known);
	}
}

/* The columns from *begin to before *end that a row keeps. */
static void interval_of(const struct masks *masks, double row, double *begin, double *end)
{
	for (int i = 0; i < masks->count; i++) {
		const struct plane *plane = &masks->plane[i];
		double rest = plane->row * row + plane->one;
		/* column * j + rest > 0 for whole numbers: >= with one less */
		double least = plane->is_strict ? 1 : 0;

		if (plane->column > 0)
			*begin = fmax(*begin, ceil((least - rest) / plane->column));
		else if (plane->column < 0)
			*end = fmin(*end, floor((least - rest) / plane->column) + 1);
		else if (rest < least)
			*end = *begin;
	}
}

/* The columns of a row of tiles that are computed, from the first tile to the last. */
static double columns_of(const struct masks *masks, double first, double last, double keys)
{
	double low = keys, high = 0;

	/* Bounds grow with the row, so that those of the first and the last one are the widest. */
	for (int i = 0; i < 3; i++) {
		double begin = 0, end = keys;

		interval_of(masks, i == 0 ? first : i == 1 ? last : floor((first + last) / 2), &begin, &end);
		if (begin >= end)
			continue;
		low = fmin(low, begin);
		high = fmax(high, end);
	}
	if (low >= high)
		return 0;
	return fmin(ceil(high / TILE) * TILE, keys) - floor(low / TILE) * TILE;
}

double sg_attention_share(const struct sg_program *program, const void *const *value)
{
	struct known *known = calloc((size_t)program->tensor_count + 1, sizeof(*known));
	struct masks masks = {.count = 0};
	int tiles = (program->queries + TILE - 1) / TILE;
	int looked_at = tiles < TILE_ROWS_MAX ? tiles : TILE_ROWS_MAX;
	double kept = 0, all = 0;

	if (known == NULL)
		return 1;
	for (int t = 0; t < program->tensor_count; t++)
		known[t] = known_at_first(program, t, value[t]);
	find_masks(program, known, &masks);
	free(known);
	if (masks.count == 0)
		return 1;
	for (int i = 0; i < looked_at; i++) {
		double first = (double)((int64_t)i * tiles / looked_at) * TILE;
		double last = fmin(first + TILE, program->queries) - 1;

		kept += (last - first + 1) * columns_of(&masks, first, last, program->keys);
		all += (last - first + 1) * program->keys;
	}
	return kept / all;
}
