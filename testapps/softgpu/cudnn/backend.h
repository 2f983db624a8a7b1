/*
 * cuDNN's backend (graph) API: what its descriptors are, and what an operation graph is turned into.
 *
 * The one idea: a kind of descriptor is a row of a table that lists its attributes, in the order of an enum
 * of "roles"; a descriptor is an array of values, one per role. So setting, asking, checking and the walk
 * over an operation's tensors are each written once. A finalised operation graph becomes a program: tensors
 * and steps as plain data, which an execution copies into its job, so that descriptors may go as soon as the
 * call has returned.
 */
#ifndef CUDNN_BACKEND_H
#define CUDNN_BACKEND_H

#include <stdatomic.h>

#include "backend_later.h"
#include "convolution_plan.h"
#include "cudnn_private.h"

#pragma GCC visibility push(hidden)

#define SG_ROLES_MAX 24

/* What cuDNN 9 answers in place of the plain BAD_PARAM and NOT_SUPPORTED where it can be more precise. */
#define SG_STATUS_NULL_POINTER ((cudnnStatus_t)2002)
#define SG_STATUS_MISALIGNED_POINTER ((cudnnStatus_t)2003)
#define SG_STATUS_NOT_FINALIZED ((cudnnStatus_t)2004)
#define SG_STATUS_SHAPE_MISMATCH ((cudnnStatus_t)2008)
#define SG_STATUS_ATTRIBUTE_TYPE ((cudnnStatus_t)2010)
#define SG_STATUS_DESCRIPTOR_TYPE ((cudnnStatus_t)2012)
#define SG_STATUS_GRAPH_PATTERN ((cudnnStatus_t)3001)
#define SG_STATUS_SHAPE ((cudnnStatus_t)3002)
#define SG_STATUS_DATA_TYPE ((cudnnStatus_t)3003)
#define SG_STATUS_LAYOUT ((cudnnStatus_t)3004)
#define SG_STATUS_PADDING ((cudnnStatus_t)3011)

/* Types of a rule beside the vendor's: what callers may pass in either of two. */
#define SG_TYPE_REAL ((cudnnBackendAttributeType_t)-1) /* FLOAT or DOUBLE, kept as double */
#define SG_TYPE_WHOLE \
	((cudnnBackendAttributeType_t)-2) /* INT64 or a FRACTION without remainder, kept as int64_t */

/* ---- roles: a kind's attributes in the order of its rules ---- */

enum sg_tensor_role {
	SG_TENSOR_TYPE,
	SG_TENSOR_DIMS,
	SG_TENSOR_STRIDES,
	SG_TENSOR_UID,
	SG_TENSOR_ALIGNMENT,
	SG_TENSOR_VIRTUAL,
	SG_TENSOR_BY_VALUE,
	SG_TENSOR_VECTOR_COUNT,
	SG_TENSOR_VECTOR_DIM,
	SG_TENSOR_REORDERING,
	SG_TENSOR_RAGGED,
	SG_TENSOR_MULTIPLIER,
	SG_TENSOR_CONSTANT
};

enum sg_conv_role {
	SG_CONV_TYPE,
	SG_CONV_MODE,
	SG_CONV_DIMS,
	SG_CONV_PRE_PAD,
	SG_CONV_POST_PAD,
	SG_CONV_STRIDES,
	SG_CONV_DILATIONS
};

/* Of the three operations alike; the tensors as in enum sg_convolution_tensor. */
enum sg_conv_op_role {
	SG_CONV_OP_X,
	SG_CONV_OP_W,
	SG_CONV_OP_Y,
	SG_CONV_OP_DESC,
	SG_CONV_OP_ALPHA,
	SG_CONV_OP_BETA
};

enum sg_pointwise_role {
	SG_POINTWISE_MODE,
	SG_POINTWISE_TYPE,
	SG_POINTWISE_NAN,
	SG_POINTWISE_LOWER,
	SG_POINTWISE_UPPER,
	SG_POINTWISE_SLOPE,
	SG_POINTWISE_ELU,
	SG_POINTWISE_SOFTPLUS,
	SG_POINTWISE_SWISH,
	SG_POINTWISE_AXIS
};

enum sg_pointwise_op_role {
	SG_POINTWISE_OP_X,
	SG_POINTWISE_OP_B,
	SG_POINTWISE_OP_T,
	SG_POINTWISE_OP_DY,
	SG_POINTWISE_OP_Y, /* written when forward, read when backward */
	SG_POINTWISE_OP_DX,
	SG_POINTWISE_OP_DESC,
	SG_POINTWISE_OP_ALPHA1,
	SG_POINTWISE_OP_ALPHA2
};

