/*
 * Programs of XLA, from the serialized module to the direction and layer of each instruction: modules are
 * built byte by byte (hlo_builder.h), read by the hook's reader, whose entries the trace's reader takes; and
 * what is broken, cut off or changed ends without harm.
 */
#include "check.h"
#include "framework/hlo.h"
#include "framework/hlo_program.h"
#include "hlo_builder.h"
#include "trace/intern.h"
#include "trace/trace_dictionary.h"

#include <stdlib.h>

#define CHECK_THAT(condition) CHECK(condition, "it is not")
#define COUNT(array) (unsigned)(sizeof(array) / sizeof(*(array)))
#define CHECK_TEXT(found, expected) \
	CHECK(strcmp(found, expected) == 0, "found \"%s\", expected \"%s\"", found, expected)

/* ---- what the hook writes to ---- */

static struct trace written;
static struct arena bodies;
static size_t string_room;
static uint32_t modules_written;

uint32_t pmh_string(const char *text)
{
	for (size_t i = 1; i < written.string_count; i++)
		if (strcmp(written.strings[i], text) == 0)
			return (uint32_t)i;
	if (written.string_count == 0)
		*MEM_PUSH(written.strings, written.string_count, string_room) = NULL;
	*MEM_PUSH(written.strings, written.string_count, string_room) =
		arena_text(&bodies, text, strlen(text));
	return (uint32_t)written.string_count - 1;
}

uint32_t pmh_hlo_module_number(void)
{
	return ++modules_written;
}

static void take(unsigned type, const void *fixed, size_t fixed_bytes, const void *tail, size_t tail_bytes)
{
	unsigned char *body = arena_alloc(&bodies, fixed_bytes + tail_bytes + 1, 1);

	memcpy(body, fixed, fixed_bytes);
	if (tail_bytes)
		memcpy(body + fixed_bytes, tail, tail_bytes);
	trace_parse_hlo(&written, 0, type, body, fixed_bytes + tail_bytes);
}

void pmh_hlo_instruction_entry(
	const struct pm_entry_hlo_instruction *instruction, const void *tail, size_t tail_bytes)
{
	take(PM_ENTRY_HLO_INSTRUCTION, instruction, sizeof(*instruction), tail, tail_bytes);
}

void pmh_hlo_schedule_entry(const struct pm_entry_hlo_schedule *schedule, const uint64_t *instructions)
{
	take(PM_ENTRY_HLO_SCHEDULE, schedule, sizeof(*schedule), instructions,
		schedule->instruction_count * sizeof(*instructions));
}

void pmh_hlo_module_entry(const struct pm_entry_hlo_module *module, const uint32_t *aliases)
{
	take(PM_ENTRY_HLO_MODULE, module, sizeof(*module), aliases, module->alias_count * sizeof(*aliases));
}

static void forget(void)
{
	char path[] = "test";

	trace_close(&written);
	arena_free(&bodies);
	written = (struct trace){.path = path};
	string_room = 0;
	modules_written = 0;
}

/* ---- a module, as the hook reads it ---- */

static bool record(const struct hlo_bytes *module, size_t count)
{
	void *copy = mem_alloc(count + 1, 1), *scratch = mem_alloc(PMH_HLO_SCRATCH(count), 1);
	bool is_module;

	memcpy(copy, module->at, count);
	is_module = pmh_hlo_record(copy, count, true, scratch);
	free(copy);
	free(scratch);
	return is_module;
}

/* ---- a step: two products, a loss, an optimizer with state ---- */

static const struct hlo_row inside[] = {
	{"x", "parameter", "", 50, 64, {0}, 0, 0},
	{"sum", "add", "jit(step)/transpose(jvp(Net))/Norm_0/add", 51, 64, {50, 50, 0}, 0, 0},
	{"sum2", "add", "jit(step)/transpose(jvp(Net))/Norm_0/add", 52, 64, {51, 50, 0}, 0, 0},
	{"dot", "dot", "jit(step)/transpose(jvp(Net))/Dense_1/dot_general", 53, 64, {52, 52, 0}, 0, 0},
};

static const struct hlo_row step[] = {
	{"p", "parameter", "p['w1']", 1, 64, {0}, 0, 0},
	{"s", "parameter", "s[0].mu['w1']", 2, 64, {0}, 0, 1},
	{"x", "parameter", "x", 3, 32, {0}, 0, 2},
	{"copy.1", "copy", "", 4, 64, {1, 0}, 0, 0},
	{"gemm.1", "custom-call", "jit(step)/jvp(Net)/Dense_0/dot_general", 5, 32, {4, 3, 0}, 0, 0},
	{"loss.1", "reduce", "jit(step)/jvp()/reduce_sum", 6, 1, {5, 0}, 0, 0},
	{"fusion.7", "fusion", "jit(step)/mul", 7, 64, {5, 3, 0}, HLO_FUSED, 0},
	{"again.1", "fusion", "jit(step)/transpose(jvp(Net))/rematted_computation/Dense_0/tanh", 8, 32,
		{5, 0}, 0, 0},
	{"all-reduce.1", "all-reduce", "", 9, 0, {7, 8, 0}, 0, 0},
	{"part.1", "get-tuple-element", "", 10, 64, {9, 0}, 0, 0},
	{"adam.1", "fusion", "jit(step)/add", 11, 64, {10, 2, 1, 0}, 0, 0},
	{"root", "tuple", "", 12, 0, {11, 2, 6, 0}, 0, 0},
};

static void init(struct hlo *hlo)
{
	static struct trace_hlo programs;

	programs = trace_hlo(&written);
	hlo_init(hlo, &programs);
}

static const struct hlo_instruction *find(const struct hlo *hlo, const char *name)
{
	const struct hlo_module *module = hlo_find_module(hlo, 13);
	const struct hlo_instruction *i = module ? hlo_find(module, name, strlen(name)) : NULL;

	static const struct hlo_instruction none = {.name = "", .layer = "?"};

	CHECK_THAT(i != NULL);
	return i ? i : &none;
}

