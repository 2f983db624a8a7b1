/*
 * Checks which phase and layer the device events of other profilers' traces are said to belong to. A small
 * network's training is written as PyTorch's profiler writes it; of each kernel it is known what it is for.
 */
#include "import/imported_attribute.h"
#include "import/imported_keyword.h"
#include "spans_make.h"

/* A name without what stands after tabs. */
static bool is_layer(const char *layer, const char *name)
{
	size_t bytes = strcspn(layer, "\t");

	return bytes == strlen(name) && memcmp(layer, name, bytes) == 0;
}

static void compare(
	const char *what, const struct imported *imported, const struct imported_attribution *attributed)
{
	size_t wrong = 0;

	CHECK(imported->events.count == correlation, "%s: %zu events, expected %u", what,
		imported->events.count, correlation);
	for (size_t i = 0; i < imported->events.count; i++) {
		uint64_t number = imported->events.correlation[i];
		const char *layer = imported->strings.items[attributed->layer[i]];
		bool right = attributed->phase[i] == expected[number].phase &&
			     attributed->part[i] == expected[number].part &&
			     is_layer(layer, expected[number].layer);

		CHECK(right || wrong++ > 5,
			"%s: launch %llu: phase %d part %d layer '%s', expected %d %d '%s'", what,
			(unsigned long long)number, attributed->phase[i], attributed->part[i], layer,
			expected[number].phase, expected[number].part, expected[number].layer);
	}
}

static void check_style(const char *what, const struct style *wanted)
{
	struct imported_attribution attributed = {0};
	struct imported imported;
	int64_t sum_ns = 0, labelled = 0;

	make(wanted, 5);
	CHECK(make_read(&imported, text,
		      IMPORTED_WANT_LABELS | IMPORTED_WANT_OPERATORS | IMPORTED_WANT_PYTHON) == 0 &&
			!imported.trouble,
		"%s: %s", what, imported.trouble);
	imported_attribute(&imported, 0, &attributed);
	compare(what, &imported, &attributed);
	for (int i = 0; i < TIMELINE_ATTRIBUTED_COUNT; i++)
		sum_ns += attributed.attributed_ns[0][i];
	CHECK(sum_ns == (int64_t)correlation * 7000, "%s: %lld ns", what, (long long)sum_ns);
	/* What the labels' own thread has launched, but what follows the copy of the input. */
	for (unsigned i = 1; i <= correlation; i++)
		labelled += expected[i].phase == F || expected[i].phase == U ||
			    expected[i].phase == PHASE_OTHER + 1;
	CHECK(!wanted->labels || attributed.attributed_ns[0][TIMELINE_ATTRIBUTED_BY_LABEL] ==
					 (labelled - 2 * 5) * 7000,
		"%s: labels", what);
	imported_attribution_free(&attributed);
	imported_free(&imported);
}

static void check_styles(void)
{
	check_style("labels", &(struct style){.labels = true, .framework = true});
	check_style("framework", &(struct style){.framework = true});
	check_style("operators", &(struct style){.grouped = true});
	check_style("plain operators", &(struct style){.labels = false});
	check_style("old", &(struct style){.old = true, .framework = true});
	check_style("old, plain", &(struct style){.old = true});
	check_style("no calls", &(struct style){.no_calls = true, .grouped = true});
	check_style("modules", &(struct style){.modules = true, .framework = true});
	check_style("checkpoint", &(struct style){.again = true, .framework = true});
	check_style("micro-batches", &(struct style){.accumulate = 3, .grouped = true});
	check_style("evaluation", &(struct style){.eval = true, .framework = true});
}

/* Sizes, shapes and the program's names go with the name of a layer. */
static void check_texts(void)
{
	/* 8 (3 5 5) + 8 of a convolution with a bias, 8 (8 3 3) of one without, a norm's scale without a
	 * shift */
	static const char *const texts[] = {"conv1\t5x5x3->8\t2x3x6x6\t\t608",
		"conv2\t3x3x8->8\t2x8x6x6\t\t576", "norm1\t8\t2x8x6x6\t\t8", "pool1\t\t2x8x6x6\t\t0",
		"fc1\t72->10\t2x72\t\t730", "loss\t\t2x10\t\t0"};
	static const char *const modules[] = {
		"conv2\t\t\tNet_0.Conv2d_1", "fc1\t\t\tNet_0.Linear_0", "loss\t\t\t\t0"};
	struct imported_attribution attributed = {0};
	struct imported imported;

	make(&(struct style){.old = true}, 2);
	make_read(&imported, text, IMPORTED_WANT_LABELS | IMPORTED_WANT_OPERATORS);
	imported_attribute(&imported, 0, &attributed);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		size_t found = 0;

		for (size_t j = 0; j < imported.events.count; j++)
			found += strcmp(imported.strings.items[attributed.layer[j]], texts[i]) == 0;
		CHECK(found >= 4, "%s: %zu", texts[i], found);
	}
	imported_attribution_free(&attributed);
	imported_free(&imported);
	make(&(struct style){.modules = true}, 2);
	make_read(&imported, text, IMPORTED_WANT_OPERATORS | IMPORTED_WANT_MODULES);
	imported_attribute(&imported, 0, &attributed);
	for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++) {
		size_t found = 0;

		for (size_t j = 0; j < imported.events.count; j++)
			found += strcmp(imported.strings.items[attributed.layer[j]], modules[i]) == 0;
		CHECK(found >= 4, "%s: %zu", modules[i], found);
	}
	imported_attribution_free(&attributed);
	imported_free(&imported);
}