enum sg_matmul_op_role {
	SG_MATMUL_OP_A,
	SG_MATMUL_OP_B,
	SG_MATMUL_OP_C,
	SG_MATMUL_OP_DESC,
	SG_MATMUL_OP_M,
	SG_MATMUL_OP_N,
	SG_MATMUL_OP_K,
	SG_MATMUL_OP_BATCHES
};

enum sg_reduction_role { SG_REDUCTION_OPERATOR, SG_REDUCTION_TYPE, SG_REDUCTION_DETERMINISTIC };
enum sg_reduction_op_role { SG_REDUCTION_OP_X, SG_REDUCTION_OP_Y, SG_REDUCTION_OP_DESC };
enum sg_reshape_role { SG_RESHAPE_X, SG_RESHAPE_Y, SG_RESHAPE_MODE };

/* What other distributions than Bernoulli's have is accepted, and they are refused. */
enum sg_rng_role {
	SG_RNG_DISTRIBUTION,
	SG_RNG_PROBABILITY,
	SG_RNG_MEAN,
	SG_RNG_DEVIATION,
	SG_RNG_MOST,
	SG_RNG_LEAST
};

/* The seed is a tensor or a number, under one attribute. */
enum sg_rng_op_role { SG_RNG_OP_Y, SG_RNG_OP_DESC, SG_RNG_OP_SEED, SG_RNG_OP_OFFSET, SG_RNG_OP_FIXED_SEED };

enum sg_paged_role { SG_PAGED_CONTAINER, SG_PAGED_Y, SG_PAGED_LENGTH, SG_PAGED_TABLE };

/* The last two are of attention as one operation alone, whose sequences end before the tensors do. */
enum sg_softmax_role {
	SG_SOFTMAX_X,
	SG_SOFTMAX_Y,
	SG_SOFTMAX_STATS,
	SG_SOFTMAX_LARGEST,
	SG_SOFTMAX_SUM,
	SG_SOFTMAX_SINK,
	SG_SOFTMAX_LOG2,
	SG_SOFTMAX_LENGTH_Q,
	SG_SOFTMAX_LENGTH_KV
};

/* Lengths may be given as such or summed up from the first sequence on. */
enum sg_band_role {
	SG_BAND_X,
	SG_BAND_Y,
	SG_BAND_OTHERWISE,
	SG_BAND_LENGTH_Q,
	SG_BAND_LENGTH_KV,
	SG_BAND_LEFT,
	SG_BAND_RIGHT,
	SG_BAND_COMPARISON,
	SG_BAND_SUM_Q,
	SG_BAND_SUM_KV
};

enum sg_resample_role {
	SG_RESAMPLE_MODE,
	SG_RESAMPLE_TYPE,
	SG_RESAMPLE_DIMS,
	SG_RESAMPLE_PRE_PAD,
	SG_RESAMPLE_POST_PAD,
	SG_RESAMPLE_STRIDES,
	SG_RESAMPLE_WINDOW,
	SG_RESAMPLE_NAN,
	SG_RESAMPLE_PADDING
};

/* x, y, dy, dx: forward has the first two alone, backward needs no y. */
enum sg_resample_op_role {
	SG_RESAMPLE_OP_X,
	SG_RESAMPLE_OP_Y,
	SG_RESAMPLE_OP_DY,
	SG_RESAMPLE_OP_DX,
	SG_RESAMPLE_OP_INDEX,
	SG_RESAMPLE_OP_DESC,
	SG_RESAMPLE_OP_ALPHA,
	SG_RESAMPLE_OP_BETA
};

enum sg_norm_forward_role {
	SG_NORM_X,
	SG_NORM_MEAN,
	SG_NORM_INV_VARIANCE,
	SG_NORM_SCALE,
	SG_NORM_BIAS,
	SG_NORM_EPSILON,
	SG_NORM_FACTOR,
	SG_NORM_OLD_MEAN,
	SG_NORM_OLD_VARIANCE,
	SG_NORM_NEW_MEAN,
	SG_NORM_NEW_VARIANCE,
	SG_NORM_Y,
	SG_NORM_MODE,
	SG_NORM_PHASE,
	SG_NORM_PEERS
};