static void expect(const struct hlo *hlo, const char *name, enum hlo_direction direction, const char *layer)
{
	const struct hlo_instruction *i = find(hlo, name);

	CHECK_TEXT(hlo_direction_name(i->direction), hlo_direction_name(direction));
	CHECK_TEXT(i->layer, layer);
}

static void test_step(void)
{
	const struct hlo_bytes module = hlo_builder_module(step, COUNT(step), inside, COUNT(inside));
	struct hlo hlo;

	CHECK_THAT(record(&module, module.count));
	init(&hlo);
	CHECK_THAT(hlo.module_count == 1);
	CHECK_TEXT(hlo.modules[0].name, "jit_step");
	CHECK_THAT(hlo.modules[0].trains && hlo.modules[0].names_all && !hlo.modules[0].is_partial);
	CHECK_THAT(hlo_find_module(&hlo, 14) == NULL);
	expect(&hlo, "gemm.1", HLO_FORWARD, "Net/Dense_0");
	expect(&hlo, "copy.1", HLO_FORWARD, "Net/Dense_0");
	expect(&hlo, "loss.1", HLO_FORWARD, "");
	/* of a fusion the product in it, not the sums, nor its own name */
	expect(&hlo, "fusion.7", HLO_BACKWARD, "Net/Dense_1");
	CHECK_THAT(find(&hlo, "fusion.7")->source == HLO_BY_PRODUCT);
	expect(&hlo, "again.1", HLO_RECOMPUTED, "Net/Dense_0");
	expect(&hlo, "adam.1", HLO_UPDATE, "");
	/* two that XLA has combined */
	expect(&hlo, "all-reduce.1", HLO_COMMUNICATION, "");
	CHECK_THAT(find(&hlo, "all-reduce.1")->layer_count == 2);
	CHECK_THAT(find(&hlo, "root")->order == 1 && find(&hlo, "p")->order == COUNT(step));
	hlo_free(&hlo);
	forget();
}

/* The same as JAX wrote it before 0.7, without any scope: the flow of data decides, and weights have names.
 */
static void test_plain(void)
{
	struct hlo_row rows[COUNT(step)];
	struct hlo_bytes module;
	struct hlo hlo;

	memcpy(rows, step, sizeof(rows));
	for (unsigned i = 0; i < COUNT(rows); i++)
		if (strchr(rows[i].op_name, '/'))
			rows[i].op_name = "jit(step)/jit(main)/op";
	rows[6].called = 0;
	module = hlo_builder_module(rows, COUNT(rows), inside, 1);
	CHECK_THAT(record(&module, module.count));
	init(&hlo);
	CHECK_THAT(hlo.modules[0].trains && !hlo.modules[0].names_all);
	expect(&hlo, "gemm.1", HLO_FORWARD, "p['w1']");
	expect(&hlo, "loss.1", HLO_FORWARD, "p['w1']");
	expect(&hlo, "fusion.7", HLO_BACKWARD, "");
	expect(&hlo, "adam.1", HLO_UPDATE, "p['w1']");
	hlo_free(&hlo);
	forget();
}

/* Scopes are classes, of which a net has several modules: layers are where the weights are. */
static const struct hlo_row classes[] = {
	{"w1", "parameter", "p.blocks[0].weight", 1, 64, {0}, 0, 0},
	{"w2", "parameter", "p.blocks[1].weight", 2, 96, {0}, 0, 1},
	{"b2", "parameter", "p.blocks[1].bias", 3, 12, {0}, 0, 2},
	{"s1", "parameter", "s[0].mu.blocks[0].weight", 4, 64, {0}, 0, 3},
	{"s2", "parameter", "s[0].mu.blocks[1].weight", 5, 96, {0}, 0, 4},
	{"t2", "parameter", "s[0].mu.blocks[1].bias", 6, 12, {0}, 0, 5},
	{"x", "parameter", "batch.x", 7, 32, {0}, 0, 6},
	{"copy.2", "copy", "", 8, 96, {2, 0}, 0, 0},
	{"gemm.1", "custom-call", "jit(step)/jvp(Linear)/dot_general", 9, 48, {1, 7, 0}, 0, 0},
	{"gemm.2", "custom-call", "jit(step)/jvp(Linear)/dot_general", 10, 16, {8, 9, 0}, 0, 0},
	{"loss.1", "reduce", "jit(step)/jvp()/reduce_sum", 11, 1, {10, 3, 0}, 0, 0},
	{"back.b", "reduce", "jit(step)/transpose(jvp(Linear))/reduce_sum", 12, 12, {10, 0}, 0, 0},
	{"back.2", "custom-call", "jit(step)/transpose(jvp(Linear))/dot_general", 13, 96, {9, 10, 0}, 0, 0},
	{"back.x", "custom-call", "jit(step)/transpose(jvp(Linear))/dot_general", 14, 48, {8, 10, 0}, 0, 0},
	{"relu.1", "fusion", "jit(step)/transpose(jvp(relu))/select_n", 15, 48, {14, 0}, 0, 0},
	{"back.1", "custom-call", "jit(step)/transpose(jvp(Linear))/dot_general", 16, 64, {15, 7, 0}, 0, 0},
	{"adam.1", "fusion", "jit(step)/add", 17, 64, {16, 4, 1, 0}, 0, 0},
	{"adam.2", "fusion", "jit(step)/add", 18, 96, {13, 5, 2, 0}, 0, 0},
	{"adam.b", "fusion", "jit(step)/add", 19, 12, {12, 6, 3, 0}, 0, 0},
	{"root", "tuple", "", 20, 0, {17, 18, 19, 11, 0}, 0, 0},
};

