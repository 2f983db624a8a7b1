/*
 * What functions do, by the columns ROLE, ACCESS and SHAPE of pm_hooks.def: each row of the table, as a call
 * of it comes to the analyzer, has the flow of data, the sizes and the amount of work that follow from its
 * columns. A new row that lacks one fails here. And how the columns are read: from a dictionary, from names
 * of older traces and of other profilers.
 */
#include "analyses/roofline/work.h"
#include "check.h"
#include "pm_hooks.h"
#include "reconstruct/operation_flow.h"
#include "trace/trace.h"
#include "trace_builder.h"

#include <string.h>

/* ---- the rows ---- */

#define LABEL(value, label, expression) {PM_VALUE_##value, #label},
#define LABEL_PAIR(value, label) {PM_VALUE_##value, #label},
#define LABEL_PAIR_NONE
#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	static const struct timeline_label labels_##name[] = {{0}, PM_TRIPLES(LABEL, PM_OPEN values)};
#define PM_HANDWRITTEN(library, kind, result, name, pairs, values, ...) \
	PM_DECODED(library, kind, name, values)
#define PM_DECODED(library, kind, name, values, ...) \
	static const struct timeline_label labels_##name[] = { \
		{0}, PM_PAIRS(LABEL_PAIR, PM_NOTHING, PM_OPEN values)};
#include "pm_hooks.def"

static const struct row {
	const char *library, *name, *parameters;
	enum pm_kind kind;
	const struct timeline_label *labels; /* from the second on */
	size_t label_count;
} rows[] = {
#define ROW(library, kind, name, parameters) \
	{#library, #name, parameters, PM_KIND_##kind, labels_##name + 1, \
		sizeof labels_##name / sizeof *labels_##name - 1},
#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	ROW(library, kind, name, #pairs)
#define PM_HANDWRITTEN(library, kind, result, name, pairs, values, ...) ROW(library, kind, name, #pairs)
#define PM_DECODED(library, kind, name, values, ...) ROW(library, kind, name, "")
#include "pm_hooks.def"
};

/* ---- a call of a row ---- */

#define MOST_VALUES 32
#define RANKS 4
#define BYTES 64
#define SPACING ((uint64_t)1 << 32)

static int64_t tensor[] = {PM_TYPE_F32, 4, 2, 3, 4, 5, 60, 20, 5, 1},
	       filter[] = {PM_TYPE_F32, 0, 4, 3, 3, 2, 2}, pooling[] = {0, 2, 2, 2, 0, 0, 2, 2},
	       convolution[] = {2, 0, 0, 1, 1, 1, 1, 1, PM_TYPE_F32, 1, 0},
	       recurrent[] = {2, 0, 0, 0, PM_TYPE_F32, 0, 5, 4, 0, 1},
	       attention[] = {2, 8, 8, 8, 4, 4, 4, 8, 3, 3, 2, 1}, response[] = {5, 100, 100, 100};
enum { NONE, TENSOR, FILTER, POOLING, CONVOLUTION, RECURRENT, ATTENTION, RESPONSE, DESCRIPTORS };
#define VALUES(list) sizeof(list) / sizeof(*(list)), list
static struct timeline_descriptor descriptors[DESCRIPTORS] = {
	[TENSOR] = {PM_DESCRIPTOR_TENSOR, VALUES(tensor)},
	[FILTER] = {PM_DESCRIPTOR_FILTER, VALUES(filter)},
	[POOLING] = {PM_DESCRIPTOR_POOLING, VALUES(pooling)},
	[CONVOLUTION] = {PM_DESCRIPTOR_CONVOLUTION, VALUES(convolution)},
	[RECURRENT] = {PM_DESCRIPTOR_RNN, VALUES(recurrent)},
	[ATTENTION] = {PM_DESCRIPTOR_ATTENTION, VALUES(attention)},
	[RESPONSE] = {PM_DESCRIPTOR_LRN, VALUES(response)}};

static uint64_t descriptor_for(const char *label, enum pm_role role)
{
	static const struct {
		const char *label;
		uint64_t descriptor;
	} known[] = {{"pool", POOLING}, {"conv", CONVOLUTION}, {"rnn", RECURRENT}, {"attention", ATTENTION},
		{"lrn", RESPONSE}, {"act", NONE}, {"dropout", NONE}, {"op", NONE}, {"reduce", NONE},
		{"norm", NONE}, {"pointwise", NONE}};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(known[i].label, label) == 0)
			return known[i].descriptor;
	return role == PM_ROLE_CONVOLUTION && label[strlen(label) - 1] == 'w' ? FILTER : TENSOR;
}

