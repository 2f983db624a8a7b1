/* Convolution, pooling and attention in plain C: see plain_places.h. */
#include "plain_places.h"

#include <math.h>
#include <string.h>

#include "check.h"

static size_t at(struct nn_shape s, int n, int c, int z, int y, int x)
{
	return ((((size_t)n * (size_t)s.c + (size_t)c) * (size_t)s.d + (size_t)z) * (size_t)s.h + (size_t)y) *
		       (size_t)s.w +
	       (size_t)x;
}

/* Sample, map, depth, row and column of an element. */
struct place {
	int n, c, z, y, x;
};

static struct place place_of(struct nn_shape s, size_t element)
{
	struct place p;

	p.x = (int)(element % (size_t)s.w);
	element /= (size_t)s.w;
	p.y = (int)(element % (size_t)s.h);
	element /= (size_t)s.h;
	p.z = (int)(element % (size_t)s.d);
	element /= (size_t)s.d;
	p.c = (int)(element % (size_t)s.c);
	p.n = (int)(element / (size_t)s.c);
	return p;
}

/* A convolution, forward or backward; what is not wanted is NULL. */
struct conv {
	const struct nn_layer *l;
	const double *x, *weight;
	double *z;
	const double *dz;
	double *dw, *dx;
};

/* Output element o with one row of the kernels: its weights begin at w, its input row at i; the first weight
 * meets column `left`, which may lie outside. */
static void conv_row(const struct conv *c, size_t o, size_t w, size_t i, int left)
{
	const int from = left < 0 ? -left : 0, room = c->l->in.w - left;
	const int to = room < c->l->kernel ? room : c->l->kernel;

	for (int kx = from; kx < to; kx++) {
		const size_t weight = w + (size_t)kx, input = i + (size_t)(left + kx);

		if (c->z)
			c->z[o] += c->weight[weight] * c->x[input];
		if (c->dw)
			c->dw[weight] += c->dz[o] * c->x[input];
		if (c->dx)
			c->dx[input] += c->dz[o] * c->weight[weight];
	}
}

/* Output element o with all maps of its group and all rows of their kernels. */
static void conv_element(const struct conv *c, size_t o)
{
	const struct nn_layer *l = c->l;
	const int is_flat = l->dims == 2, depth = is_flat ? 1 : l->kernel, maps = l->in.c / l->groups;
	const struct nn_shape kernels = {l->out.c, maps, depth, l->kernel, l->kernel};
	const struct place p = place_of(l->out, o);
	const int first_map = p.c / (l->out.c / l->groups) * maps, left = p.x * l->stride - l->pad;
	const int first_z = is_flat ? 0 : p.z * l->stride - l->pad, first_y = p.y * l->stride - l->pad;

	for (int map = 0; map < maps; map++)
		for (int kz = 0; kz < depth; kz++)
			for (int ky = 0; ky < l->kernel; ky++) {
				const int z = first_z + kz, y = first_y + ky;

				if (z >= 0 && z < l->in.d && y >= 0 && y < l->in.h)
					conv_row(c, o, at(kernels, p.c, map, kz, ky, 0),
						at(l->in, p.n, first_map + map, z, y, 0), left);
			}
}

void plain_conv(const struct nn_layer *l, const double *x, const double *weight, double *z, const double *dz,
	double *dw, double *dx)
{
	const struct conv c = {l, x, weight, z, dz, dw, dx};

	for (size_t o = 0; o < nn_numel(l->out); o++)
		conv_element(&c, o);
}

/* The window of output element o: every input element in it, through `visit`. */
struct window {
	const struct nn_layer *l;
	int n, c, from[3], to[3]; /* clipped to the map */
	double size;              /* with padding, as averages count it */
};

static struct window window_of(const struct nn_layer *l, size_t o)
{
	const int whole = l->kernel == 0, sides[] = {l->in.d, l->in.h, l->in.w};
	const struct place p = place_of(l->out, o);
	const int place[] = {p.z, p.y, p.x};
	struct window w = {.l = l, .n = p.n, .c = p.c, .size = 1};