static void test_classes(void)
{
	const struct hlo_bytes module = hlo_builder_module(classes, COUNT(classes), inside, 1);
	struct hlo hlo;
	uint64_t elements;

	CHECK_THAT(record(&module, module.count));
	init(&hlo);
	expect(&hlo, "copy.2", HLO_FORWARD, "p.blocks[1]");
	expect(&hlo, "gemm.1", HLO_FORWARD, "p.blocks[0]");
	expect(&hlo, "gemm.2", HLO_FORWARD, "p.blocks[1]");
	expect(&hlo, "back.b", HLO_BACKWARD, "p.blocks[1]");
	expect(&hlo, "back.2", HLO_BACKWARD, "p.blocks[1]");
	expect(&hlo, "back.x", HLO_BACKWARD, "p.blocks[1]");
	expect(&hlo, "relu.1", HLO_BACKWARD, "p.blocks[0]");
	expect(&hlo, "back.1", HLO_BACKWARD, "p.blocks[0]");
	expect(&hlo, "adam.2", HLO_UPDATE, "p.blocks[1]");
	CHECK_THAT(hlo_owns(&hlo.modules[0], "p.blocks[1]", &elements) && elements == 96 + 12);
	CHECK_THAT(!hlo_owns(&hlo.modules[0], "Linear", &elements));
	hlo_free(&hlo);
	forget();
}

/* Gradients that are brought together for one exchange, and taken apart again, are of the backward pass; the
 * loss among them is of the forward pass, and so is what is made of it. */
static void test_moves(void)
{
	static const struct hlo_row rows[] = {
		{"w1", "parameter", "p['a']['w']", 1, 64, {0}, 0, 0},
		{"w2", "parameter", "p['b']['w']", 2, 32, {0}, 0, 1},
		{"s1", "parameter", "s.mu['a']['w']", 3, 64, {0}, 0, 2},
		{"s2", "parameter", "s.mu['b']['w']", 4, 32, {0}, 0, 3},
		{"x", "parameter", "x", 5, 16, {0}, 0, 4},
		{"gemm.1", "custom-call", "jit(step)/jvp()/dot_general", 6, 16, {1, 5, 0}, 0, 0},
		{"gemm.2", "custom-call", "jit(step)/jvp()/dot_general", 7, 16, {2, 6, 0}, 0, 0},
		{"loss.1", "reduce", "jit(step)/jvp()/reduce_sum", 8, 1, {7, 0}, 0, 0},
		{"back.2", "custom-call", "jit(step)/transpose(jvp())/dot_general", 9, 32, {7, 6, 0}, 0, 0},
		{"back.1", "custom-call", "jit(step)/transpose(jvp())/dot_general", 10, 64, {7, 5, 0}, 0, 0},
		{"part.1", "fusion", "jit(step)/div", 24, 1, {8, 0}, 0, 0},
		{"wrapped_concatenate", "fusion", "", 11, 97, {9, 10, 24, 0}, 0, 0},
		{"all-reduce.1", "all-reduce", "", 12, 97, {11, 0}, 0, 0},
		{"wrapped_slice.1", "fusion", "jit(step)/psum", 13, 64, {12, 0}, 0, 0},
		{"wrapped_slice.2", "fusion", "jit(step)/psum", 14, 32, {12, 0}, 0, 0},
		{"adam.1", "fusion", "jit(step)/add", 15, 64, {13, 3, 1, 0}, 0, 0},
		{"adam.2", "fusion", "jit(step)/add", 16, 32, {14, 4, 2, 0}, 0, 0},
		{"wrapped_slice.3", "fusion", "", 18, 1, {12, 0}, 0, 0},
		{"mean.1", "fusion", "jit(step)/div", 19, 1, {18, 0}, 0, 0},
		{"all-reduce-start", "async-start", "", 20, 97, {11, 0}, 0, 0},
		{"all-reduce-done", "async-done", "", 21, 97, {20, 0}, 0, 0},
		{"handed", "copy", "", 23, 97, {21, 0}, 0, 0},
		{"wrapped_slice.4", "fusion", "", 22, 1, {23, 0}, 0, 0},
		{"root", "tuple", "", 17, 0, {15, 16, 19, 22, 0}, 0, 0},
	};
	const struct hlo_bytes module = hlo_builder_module(rows, COUNT(rows), inside, 1);
	struct hlo hlo;

	CHECK_THAT(record(&module, module.count));
	init(&hlo);
	CHECK_THAT(find(&hlo, "wrapped_concatenate")->direction == HLO_BACKWARD);
	CHECK_THAT(find(&hlo, "all-reduce.1")->direction == HLO_COMMUNICATION);
	expect(&hlo, "wrapped_slice.1", HLO_BACKWARD, "p['a']");
	expect(&hlo, "wrapped_slice.2", HLO_BACKWARD, "p['b']");
	expect(&hlo, "adam.2", HLO_UPDATE, "p['b']");
	CHECK_THAT(find(&hlo, "wrapped_slice.3")->direction == HLO_FORWARD);
	CHECK_THAT(find(&hlo, "wrapped_slice.4")->direction == HLO_FORWARD);
	CHECK_THAT(find(&hlo, "mean.1")->direction == HLO_FORWARD);
	hlo_free(&hlo);
	forget();
}

/* A gradient is that of the one weight that its update reads, though it has another size: a product in parts,
 * whose sum is fused with the update or not, and of which one reads the bias of the layer before; a gradient
 * that is the same in a dimension. What is between is of the nearest layer, past a sum that leads to an
 * update. */
