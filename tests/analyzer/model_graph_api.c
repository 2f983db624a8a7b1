/*
 * The layers of made-up training programs as a framework calls them today: cuDNN's graph API and cublasLt,
 * biases and activations fused. The same work as in model_net.c, and the same time.
 */
#include "model_make.h"

#include <string.h>

enum { RELU_BIAS = 6, BIAS = 4, PLAIN = 1, SUM_B = 512 }; /* the vendor's flags of an epilogue */

static uint64_t text(struct worker *worker, const char *name)
{
	struct host *host = worker->host;

	for (int i = 0; i < host->text_count; i++)
		if (strcmp(host->texts[i].name, name) == 0)
			return host->texts[i].number;
	host->texts[host->text_count].name = name;
	host->texts[host->text_count].number = builder_string(host->builder, name);
	return host->texts[host->text_count++].number;
}

/* A matrix of a batch of one; turned: its columns lie together. */
static uint64_t matrix(struct worker *worker, uint64_t rows, uint64_t columns, bool turned)
{
	struct host *host = worker->host;
	struct known_matrix *item = host->matrices;

	for (int i = 0; i < host->matrix_count; i++, item++)
		if (item->rows == rows && item->columns == columns && item->turned == turned)
			return item->number;
	*item = (struct known_matrix){rows, columns, turned,
		builder_descriptor(host->builder, PM_DESCRIPTOR_TENSOR, 8, (int64_t)PM_TYPE_F32, (int64_t)3,
			(int64_t)1, (int64_t)rows, (int64_t)columns, (int64_t)(rows * columns),
			(int64_t)(turned ? 1 : columns), (int64_t)(turned ? rows : 1))};
	host->matrix_count++;
	return item->number;
}

struct place {
	const struct layer *layer;
	struct tensors *t;
	struct descriptors *d;
	struct about about;
	uint64_t x, y, bias, from, dx, in, out, n;
};

static struct place place_of(struct maker *maker, struct worker *worker, int i, enum phase phase)
{
	const struct layer *layer = &maker->layers[i];
	int channels[3] = {layer->out[0], 1, 1};

	return (struct place){.layer = layer,
		.t = &worker->tensors[i],
		.d = model_descriptors(maker, worker, layer),
		.about = {phase, layer->name},
		.x = model_tensor(worker, maker->batch, layer->in),
		.y = model_tensor(worker, maker->batch, layer->out),
		.bias = model_tensor(worker, 1, channels),
		.from = i ? worker->tensors[i - 1].y : worker->input,
		.dx = i ? worker->tensors[i - 1].dy : 0,
		.in = model_volume(layer->in),
		.out = model_volume(layer->out),
		.n = (uint64_t)maker->batch};
}

/* One of the dense layers goes through the graph API, the others through cublasLt. */
static bool by_matmul(const struct place *p)
{
	return strcmp(p->layer->name, "fc2") == 0;
}

static void dense_forward(struct maker *maker, struct worker *worker, const struct place *p)
{
	uint64_t ns = p->layer->linear ? 15000 : 19000;

	if (by_matmul(p))
		model_work(maker, worker, COMPUTE, "cudnnBackendExecute_Matmul", ns, p->about,
			VALUES(matrix(worker, p->n, p->in, false), p->from,
				matrix(worker, p->in, p->out, true), p->t->w, p->t->b,
				matrix(worker, p->n, p->out, false), p->t->y,
				text(worker, p->layer->linear ? "matmul + add" : "matmul + add + relu_fwd")));
	else
		model_work(maker, worker, COMPUTE, "cublasLtMatmul", ns, p->about,
			VALUES(1, 0, p->out, p->n, p->in, 1, p->layer->linear ? BIAS : RELU_BIAS, PM_TYPE_F32,
				p->t->w, p->from, 0, p->t->y, p->t->y, p->t->b, 0, 0));
}