enum sg_norm_backward_role {
	SG_NORM_BWD_X,
	SG_NORM_BWD_MEAN,
	SG_NORM_BWD_INV_VARIANCE,
	SG_NORM_BWD_SCALE,
	SG_NORM_BWD_DY,
	SG_NORM_BWD_DSCALE,
	SG_NORM_BWD_DBIAS,
	SG_NORM_BWD_DX,
	SG_NORM_BWD_EPSILON,
	SG_NORM_BWD_MODE,
	SG_NORM_BWD_PEERS
};

enum sg_stats_role { SG_STATS_X, SG_STATS_SUM, SG_STATS_SQUARES, SG_STATS_MODE, SG_STATS_TYPE };

enum sg_bn_finalize_role {
	SG_BN_SUM,
	SG_BN_SQUARES,
	SG_BN_SCALE,
	SG_BN_BIAS,
	SG_BN_OLD_MEAN,
	SG_BN_OLD_VARIANCE,
	SG_BN_COUNT,
	SG_BN_EPSILON,
	SG_BN_FACTOR,
	SG_BN_NEW_MEAN,
	SG_BN_NEW_VARIANCE,
	SG_BN_SAVED_MEAN,
	SG_BN_SAVED_INV,
	SG_BN_EQ_SCALE,
	SG_BN_EQ_BIAS,
	SG_BN_MODE,
	SG_BN_TYPE
};

enum sg_bn_weights_role {
	SG_BNW_MEAN,
	SG_BNW_INV,
	SG_BNW_SCALE,
	SG_BNW_X,
	SG_BNW_DY,
	SG_BNW_DSCALE,
	SG_BNW_DBIAS,
	SG_BNW_EQ_DY,
	SG_BNW_EQ_X,
	SG_BNW_EQ_BIAS,
	SG_BNW_TYPE
};

/* The first eight are of both directions; what follows is the forward one's, then the backward one's. */
enum sg_sdpa_forward_role {
	SG_SDPA_Q,
	SG_SDPA_K,
	SG_SDPA_V,
	SG_SDPA_O,
	SG_SDPA_STATS,
	SG_SDPA_SCALE,
	SG_SDPA_SEQ_Q,
	SG_SDPA_SEQ_KV,
	SG_SDPA_MASK,
	SG_SDPA_PAGES_K,
	SG_SDPA_PAGES_V,
	SG_SDPA_SUM_Q,
	SG_SDPA_SUM_KV,
	SG_SDPA_SEED,
	SG_SDPA_OFFSET,
	SG_SDPA_DUMP,
	SG_SDPA_DROPOUT,
	SG_SDPA_SUBGRAPH,
	SG_SDPA_SUBGRAPH_IN,
	SG_SDPA_SUBGRAPH_OUT,
	SG_SDPA_SOFTMAX,
	SG_SDPA_UNFUSE,
	SG_SDPA_DQ = SG_SDPA_MASK,
	SG_SDPA_DK,
	SG_SDPA_DV,
	SG_SDPA_DO
};

enum sg_graph_role { SG_GRAPH_OPS, SG_GRAPH_HANDLE, SG_GRAPH_DYNAMIC, SG_GRAPH_OVERRIDE, SG_GRAPH_ENGINES };
enum sg_engine_role {
	SG_ENGINE_GRAPH,
	SG_ENGINE_INDEX,
	SG_ENGINE_SM_COUNT,
	SG_ENGINE_DEVICE,
	SG_ENGINE_KNOBS,
	SG_ENGINE_NUMERICAL_NOTES,
	SG_ENGINE_BEHAVIOUR_NOTES,
	SG_ENGINE_LAYOUTS
};
enum sg_heur_role { SG_HEUR_GRAPH, SG_HEUR_MODE, SG_HEUR_SM_COUNT, SG_HEUR_DEVICE, SG_HEUR_RESULTS };
enum sg_config_role {
	SG_CONFIG_ENGINE,
	SG_CONFIG_KNOBS,
	SG_CONFIG_INTERMEDIATES,
	SG_CONFIG_WORKSPACE,
	SG_CONFIG_SHARED
};
enum sg_plan_role {
	SG_PLAN_CONFIG,
	SG_PLAN_HANDLE,
	SG_PLAN_KERNEL_CACHE,
	SG_PLAN_DEVICE,
	SG_PLAN_WORKSPACE,
	SG_PLAN_COMPUTED,
	SG_PLAN_RUN_ONLY,
	SG_PLAN_TEXT
};
enum sg_pack_role { SG_PACK_UIDS, SG_PACK_POINTERS, SG_PACK_WORKSPACE, SG_PACK_INTERMEDIATES };