static void test_parts(void)
{
	static const struct hlo_row rows[] = {
		{"w1", "parameter", "p.blocks[0].weight", 1, 64, {0}, 0, 0},
		{"w2", "parameter", "p.blocks[1].weight", 2, 96, {0}, 0, 1},
		{"b1", "parameter", "p.blocks[0].bias", 3, 8, {0}, 0, 2},
		{"n", "parameter", "p.norm.scale", 4, 80, {0}, 0, 3},
		{"s1", "parameter", "s[0].mu.blocks[0].weight", 5, 64, {0}, 0, 4},
		{"s2", "parameter", "s[0].mu.blocks[1].weight", 6, 96, {0}, 0, 5},
		{"t1", "parameter", "s[0].mu.blocks[0].bias", 7, 8, {0}, 0, 6},
		{"sn", "parameter", "s[0].mu.norm.scale", 8, 80, {0}, 0, 7},
		{"x", "parameter", "batch.x", 9, 32, {0}, 0, 8},
		{"gemm.1", "custom-call", "jit(step)/jvp(Linear)/dot_general", 10, 48, {1, 9, 3, 0}, 0, 0},
		{"gemm.2", "custom-call", "jit(step)/jvp(Linear)/dot_general", 11, 16, {2, 10, 3, 0}, 0, 0},
		{"loss.1", "reduce", "jit(step)/jvp()/reduce_sum", 12, 1, {11, 4, 0}, 0, 0},
		{"back.n", "reduce", "jit(step)/transpose(jvp(Norm))/reduce_sum", 13, 10, {11, 0}, 0, 0},
		{"back.2", "custom-call", "jit(step)/transpose(jvp(Linear))/dot_general", 14, 384,
			{10, 11, 3, 0}, 0, 0},
		{"sum.2", "reduce", "jit(step)/transpose(jvp(Linear))/dot_general", 15, 96, {14, 0}, 0, 0},
		{"relu.1", "fusion", "jit(step)/transpose(jvp(relu))/concatenate", 16, 48, {11, 0}, 0, 0},
		{"sum.b", "reduce", "jit(step)/transpose(jvp(Linear))/reduce_sum", 17, 8, {16, 0}, 0, 0},
		{"turn.1", "fusion", "jit(step)/transpose(jvp(relu))/add", 23, 48, {16, 0}, 0, 0},
		{"mix.1", "fusion", "jit(step)/transpose(jvp(relu))/mul", 25, 48, {11, 0}, 0, 0},
		{"pick.1", "fusion", "jit(step)/transpose(jvp(relu))/select_n", 26, 48, {25, 0}, 0, 0},
		{"size.1", "reduce", "jit(step)/transpose(jvp(relu))/reduce_sum", 27, 1, {25, 0}, 0, 0},
		{"loop_pad_fusion.1", "fusion", "", 28, 70, {1, 0}, 0, 0},
		{"back.x", "custom-call", "jit(step)/transpose(jvp(Linear))/dot_general", 29, 48, {28, 26, 0},
			0, 0},
		{"back.1", "custom-call", "jit(step)/transpose(jvp(Linear))/dot_general", 18, 256, {23, 9, 0},
			0, 0},
		{"adam.1", "fusion", "jit(step)/add", 19, 64, {18, 5, 1, 0}, 0, 0},
		{"adam.2", "fusion", "jit(step)/add", 20, 96, {15, 6, 2, 0}, 0, 0},
		{"adam.b", "fusion", "jit(step)/add", 21, 8, {17, 7, 3, 0}, 0, 0},
		{"adam.n", "fusion", "jit(step)/add", 22, 80, {13, 8, 4, 0}, 0, 0},
		{"back.m", "reduce", "jit(step)/transpose(jvp(Norm))/reduce_sum", 30, 20, {11, 0}, 0, 0},
		{"adam.m", "fusion", "jit(step)/add", 31, 0, {30, 8, 4, 7, 3}, 0, 0},
		{"root", "tuple", "", 24, 0, {19, 20, 21, 22, 12}, 0, 0},
	};
	const struct hlo_bytes module = hlo_builder_module(rows, COUNT(rows), inside, 1);
	struct hlo hlo;

	CHECK_THAT(record(&module, module.count));
	init(&hlo);
	expect(&hlo, "back.n", HLO_BACKWARD, "p.norm");
	expect(&hlo, "back.2", HLO_BACKWARD, "p.blocks[1]");
	expect(&hlo, "sum.2", HLO_BACKWARD, "p.blocks[1]");
	expect(&hlo, "back.1", HLO_BACKWARD, "p.blocks[0]");
	expect(&hlo, "back.m", HLO_BACKWARD, "");
	expect(&hlo, "back.x", HLO_BACKWARD, "p.blocks[0]");
	expect(&hlo, "mix.1", HLO_BACKWARD, "p.blocks[0]");
	expect(&hlo, "relu.1", HLO_BACKWARD, "p.blocks[0]");
	hlo_free(&hlo);
	forget();
}

/* XLA calls what becomes a command buffer: weights and states are the call's arguments. */
static void test_called(void)
{
	static const struct hlo_row called[] = {
		{"p.0", "parameter", "", 50, 64, {0}, 0, 0},
		{"p.1", "parameter", "", 51, 64, {0}, 0, 1},
		{"p.2", "parameter", "", 52, 32, {0}, 0, 2},
		{"gemm.1", "custom-call", "jit(step)/jit(main)/dot_general", 53, 16, {50, 52, 0}, 0, 0},
		{"loss.1", "reduce", "jit(step)/jit(main)/reduce_sum", 54, 1, {53, 0}, 0, 0},
		{"back.1", "custom-call", "jit(step)/jit(main)/transpose", 55, 64, {53, 52, 0}, 0, 0},
		{"adam.1", "fusion", "jit(step)/jit(main)/add", 56, 64, {55, 51, 50, 0}, 0, 0},
		{"made", "tuple", "", 57, 0, {56, 54, 0}, 0, 0},
	};
	static const struct hlo_row entry[] = {
		{"p", "parameter", "p['fc']['w1']", 1, 64, {0}, 0, 0},
		{"s", "parameter", "s[0].mu['fc']['w1']", 2, 64, {0}, 0, 1},
		{"x", "parameter", "x", 3, 32, {0}, 0, 2},
		{"call.1", "call", "", 4, 0, {1, 2, 3, 0}, HLO_FUSED, 0},
		{"new", "get-tuple-element", "", 5, 64, {4, 0}, 0, 0},
		{"loss", "get-tuple-element", "", 6, 1, {4, 0}, 0, 1},
		{"root", "tuple", "", 7, 0, {5, 6, 0}, 0, 0},
	};
	const struct hlo_bytes module = hlo_builder_with(entry, COUNT(entry), called, COUNT(called), true);
	struct hlo hlo;

	CHECK_THAT(record(&module, module.count));
	init(&hlo);
	expect(&hlo, "gemm.1", HLO_FORWARD, "p['fc']");
	expect(&hlo, "back.1", HLO_BACKWARD, "p['fc']");
	expect(&hlo, "adam.1", HLO_UPDATE, "p['fc']");
	hlo_free(&hlo);
	forget();
}

