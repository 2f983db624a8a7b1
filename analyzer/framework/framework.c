/* What PyTorch says: see framework.h. */
#include "framework_kind.h"
#include "framework_private.h"
#include "framework_tensorflow.h"
#include "framework_xla.h"

#include <stdlib.h>
#include <string.h>

#define ENGINE "autograd::engine::evaluate_function"
#define FSDP "FSDP::"

static bool is_engine(const struct timeline_range_name *name)
{
	return name->scope == PM_RANGE_OPERATOR && begins_with(name->name, ENGINE);
}

bool framework_goes_back(const struct timeline_range_name *name)
{
	return name->scope == PM_RANGE_NODE || is_engine(name);
}

enum framework_place framework_place_of(const struct timeline_range_name *name)
{
	if (name->scope != PM_RANGE_USER)
		return FRAMEWORK_SILENT;
	return begins_with(name->name, "Optimizer.step#")         ? FRAMEWORK_UPDATE
	       : begins_with(name->name, "Optimizer.zero_grad#")  ? FRAMEWORK_ZEROES
	       : begins_with(name->name, "enumerate(DataLoader)") ? FRAMEWORK_LOADS
								  : FRAMEWORK_SILENT;
}

bool framework_begins_pass(const struct timeline_range_name *name)
{
	return name->scope == PM_RANGE_USER &&
	       (begins_with(name->name, "DistributedDataParallel.forward") || begins_with(name->name, FSDP));
}

bool framework_is_within(const char *module, const char *outer)
{
	const size_t length = outer ? strlen(outer) : 0;

	return module && outer && strncmp(module, outer, length) == 0 &&
	       (module[length] == 0 || module[length] == '.');
}

/* ---- which modules have parameters ---- */

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Operators that passes are made of, beside those that take weights in every case. */
static bool is_product(const char *name)
{
	static const char *const operators[] = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm",
		"aten::matmul", "aten::cudnn_convolution", "aten::native_", "aten::scaled_dot_product",
		"aten::_scaled_dot_product", NULL};

	return begins_with_any(name, operators);
}

/* Operators that work with weights: of those of a frozen module no gradient tells. */
static bool takes_weights(const char *name)
{
	static const char *const operators[] = {"aten::linear", "aten::conv", "aten::_convolution",
		"aten::embedding", "aten::layer_norm", "aten::group_norm", "aten::batch_norm",
		"aten::instance_norm", "aten::rms_norm", "aten::lstm", "aten::gru", "aten::rnn_", NULL};

	return begins_with_any(name, operators);
}

/* Operators that take no tensor. */
static bool creates(const char *name)
{
	static const char *const operators[] = {"aten::arange", "aten::zeros", "aten::ones", "aten::full",
		"aten::empty", "aten::rand", "aten::eye", "aten::linspace", "aten::logspace",
		"aten::tril_indices", "aten::triu_indices", "aten::scalar_tensor", "aten::lift_fresh",
		"aten::hann_window", "aten::normal", NULL};

	return begins_with_any(name, operators);
}

/* Operators that compute nothing. */
static bool moves(const char *name)
{
	static const char *const operators[] = {"aten::cat", "aten::_cat", "aten::stack", "aten::flatten",
		"aten::unflatten", "aten::copy_", "aten::clone", "aten::to", "aten::_to_copy",
		"aten::contiguous", NULL};

	return begins_with_any(name, operators);
}

static void add_owner(struct framework *f, const char *module)
{
	if (module)
		*MEM_PUSH(f->owners, f->owner_count, f->owner_room) = module;
}

/* All modules in which operators ran, in order of texts; the caller frees it. */
static const char **list_modules(const struct framework *f, size_t *count)
{
	const char **modules = NULL;
	size_t room = 0;

	*count = 0;
	for (uint32_t i = 0; i < f->process->range_count; i++)
		if (name_of(f, i)->module && (*count == 0 || modules[*count - 1] != name_of(f, i)->module))
			*MEM_PUSH(modules, *count, room) = name_of(f, i)->module;
	if (*count)
		qsort(modules, *count, sizeof(*modules), compare_texts);
	return modules;
}

