/*
 * A training program that does not exist: writes the trace that a real one would leave, and knows of each
 * call which phase, layer and iteration it belongs to. Time is made up: a call takes 1 us on the host, work
 * its given time on the device, queues run in order, a collective ends when the last rank has come.
 */
#ifndef MODEL_H
#define MODEL_H

#include "timeline/phase_name.h"
#include "trace_builder.h"

enum model_net { MODEL_LENET, MODEL_MLP, MODEL_AUTOENCODER, MODEL_NORM, MODEL_SEQUENCE, MODEL_RESIDUAL };
enum model_optimizer { MODEL_SGD, MODEL_MOMENTUM, MODEL_ADAM, MODEL_OPAQUE, MODEL_SCRATCH };

/* The order of several forward and backward passes: by turns; GPipe's; PipeDream's, one forward pass ahead.
 */
enum model_schedule { MODEL_TURNS, MODEL_ALL_FORWARD, MODEL_ONE_AHEAD };

struct model_options {
	enum model_net net;
	enum model_optimizer optimizer;
	int iterations;
	int batch;     /* of each GPU */
	int processes; /* at least 1 */
	int gpus;      /* of each process, at least 1 */
	bool overlap;  /* aggregation on a second queue, beside the backward pass */
	bool fused;    /* one exchange of all gradients, which lie in one buffer */
	int bucket; /* so many layers' gradients are copied into one buffer, exchanged there and copied back;
		       0: none */
	int bucket_moves;   /* before that iteration the buffer is elsewhere */
	bool flat;          /* one update of all parameters; with fused, SGD only */
	bool divide_device; /* the first GPU hands the batch out */
	bool prefetch;      /* another thread reads the input */
	bool search;        /* the first iteration looks for algorithms */
	bool no_device;     /* host times only */
	bool axpy_loss;     /* the loss's gradient by a copy and an axpy */
	bool resident;      /* no file input and no copies */
	bool separate;      /* biases are not after their weights */
	bool grouped;       /* all exchanges in one group, which has one device interval a queue */
	bool early;         /* a layer is updated as soon as its gradients are exchanged */
	bool op_bias;       /* biases are added out of place */
	int windows[4];   /* recorded from iteration [0] to before [1], and from [2] to before [3]; [1] 0: all
			   */
	int untimed[2];   /* no device times from after the forward pass of iteration [0] to after that of [1], in each
			   * process one later than in that before; [1] 0: all have them */
	bool cost;        /* the trace tells what the hook took, and of input of worker processes */
	bool late_window; /* the second window opens after the forward pass, the first closes there */
	bool modules;     /* the program has names for its layers: "net.conv1", activations are "net.act" */
	bool graph_api;   /* through cuDNN's graph API and cublasLt, with fused biases and activations */
	bool ranges;      /* of NVTX: an iteration is in "step", in indigo, its passes in "passes" */
	bool run_ahead;   /* the host does not wait for the device */
	int synchronize_every; /* it waits once in so many iterations, for 50 us; 0: in each */
	bool killed;
	bool version_1;
	bool activities; /* device times of each kernel, copy and set, not of each call; two kernels a call */
	uint64_t gap_ns; /* between those two, outside graphs and groups */
	/* Captured in the first iteration, launched in all: 1 from the forward pass to the update, for one
	 * GPU; 2 forward and backward pass */
	int graph;
	int accumulate;               /* forward and backward passes for an update; 0 and 1: one */
	enum model_schedule schedule; /* of those passes; but for MODEL_TURNS each has tensors of its own */
	bool recompute;  /* with MODEL_ALL_FORWARD: only inputs are kept, and a forward pass is done again */
	bool mask_again; /* with recompute: dropout is done again by its backward function */
	bool axpy_sums;  /* convolutions cannot add to gradients: a step of its own does */
	int versions;    /* with flat: parameters are kept so often, an update makes a new version; 0: one */
	int evaluate_every; /* iterations; 0: never */
	int evaluate_count; /* batches of a pass */
	int uneven_every;   /* each so-many-th iteration has a smaller batch */
	int log_every;      /* each so-many-th iteration sums the loss over the ranks */
	int agree_in;       /* in that iteration the ranks agree on a value after their input; 0: never */
	bool kernels;       /* an own kernel after each layer's work, the same one in both passes */
	int extra_every;    /* with kernels; in each so-many-th iteration some layers have more of them */
	int slow_worker;    /* its computations take slow times as long */
	double slow;
	const char *slow_layer; /* those of these layers only, "conv1 fc2"; NULL: all */
	int second_worker;      /* another one likewise, where second_slow is not 0 */
	double second_slow;
	uint64_t copy_ns;        /* a batch's way to the device; 0: 15 us */
	uint64_t slow_input_ns;  /* of slow_worker: each read takes so much longer */
	uint64_t slow_host_ns;   /* of slow_worker: the host is busy so long after each call that does work */
	uint64_t slow_other_ns;  /* of slow_worker: fetching its result takes so much longer */
	int slow_batch;          /* of slow_worker: its batch, and times to match; 0: as the others */
	const char *extra_layer; /* of slow_worker: this layer's forward work is done twice */
	int slow_every;          /* only in each so-many-th iteration; 0: in all */
	uint64_t seed;           /* 0: no jitter */
};

struct model_call {
	uint64_t begin_ns; /* those of a graph: of its launch, which comes first */
	enum phase phase;  /* PHASE_COUNT: nothing to check */
	const char *layer; /* NULL: none, or several */
	int iteration;     /* -1: outside */
};

struct model_process {
	struct builder builder;
	struct model_call *calls; /* those that do work or read */
	size_t call_count, call_room;
};

struct model {
	struct model_process processes[8];
	int process_count;
	const char *layers[32];
	int layer_count;
};

void model_make(struct model *model, const struct model_options *options);
void model_free(struct model *model);

#endif
