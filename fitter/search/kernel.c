/* The inner loop of kernel.h, for one instruction set: KERNEL_NAME and KERNEL_WIDTH come from the build. */
#include "kernel.h"

#include <math.h>

typedef double vec __attribute__((vector_size(KERNEL_WIDTH * sizeof(double))));
typedef int64_t bits __attribute__((vector_size(KERNEL_WIDTH * sizeof(double))));

#define PARTS (KERNEL_LANES / KERNEL_WIDTH)
#define EACH_PART for (int part = 0; part < PARTS; part++)
#define INLINE static inline __attribute__((always_inline))

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define NAMED(name) JOIN(name, KERNEL_NAME)

struct lanes {
	vec part[PARTS];
};

INLINE vec splat(double x)
{
	return x - (vec){0};
}

INLINE vec absolute(vec x)
{
	return (vec)((bits)x & INT64_MAX);
}

INLINE vec choose(bits mask, vec yes, vec no)
{
	return (vec)(((bits)yes & mask) | ((bits)no & ~mask));
}

/* e^x to the last bit or two, for |x| <= 700; beyond, e^700 and e^-700. */
INLINE vec exponential(vec x)
{
	const double shift = 0x1.8p52; /* adding it rounds to a whole number, in the low bits */
	vec whole, rest, y;
	bits power;

	x = choose(x > 700.0, splat(700.0), x);
	x = choose(x < -700.0, splat(-700.0), x);
	whole = x * 0x1.71547652b82fep0 + shift;
	power = (bits)whole << 52;
	whole -= shift;
	rest = x - whole * 0x1.62e42fefa0000p-1;
	rest = rest - whole * 0x1.cf79abc9e3b3ap-40;
	/* Taylor's series: the remainder at ln(2) / 2 is below 2^-52 */
	y = splat(1.0 / 479001600);
	y = y * rest + 1.0 / 39916800;
	y = y * rest + 1.0 / 3628800;
	y = y * rest + 1.0 / 362880;
	y = y * rest + 1.0 / 40320;
	y = y * rest + 1.0 / 5040;
	y = y * rest + 1.0 / 720;
	y = y * rest + 1.0 / 120;
	y = y * rest + 1.0 / 24;
	y = y * rest + 1.0 / 6;
	y = y * rest + 0.5;
	y = y * rest + 1.0;
	y = y * rest + 1.0;
	return (vec)((bits)y + power);
}

INLINE const struct lanes *at(const double *lanes, size_t index)
{
	return (const struct lanes *)(const void *)(lanes + index * KERNEL_LANES);
}

INLINE struct lanes *put(double *lanes, size_t index)
{
	return (struct lanes *)(void *)(lanes + index * KERNEL_LANES);
}

/* a * x^p for each value of each intrinsic column, the levels, then the sums over combinations. */
INLINE void fill_tables(const struct kernel_plan *plan, const double *x, double *work)
{
	size_t entry = 0;

	for (size_t i = 0; i < plan->intrinsic_count; i++) {
		const struct lanes *a = at(x, i), *p = at(x, plan->linear_count + i);

		for (; entry < plan->value_begin[i + 1]; entry++)
			EACH_PART put(work, entry)->part[part] =
				a->part[part] * exponential(p->part[part] * plan->log_values[entry]);
	}
	for (size_t i = 0; i < plan->level_count; i++, entry++)
		*put(work, entry) = *at(x, plan->intrinsic_count + i);
	for (size_t t = 0; t < plan->table_count; t++) {
		const struct kernel_table *table = &plan->tables[t];
		const uint32_t *source = table->source;

		for (size_t e = 0; e < table->entry_count; e++, source += table->member_count) {
			struct lanes sum = *at(work, source[0]);

			for (size_t m = 1; m < table->member_count; m++)
				EACH_PART sum.part[part] += at(work, source[m])->part[part];
			*put(work, table->first_entry + e) = sum;
		}
	}
}

/* |y - (product * sum of `count` entries + C)| of one sample */
INLINE struct lanes residual(const double *work, const uint32_t *look_up, size_t count, double time,
	const struct lanes *product, const struct lanes *constant)
{
	struct lanes sum = *at(work, look_up[0]);

	for (size_t i = 1; i < count; i++)
		EACH_PART sum.part[part] += at(work, look_up[i])->part[part];
	EACH_PART sum.part[part] =
		absolute((time - constant->part[part]) - product->part[part] * sum.part[part]);
	return sum;
}

/* `count` is a constant at each place that calls this. */
INLINE void add_up(const struct kernel_plan *plan, const double *work, size_t combination, size_t count,
	const struct lanes *product, const struct lanes *constant, struct lanes *total)
{
	size_t row = plan->combination_begin[combination], end = plan->combination_begin[combination + 1];
	const uint32_t *look_up = plan->look_ups + row * count;
	struct lanes even = *total, odd = {0};

	/* Two sums, so that one addition need not wait for the one before. */
	for (; row + 2 <= end; row += 2, look_up += 2 * count) {
		struct lanes r = residual(work, look_up, count, plan->times[row], product, constant);
		struct lanes s =
			residual(work, look_up + count, count, plan->times[row + 1], product, constant);

		EACH_PART even.part[part] += r.part[part];
		EACH_PART odd.part[part] += s.part[part];
	}
	if (row < end) {
		struct lanes r = residual(work, look_up, count, plan->times[row], product, constant);

		EACH_PART even.part[part] += r.part[part];
	}
	EACH_PART total->part[part] = even.part[part] + odd.part[part];
}