/* Does no operator run in a module within it? Then a product there is one with weights of its own, as far as
 * is known. */
static bool is_leaf(const char *const *modules, size_t count, const char *module)
{
	const size_t length = strlen(module);
	size_t low = 0, high = count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (strcmp(modules[middle], module) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < count && strncmp(modules[low], module, length) == 0; low++)
		if (modules[low][length] == '.')
			return false;
	return true;
}

static bool has_nodes(const struct framework *f)
{
	for (uint32_t i = 0; i < f->process->range_count; i++)
		if (is_node(f, i))
			return true;
	return false;
}

/* A program that trains works with weights where it records gradients: other products are of figures. */
static void find_owners(struct framework *f)
{
	size_t kept = 0, module_count;
	const char **modules = list_modules(f, &module_count);
	const bool trains = has_nodes(f);

	for (uint32_t i = 0; i < f->process->range_count; i++) {
		const struct timeline_range_name *name = name_of(f, i);
		const struct maker *maker;

		if (name->scope == PM_RANGE_OPERATOR && name->module &&
			(takes_weights(name->name) ||
				((!trains || f->ranges[i].sequence != PM_RANGE_NO_SEQUENCE) &&
					is_product(name->name) &&
					is_leaf(modules, module_count, name->module))))
			add_owner(f, name->module);
		if (name->scope != PM_RANGE_NODE || f->ranges[i].sequence != PM_RANGE_NO_SEQUENCE)
			continue;
		maker = framework_origin(f, i);
		if (maker && !is_compiled(name_of(f, maker->range)->name))
			add_owner(f, name_of(f, maker->range)->module);
	}
	free(modules);
	if (f->owner_count == 0)
		return;
	qsort(f->owners, f->owner_count, sizeof(*f->owners), compare_texts);
	for (size_t i = 0; i < f->owner_count; i++)
		if (kept == 0 || strcmp(f->owners[kept - 1], f->owners[i]) != 0)
			f->owners[kept++] = f->owners[i];
	f->owner_count = kept;
}

static bool owns(const struct framework *f, const char *module)
{
	return module && f->owner_count &&
	       bsearch(&module, f->owners, f->owner_count, sizeof(*f->owners), compare_texts);
}

struct framework *framework_read(const struct timeline *timeline, const struct timeline_process *process)
{
	struct framework *f;

	if (process->range_count == 0)
		return NULL;
	f = mem_alloc(1, sizeof(*f));
	f->timeline = timeline;
	f->process = process;
	f->ranges = timeline_ranges(timeline, process);
	framework_find_makers(f);
	find_owners(f);
	f->xla = xla_read(timeline, process);
	f->tensorflow = tensorflow_read(timeline);
	return f;
}

void framework_free(struct framework *framework)
{
	if (!framework)
		return;
	free(framework->makers);
	free(framework->numbered);
	free(framework->owners);
	xla_free(framework->xla);
	tensorflow_free(framework->tensorflow);
	free(framework->makes);
	free(framework);
}

const struct xla *framework_xla(const struct framework *framework)
{
	return framework->xla;
}

const struct tensorflow *framework_tensorflow(const struct framework *framework)
{
	return framework->tensorflow;
}

bool framework_was_asked(const struct framework *framework, int64_t begin_ns, int64_t end_ns)
{
	return timeline_operators_recorded(framework->process, begin_ns, end_ns);
}

/* ---- of a call ---- */

/* The node that the engine evaluates in a range of its own, whose work before and after the node is the
 * node's. */