/* ---- kinds and descriptors: backend_kind.c, backend.c ---- */

enum sg_rule_flags {
	SG_RULE_ANSWER = 1,   /* can be asked for, not set */
	SG_RULE_OUTPUT = 2,   /* a tensor that the operation writes */
	SG_RULE_FALLBACK = 4, /* has a value where none was set */
};

/* One attribute of a kind. */
struct sg_rule {
	cudnnBackendAttributeName_t name;
	cudnnBackendAttributeType_t type;
	int min, max; /* elements; min 0: need not be set */
	unsigned flags;
	int of; /* descriptors: the kind they must be of; -1: any operation */
	double fallback;
};

struct sg_body;
struct sg_build;
struct sg_step;

struct sg_kind {
	cudnnBackendDescriptorType_t type;
	int rule_count;
	const struct sg_rule *rules;
	/* When all that is needed has been set: checks what the rules cannot say and fills in answers. May be
	 * NULL. */
	cudnnStatus_t (*finalize)(struct sg_body *body);
	/* Operations alone: fills in a step, whose tensors have been found. */
	cudnnStatus_t (*build)(const struct sg_body *op, struct sg_build *build, struct sg_step *step);
};

/* NULL for a kind that we do not have. */
const struct sg_kind *sg_kind_find(cudnnBackendDescriptorType_t type);

/* The rows of the table that attention is made of: backend_kind_attention.c. */
extern const struct sg_kind sg_attention_kinds[];
extern const size_t sg_attention_kind_count;

struct sg_value {
	int64_t count;  /* 0: not set */
	void *elements; /* owned; of descriptors: struct sg_body *, each a reference */
};

/*
 * What a descriptor holds. Counted, because other descriptors and what was asked for refer to it; it does not
 * change any more once finalised.
 */
struct sg_body {
	const struct sg_kind *kind;
	atomic_int references;
	bool is_finalized;
	struct sg_shape shape;      /* of a tensor, once finalised */
	unsigned char constant[8];  /* of a tensor whose value is given with it, once finalised */
	struct sg_program *program; /* of an operation graph, once finalised; owned */
	struct sg_value value[SG_ROLES_MAX];
};

/* What a cudnnBackendDescriptor_t points to. */
struct sg_descriptor {
	struct sg_body *body;
};

/* NULL: out of memory. The caller has the one reference. */
struct sg_body *sg_body_create(const struct sg_kind *kind);
struct sg_body *sg_body_keep(struct sg_body *body);
void sg_body_drop(struct sg_body *body); /* NULL is ignored */
cudnnStatus_t sg_body_finalize(struct sg_body *body);

/* Copies elements, as the rule keeps them, in place of what was set; takes a reference to each descriptor. */
cudnnStatus_t sg_body_put(struct sg_body *body, int role, int64_t count, const void *elements);

/* Elements as the rule keeps them; defined where there is a value. */
int64_t sg_body_int(const struct sg_body *body, int role); /* of any whole type */
double sg_body_real(const struct sg_body *body, int role);
const int64_t *sg_body_ints(const struct sg_body *body, int role);
struct sg_body *sg_body_at(const struct sg_body *body, int role, int64_t index); /* NULL: not set */
const struct sg_shape *sg_body_shape(const struct sg_body *op, int role); /* of a tensor; NULL: not set */

/* ---- programs: backend_graph.c, backend_run.c ---- */

/* A tensor of a program. */
struct sg_graph_tensor {
	int64_t uid;
	int64_t alignment;
	struct sg_shape shape; /* as described */
	struct sg_shape work;  /* the floats that steps compute with */
	bool is_virtual, is_by_value, is_read, is_written;
	bool is_added_to;  /* the step that writes it reads it first */
	bool is_in_place;  /* steps use the caller's memory; else the scratch memory at `at` */
	bool is_ignored;   /* operations read it times zero alone: callers may pass NULL, steps see zeros */
	bool has_constant; /* by value, and known when the graph was made */
	unsigned char constant[8];
	int ragged; /* the tensor of the offsets at which its sequences begin; -1: none */
	int64_t multiplier;
	size_t at;
};

/* What a step computes with: arrays by the role of the tensor in the operation. */
struct sg_operands {
	const struct sg_shape *shape[SG_ROLES_MAX];
	float *data[SG_ROLES_MAX]; /* NULL: the operation has none */
	/* As they are stored: of types that floats cannot hold. NULL for virtual ones. */
	const void *stored[SG_ROLES_MAX];
	cudnnDataType_t type[SG_ROLES_MAX];
	void *scratch; /* sg_step.scratch_bytes, aligned to 64 */
};