INLINE struct lanes sum_of_errors(const struct kernel_plan *plan, const double *x, const double *work)
{
	const struct lanes *constant = at(x, plan->linear_count - 1);
	const double *exponents = plan->exponents;
	struct lanes total = {0};

	for (size_t c = 0; c < plan->combination_count; c++, exponents += plan->exponent_count) {
		struct lanes product = {0};

		for (size_t j = 0; j < plan->exponent_count; j++)
			EACH_PART product.part[part] +=
				at(x, plan->linear_count + plan->intrinsic_count + j)->part[part] *
				exponents[j];
		EACH_PART product.part[part] = exponential(product.part[part]);
		switch (plan->look_up_count) {
		case 1:
			add_up(plan, work, c, 1, &product, constant, &total);
			break;
		case 2:
			add_up(plan, work, c, 2, &product, constant, &total);
			break;
		case 3:
			add_up(plan, work, c, 3, &product, constant, &total);
			break;
		case 4:
			add_up(plan, work, c, 4, &product, constant, &total);
			break;
		default:
			add_up(plan, work, c, plan->look_up_count, &product, constant, &total);
		}
	}
	return total;
}

/* (4.11), (4.12): of the parameters in original units, or as they are where the scales are 0. */
INLINE struct lanes penalty_of(const struct kernel_plan *plan, const double *x)
{
	size_t exponent = plan->linear_count + plan->intrinsic_count;
	struct lanes coefficients = {0}, powers = {0}, log_product = {0};

	for (size_t j = 0; j < plan->exponent_count; j++)
		EACH_PART log_product.part[part] -=
			at(x, exponent + j)->part[part] * plan->exponent_log_scales[j];
	for (size_t i = 0; i + 1 < plan->linear_count; i++)
		EACH_PART
		{
			vec scale = log_product.part[part], a = at(x, i)->part[part];

			if (i < plan->intrinsic_count)
				scale -= at(x, plan->linear_count + i)->part[part] * plan->log_scales[i];
			a *= exponential(scale) * plan->coefficient_scale;
			coefficients.part[part] += plan->penalty == 2 ? a * a : absolute(a);
		}
	for (size_t j = plan->linear_count; j < plan->parameter_count; j++)
		EACH_PART
		{
			vec p = at(x, j)->part[part];

			powers.part[part] += plan->penalty == 2 ? p * p : absolute(p);
		}
	EACH_PART coefficients.part[part] = (coefficients.part[part] * plan->lambda_coefficients +
						    powers.part[part] * plan->lambda_powers) *
					    plan->penalty_scale;
	return coefficients;
}

void NAMED(kernel_cost_)(
	const struct kernel_plan *plan, const double *x, double *work, double *error, double *objective);
void NAMED(kernel_gram_)(
	const double *jacobian, const double *weights, size_t row_count, size_t column_count, double *gram);

void NAMED(kernel_cost_)(
	const struct kernel_plan *plan, const double *x, double *work, double *error, double *objective)
{
	struct lanes mean, penalty = {0};

	fill_tables(plan, x, work);
	mean = sum_of_errors(plan, x, work);
	if (plan->penalty)
		penalty = penalty_of(plan, x);
	for (int lane = 0; lane < KERNEL_LANES; lane++) {
		int part = lane / KERNEL_WIDTH, place = lane % KERNEL_WIDTH;

		error[lane] = mean.part[part][place] / (double)plan->sample_count;
		objective[lane] = error[lane] + penalty.part[part][place];
	}
}

void NAMED(kernel_gram_)(
	const double *jacobian, const double *weights, size_t row_count, size_t column_count, double *gram)
{
	double weighted[KERNEL_CHUNK] __attribute__((aligned(64)));

	for (size_t i = 0; i < column_count; i++) {
		const double *a = jacobian + i * KERNEL_STRIDE;

		for (size_t k = 0; k < row_count; k++)
			weighted[k] = a[k] * weights[k];
		/* the vectors' tail */
		for (size_t k = row_count; k < (row_count + 7) / 8 * 8; k++)
			weighted[k] = 0;
		for (size_t j = i; j < column_count; j++) {
			const double *b = jacobian + j * KERNEL_STRIDE;
			struct lanes sum = {0};
			double total = 0;

			for (size_t k = 0; k < row_count; k += KERNEL_LANES)
				EACH_PART sum.part[part] +=
					at(weighted + k, 0)->part[part] * at(b + k, 0)->part[part];
			for (int lane = 0; lane < KERNEL_LANES; lane++)
				total += sum.part[lane / KERNEL_WIDTH][lane % KERNEL_WIDTH];
			gram[i * column_count + j] += total;
		}
	}
}