enum { M = 2, N = 3, K = 5, BATCH = 7 };

/* Of a side or mode, and of trans: the first and the second enumerator. */
static bool is_right, is_transposed;

static uint64_t number_for(const char *label)
{
	const struct {
		const char *label;
		uint64_t number;
	} known[] = {{"m", M}, {"n", N}, {"k", K}, {"batch", BATCH}, {"side", is_right}, {"mode", is_right},
		{"trans", is_transposed}, {"transa", is_transposed}};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(known[i].label, label) == 0)
			return known[i].number;
	return strlen(label) == 1 ? 8 : 0;
}

static uint64_t value_for(const struct timeline_label *label, size_t place, enum pm_role role)
{
	switch (label->type) {
	case PM_VALUE_TYPE:
		return PM_TYPE_F32;
	case PM_VALUE_BYTES:
		return BYTES;
	case PM_VALUE_DIRECTION:
		return 3;
	case PM_VALUE_COMMUNICATOR:
		return 1;
	case PM_VALUE_DESCRIPTOR:
		return descriptor_for(label->name, role);
	case PM_VALUE_INT:
		return number_for(label->name);
	case PM_VALUE_READS:
	case PM_VALUE_WRITES:
	case PM_VALUE_WEIGHT:
	case PM_VALUE_GRAD:
		return SPACING * (place + 1);
	default:
		return 0;
	}
}

/* ---- what must follow from the columns ---- */

static bool computes(enum pm_kind kind)
{
	return kind == PM_KIND_FORWARD || kind == PM_KIND_BACKWARD || kind == PM_KIND_COMPUTE;
}

static bool has_descriptor(const struct row *row, const char *label)
{
	for (size_t i = 0; i < row->label_count; i++)
		if (row->labels[i].type == PM_VALUE_DESCRIPTOR && strcmp(row->labels[i].name, label) == 0)
			return true;
	return false;
}

static void check_columns(const struct row *row, const struct hook_facts *facts)
{
	CHECK(!(computes(row->kind) || row->kind == PM_KIND_COMM || row->kind == PM_KIND_SYNC) || facts->role,
		"%s: has no ROLE", row->name);
	CHECK(!facts->shape[0] || has_descriptor(row, facts->shape), "%s: SHAPE %s has no descriptor",
		row->name, facts->shape);
}

/* Operands whose size no value tells. */
static bool is_unsized(const struct row *row, const char *label, enum pm_role role)
{
	static const char *const packed[] = {"k_ptr", "v_ptr", "dk_ptr", "dv_ptr"};

	if (role == PM_ROLE_PATCHES || role == PM_ROLE_LOSS)
		return strcmp(label, "y_ptr") == 0;
	if (role == PM_ROLE_SAMPLER)
		return strstr(label, "grid_ptr") != NULL;
	if (role == PM_ROLE_TRANSFORM)
		return strcmp(row->library, "cublaslt") == 0;
	for (size_t i = 0; i < sizeof(packed) / sizeof(*packed); i++)
		if (role == PM_ROLE_ATTENTION && has_descriptor(row, "attention") &&
			strcmp(label, packed[i]) == 0)
			return true;
	return role == PM_ROLE_GRID || role == PM_ROLE_GRAPH_OF_OPERATORS;
}

static void check_flow(const struct row *row, const struct hook_facts *facts, const struct flow *flow)
{
	for (uint32_t i = 0; i < flow->access_count; i++) {
		const struct flow_access *access = &flow->accesses[i];
		const bool writes = flow_writes(access);

		CHECK(access->bytes > 1 || is_unsized(row, access->label, facts->role), "%s: %s has no size",
			row->name, access->label);
		CHECK(!writes || !(facts->access & PM_ACCESS_IN_PLACE) || access->mode == FLOW_KEEP,
			"%s: %s is not changed in place", row->name, access->label);
		if (row->kind == PM_KIND_COMM)
			CHECK(access->bytes ==
					(facts->access & (writes ? PM_ACCESS_GATHERS : PM_ACCESS_SCATTERS)
							? RANKS * BYTES
							: BYTES),
				"%s: %s has %d bytes", row->name, access->label, (int)access->bytes);
	}
}