static uint32_t node_within(const struct framework *f, uint32_t engine)
{
	for (uint32_t i = engine + 1;
		i < f->process->range_count && f->ranges[i].thread == f->ranges[engine].thread &&
		f->ranges[i].parent != f->ranges[engine].parent;
		i++)
		if (f->ranges[i].parent == engine && is_node(f, i))
			return i;
	return TIMELINE_NO_RANGE;
}

/* The node that the range is in, or is; TIMELINE_NO_RANGE: none. */
static uint32_t node_around(const struct framework *f, uint32_t range)
{
	for (; range != TIMELINE_NO_RANGE; range = f->ranges[range].parent) {
		if (is_node(f, range))
			return range;
		if (is_engine(name_of(f, range)))
			return node_within(f, range);
	}
	return TIMELINE_NO_RANGE;
}

/* Operators that people call, and no formula of a gradient. */
static bool is_called_by_people(const char *name)
{
	static const char *const operators[] = {"aten::conv1d", "aten::conv2d", "aten::conv3d",
		"aten::linear", "aten::batch_norm", "aten::layer_norm", "aten::group_norm", "aten::embedding",
		"aten::dropout", "aten::scaled_dot_product_attention", NULL};
	const char *const *word = operators;

	while (*word && strcmp(*word, name) != 0)
		word++;
	return *word;
}

/* Is the operator, in the node, or one around it forward work that is done again? It has a module, or else a
 * number, as those of a gradient have not. */
static bool is_again(const struct framework *f, uint32_t range, uint32_t node)
{
	const bool checkpoints = strstr(name_of(f, node)->name, "Checkpoint");

	for (; range != TIMELINE_NO_RANGE && !framework_goes_back(name_of(f, range));
		range = f->ranges[range].parent) {
		const struct timeline_range_name *name = name_of(f, range);

		if (name->scope == PM_RANGE_OPERATOR &&
			(name->module || (f->ranges[range].sequence != PM_RANGE_NO_SEQUENCE &&
						 (checkpoints || is_called_by_people(name->name)))))
			return true;
	}
	return false;
}

/* The node whose gradient's formula has made this one, where gradients have gradients themselves (a
 * meta-learner's inner steps, penalties of gradients): its maker ran in that; TIMELINE_NO_RANGE: none. */
static uint32_t lower_node(const struct framework *f, uint32_t node, const struct maker *maker)
{
	const uint32_t lower = node_around(f, f->ranges[maker->range].parent);

	return lower != TIMELINE_NO_RANGE && f->ranges[lower].begin_ns < f->ranges[node].begin_ns &&
			       !is_again(f, maker->range, lower)
		       ? lower
		       : TIMELINE_NO_RANGE;
}

/* The operator of the forward pass that a node goes back to, of whatever order its gradient is. */
static const struct maker *forward_maker(const struct framework *f, uint32_t node)
{
	const struct maker *maker = framework_origin(f, node);

	for (uint32_t lower; maker && (lower = lower_node(f, node, maker)) != TIMELINE_NO_RANGE; node = lower)
		maker = framework_origin(f, lower);
	return maker;
}

static struct framework_word backward_word(const struct framework *f, uint32_t node)
{
	const struct maker *maker = forward_maker(f, node);
	struct framework_word word = {
		.place = FRAMEWORK_BACKWARD, .says = name_of(f, node)->name, .origin = TIMELINE_NO_RANGE};

	if (maker) {
		word.origin = maker->range;
		word.module = name_of(f, maker->range)->module;
	}
	return word;
}

static struct framework_word operator_word(const struct framework *f, uint32_t range)
{
	const struct timeline_range_name *name = name_of(f, range);
	struct framework_word word = {.module = name->module, .says = name->name, .origin = range};

	if (f->makes[range])
		word.place = FRAMEWORK_FORWARD;
	else if (f->ranges[range].sequence == PM_RANGE_NO_SEQUENCE)
		word.place = FRAMEWORK_NO_GRADIENTS;
	else
		word.place =
			name->module && takes_weights(name->name) ? FRAMEWORK_FORWARD : FRAMEWORK_PREPARES;
	return word;
}