/* What the search for attention looks at (backend_mask.c). */
enum sg_step_kind {
	SG_STEP_OTHER,
	SG_STEP_PRODUCT,
	SG_STEP_EXPONENTIAL,
	SG_STEP_POINTWISE,
	SG_STEP_BAND,
	SG_STEP_PAGES
};

struct sg_step {
	/* Computes; 0, or -1 when that failed. Runs on a worker thread. */
	int (*run)(const struct sg_step *step, const struct sg_operands *operands);
	int tensor[SG_ROLES_MAX]; /* by role; -1: none */
	enum sg_step_kind kind;
	struct sg_cost cost; /* for itself, without bytes: they are the program's */
	size_t scratch_bytes;
	union {
		struct {
			struct sg_convolution_plan *plan;
			double alpha, beta;
		} convolution;
		struct {
			cudnnPointwiseMode_t mode;
			int axis;
			float lower, upper, slope, elu, softplus, swish, alpha1, alpha2;
		} pointwise;
		float padding; /* matmul */
		struct {
			bool is_view;          /* the same memory with its dimensions in another order */
			int from[SG_DIMS_MAX]; /* of a view: which dimension of x each one of y is */
		} reshape;
		struct {
			double probability;
			bool has_seed;
			uint64_t seed;
		} rng;
		bool is_log2;                    /* softmax: stats are logarithms to the base of 2 */
		cudnnPointwiseMode_t comparison; /* band */
		cudnnReduceTensorOp_t reduction;
		struct {
			struct cudnnPoolingStruct pooling;
			double alpha, beta;
		} resample;
		struct {
			bool is_rms, is_training;
		} norm;
	} by;
};

/* An operation graph made ready. What it takes to run it is two arrays without pointers to anything that may
 * go. */
struct sg_program {
	cudnnStatus_t status;           /* not SUCCESS: no engine can do it, for this reason */
	struct sg_cost cost;            /* of a run */
	bool is_attention;              /* its products lie around a softmax */
	int queries, keys;              /* of attention */
	int query_lengths, key_lengths; /* of attention: the tensors that say how long sequences are; -1 */
	int tensor_count, step_count;
	struct sg_graph_tensor *tensor;
	struct sg_step *step; /* in an order in which everything is there when it is read */
	size_t scratch_bytes; /* of a run, beginning with tensors */
	size_t step_scratch_at;
};

/*
 * The program of a set of operations, or NULL with *status set: BAD_PARAM where the operations contradict one
 * another, ALLOC_FAILED. What cannot be computed gives a program with a status of its own.
 */
struct sg_program *sg_program_make(const struct sg_body *graph, cudnnStatus_t *status);
void sg_program_free(struct sg_program *program);

/*
 * Finds the tensors' memory in the variant pack and submits the program to the handle's stream.
 * uses_workspace: the intermediate values lie in the pack's workspace, not in the worker's memory.
 */
cudnnStatus_t sg_program_execute(cudnnHandle_t handle, const struct sg_program *program, bool uses_workspace,
	const struct sg_body *pack);

/* A scalar that is passed by value, as it is stored. */
float sg_scalar_load(const void *stored, cudnnDataType_t type);

/* Finds out whether a program is attention, and puts its cost in (backend_mask.c). */
void sg_attention_find(struct sg_program *program);

/* The share of the scores that are computed, as tiles without any that the masks keep are left out. value: of
 * each tensor that is passed by value, where it is stored. */
double sg_attention_share(const struct sg_program *program, const void *const *value);

/*
 * Attention as one operation is made of others, at most sg_sdpa_parts of them: they are put at the end of a
 * list, which has a reference to each, also where the status is not SUCCESS.
 */
int sg_sdpa_parts(const struct sg_body *op);
cudnnStatus_t sg_sdpa_expand(const struct sg_body *op, struct sg_body **list, int *count);

/* While a program is made: the tensors that a step of `build` will see. */
const struct sg_shape *sg_build_shape(const struct sg_build *build, const struct sg_step *step, int role);

/* The same shape with the type that the tensor has in memory. */
const struct sg_shape *sg_build_stored(const struct sg_build *build, const struct sg_step *step, int role);

