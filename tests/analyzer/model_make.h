/* Inside model*.c: the made-up training program at work. */
#ifndef MODEL_MAKE_H
#define MODEL_MAKE_H

#include "model.h"

enum { MOST_LAYERS = 32, MOST_WORKERS = 8, COMPUTE = 0, EXCHANGE = 1, BUCKET_BYTES = 1000000 };

enum kind { CONV, NORM, POOL, DENSE, DROPOUT, SOFTMAX, MSE, RECURRENT, ATTENTION, SUM, SCALE, SELF };

struct layer {
	const char *name;
	enum kind kind;
	int in[3], out[3]; /* channels, height, width */
	int kernel;
	bool linear;   /* no activation */
	int inputs[3]; /* layers that it reads, -1: the network's input; most have one */
	bool adds[3];  /* its backward pass adds to that layer's gradient, which a later layer has set */
};

struct tensors {
	uint64_t z, y, dy, w, b, dw, db, first_w, first_b, second_w, second_b, sum;
	uint64_t exchanged_ns;    /* end of the exchange of its gradients */
	uint64_t weights, biases; /* elements */
};

struct cached {
	uint32_t function, operation;
	uint64_t values[20];
	uint32_t count;
	bool named;
};

struct descriptors {
	uint64_t filter, convolution, pool, dropout, act, op, norm, reduce, pointwise, rnn, attention;
};

struct known_tensor {
	int64_t n;
	int size[3];
	uint64_t number;
};

struct known_matrix {
	uint64_t rows, columns;
	bool turned;
	uint64_t number;
};

struct host {
	struct model_process *process;
	struct builder *builder;
	uint64_t now_ns, reader_ns;
	struct cached *cache;
	size_t cache_count;
	const char *names[64];
	uint32_t functions[64];
	int function_count;
	struct known_tensor tensors[128];
	int tensor_count;
	struct known_matrix matrices[32];
	int matrix_count;
	struct {
		const char *name;
		uint64_t number;
	} texts[32];
	int text_count;
	struct descriptors descriptors[MOST_LAYERS]; /* by layer */
};

/* Of a captured graph. */
struct captured {
	uint32_t operation;
	uint64_t ns;
	bool copy;
	enum phase phase;
	const char *layer;
};

struct capture {
	struct captured items[128];
	int count;
	uint32_t launch; /* operation of the launch; 0: not captured yet */
};

struct worker {
	struct host *host;
	int device, number;
	uint32_t queues[2];
	uint64_t free_ns[2];
	uint32_t communicator;
	struct builder_record group; /* the call that carries the group's interval */
	struct capture capture;
	uint64_t next_address;
	uint64_t input, target, whole, ones, constants, flat_w, flat_dw, sums, scratch, bucket;
	uint64_t flat_count;
	struct tensors tensors[MOST_LAYERS];
};

struct maker {
	const struct model_options *options;
	struct model *model;
	struct host hosts[8];
	struct worker workers[MOST_WORKERS];
	int worker_count;
	struct layer layers[MOST_LAYERS];
	int layer_count;
	int iteration, batch;
	int pass;    /* number of the micro-batch in the iteration, where each has its own tensors */
	int version; /* of the parameters */
	bool again;  /* forward work for the backward pass */
	bool training;
	bool in_group, capturing;
	int group_calls;
	uint64_t group_bytes, group_start_ns[MOST_WORKERS];
	uint64_t random;
};

/* What the next calls are. */
struct about {
	enum phase phase;
	const char *layer;
};

#define VALUES(...) ((const uint64_t[]){__VA_ARGS__})

/* model_call.c: calls and time */
uint32_t model_intern(struct host *host, const char *name, const uint64_t *values);
void model_note(struct maker *maker, struct host *host, uint64_t begin_ns, struct about about);
/* Is the worker disturbed in this iteration? */
bool model_is_slow(const struct maker *maker, const struct worker *worker);
uint64_t model_jitter(struct maker *maker, uint64_t ns); /* a duration with up to a tenth more, by chance */
/* Work on a queue: 1 us of the host, `ns` of the device. */
void model_work(struct maker *maker, struct worker *worker, int queue, const char *name, uint64_t ns,
	struct about about, const uint64_t *values);
/* What is called from now on goes into each worker's graph, until it is launched. */
void model_capture(struct maker *maker);
void model_launch(struct maker *maker);
/* A call that is no work, and lasts until `until_ns` or a little while. */
void model_plain(
	struct host *host, const char *name, uint32_t queue, uint64_t until_ns, const uint64_t *values);
void model_synchronize(struct worker *worker, int queue);
void model_wait_event(
	struct worker *worker, int from, int to); /* `to` waits for what `from` has been given */
/*
 * One call for all workers of a collective: it ends when the last has come. In an open group, later: with the
 * group, whose one interval is written for its first call. model_group opens and closes groups.
 */
void model_group(struct maker *maker, bool begin);
void model_group_run(struct maker *maker); /* before the group is closed */
void model_exchange(struct maker *maker, const uint64_t *addresses, uint64_t elements, struct about about);
uint64_t model_tensor(struct worker *worker, int64_t n, const int size[3]); /* number of a descriptor */
uint64_t model_volume(const int size[3]);

bool model_has_parameters(const struct layer *layer);
struct descriptors *model_descriptors(struct maker *maker, struct worker *worker, const struct layer *layer);

/* model_graph_api.c: layers through the graph API; false: the layer is none of those */
bool model_graph_forward(struct maker *maker, struct worker *worker, int layer);
bool model_graph_backward(struct maker *maker, struct worker *worker, int layer);

/* model_net.c: networks and their layers */
void model_build(struct maker *maker);
void model_place(struct maker *maker, struct worker *worker); /* gives all tensors addresses */
void model_forward_layer(struct maker *maker, struct worker *worker, int layer);
/* Tensors of a layer for the pass and version that is at work; i -1: only `y`, the network's input. */
struct tensors model_tensors(const struct maker *maker, const struct worker *worker, int i);
void model_new_version(struct maker *maker, struct worker *worker);
void model_backward_layer(struct maker *maker, struct worker *worker, int layer, bool keep);
void model_update(struct maker *maker, struct worker *worker, int layer); /* -1: all */

#endif