/* From the innermost range outwards, the first that tells. An optimizer's own operators record no gradients;
 * those of a pass that it makes (LBFGS) do. */
static struct framework_word word_of(const struct framework *f, uint32_t range)
{
	const struct framework_word nothing = {.place = FRAMEWORK_SILENT, .origin = TIMELINE_NO_RANGE};
	struct framework_word word = nothing;

	for (; range != TIMELINE_NO_RANGE; range = f->ranges[range].parent) {
		const struct timeline_range_name *name = name_of(f, range);
		uint32_t node;

		if (framework_goes_back(name)) {
			node = node_around(f, range);
			word = nothing;
			word.place = FRAMEWORK_BACKWARD;
			return node == TIMELINE_NO_RANGE ? word : backward_word(f, node);
		}
		if (name->scope == PM_RANGE_OPERATOR && word.place == FRAMEWORK_SILENT) {
			word = operator_word(f, range);
			node = node_around(f, f->ranges[range].parent);
			if (node != TIMELINE_NO_RANGE && !is_again(f, range, node))
				return backward_word(f, node);
			if (node != TIMELINE_NO_RANGE)
				word.place = FRAMEWORK_AGAIN;
			if (word.place == FRAMEWORK_AGAIN || word.place == FRAMEWORK_FORWARD)
				return word;
		}
		if (framework_place_of(name) != FRAMEWORK_SILENT) {
			word.place = framework_place_of(name);
			return word;
		}
	}
	return word;
}

/* By the outermost of FSDP's ranges: "FSDP::pre_forward (layers.0)". */
static enum framework_shard shard_of(const struct framework *f, uint32_t range)
{
	enum framework_shard shard = FRAMEWORK_NO_SHARD;

	for (; range != TIMELINE_NO_RANGE; range = f->ranges[range].parent) {
		const struct timeline_range_name *name = name_of(f, range);

		if (name->scope == PM_RANGE_USER && begins_with(name->name, FSDP))
			shard = strstr(name->name, "backward") ? FRAMEWORK_FOR_BACKWARD
							       : FRAMEWORK_FOR_FORWARD;
	}
	return shard;
}

struct framework_word framework_word_in(const struct framework *framework, uint32_t range)
{
	struct framework_word word = word_of(framework, range);

	word.owns = owns(framework, word.module);
	word.weighs = takes_weights(word.says) || is_product(word.says);
	word.kind = word.weighs ? framework_layer_kind(word.says) : NULL;
	word.creates = creates(word.says);
	word.moves = moves(word.says);
	word.in_place = word.says && *word.says && word.says[strlen(word.says) - 1] == '_';
	word.shard = shard_of(framework, range);
	word.compiled = is_compiled(word.says) || (word.origin != TIMELINE_NO_RANGE &&
							  is_compiled(name_of(framework, word.origin)->name));
	for (uint32_t r = range; r != TIMELINE_NO_RANGE && !word.compiled; r = framework->ranges[r].parent)
		word.compiled = is_compiled(name_of(framework, r)->name);
	return word;
}

struct framework_word framework_word(struct framework *framework, uint32_t call)
{
	const struct timeline_call item = timeline_call(framework->timeline, call);
	const uint32_t range =
		timeline_range_at(framework->timeline, framework->process, item.thread, item.begin_ns);
	struct framework_word word;

	if (framework->xla && xla_word(framework->xla, call, range, &word))
		return word;
	if (framework->tensorflow && range != TIMELINE_NO_RANGE &&
		tensorflow_word(framework->tensorflow, framework->ranges[range].name, &word)) {
		/* a library's call is the product, kernels beside it change its operands' layout */
		word.weighs &= timeline_function(framework->timeline, &item)->kind != PM_KIND_LAUNCH;
		return word;
	}
	return framework_word_in(framework, range);
}