/* What a loop's body calls cuts a block's weight out of all that the loop was given: it is of that weight's
 * layer. */
static void test_loop(void)
{
	static const struct hlo_row called[] = {
		{"p.0", "parameter", "", 70, 1, {0}, 0, 0},
		{"p.1", "parameter", "", 71, 128, {0}, 0, 1},
		{"cut.1", "fusion", "jit(step)/jvp(Net)/while/body/dynamic_slice", 72, 64, {71, 70, 0}, 0, 0},
	};
	static const struct hlo_row body[] = {
		{"arg", "parameter", "", 50, 0, {0}, 0, 0},
		{"n", "get-tuple-element", "", 51, 1, {50, 0}, 0, 0},
		{"x.1", "get-tuple-element", "", 52, 32, {50, 0}, 0, 1},
		{"all", "get-tuple-element", "", 53, 128, {50, 0}, 0, 2},
		{"call.1", "call", "", 54, 64, {51, 53, 0}, 902, 0},
		{"dot.1", "custom-call", "jit(step)/jvp(Net)/while/body/fc/dot_general", 55, 32, {54, 52, 0},
			0, 0},
		{"made", "tuple", "", 56, 0, {51, 55, 53, 0}, 0, 0},
	};
	static const struct hlo_row entry[] = {
		{"w", "parameter", "p['params']['fc']['kernel']", 1, 128, {0}, 0, 0},
		{"m", "parameter", "s[0].mu['params']['fc']['kernel']", 2, 128, {0}, 0, 1},
		{"x", "parameter", "x", 3, 32, {0}, 0, 2},
		{"zero", "constant", "", 4, 1, {0}, 0, 0},
		{"given", "tuple", "", 5, 0, {4, 3, 1, 0}, 0, 0},
		{"while.1", "while", "jit(step)/jvp(Net)/while", 6, 0, {5, 0}, HLO_FUSED, 0},
		{"out", "get-tuple-element", "", 7, 32, {6, 0}, 0, 1},
		{"loss.1", "reduce", "jit(step)/jvp()/reduce_sum", 8, 1, {7, 0}, 0, 0},
		{"back.1", "custom-call", "jit(step)/transpose(jvp(Net))/fc/dot_general", 9, 128, {7, 3, 0},
			0, 0},
		{"adam.1", "fusion", "jit(step)/add", 10, 128, {9, 2, 1, 0}, 0, 0},
		{"root", "tuple", "", 11, 0, {10, 8, 0}, 0, 0},
	};
	struct hlo_bytes module = {.count = 0}, wrapped = {.count = 0}, schedule = {.count = 0};
	struct hlo hlo;

	hlo_put_text(&module, 1, "jit_step");
	hlo_put_computation(&module, 902, called, COUNT(called));
	hlo_put_computation(&module, HLO_FUSED, body, COUNT(body));
	hlo_put_computation(&module, HLO_ENTRY, entry, COUNT(entry));
	hlo_put(&module, 5, 13);
	hlo_put(&module, 6, HLO_ENTRY);
	hlo_put_sequence(&schedule, 902, called, COUNT(called));
	hlo_put_sequence(&schedule, HLO_FUSED, body, COUNT(body));
	hlo_put_sequence(&schedule, HLO_ENTRY, entry, COUNT(entry));
	hlo_put_message(&module, 7, &schedule);
	hlo_put_message(&wrapped, 1, &module);
	CHECK_THAT(record(&wrapped, wrapped.count));
	init(&hlo);
	expect(&hlo, "dot.1", HLO_FORWARD, "Net/fc");
	expect(&hlo, "cut.1", HLO_FORWARD, "Net/fc");
	hlo_free(&hlo);
	forget();
}

/* Without derivatives, and without new weights, nothing is said. */
static void test_evaluation(void)
{
	static const struct hlo_row rows[] = {
		{"p", "parameter", "p['w1']", 1, 64, {0}, 0, 0},
		{"gemm.1", "custom-call", "jit(f)/Net/Dense_0/dot_general", 2, 32, {1, 0}, 0, 0},
		{"loss", "reduce", "jit(f)/reduce_sum", 3, 1, {2, 0}, 0, 0},
		{"root", "tuple", "", 4, 0, {3, 0}, 0, 0},
	};
	const struct hlo_bytes module = hlo_builder_module(rows, COUNT(rows), inside, 1);
	struct hlo hlo;

	CHECK_THAT(record(&module, module.count));
	init(&hlo);
	CHECK_THAT(!hlo.modules[0].trains);
	expect(&hlo, "gemm.1", HLO_NONE, "Net/Dense_0");
	hlo_free(&hlo);
	forget();
}

/* ---- weights by the names of arguments ---- */