bool model_graph_forward(struct maker *maker, struct worker *worker, int layer)
{
	struct place p = place_of(maker, worker, layer, PHASE_FORWARD);

	switch (p.layer->kind) {
	case CONV:
		model_work(maker, worker, COMPUTE, "cudnnBackendExecute_ConvolutionForward",
			p.layer->linear ? 23000 : 27000, p.about,
			VALUES(p.x, p.from, p.d->filter, p.t->w, p.d->convolution, p.t->b, 0, p.y, p.t->y,
				text(worker,
					p.layer->linear ? "conv_fwd + add" : "conv_fwd + add + relu_fwd")));
		return true;
	case NORM:
		model_work(maker, worker, COMPUTE, "cudnnBackendExecute_NormForward", 12000, p.about,
			VALUES(p.d->norm, p.x, p.from, p.t->w, p.t->b, p.y, p.t->y,
				text(worker, "norm_fwd + relu_fwd")));
		return true;
	case DENSE:
		dense_forward(maker, worker, &p);
		return true;
	case POOL:
		model_work(maker, worker, COMPUTE, "cudnnBackendExecute_PoolingForward", 5000, p.about,
			VALUES(p.d->pool, p.x, p.from, p.y, p.t->y, text(worker, "resample_fwd")));
		return true;
	default:
		return false;
	}
}

static void sum_bias(struct maker *maker, struct worker *worker, const struct place *p, uint64_t ns)
{
	model_work(maker, worker, COMPUTE, "cudnnBackendExecute_Reduction", ns, p->about,
		VALUES(p->d->reduce, p->y, p->t->dy, p->bias, p->t->db, text(worker, "add")));
}

static void dense_backward(struct maker *maker, struct worker *worker, const struct place *p)
{
	if (by_matmul(p)) {
		sum_bias(maker, worker, p, 3000);
		model_work(maker, worker, COMPUTE, "cudnnBackendExecute_Matmul", 12000, p->about,
			VALUES(matrix(worker, p->out, p->n, true), p->t->dy,
				matrix(worker, p->n, p->in, false), p->from, 0,
				matrix(worker, p->out, p->in, false), p->t->dw, text(worker, "matmul")));
		model_work(maker, worker, COMPUTE, "cudnnBackendExecute_Matmul", 12000, p->about,
			VALUES(matrix(worker, p->n, p->out, false), p->t->dy,
				matrix(worker, p->out, p->in, false), p->t->w, 0,
				matrix(worker, p->n, p->in, false), p->dx, text(worker, "matmul")));
		return;
	}
	model_work(maker, worker, COMPUTE, "cublasLtMatmul", 15000, p->about,
		VALUES(0, 1, p->in, p->out, p->n, 1, SUM_B, PM_TYPE_F32, p->from, p->t->dy, 0, p->t->dw,
			p->t->dw, 0, p->t->db, 0));
	if (p->dx)
		model_work(maker, worker, COMPUTE, "cublasLtMatmul", 12000, p->about,
			VALUES(0, 0, p->in, p->n, p->out, 1, PLAIN, PM_TYPE_F32, p->t->w, p->t->dy, 0, p->dx,
				p->dx, 0, 0, 0));
}

bool model_graph_backward(struct maker *maker, struct worker *worker, int layer)
{
	struct place p = place_of(maker, worker, layer, PHASE_BACKWARD);

	if (model_has_parameters(p.layer) && !p.layer->linear)
		model_work(maker, worker, COMPUTE, "cudnnBackendExecute_PointwiseBackward", 4000, p.about,
			VALUES(p.d->pointwise, p.t->y, p.y, p.t->dy, p.y, p.t->dy, text(worker, "relu_bwd")));
	switch (p.layer->kind) {
	case CONV:
		sum_bias(maker, worker, &p, 4000);
		model_work(maker, worker, COMPUTE, "cudnnBackendExecute_ConvolutionBackwardFilter", 25000,
			p.about,
			VALUES(p.x, p.from, p.y, p.t->dy, p.d->convolution, p.d->filter, p.t->dw,
				text(worker, "conv_bwd_filter")));
		if (p.dx)
			model_work(maker, worker, COMPUTE, "cudnnBackendExecute_ConvolutionBackwardData",
				22000, p.about,
				VALUES(p.d->filter, p.t->w, p.y, p.t->dy, p.d->convolution, p.x, p.dx,
					text(worker, "conv_bwd_data")));
		return true;
	case NORM:
		model_work(maker, worker, COMPUTE, "cudnnBackendExecute_NormBackward", 9000, p.about,
			VALUES(p.d->norm, p.x, p.from, p.y, p.t->dy, p.t->w, p.x, p.dx, p.t->dw, p.t->db,
				text(worker, "norm_bwd")));
		return true;
	case DENSE:
		dense_backward(maker, worker, &p);
		return true;
	case POOL:
		model_work(maker, worker, COMPUTE, "cudnnBackendExecute_PoolingBackward", 6000, p.about,
			VALUES(p.d->pool, p.x, p.from, p.y, p.t->dy, p.x, p.dx,
				text(worker, "resample_bwd")));
		return true;
	default:
		return false;
	}
}