/* The cost of a step that is bound by memory: so many flops for each element of a tensor that it has. */
struct sg_cost sg_build_elements(
	const struct sg_build *build, const struct sg_step *step, int role, double per_element);

/* Says that a tensor which the step writes is also read. */
void sg_build_reads(struct sg_build *build, const struct sg_step *step, int role);

/* ---- what kinds check, answer and do: the last two columns of the table ---- */

cudnnStatus_t sg_tensor_finalize(struct sg_body *tensor);
cudnnStatus_t sg_graph_finalize(struct sg_body *graph);
cudnnStatus_t sg_engine_finalize(struct sg_body *engine);
cudnnStatus_t sg_heur_finalize(struct sg_body *heur);
cudnnStatus_t sg_config_finalize(struct sg_body *config);
cudnnStatus_t sg_plan_finalize(struct sg_body *plan);

/* Gives a plan its text, with which another one can be made in this process: backend_text.c. Any thread. */
cudnnStatus_t sg_plan_write(struct sg_body *plan);
/* Gives a plan that has a text the engine that the text means: NOT_SUPPORTED where another process wrote it. */
cudnnStatus_t sg_plan_read(struct sg_body *plan);
cudnnStatus_t sg_pack_finalize(struct sg_body *pack);
cudnnStatus_t sg_convolution_finalize(struct sg_body *convolution);
cudnnStatus_t sg_resample_finalize(struct sg_body *resample);
cudnnStatus_t sg_convolution_op_finalize(struct sg_body *op);
cudnnStatus_t sg_convolution_op_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step);
cudnnStatus_t sg_pointwise_op_finalize(struct sg_body *op);
cudnnStatus_t sg_pointwise_op_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step);
cudnnStatus_t sg_matmul_op_finalize(struct sg_body *op);
cudnnStatus_t sg_matmul_op_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step);
cudnnStatus_t sg_reduction_op_finalize(struct sg_body *op);
cudnnStatus_t sg_reduction_op_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step);
cudnnStatus_t sg_reshape_op_finalize(struct sg_body *op);
cudnnStatus_t sg_reshape_op_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step);
cudnnStatus_t sg_resample_forward_finalize(struct sg_body *op);
cudnnStatus_t sg_resample_backward_finalize(struct sg_body *op);
cudnnStatus_t sg_resample_op_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step);
cudnnStatus_t sg_norm_forward_finalize(struct sg_body *op);
cudnnStatus_t sg_norm_forward_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step);
cudnnStatus_t sg_norm_backward_finalize(struct sg_body *op);
cudnnStatus_t sg_norm_backward_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step);
cudnnStatus_t sg_stats_finalize(struct sg_body *op);
cudnnStatus_t sg_stats_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step);
cudnnStatus_t sg_bn_finalize_finalize(struct sg_body *op);
cudnnStatus_t sg_bn_finalize_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step);
cudnnStatus_t sg_bn_weights_finalize(struct sg_body *op);
cudnnStatus_t sg_bn_weights_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step);
cudnnStatus_t sg_sdpa_finalize(struct sg_body *op);
cudnnStatus_t sg_sdpa_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step);
cudnnStatus_t sg_rng_op_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step);
cudnnStatus_t sg_paged_op_finalize(struct sg_body *op);
cudnnStatus_t sg_paged_op_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step);
cudnnStatus_t sg_softmax_op_finalize(struct sg_body *op);
cudnnStatus_t sg_softmax_op_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step);
cudnnStatus_t sg_band_op_finalize(struct sg_body *op);
cudnnStatus_t sg_band_op_build(const struct sg_body *op, struct sg_build *build, struct sg_step *step);

/* How long a sequence is, by a tensor with a number for each, or with the sums of those before it and one
 * more; `otherwise` where the operation has none. */
int64_t sg_length_at(
	const struct sg_operands *operands, int role, int64_t batch, int batches, int64_t otherwise);

/* y = the reduction of x along the dimensions in which y has size 1. */
void sg_reduce_floats(cudnnReduceTensorOp_t op, const struct sg_shape *x_shape, const float *x,
	const struct sg_shape *y_shape, float *y);

/* c = a * b (c = c + a * b when `adds`), each in steps of elements from row to row and column to column. */
struct sg_matrix {
	float *data;
	int64_t row, column;
};
int sg_multiply(int64_t m, int64_t n, int64_t k, const struct sg_matrix *a, const struct sg_matrix *b,
	const struct sg_matrix *c, bool adds);

#pragma GCC visibility pop

#endif