/*
 * Elements of cuBLAS's operands by the vendor's documentation: products of m, n, k; s is m from the left and
 * n from the right, i what a product with a vector takes and o what it gives. The first whose routine is in
 * the function's name counts.
 */
static const struct {
	const char *routine, *operands;
} operands[] = {{"cublasLt", "a=mk b=kn c=mn d=mn bias=m dbias=m aux=mn"}, {"gemm", "a=mk b=kn c=mn"},
	{"Gemm", "a=mk b=kn c=mn"}, {"geam", "a=mn b=mn c=mn"}, {"dgmm", "a=mn x=s c=mn"},
	{"gemv", "a=mn x=i y=o"}, {"ger_", "a=mn x=m y=n"}, {"syrk", "a=nk c=nn"}, {"symm", "a=ss b=mn c=mn"},
	{"trmm", "a=ss b=mn c=mn"}, {"trsm", "a=ss b=mn"}, {"axpy", "x=n y=n"}, {"Axpy", "x=n y=n"},
	{"scal", "x=n"}, {"Scal", "x=n"}, {"copy", "x=n y=n"}, {"swap", "x=n y=n"}, {"dot", "x=n y=n"},
	{"Dot", "x=n y=n"}, {"nrm2", "x=n"}, {"Nrm2", "x=n"}, {"asum", "x=n"}, {"Isam", "x=n"}};

static const char *operands_of(const char *name)
{
	for (size_t i = 0; i < sizeof(operands) / sizeof(*operands); i++)
		if (strstr(name, operands[i].routine))
			return operands[i].operands;
	return "";
}

static uint64_t dimension(char letter)
{
	switch (letter) {
	case 'm':
		return M;
	case 'n':
		return N;
	case 'k':
		return K;
	case 's':
		return is_right ? N : M;
	case 'i':
		return is_transposed ? M : N;
	default:
		return is_transposed ? N : M;
	}
}

/* Elements of the operand with a label such as "a_ptr"; 0: the documentation has none. */
static uint64_t elements_for(const char *name, const char *label)
{
	const int length = (int)strcspn(label, "_");
	uint64_t elements = 1;

	for (const char *at = operands_of(name); *at; at += strcspn(at, " "), at += *at == ' ') {
		if (strncmp(at, label, (size_t)length) != 0 || at[length] != '=')
			continue;
		for (at += length + 1; *at && *at != ' '; at++)
			elements *= dimension(*at);
		return elements;
	}
	return 0;
}

static void check_matrices(const struct row *row, const struct flow *flow)
{
	bool is_batched = false;

	for (size_t i = 0; i < row->label_count; i++)
		is_batched |= strcmp(row->labels[i].name, "batch") == 0;
	for (uint32_t i = 0; i < flow->access_count; i++) {
		const char *label = flow->accesses[i].label;
		const uint64_t wanted = elements_for(row->name, label) * sizeof(float) *
					(is_batched && !strstr(label, "bias") ? BATCH : 1);

		CHECK(wanted, "%s: the documentation's size of %s is not in the table of operands", row->name,
			label);
		CHECK(flow->accesses[i].bytes == wanted, "%s: %s has %d bytes, not %d, %s, %s", row->name,
			label, (int)flow->accesses[i].bytes, (int)wanted, is_right ? "right" : "left",
			is_transposed ? "transposed" : "as it is");
	}
}

/* cuDNN adds to the gradient of weights by the first enumerator of this parameter, and sets it by the second.
 */
static void check_gradient(const struct row *row, const struct flow *flow)
{
	for (uint32_t i = 0; i < flow->access_count; i++)
		if (flow->accesses[i].type == PM_VALUE_GRAD)
			CHECK(flow->accesses[i].mode == (is_right ? FLOW_WRITE : FLOW_KEEP),
				"%s: %s in mode %d", row->name, flow->accesses[i].label, is_right);
}

