/*
 * What an operation graph of cuDNN's backend API is: the function that its execution is recorded as.
 *
 * One operation of the graph is the main one: attention before convolution before matrix product before
 * normalisation and so on. Its tensors become the values, under the labels of the decoded rows in
 * pm_hooks.def, so that a fused graph reads like the legacy call of its main operation. A main operation's
 * tensor that is virtual has no address; then that of the graph's tensor is taken which it was computed from,
 * or which is computed from it.
 */
#include "backend.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "guest/guest.h"
#include "guest/resolve.h"
#include "trace/intern.h"
#include "trace/write.h"

#define PLANS (1u << 14)

static struct backend_plan plans[PLANS]; /* the first stays empty */
static unsigned plan_count = 1;
static pmh_lock lock = ATOMIC_FLAG_INIT;

const struct backend_plan *backend_plan_at(uint32_t number)
{
	return number && number < PLANS ? &plans[number] : NULL;
}

/* Texts that plans were written as, the last ones that there is room for. */
#define TEXTS 1024
static struct {
	uint64_t hash;
	uint32_t plan;
} texts[TEXTS];
static unsigned text_count;

void backend_text_written(uint32_t plan, const void *text, size_t bytes)
{
	const uint64_t hash = pmh_hash(0, text, bytes);

	if (!plan || backend_text_plan(text, bytes) == plan)
		return;
	pmh_acquire(&lock);
	texts[text_count % TEXTS].hash = hash;
	texts[text_count++ % TEXTS].plan = plan;
	pmh_release(&lock);
}

uint32_t backend_text_plan(const void *text, size_t bytes)
{
	const uint64_t hash = pmh_hash(0, text, bytes);
	uint32_t plan = 0;

	pmh_acquire(&lock);
	for (unsigned i = 0; i < TEXTS && i < text_count && !plan; i++)
		plan = texts[i].hash == hash ? texts[i].plan : 0;
	pmh_release(&lock);
	return plan;
}

/* In a child after fork: numbers in the plans belong to the parent's trace. */
void pmh_backend_forget(void)
{
	plan_count = 1;
	text_count = 0;
	pmh_lock_forget(&lock);
}

/* ---- kinds of operations ---- */

#define KIND(type, name, call, weight) \
	{ \
		CUDNN_BACKEND_OPERATION_##type##_DESCRIPTOR, name, PM_CALL_cudnnBackendExecute_##call, \
			weight \
	}
/* clang-format off */
static const struct backend_kind kinds[] = {
	KIND(SDPA_FWD, "sdpa_fwd", AttentionForward, 9),
	KIND(SDPA_BWD, "sdpa_bwd", AttentionBackward, 9),
	KIND(CONVOLUTION_FORWARD, "conv_fwd", ConvolutionForward, 8),
	KIND(CONVOLUTION_BACKWARD_DATA, "conv_dgrad", ConvolutionBackwardData, 8),
	KIND(CONVOLUTION_BACKWARD_FILTER, "conv_wgrad", ConvolutionBackwardFilter, 8),
	KIND(MATMUL, "matmul", Matmul, 7),
	KIND(NORM_FORWARD, "norm_fwd", NormForward, 6),
	KIND(BN_FINALIZE_STATISTICS, "bn_finalize", NormForward, 6),
	KIND(NORM_BACKWARD, "norm_bwd", NormBackward, 6),
	KIND(BN_BWD_WEIGHTS, "bn_bwd_weights", NormBackward, 6),
	KIND(RESAMPLE_FWD, "resample_fwd", PoolingForward, 5),
	KIND(RESAMPLE_BWD, "resample_bwd", PoolingBackward, 5),
	KIND(REDUCTION, "reduction", Reduction, 3),
	KIND(POINTWISE, "pointwise", Pointwise, 2),
	KIND(GEN_STATS, "genstats", Graph, 1),
	KIND(CONCAT, "concat", Graph, 1),
	KIND(SIGNAL, "signal", Graph, 1),
	KIND(RESHAPE, "reshape", Graph, 1),
	KIND(RNG, "rng", Graph, 1),
};
/* clang-format on */
#undef KIND