static const struct hlo_row named[] = {
	{"w", "parameter", "p['params']['fc1']['kernel']", 1, 64, {0}, 0, 0},
	{"b", "parameter", "p['params']['fc1']['bias']", 2, 8, {0}, 0, 1},
	{"m", "parameter", "s[0].mu['params']['fc1']['kernel']", 3, 64, {0}, 0, 2},
	{"x", "parameter", "x", 4, 64, {0}, 0, 3},
	{"dot.1", "custom-call", "jit(step)/jvp(Net)/fc1/dot_general", 5, 64, {4, 1, 0}, 0, 0},
	{"relu.1", "fusion", "jit(step)/jvp(Net)/max", 6, 64, {5, 2, 0}, 0, 0},
	{"tanh.1", "fusion", "jit(step)/jvp(Net)/tanh", 7, 64, {6, 0}, 0, 0},
	{"loss.1", "reduce", "jit(step)/jvp()/reduce_sum", 8, 1, {7, 0}, 0, 0},
	{"back.1", "fusion", "jit(step)/transpose(jvp(Net))/mul", 9, 64, {6, 0}, 0, 0},
	{"dot.2", "custom-call", "jit(step)/transpose(jvp(Net))/fc1/dot_general", 10, 64, {9, 4, 0}, 0, 0},
	{"adam.1", "fusion", "jit(step)/add", 11, 64, {10, 3, 1, 0}, 0, 0},
	{"root", "tuple", "", 12, 0, {11, 3, 8, 0}, 0, 0},
};

/* An activation is of the layer before it, in either pass; an update of the one whose weight it makes. */
static void test_weights(void)
{
	const struct hlo_bytes module = hlo_builder_module(named, COUNT(named), inside, COUNT(inside));
	struct hlo hlo;
	uint64_t elements;

	CHECK_THAT(record(&module, module.count));
	init(&hlo);
	expect(&hlo, "dot.1", HLO_FORWARD, "Net/fc1");
	expect(&hlo, "relu.1", HLO_FORWARD, "Net/fc1");
	expect(&hlo, "tanh.1", HLO_FORWARD, "Net/fc1");
	expect(&hlo, "back.1", HLO_BACKWARD, "Net/fc1");
	expect(&hlo, "adam.1", HLO_UPDATE, "Net/fc1");
	CHECK_THAT(hlo.modules[0].steps);
	CHECK_THAT(hlo_owns(&hlo.modules[0], "Net/fc1", &elements) && elements == 64 + 8);
	CHECK_THAT(!hlo_owns(&hlo.modules[0], "Net/fc2", &elements));
	CHECK_THAT(!hlo_owns(&hlo.modules[0], "Net/a/fc1", &elements));
	hlo_free(&hlo);
	forget();
}

/* A copy of a norm's bias that a layer reads is the norm's; one that has a name is where that is, but forward
 * if the forward pass reads it. */
static void test_handed(void)
{
	static const struct hlo_row rows[] = {
		{"w", "parameter", "p['params']['fc1']['kernel']", 1, 64, {0}, 0, 0},
		{"b", "parameter", "p['params']['norm']['bias']", 2, 8, {0}, 0, 1},
		{"m", "parameter", "s[0].mu['params']['fc1']['kernel']", 3, 64, {0}, 0, 2},
		{"x", "parameter", "x", 4, 64, {0}, 0, 3},
		{"norm.1", "fusion", "jit(step)/jvp(Net)/norm/mul", 5, 64, {4, 0}, 0, 0},
		{"copy.1", "copy", "", 6, 8, {2, 0}, 0, 0},
		{"copy.2", "copy", "jit(step)/jvp(Net)/fc1/transpose", 7, 8, {2, 0}, 0, 0},
		{"dot.1", "custom-call", "jit(step)/jvp(Net)/fc1/dot_general", 8, 64, {5, 13, 6, 7}, 0, 0},
		{"loss.1", "reduce", "jit(step)/jvp()/reduce_sum", 9, 1, {8, 0}, 0, 0},
		{"dot.2", "custom-call", "jit(step)/transpose(jvp(Net))/fc1/dot_general", 10, 64, {8, 4, 0},
			0, 0},
		{"adam.1", "fusion", "jit(step)/add", 11, 64, {10, 3, 1, 0}, 0, 0},
		{"copy.3", "copy", "jit(step)/transpose(jvp(Net))/jvp(Net)/fc1/remat2", 13, 64, {1, 0}, 0, 0},
		{"root", "tuple", "", 12, 0, {11, 3, 9, 0}, 0, 0},
	};
	const struct hlo_bytes module = hlo_builder_module(rows, COUNT(rows), inside, COUNT(inside));
	struct hlo hlo;

	CHECK_THAT(record(&module, module.count));
	init(&hlo);
	expect(&hlo, "copy.3", HLO_FORWARD, "Net/fc1");
	expect(&hlo, "copy.1", HLO_FORWARD, "Net/norm");
	expect(&hlo, "copy.2", HLO_FORWARD, "Net/fc1");
	hlo_free(&hlo);
	forget();
}

/* Weights called after the module that made them, scopes after what calls it, too: the nearest is a weight's,
 * and no other weight's. A name with a slash in it is no place in the program. */