/* Nothing but device events: names of kernels and copies, and what says nothing is not known. */
static void check_names(void)
{
	static const char trace[] =
		"[" MAKE_KERNEL("cudnn_dgrad_128", "10", "5", "7", "1") "," MAKE_KERNEL("cudnn_fprop_64",
			"20", "5", "7", "2") "," MAKE_KERNEL("void multi_tensor_apply_kernel<int>(x)", "30",
			"5", "7", "3") "," MAKE_KERNEL("ampere_sgemm_128x64_nn", "40", "5", "7",
			"4") "," MAKE_KERNEL("ncclKernel_AllReduce", "50", "5", "7", "5") "]";
	static const int phases[] = {B, F, U, 0, PHASE_COMMUNICATION + 1};
	struct imported_attribution attributed = {0};
	struct imported imported;

	make_read(&imported, trace, IMPORTED_WANT_LABELS | IMPORTED_WANT_OPERATORS);
	imported_attribute(&imported, 0, &attributed);
	CHECK(attributed.count == 5, "%zu", attributed.count);
	for (size_t i = 0; i < 5 && attributed.count == 5; i++)
		CHECK(attributed.phase[i] == phases[i] && !attributed.layer[i], "kernel %zu: %d, expected %d",
			i, attributed.phase[i], phases[i]);
	CHECK(attributed.attributed_ns[0][TIMELINE_ATTRIBUTED_BY_NAME] == 20000 &&
			attributed.attributed_ns[0][TIMELINE_ATTRIBUTED_BY_NOTHING] == 5000,
		"%lld", (long long)attributed.attributed_ns[0][TIMELINE_ATTRIBUTED_BY_NAME]);
	imported_attribution_free(&attributed);
	imported_free(&imported);
}

/* Labelled phases alone, of two workers. */
static void check_labelled(void)
{
	static const char trace[] =
		"[{\"ph\": \"X\", \"name\": \"forward-compute\", \"pid\": 0, \"tid\": 1, \"ts\": 1, \"dur\": 4},"
		"{\"ph\": \"X\", \"name\": \"forward-send\", \"pid\": 0, \"tid\": 1, \"ts\": 5, \"dur\": 4},"
		"{\"ph\": \"X\", \"name\": \"backward-compute\", \"pid\": 0, \"tid\": 1, \"ts\": 10, \"dur\": 4},"
		"{\"ph\": \"X\", \"name\": \"grads-reduce-scatter\", \"pid\": 0, \"tid\": 1, \"ts\": 15, \"dur\": 4},"
		"{\"ph\": \"X\", \"name\": \"optimizer\", \"pid\": 0, \"tid\": 1, \"ts\": 20, \"dur\": 4},"
		"{\"ph\": \"X\", \"name\": \"load batch\", \"pid\": 1, \"tid\": 1, \"ts\": 25, \"dur\": 4},"
		"{\"ph\": \"X\", \"name\": \"think\", \"pid\": 1, \"tid\": 1, \"ts\": 30, \"dur\": 4}]";
	static const int phases[] = {
		F, PHASE_COMMUNICATION + 1, B, PHASE_COMMUNICATION + 1, U, PHASE_IO + 1, 0};
	struct imported_attribution attributed = {0};
	struct imported imported;

	make_read(&imported, trace, IMPORTED_WANT_LABELS);
	CHECK(imported.worker_count == 2, "%zu", imported.worker_count);
	imported_attribute(&imported, 0, &attributed);
	for (size_t i = 0; i < 7; i++)
		CHECK(attributed.phase[i] == (i < 5 ? phases[i] : 0), "first worker, %zu: %d", i,
			attributed.phase[i]);
	imported_attribute(&imported, 1, &attributed);
	for (size_t i = 0; i < 7; i++)
		CHECK(attributed.phase[i] == phases[i], "both workers, %zu: %d", i, attributed.phase[i]);
	imported_attribution_free(&attributed);
	imported_free(&imported);
}