const struct backend_kind *backend_kind_of(cudnnBackendDescriptorType_t type)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (kinds[i].type == type)
			return &kinds[i];
	return NULL;
}

/* ---- names of the nodes ---- */

/* An enumerator without its prefix, in small letters: relu_fwd. */
static void small(char *name, size_t name_bytes, const char *enumerator, const char *prefix)
{
	size_t n = strlen(prefix);

	if (strncmp(enumerator, prefix, n) == 0)
		enumerator += n;
	snprintf(name, name_bytes, "%s", enumerator);
	for (char *p = name; *p; p++)
		*p = (char)tolower((unsigned char)*p);
}

struct enumerator {
	int value;
	const char *name;
};
#define ENUMERATOR(name, value) {value, #name},
static const struct enumerator functions[] = {PM_ABI_cudnnPointwiseMode_t(ENUMERATOR)};
static const struct enumerator reductions[] = {PM_ABI_cudnnReduceTensorOp_t(ENUMERATOR)};
#undef ENUMERATOR

static const char *enumerator_of(
	const struct enumerator *list, size_t count, int64_t value, const char *unknown)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].value == value)
			return list[i].name;
	return unknown;
}

static void node_name(const struct backend_operation *op, char *name, size_t name_bytes)
{
	const struct backend_kind *kind = backend_kind_of(op->type);

	if (op->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
		small(name, name_bytes,
			enumerator_of(functions, sizeof functions / sizeof functions[0], op->parameters.mode,
				"pointwise"),
			"CUDNN_POINTWISE_");
		return;
	}
	if (op->type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR) {
		small(name, name_bytes,
			enumerator_of(reductions, sizeof reductions / sizeof reductions[0],
				op->parameters.mode, "reduce"),
			"CUDNN_");
		return;
	}
	snprintf(name, name_bytes, "%s", kind ? kind->name : "unknown");
}

static uint32_t graph_name(const struct backend_operation *const *operations, unsigned count)
{
	char text[512] = "", name[64];
	size_t used = 0;

	for (unsigned i = 0; i < count && used < sizeof text; i++) {
		node_name(operations[i], name, sizeof name);
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " + " : "", name);
	}
	return pmh_string(text);
}

/* ---- the main operation ---- */

static bool is_backward_function(int64_t mode)
{
	switch (mode) {
	case CUDNN_POINTWISE_RELU_BWD:
	case CUDNN_POINTWISE_TANH_BWD:
	case CUDNN_POINTWISE_SIGMOID_BWD:
	case CUDNN_POINTWISE_ELU_BWD:
	case CUDNN_POINTWISE_GELU_BWD:
	case CUDNN_POINTWISE_SOFTPLUS_BWD:
	case CUDNN_POINTWISE_SWISH_BWD:
	case CUDNN_POINTWISE_GELU_APPROX_TANH_BWD:
		return true;
	default:
		return false;
	}
}

static bool is_forward_function(int64_t mode)
{
	switch (mode) {
	case CUDNN_POINTWISE_RELU_FWD:
	case CUDNN_POINTWISE_TANH_FWD:
	case CUDNN_POINTWISE_SIGMOID_FWD:
	case CUDNN_POINTWISE_ELU_FWD:
	case CUDNN_POINTWISE_GELU_FWD:
	case CUDNN_POINTWISE_SOFTPLUS_FWD:
	case CUDNN_POINTWISE_SWISH_FWD:
	case CUDNN_POINTWISE_GELU_APPROX_TANH_FWD:
		return true;
	default:
		return false;
	}
}

/* How much an operation says of its graph, and the function that it makes of it. */
static int weight_of(const struct backend_operation *op, enum pm_call *call)
{
	const struct backend_kind *kind = backend_kind_of(op->type);

	*call = kind ? kind->call : PM_CALL_cudnnBackendExecute_Graph;
	if (op->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
		if (is_forward_function(op->parameters.mode))
			*call = PM_CALL_cudnnBackendExecute_PointwiseForward;
		else if (is_backward_function(op->parameters.mode))
			*call = PM_CALL_cudnnBackendExecute_PointwiseBackward;
		else
			return 2;
		return 4;
	}
	return kind ? kind->weight : 1;
}