	for (int k = 0; k < 3; k++) {
		const int flat = k == 0 && l->dims == 2;
		const int begin = whole || flat ? 0 : place[k] * l->stride - l->pad;
		const int end = whole || flat ? sides[k] : begin + l->kernel;

		w.size *= end - begin;
		w.from[k] = begin < 0 ? 0 : begin;
		w.to[k] = end > sides[k] ? sides[k] : end;
	}
	return w;
}

/* The window's largest input; or, `share` being not 0, gives each input that much. Answers the sum. */
static double over_window(const struct window *w, const double *x, size_t *largest, double *dx, double share)
{
	double sum = 0;
	int first = 1;

	for (int z = w->from[0]; z < w->to[0]; z++)
		for (int y = w->from[1]; y < w->to[1]; y++)
			for (int c = w->from[2]; c < w->to[2]; c++) {
				size_t i = at(w->l->in, w->n, w->c, z, y, c);

				sum += x[i];
				if (first || x[i] > x[*largest])
					*largest = i;
				if (dx)
					dx[i] += share;
				first = 0;
			}
	return sum;
}

/* Forward with y, backward with dy and dx. */
void plain_pool(const struct nn_layer *l, const double *x, double *y, const double *dy, double *dx)
{
	for (size_t o = 0; o < nn_numel(l->out); o++) {
		const struct window w = window_of(l, o);
		const int average = l->pooling == NN_POOL_AVERAGE;
		size_t largest = 0;
		double sum = over_window(&w, x, &largest, !y && average ? dx : NULL, y ? 0 : dy[o] / w.size);

		if (y)
			y[o] = average ? sum / w.size : x[largest];
		else if (!average)
			dx[largest] += dy[o];
	}
}

/* Query q of sample n: weights over all keys, and their sum of the values. */
void plain_attention(const struct nn_layer *l, const double *query, const double *key, const double *value,
	double *weights, double *z)
{
	const size_t s = (size_t)plain_places(l->in), narrow = (size_t)l->in.c, maps = (size_t)l->out.c;

	memset(z, 0, nn_numel(l->out) * sizeof(double));
	for (size_t n = 0; n < (size_t)l->in.n; n++)
		for (size_t q = 0; q < s; q++) {
			double *weight = weights + (n * s + q) * s, sum = 0;

			for (size_t k = 0; k < s; k++) {
				double energy = 0;

				for (size_t c = 0; c < narrow; c++)
					energy += query[(n * narrow + c) * s + q] *
						  key[(n * narrow + c) * s + k];
				weight[k] = exp(energy);
				sum += weight[k];
			}
			for (size_t k = 0; k < s; k++) {
				weight[k] /= sum;
				for (size_t c = 0; c < maps; c++)
					z[(n * maps + c) * s + q] +=
						weight[k] * value[(n * maps + c) * s + k];
			}
		}
}

void plain_attention_backward(
	const struct nn_layer *l, const double **x, const double *weights, const double *dz, double **dx)
{
	const size_t s = (size_t)plain_places(l->in), narrow = (size_t)l->in.c, maps = (size_t)l->out.c;
	double *dweight = xcalloc(s, sizeof(double));

	for (size_t n = 0; n < (size_t)l->in.n; n++)
		for (size_t q = 0; q < s; q++) {
			const double *weight = weights + (n * s + q) * s;
			double mean = 0;

			for (size_t k = 0; k < s; k++) {
				dweight[k] = 0;
				for (size_t c = 0; c < maps; c++) {
					size_t out = (n * maps + c) * s + q, in = (n * maps + c) * s + k;

					dweight[k] += dz[out] * x[2][in];
					dx[2][in] += dz[out] * weight[k];
				}
				mean += weight[k] * dweight[k];
			}
			for (size_t k = 0; k < s; k++)
				for (size_t c = 0; c < narrow; c++) {
					size_t at_q = (n * narrow + c) * s + q,
					       at_k = (n * narrow + c) * s + k;
					double denergy = weight[k] * (dweight[k] - mean);

					dx[0][at_q] += denergy * x[1][at_k];
					dx[1][at_k] += denergy * x[0][at_q];
				}
		}
	free(dweight);
}