/* Labels as people write them. */
static void check_words(void)
{
	static const struct {
		const char *label;
		int phase;
	} words[] = {{"## forward ##", F}, {"DistributedDataParallel.forward", F}, {"forward_step", F},
		{"fwd", F}, {"backward-send", B}, {"Backward pass", B}, {"Optimizer.step#Adam.step", U},
		{"Optimizer.zero_grad#SGD.zero_grad", PHASE_OTHER + 1}, {"optimizer-clip-main-grad", U},
		{"update", U}, {"update weights", U}, {"update_metrics", 0},
		{"## copy_batch_to_gpu ##", PHASE_H2D + 1}, {"forward_backward", 0}, {"forwarding", 0},
		{"train", 0}, {"", 0}, {"attn (F)", F}, {"MLP(B)", B}, {"mlp (W)", B}, {"F", 0}, {"(F1)", 0},
		{"clip_grad_norm", U}};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		CHECK(imported_keyword_label(words[i].label) == words[i].phase, "'%s': %d", words[i].label,
			imported_keyword_label(words[i].label));
	CHECK(imported_keyword_of("AddmmBackward0").flags & IMPORTED_KEYWORD_BACKWARD, "AddmmBackward0");
	CHECK(imported_keyword_of("torch::autograd::CppNode<SplitLookupFunction>").flags &
			IMPORTED_KEYWORD_BACKWARD,
		"CppNode");
	CHECK(!(imported_keyword_of("RegisterPostBackwardFunction").flags & IMPORTED_KEYWORD_BACKWARD),
		"RegisterPostBackwardFunction");
}

/* Whatever is in a file: nothing breaks, and all device time is attributed by something or nothing. */
static void check_hostile(void)
{
	static const char *const words[] = {"nn.Module: x", "aten::conv2d", "ConvolutionBackward0", "kernel",
		"cuda_runtime", "\"tid\": 2", "\"ts\": 1000", "Sequence number\": 5", "External id\": 1"};
	uint32_t random = 3;

	make(&(struct style){.framework = true, .again = true, .old = true, .modules = true}, 1);
	for (int i = 0; i < 1500; i++) {
		struct imported_attribution attributed = {0};
		struct imported imported;
		static char odd[sizeof(text)];

		memcpy(odd, text, length);
		for (int j = 0; j < 1 + i % 6; j++) {
			const char *word = words[(random >> 4) % (sizeof(words) / sizeof(*words))];

			random = random * 1664525 + 1013904223;
			if (j % 2)
				odd[(random >> 8) % length] = (char)('0' + (random >> 5) % 10);
			else
				memcpy(odd + (random >> 8) % (length - 32), word, strlen(word));
		}
		if (make_read_bytes(&imported, "odd.json", odd, length, ~0u) == 0)
			for (uint32_t worker = 0; worker < imported.worker_count; worker++) {
				int64_t sum_ns = 0;

				imported_attribute(&imported, worker, &attributed);
				for (uint32_t k = 0; k < imported.events.count; k++)
					if (imported.queues[imported.events.queue[k]].worker == worker)
						sum_ns += imported.events.end_ns[k] -
							  imported.events.begin_ns[k];
				for (int k = 0; k < TIMELINE_ATTRIBUTED_COUNT; k++)
					sum_ns -= attributed.attributed_ns[worker][k];
				CHECK(sum_ns == 0, "round %d: %lld ns are attributed by nothing at all", i,
					(long long)sum_ns);
			}
		imported_attribution_free(&attributed);
		imported_free(&imported);
	}
}

/* Operators that were written as ranges. */
static void check_ranges(void)
{
	static const struct {
		const char *range, *name, *shapes;
		int64_t sequence;
		uint64_t external;
		enum imported_span_kind kind;
	} ranges[] = {{"aten::conv2d, seq = 12, op_id = 345, sizes = [[2, 3], []]", "aten::conv2d",
			      "[[2, 3], []]", 12, 345, IMPORTED_OPERATOR},
		{"aten::relu, op_id = 3", "aten::relu", "", -1, 3, IMPORTED_OPERATOR},
		{"AddBackward0, seq = 7", "AddBackward0", "", 7, 0, IMPORTED_OPERATOR},
		{"forward, or so", "forward, or so", "", -1, 0, IMPORTED_ANNOTATION}};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
		struct imported imported = {0};
		uint32_t span = imported_add_span(&imported);

		imported.spans.name[span] =
			intern_text(&imported.strings, ranges[i].range, strlen(ranges[i].range));
		imported.spans.kind[span] = IMPORTED_ANNOTATION;
		imported_keyword_range(&imported, span);
		CHECK(strcmp(imported.strings.items[imported.spans.name[span]], ranges[i].name) == 0 &&
				strcmp(imported.strings.items[imported.spans.shapes[span]],
					ranges[i].shapes) == 0 &&
				imported.spans.sequence[span] == ranges[i].sequence &&
				imported.spans.external[span] == ranges[i].external &&
				imported.spans.kind[span] == ranges[i].kind,
			"%s: '%s' '%s' %lld %llu", ranges[i].range,
			imported.strings.items[imported.spans.name[span]],
			imported.strings.items[imported.spans.shapes[span]],
			(long long)imported.spans.sequence[span],
			(unsigned long long)imported.spans.external[span]);
		imported_free(&imported);
	}
}

int main(void)
{
	make_begin();
	check_ranges();
	check_hostile();
	check_words();
	check_styles();
	check_texts();
	check_names();
	check_labelled();
	make_end();
	return check_end();
}