/* ---- following virtual tensors ---- */

static bool is_written(enum backend_role role)
{
	switch (role) {
	case BACKEND_ROLE_y:
	case BACKEND_ROLE_dx:
	case BACKEND_ROLE_dw:
	case BACKEND_ROLE_dscale:
	case BACKEND_ROLE_dbias:
	case BACKEND_ROLE_dq:
	case BACKEND_ROLE_dk:
	case BACKEND_ROLE_dv:
		return true;
	default:
		return false;
	}
}

struct graph {
	const struct backend_operation *const *operations;
	unsigned count;
};

/* The first tensor of an operation that is read or written, as asked. */
static const struct backend_tensor *first(const struct backend_operation *op, bool written)
{
	for (unsigned role = 0; role < BACKEND_ROLE_COUNT; role++)
		if (op->tensors[role].number && is_written(role) == written)
			return &op->tensors[role];
	return NULL;
}

/* The tensor with memory that a virtual one was computed from (forward: is computed into). */
static const struct backend_tensor *real_tensor(
	const struct graph *g, const struct backend_tensor *t, bool forward)
{
	for (unsigned steps = 0; t && t->is_virtual && steps < g->count; steps++) {
		const struct backend_tensor *next = NULL;

		for (unsigned i = 0; i < g->count && !next; i++)
			for (unsigned role = 0; role < BACKEND_ROLE_COUNT; role++) {
				const struct backend_tensor *other = &g->operations[i]->tensors[role];

				if (other->number && other->uid == t->uid && is_written(role) != forward)
					next = first(g->operations[i], forward);
			}
		t = next;
	}
	return t;
}

/* What is added after a convolution or matrix product: a vector is a bias, a whole tensor a residual. */
static const struct backend_tensor *added(const struct graph *g, bool vector)
{
	for (unsigned i = 0; i < g->count; i++) {
		const struct backend_operation *op = g->operations[i];
		const struct backend_tensor *b = &op->tensors[BACKEND_ROLE_b];

		if (op->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR &&
			op->parameters.mode == CUDNN_POINTWISE_ADD && b->number && !b->is_virtual &&
			b->is_vector == vector)
			return b;
	}
	return NULL;
}

/* ---- attention that is written out as matrix products and a softmax ---- */

/*
 * Forward: scores = q k', y = softmax(scores) v. Backward has the two again and the three products of the
 * gradients. All in the order of the graph, which is that of the computation.
 */
static bool find_attention(const struct graph *g, struct backend_operation *whole, enum pm_call *call)
{
	const struct backend_operation *products[8];
	unsigned count = 0;
	bool softmax = false;

	for (unsigned i = 0; i < g->count; i++) {
		const struct backend_operation *op = g->operations[i];

		if (op->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR && count < 8)
			products[count++] = op;
		softmax |= op->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR &&
			   op->parameters.mode == CUDNN_POINTWISE_EXP;
	}
	if (count < 2 || !softmax)
		return false;
	memset(whole, 0, sizeof *whole);
	whole->tensors[BACKEND_ROLE_q] = products[0]->tensors[BACKEND_ROLE_x];
	whole->tensors[BACKEND_ROLE_k] = products[0]->tensors[BACKEND_ROLE_b];
	if (count < 4) {
		whole->tensors[BACKEND_ROLE_v] = products[1]->tensors[BACKEND_ROLE_b];
		whole->tensors[BACKEND_ROLE_y] = products[1]->tensors[BACKEND_ROLE_y];
		*call = PM_CALL_cudnnBackendExecute_AttentionForward;
		return true;
	}
	*call = PM_CALL_cudnnBackendExecute_AttentionBackward;
	for (unsigned i = 1, written = 0; i < count; i++) {
		static const uint8_t roles[] = {BACKEND_ROLE_dv, BACKEND_ROLE_dq, BACKEND_ROLE_dk};
		const struct backend_tensor *y = &products[i]->tensors[BACKEND_ROLE_y];

		if (!y->is_virtual && written < 3)
			whole->tensors[roles[written++]] = *y;
		else if (!products[i]->tensors[BACKEND_ROLE_x].is_virtual &&
			 !whole->tensors[BACKEND_ROLE_dy].number) {
			/* the product of the output's gradient with v gives the scores' gradient */
			whole->tensors[BACKEND_ROLE_dy] = products[i]->tensors[BACKEND_ROLE_x];
			whole->tensors[BACKEND_ROLE_v] = products[i]->tensors[BACKEND_ROLE_b];
		}
	}
	return true;
}