static void test_longer_scopes(void)
{
	static const struct hlo_row rows[] = {
		{"w", "parameter", "p['net/linear']['w']", 1, 64, {0}, 0, 0},
		{"v", "parameter", "p['net/stack/linear']['w']", 2, 96, {0}, 0, 1},
		{"q", "parameter", "p['net/stack/qkv']['w']", 3, 48, {0}, 0, 2},
		{"m", "parameter", "s[0].mu['net/linear']['w']", 4, 64, {0}, 0, 3},
		{"n", "parameter", "s[0].mu['net/stack/linear']['w']", 5, 96, {0}, 0, 4},
		{"o", "parameter", "s[0].mu['net/stack/qkv']['w']", 6, 48, {0}, 0, 5},
		{"e", "parameter", "p['net']['positions']", 7, 24, {0}, 0, 6},
		{"x", "parameter", "x", 8, 32, {0}, 0, 7},
		{"copy.1", "copy", "jit(step)/transpose(jvp(net))/jvp(net)/remat2", 9, 48, {3, 0}, 0, 0},
		{"bitcast.2", "bitcast", "", 25, 64, {10, 0}, 0, 0},
		{"copy.2", "copy", "", 10, 64, {1, 0}, 0, 0},
		{"dot.1", "custom-call", "jit(step)/jvp(net)/stack/qkv/dot_general", 11, 32, {9, 8, 7, 0}, 0,
			0},
		{"dot.2", "custom-call", "jit(step)/jvp(net)/stack/sequential/linear/dot_general", 12, 32,
			{11, 2, 0}, 0, 0},
		{"dot.3", "custom-call", "jit(step)/jvp(net)/sequential/linear/dot_general", 13, 32,
			{12, 1, 0}, 0, 0},
		{"tanh.1", "fusion", "jit(step)/jvp(once)/again/net/tanh", 26, 32, {11, 0}, 0, 0},
		{"loss.1", "reduce", "jit(step)/jvp()/reduce_sum", 14, 1, {13, 26, 0}, 0, 0},
		{"back.3", "custom-call", "jit(step)/transpose(jvp(net))/sequential/linear/dot_general", 15,
			64, {13, 12, 25, 0}, 0, 0},
		{"relu.1", "fusion", "jit(step)/transpose(jvp(net))/stack/sequential/max", 16, 32, {13, 0}, 0,
			0},
		{"back.2", "custom-call", "jit(step)/transpose(jvp(net))/stack/sequential/linear/dot_general",
			17, 96, {16, 11, 0}, 0, 0},
		{"back.1", "custom-call", "jit(step)/transpose(jvp(net))/stack/qkv/dot_general", 18, 48,
			{13, 8, 0}, 0, 0},
		{"adam.3", "fusion", "jit(step)/add", 19, 64, {15, 4, 1, 0}, 0, 0},
		{"adam.2", "fusion", "jit(step)/add", 20, 96, {17, 5, 2, 0}, 0, 0},
		{"adam.1", "fusion", "jit(step)/add", 21, 48, {18, 6, 3, 0}, 0, 0},
		{"h", "parameter", "p['linear']['w']", 27, 40, {0}, 0, 8},
		{"adam.h", "fusion", "jit(step)/add", 28, 40, {27, 18, 0}, 0, 0},
		{"g", "parameter", "p['net/qkv']['w']", 29, 41, {0}, 0, 9},
		{"adam.g", "fusion", "jit(step)/add", 30, 41, {29, 18, 0}, 0, 0},
		{"root", "tuple", "", 22, 0, {19, 20, 21, 7, 14}, 0, 0},
	};
	const struct hlo_bytes module = hlo_builder_module(rows, COUNT(rows), inside, 1);
	struct hlo hlo;
	uint64_t elements;

	CHECK_THAT(record(&module, module.count));
	init(&hlo);
	expect(&hlo, "copy.1", HLO_FORWARD, "net/stack/qkv");
	expect(&hlo, "copy.2", HLO_BACKWARD, "net/sequential/linear");
	expect(&hlo, "dot.2", HLO_FORWARD, "net/stack/sequential/linear");
	expect(&hlo, "relu.1", HLO_BACKWARD, "net/stack/sequential/linear");
	expect(&hlo, "adam.2", HLO_UPDATE, "net/stack/sequential/linear");
	expect(&hlo, "adam.3", HLO_UPDATE, "net/sequential/linear");
	expect(&hlo, "tanh.1", HLO_FORWARD, "net/stack/qkv");
	expect(&hlo, "adam.h", HLO_UPDATE, "");
	expect(&hlo, "adam.g", HLO_UPDATE, "");
	CHECK_THAT(hlo_owns(&hlo.modules[0], "net/sequential/linear", &elements) && elements == 64);
	CHECK_THAT(hlo_owns(&hlo.modules[0], "net/stack/sequential/linear", &elements) && elements == 96);
	CHECK_THAT(hlo_owns(&hlo.modules[0], "net/stack/qkv", &elements) && elements == 48);
	hlo_free(&hlo);
	forget();
}

static void test_names(void)
{
	static const struct {
		const char *op_name, *layer;
		enum hlo_direction direction;
	} cases[] = {
		{"jit(step)/jvp(CNN)/Conv_0/conv_general_dilated", "CNN/Conv_0", HLO_FORWARD},
		{"jit(step)/transpose(jvp(CNN))/jit(relu)/max", "CNN", HLO_BACKWARD},
		{"jit(step)/transpose(jvp())/mul", "", HLO_BACKWARD},
		{"jit(step)/jit(main)/jvp(GPT)/while/body/blocks/qkv/dot_general", "GPT/blocks/qkv",
			HLO_FORWARD},
		{"jit(step)/transpose(jvp(GPT))/checkpoint/rematted_computation/block0/bqhd,bkhd->bhqk/dot_general",
			"GPT/block0", HLO_RECOMPUTED},
		{"jit(step)/transpose(jvp(GPT))/jvp(GPT)/checkpoint/rematted_computation/block1/qkv/dot_general",
			"GPT/block1/qkv", HLO_RECOMPUTED},
		{"jit(step)/jvp(GPT)/while/body/eval_jaxpr/blocks/qkv/add", "GPT/blocks/qkv", HLO_FORWARD},
		{"jit(step)/vmap(jvp(A))/B/branch_1_fun/add", "A/B", HLO_FORWARD},
		{"p['params']['Dense_0']['kernel']", "", HLO_NONE},
		{"jit(step", "", HLO_NONE},
		{"a(b/c)/d)/e(/f", "b/c/d)", HLO_NONE},
		{"", "", HLO_NONE},
	};
	struct arena arena = {NULL};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		CHECK_TEXT(hlo_name_layer(&arena, cases[i].op_name), cases[i].layer);
		CHECK_THAT(hlo_name_direction(cases[i].op_name) == cases[i].direction);
	}
	arena_free(&arena);
}