static enum flow_shape shape_for(enum pm_role role)
{
	switch (role) {
	case PM_ROLE_PRODUCT:
	case PM_ROLE_MATRIX_VECTOR:
	case PM_ROLE_OUTER_PRODUCT:
	case PM_ROLE_RANK_K_UPDATE:
	case PM_ROLE_SYMMETRIC_PRODUCT:
	case PM_ROLE_TRIANGULAR_PRODUCT:
		return FLOW_PRODUCT;
	case PM_ROLE_REDUCTION:
		return FLOW_REDUCE;
	case PM_ROLE_DOT:
	case PM_ROLE_VECTOR_NORM:
	case PM_ROLE_VECTOR_SUM:
	case PM_ROLE_EXTREME:
		return FLOW_READER;
	default:
		return FLOW_OTHER; /* by the operands */
	}
}

/* What its mathematics is has no formula here. */
static bool is_uncounted(const struct row *row, enum pm_role role)
{
	return role == PM_ROLE_GRID || role == PM_ROLE_SAMPLER || role == PM_ROLE_LOSS ||
	       role == PM_ROLE_GRAPH_OF_OPERATORS || role == PM_ROLE_PATCHES ||
	       strstr(row->name, "Grouped") ||
	       (role == PM_ROLE_TRANSFORM && strcmp(row->library, "cublaslt") == 0);
}

static bool moves_only(enum pm_role role)
{
	return role == PM_ROLE_FILL || role == PM_ROLE_VECTOR_COPY || role == PM_ROLE_VECTOR_SWAP ||
	       role == PM_ROLE_ADDITION; /* a copy where beta is 0, as it is here */
}

static void check_work(const struct row *row, const struct hook_facts *facts, const struct work *work)
{
	CHECK(work->kind != WORK_OTHER || is_uncounted(row, facts->role), "%s: no kind of work", row->name);
	CHECK(work->known != is_uncounted(row, facts->role), "%s: how much work is %sknown", row->name,
		work->known ? "" : "not ");
	CHECK(!work->known || work->flops > 0 || moves_only(facts->role), "%s: no operations", row->name);
	CHECK(!work->known || work->flops == 0 || !moves_only(facts->role), "%s: operations", row->name);
}

static void check_row(const struct row *row)
{
	const struct hook_facts facts = hook_facts_of(row->name);
	uint64_t values[MOST_VALUES];
	struct timeline_operation operations[] = {
		{0}, {.function = 1, .value_count = (uint32_t)row->label_count, .values = values}};
	struct timeline_function functions[] = {
		{.library = "", .name = ""}, {.library = row->library,
						     .name = row->name,
						     .kind = row->kind,
						     .facts = facts,
						     .label_count = (uint32_t)row->label_count,
						     .labels = row->labels}};
	struct timeline_communicator communicators[] = {{0}, {.size = RANKS}};
	struct timeline_process process = {.first_operation = 1, .operation_count = 1};
	struct timeline timeline = {.functions = functions,
		.function_count = 2,
		.operations = operations,
		.operation_count = 2,
		.descriptors = descriptors,
		.descriptor_count = DESCRIPTORS,
		.communicators = communicators,
		.communicator_count = 2,
		.processes = &process,
		.process_count = 1};
	struct arena arena = {0};
	const struct flow *flow;
	struct work work;

	check_columns(row, &facts);
	for (size_t i = 0; i < row->label_count && i < MOST_VALUES; i++)
		values[i] = value_for(&row->labels[i], i, facts.role);
	flow = &flow_list(&timeline, &arena)[1];
	check_flow(row, &facts, flow);
	if (row->kind == PM_KIND_COMPUTE && strncmp(row->library, "cublas", 6) == 0 &&
		facts.role != PM_ROLE_TRANSFORM)
		check_matrices(row, flow);
	if (strstr(row->parameters, "cudnnWgradMode_t"))
		check_gradient(row, flow);
	if (row->kind == PM_KIND_COMPUTE && shape_for(facts.role) != FLOW_OTHER)
		CHECK(flow->shape == shape_for(facts.role), "%s: shape %d", row->name, flow->shape);
	work = work_of(&timeline, 1);
	if (computes(row->kind))
		check_work(row, &facts, &work);
	arena_free(&arena);
}

/* ---- how the columns are read ---- */

static bool equal(const struct hook_facts *facts, enum pm_role role, unsigned access, const char *shape)
{
	return facts->role == role && facts->access == access && strcmp(facts->shape, shape) == 0;
}