/* ---- the plan ---- */

static int role_named(const char *name, size_t n)
{
	static const char *const names[] = {
#define BACKEND_ROLE(role) #role,
		BACKEND_ROLES(BACKEND_ROLE)
#undef BACKEND_ROLE
	};

	if (n == 1 && name[0] == 'a') /* a matrix product's first operand and result */
		return BACKEND_ROLE_x;
	if (n == 1 && name[0] == 'c')
		return BACKEND_ROLE_y;
	for (unsigned i = 0; i < BACKEND_ROLE_COUNT; i++)
		if (strlen(names[i]) == n && memcmp(names[i], name, n) == 0)
			return (int)i;
	return -1;
}

/* The tensor under a label: the main operation's, or what stands in for it. */
static const struct backend_tensor *labelled(
	const struct graph *g, const struct backend_operation *main, const char *name, size_t n)
{
	int role = role_named(name, n);
	const struct backend_tensor *t = role < 0 ? NULL : &main->tensors[role];

	if (!t || !t->number) {
		if (role == BACKEND_ROLE_bias)
			return added(g, true);
		return role == BACKEND_ROLE_z ? added(g, false) : NULL;
	}
	return real_tensor(g, t, is_written((enum backend_role)role));
}

static void fill(struct backend_plan *plan, const struct graph *g, const struct backend_operation *main)
{
	const struct pmh_row *row = &pmh_rows[plan->call];
	const struct pmh_label *labels = pmh_labels[plan->call];

	plan->value_count = row->label_count;
	plan->values[0] = plan->call;
	for (unsigned i = 1; i < row->label_count && i < BACKEND_VALUES; i++) {
		const char *label = labels[i].label;
		size_t n = strlen(label);
		bool is_pointer = n > 4 && strcmp(label + n - 4, "_ptr") == 0;
		const struct backend_tensor *t = labelled(g, main, label, is_pointer ? n - 4 : n);

		if (labels[i].value == PM_VALUE_STRING) {
			plan->values[i] = graph_name(g->operations, g->count);
		} else if (!is_pointer) {
			/* a descriptor: a tensor's where the label is a role, else the operation's own */
			plan->values[i] = role_named(label, n) >= 0 ? (t ? t->number : 0) : main->parameter;
		} else if (t) {
			plan->values[i] = t->uid;
			plan->is_pointer |= 1u << i;
		}
	}
}

uint32_t backend_plan_make(const struct backend_operation *const *operations, unsigned count)
{
	const struct graph g = {.operations = operations, .count = count};
	const struct backend_operation *main = NULL;
	struct backend_operation attention;
	struct backend_plan plan = {.call = PM_CALL_cudnnBackendExecute_Graph};
	uint32_t number = 0;
	int most = 0;

	for (unsigned i = 0; i < count; i++) {
		enum pm_call call;
		int weight = weight_of(operations[i], &call);

		if (weight > most) {
			most = weight;
			main = operations[i];
			plan.call = call;
		}
	}
	if (!main)
		return 0;
	if (main->type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR &&
		find_attention(&g, &attention, &plan.call))
		main = &attention;
	fill(&plan, &g, main);
	plan.hash = pmh_hash(plan.is_pointer, plan.values, sizeof plan.values);
	pmh_acquire(&lock);
	for (unsigned i = 1; i < plan_count && !number; i++)
		if (plans[i].hash == plan.hash)
			number = i;
	if (!number && plan_count < PLANS) {
		plans[plan_count] = plan;
		number = plan_count++;
	}
	pmh_release(&lock);
	if (!number)
		pmh_lose(PM_LOSS_OBJECTS, 1);
	return number;
}