/* ---- which instruction a launch belongs to ---- */

static void test_ranges(void)
{
	const char *name;
	uint64_t program = 0;
	size_t length;

	CHECK_THAT(hlo_range_program("XlaModule:#hlo_module=jit_step,program_id=13#", &program) &&
		   program == 13);
	CHECK_THAT(!hlo_range_program("XlaModule:#hlo_module=gemm_fusion#", &program));
	CHECK_THAT(!hlo_range_program("program_id=13#", &program));
	CHECK_THAT(hlo_range_instruction("Thunk:#name=a/conv,hlo_op=cudnn-conv.2#", &name, &length));
	CHECK_THAT(length == 12 && memcmp(name, "cudnn-conv.2", 12) == 0);
	CHECK_THAT(!hlo_range_instruction("Thunk:#hlo_op=#", &name, &length));
	CHECK_THAT(!hlo_range_instruction("XlaCompile:#hlo_op=a#", &name, &length));
}

/* A kernel that two instructions share has the first one's name; a library launches two for a product. */
static void test_graph(void)
{
	static const struct hlo_row rows[] = {
		{"p", "parameter", "", 1, 64, {0}, 0, 0},
		{"loop_add_fusion", "fusion", "", 2, 64, {1, 0}, 0, 0},
		{"loop_add_fusion.1", "fusion", "", 3, 64, {2, 0}, 0, 0},
		{"custom-call.3", "custom-call", "", 4, 64, {3, 0}, 0, 0},
		{"copy.4", "copy", "", 5, 64, {4, 0}, 0, 0},
		{"loop_add_fusion.2", "fusion", "", 6, 64, {5, 0}, 0, 0},
		{"loop_mul_fusion.2", "fusion", "", 7, 64, {6, 0}, 0, 0},
	};
	static const char *const names[] = {"loop_add_fusion", "loop_add_fusion", "cutlass_gemm",
		"splitKreduce", NULL, "loop_add_fusion_2", "loop_mul_fusion_2"};
	static const char *const expected[] = {"loop_add_fusion", "loop_add_fusion.1", "custom-call.3",
		"custom-call.3", "copy.4", "loop_add_fusion.2", "loop_mul_fusion.2"};
	const uint64_t bytes[COUNT(names)] = {0};
	const struct hlo_instruction *found[COUNT(names)];
	struct hlo_bytes module = {.count = 0}, wrapped = {.count = 0};
	struct hlo_row backwards[COUNT(rows)];
	struct hlo hlo;

	for (unsigned i = 0; i < COUNT(rows); i++) /* the schedule turns them round */
		backwards[i] = rows[COUNT(rows) - 1 - i];
	hlo_put_text(&module, 1, "jit_step");
	hlo_put_computation(&module, HLO_ENTRY, rows, COUNT(rows));
	hlo_put(&module, 5, 13);
	hlo_put(&module, 6, HLO_ENTRY);
	hlo_put_schedule(&module, HLO_ENTRY, backwards, COUNT(rows), 0, NULL, 0);
	hlo_put_message(&wrapped, 1, &module);
	CHECK_THAT(record(&wrapped, wrapped.count));
	init(&hlo);
	hlo_align(&hlo.modules[0], NULL, NULL, NULL, names, bytes, COUNT(names), found);
	for (unsigned i = 0; i < COUNT(names); i++)
		CHECK_TEXT(found[i] ? found[i]->name : "none", expected[i]);
	hlo_free(&hlo);
	forget();
}

/* ---- what is broken ---- */

static void label_what_is_there(const struct hlo_bytes *module, size_t count)
{
	struct hlo hlo;

	record(module, count);
	init(&hlo);
	hlo_free(&hlo);
	forget();
}

static void test_broken(void)
{
	const struct hlo_bytes whole = hlo_builder_module(step, COUNT(step), inside, COUNT(inside));

	for (size_t count = 0; count < whole.count; count++)
		label_what_is_there(&whole, count);
	for (size_t i = 0; i < whole.count; i++)
		for (unsigned change = 1; change < 256; change = change * 3 + 1) {
			struct hlo_bytes changed = whole;

			changed.at[i] = (unsigned char)(changed.at[i] + change);
			label_what_is_there(&changed, changed.count);
		}
}

/* A length of 2^64 - 1, and numbers of more than ten bytes. */
static void test_lengths(void)
{
	struct hlo_bytes module = {.count = 0};

	hlo_put_number(&module, 1 << 3 | 2);
	hlo_put_number(&module, UINT64_MAX);
	CHECK_THAT(!record(&module, module.count));
	memset(module.at, 0xff, 64);
	CHECK_THAT(!record(&module, 64));
	CHECK_THAT(!record(&module, 0));
	forget();
}

/* Entries whose counts are more than their bytes. */
static void test_entries(void)
{
	struct {
		struct pm_entry_hlo_instruction fixed;
		unsigned char tail[16];
	} i = {.fixed = {.operand_count = 2}};

	trace_parse_hlo(&written, 0, PM_ENTRY_HLO_INSTRUCTION, (unsigned char *)&i, sizeof(i.fixed) + 16);
	CHECK_THAT(written.hlo_instruction_count == 0 && written.trouble);
	i.fixed.operand_count = 1;
	trace_parse_hlo(&written, 0, PM_ENTRY_HLO_INSTRUCTION, (unsigned char *)&i, sizeof(i.fixed) + 16);
	CHECK_THAT(written.hlo_instruction_count == 1);
	forget();
}

int main(void)
{
	forget();
	test_names();
	test_step();
	test_weights();
	test_handed();
	test_plain();
	test_classes();
	test_called();
	test_moves();
	test_parts();
	test_longer_scopes();
	test_loop();
	test_evaluation();
	test_ranges();
	test_graph();
	test_lengths();
	test_entries();
	test_broken();
	return check_end();
}