static void check_words(void)
{
	static const struct {
		const char *words;
		enum pm_role role;
		unsigned access;
		const char *shape;
	} cases[] = {
		{"role:PRODUCT", PM_ROLE_PRODUCT, 0, ""},
		{"role:NONE", PM_ROLE_NONE, 0, ""},
		{"role:ALL_TO_ALL access:GATHERS access:SCATTERS", PM_ROLE_ALL_TO_ALL,
			PM_ACCESS_GATHERS | PM_ACCESS_SCATTERS, ""},
		{"role:SCALING access:IN_PLACE shape:y", PM_ROLE_SCALING, PM_ACCESS_IN_PLACE, "y"},
		{"role:OF_ANOTHER_VERSION access:OTHER colour:red shape:dx", PM_ROLE_NONE, 0, "dx"},
		{"role: access: shape: : role", PM_ROLE_NONE, 0, ""},
		{"shape:longer_than_any", PM_ROLE_NONE, 0, ""},
		{"  ", PM_ROLE_NONE, 0, ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct hook_facts facts = hook_facts_read(cases[i].words);

		CHECK(equal(&facts, cases[i].role, cases[i].access, cases[i].shape), "%s", cases[i].words);
	}
}

static void check_foreign_names(void)
{
	static const struct {
		const char *name;
		enum pm_role role;
	} cases[] = {{"cudaMemcpy_v3020", PM_ROLE_BLOCKS}, {"cudaMemcpyAsync_ptsz_v7000", PM_ROLE_NONE},
		{"cuMemFree", PM_ROLE_FREES_MEMORY}, {"hipDeviceSynchronize", PM_ROLE_WAITS_FOR_DEVICE},
		{"cudaStreamWaitEvent_v3020", PM_ROLE_STREAM_WAITS}, {"ncclAllReduce", PM_ROLE_ALL_REDUCE},
		{"cuGraphLaunch_ptsz", PM_ROLE_LAUNCHES_GRAPH}, {"", PM_ROLE_NONE}, {"_v2", PM_ROLE_NONE},
		{"aten::mm", PM_ROLE_NONE}, {"hip", PM_ROLE_NONE}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		CHECK(hook_facts_of_foreign(cases[i].name).role == cases[i].role, "%s: role %d",
			cases[i].name, (int)hook_facts_of_foreign(cases[i].name).role);
}

/* A dictionary's word counts, whatever the name; without one the name does. */
static void check_dictionary(void)
{
	static const struct {
		const char *text;
		size_t size;
		enum pm_role role;
	} cases[] = {
#define TEXT(text) text, sizeof(text)
		{TEXT("nccl COMM ncclAllReduce"), PM_ROLE_ALL_REDUCE},
		{TEXT("cublas COMPUTE cublasOfTomorrow reads:a_ptr\0role:PRODUCT"), PM_ROLE_PRODUCT},
		{TEXT("cublas COMPUTE cublasSgemm_v2\0role:REDUCTION"), PM_ROLE_REDUCTION},
		{TEXT("cublas COMPUTE cublasSgemm_v2\0role:NONE"), PM_ROLE_NONE},
		/* without an end, up to the entry's */
		{TEXT("cublas COMPUTE cublasSgemm_v2\0role:REDUCTION") - 1, PM_ROLE_PRODUCT},
	};
	const size_t count = sizeof(cases) / sizeof(*cases);
	struct builder builder;
	struct trace trace;

	builder_init(&builder);
	for (uint32_t i = 0; i < count; i++)
		builder_entry(&builder, PM_ENTRY_FUNCTION, &(uint32_t){i + 1}, sizeof(uint32_t),
			cases[i].text, cases[i].size);
	builder_finish(&builder);
	CHECK(trace_parse(&trace, "facts", builder.file.data, builder.file.size) == 0, "cannot be read");
	CHECK(trace.function_count == count + 1, "%zu functions", trace.function_count);
	for (size_t i = 0; i < count && i + 1 < trace.function_count; i++)
		CHECK(trace.functions[i + 1].facts.role == cases[i].role, "%s: role %d", cases[i].text,
			(int)trace.functions[i + 1].facts.role);
	trace_close(&trace);
	builder_free(&builder);
}

int main(void)
{
	for (unsigned variant = 0; variant < 4; variant++) {
		is_right = variant & 1;
		is_transposed = variant & 2;
		for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
			check_row(&rows[i]);
	}
	check_words();
	check_foreign_names();
	check_dictionary();
	return check_end();
}
