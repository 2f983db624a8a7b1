/*
 * TensorFlow's operations have the path of the layers that made them: `sequential/dense/MatMul`. Gradients
 * are made by a tape, which puts its own name before the path of the operation that it goes back through:
 * `gradient_tape/sequential/dense/MatMul/MatMul_1`. An optimizer works in a scope of its own, through which
 * no gradient goes, and writes more variables than anybody else, as a metric does.
 *
 * A layer has several operations, and some have a path below it (`dense/Tensordot/MatMul`, beside
 * `dense/BiasAdd`): the module of an operation is the shortest part of its path in which an operation works
 * with weights; else the longest in which there is one of the forward pass.
 */
#include "framework_tensorflow.h"
#include "framework_private.h"

#include <stdlib.h>
#include <string.h>

struct operation {
	const char
		*path; /* without what calls it; of a gradient that of the operation it goes back through */
	const char *type; /* "": not known; arguments may follow, `_Send#from=` */
	size_t length;    /* of the path */
	size_t scope;     /* of the path's first name; 0: it has one name alone */
	size_t folder;    /* of the path without its last name */
	bool is_known, goes_back;
};

/* Parts of paths. */
struct part {
	const char *text;
	size_t length;
};

struct parts {
	struct part *items; /* in order of texts once settled */
	size_t count, room;
};

struct tensorflow {
	struct operation *operations; /* by name */
	struct framework_word *words;
	struct parts weighty, folders; /* of the forward pass: with operations that have weights; all */
	struct parts differentiated;   /* scopes */
	struct part optimizer;         /* its scope; of length 0: not known */
	size_t count;
	struct arena arena;
};

/* ---- paths ---- */

static size_t name_length(const char *path)
{
	return strcspn(path, "/:");
}

static bool is_name(const char *path, const char *word)
{
	const size_t length = strlen(word);

	return strncmp(path, word, length) == 0 && (path[length] == '/' || path[length] == '_');
}

static bool is_number(const char *text, size_t length)
{
	return length > 0 && strspn(text, "0123456789") == length;
}

static const char *after_name(const char *path)
{
	const size_t length = name_length(path);

	return path[length] == '/' ? path + length + 1 : path + length;
}

/* A loop's or a branch's path ends with the number of its function: `while/body/_12/`. NULL: it is none. */
static const char *after_branch(const char *path)
{
	static const char *const branches[] = {"body/", "cond/", "then/", "else/", NULL};
	const char *const *branch = branches;
	const char *inner = after_name(path);

	while (*branch && strncmp(inner, *branch, strlen(*branch)) != 0)
		branch++;
	if (!*branch)
		return NULL;
	inner = after_name(inner);
	return *inner == '_' && is_number(inner + 1, name_length(inner) - 1) ? after_name(inner) : NULL;
}

/* Without the functions, loops and replicas that the operation is called in. */
static const char *without_callers(const char *path)
{
	static const char *const callers[] = {"StatefulPartitionedCall", "PartitionedCall", "replica", NULL};
	const char *const *caller;
	const char *inner;

	do {
		for (caller = callers; *caller && !is_name(path, *caller);)
			caller++;
		inner = *caller ? after_name(path) : after_branch(path);
		path = inner ? inner : path;
	} while (inner);
	return path;
}

static struct operation read_operation(const char *text)
{
	struct operation o = {.path = without_callers(text), .type = "", .is_known = true};
	const char *colon;

	if (is_name(o.path, "gradient_tape") || is_name(o.path, "gradients")) {
		o.goes_back = true;
		o.path = without_callers(after_name(o.path));
	}
	colon = strchr(o.path, ':');
	o.length = colon ? (size_t)(colon - o.path) : strlen(o.path);
	o.type = colon ? colon + 1 : "";
	o.scope = name_length(o.path) < o.length ? name_length(o.path) : 0;
	for (o.folder = o.length; o.folder > 0 && o.path[o.folder] != '/';)
		o.folder--;
	return o;
}

/* ---- types ---- */

static bool is_product(const char *type)
{
	static const char *const words[] = {"Conv2D", "Conv3D", "DepthwiseConv2d", "MatMul", "_FusedConv2D",
		"_FusedMatMul", "_FusedDepthwise", NULL};

	return begins_with_any(type, words);
}

static bool has_weights(const char *type)
{
	static const char *const words[] = {
		"BiasAdd", "FusedBatchNorm", "_FusedBatchNorm", "ResourceGather", "CudnnRNN", NULL};

	return is_product(type) || begins_with_any(type, words);
}

static bool writes_variable(const char *type)
{
	static const char *const words[] = {
		"Assign", "ResourceApply", "ResourceSparseApply", "ResourceScatter", NULL};

	return begins_with_any(type, words);
}

static bool enters_function(const char *type)
{
	static const char *const words[] = {"_Arg", "IteratorGetNext", NULL};

	return begins_with_any(type, words);
}

/* ---- parts ---- */

static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	const size_t both = x->length < y->length ? x->length : y->length;
	const int order = both ? memcmp(x->text, y->text, both) : 0;

	return order ? order : (x->length > y->length) - (x->length < y->length);
}

static void add_part(struct parts *parts, const char *text, size_t length)
{
	*MEM_PUSH(parts->items, parts->count, parts->room) = (struct part){text, length};
}

static void settle_parts(struct parts *parts)
{
	if (parts->count)
		qsort(parts->items, parts->count, sizeof(*parts->items), compare_parts);
}

static bool has_part(const struct parts *parts, const char *text, size_t length)
{
	const struct part wanted = {text, length};

	return parts->count && bsearch(&wanted, parts->items, parts->count, sizeof(wanted), compare_parts);
}

/* The length of the shortest part of the path that is among them, or of the longest; 0: none is. */
static size_t shortest_part(const struct parts *parts, const struct operation *o)
{
	for (size_t length = 1; length <= o->folder; length++)
		if ((length == o->folder || o->path[length] == '/') && has_part(parts, o->path, length))
			return length;
	return 0;
}

static size_t longest_part(const struct parts *parts, const struct operation *o)
{
	for (size_t length = o->length; length > 0; length--)
		if ((length == o->length || o->path[length] == '/') && has_part(parts, o->path, length))
			return length;
	return 0;
}

/* ---- what operations are for ---- */

static bool is_forward(const struct tensorflow *tf, const struct operation *o)
{
	return o->is_known && !o->goes_back && o->scope > 0 &&
	       has_part(&tf->differentiated, o->path, o->scope);
}

/* The scope without gradients that writes most variables. */
static void find_optimizer(struct tensorflow *tf)
{
	struct parts writers = {.items = NULL};
	size_t most = 0;

	for (size_t i = 0; i < tf->count; i++) {
		const struct operation *o = &tf->operations[i];

		if (o->is_known && !o->goes_back && o->scope > 0 && writes_variable(o->type) &&
			!has_part(&tf->differentiated, o->path, o->scope))
			add_part(&writers, o->path, o->scope);
	}
	settle_parts(&writers);
	for (size_t i = 0, first = 0; i < writers.count; i++) {
		if (compare_parts(&writers.items[i], &writers.items[first]) != 0)
			first = i;
		if (i + 1 - first > most) {
			most = i + 1 - first;
			tf->optimizer = writers.items[i];
		}
	}
	free(writers.items);
}

static bool is_of_optimizer(const struct tensorflow *tf, const struct operation *o)
{
	const struct part scope = {o->path, o->scope};

	return o->scope > 0 && compare_parts(&scope, &tf->optimizer) == 0;
}

static void find_modules(struct tensorflow *tf)
{
	for (size_t i = 0; i < tf->count; i++) {
		const struct operation *o = &tf->operations[i];

		if (!is_forward(tf, o))
			continue;
		add_part(&tf->folders, o->path, o->folder);
		if (has_weights(o->type))
			add_part(&tf->weighty, o->path, o->folder);
	}
	settle_parts(&tf->folders);
	settle_parts(&tf->weighty);
}

static struct framework_word word_of(struct tensorflow *tf, const struct operation *o)
{
	struct framework_word word = {.origin = TIMELINE_NO_RANGE, .says = o->type, .settled = true};
	size_t length;

	if (is_of_optimizer(tf, o)) {
		word.place = FRAMEWORK_UPDATE;
		return word;
	}
	if (!o->goes_back && !is_forward(tf, o)) {
		word.place = FRAMEWORK_NO_GRADIENTS;
		return word;
	}
	word.place = o->goes_back ? FRAMEWORK_BACKWARD : FRAMEWORK_FORWARD;
	length = shortest_part(&tf->weighty, o);
	word.owns = length > 0;
	word.weighs = !o->goes_back && is_product(o->type);
	if (!length)
		length = longest_part(&tf->folders, o);
	word.module = length ? arena_text(&tf->arena, o->path, length) : NULL;
	return word;
}

/* XLA's ranges have the same domain, and arguments alone: `Thunk:#hlo_op=...#`. */
static bool is_operation(const struct timeline_range_name *name)
{
	return name->scope == PM_RANGE_NVTX && name->domain && strcmp(name->domain, "TSL") == 0 &&
	       name->name && strchr(name->name, ':') && !strstr(name->name, ":#");
}

struct tensorflow *tensorflow_read(const struct timeline *timeline)
{
	struct tensorflow *tf = mem_alloc(1, sizeof(*tf));

	tf->count = timeline->range_name_count;
	tf->operations = mem_alloc(tf->count + 1, sizeof(*tf->operations));
	tf->words = mem_alloc(tf->count + 1, sizeof(*tf->words));
	for (size_t i = 0; i < tf->count; i++) {
		const struct timeline_range_name *name = &timeline->range_names[i];
		struct operation *o = &tf->operations[i];

		if (!is_operation(name))
			continue;
		*o = read_operation(name->name);
		if (o->goes_back && o->scope > 0)
			add_part(&tf->differentiated, o->path, o->scope);
	}
	settle_parts(&tf->differentiated);
	if (!tf->differentiated.count) {
		tensorflow_free(tf);
		return NULL;
	}
	find_optimizer(tf);
	find_modules(tf);
	for (size_t i = 0; i < tf->count; i++)
		if (tf->operations[i].is_known)
			tf->words[i] = word_of(tf, &tf->operations[i]);
	return tf;
}

void tensorflow_free(struct tensorflow *tensorflow)
{
	if (!tensorflow)
		return;
	free(tensorflow->operations);
	free(tensorflow->words);
	free(tensorflow->weighty.items);
	free(tensorflow->folders.items);
	free(tensorflow->differentiated.items);
	arena_free(&tensorflow->arena);
	free(tensorflow);
}

bool tensorflow_word(const struct tensorflow *tensorflow, uint32_t name, struct framework_word *word)
{
	if (!tensorflow->operations[name].is_known)
		return false;
	*word = tensorflow->words[name];
	return true;
}

enum tensorflow_part tensorflow_part(const struct tensorflow *tensorflow, uint32_t name)
{
	const struct operation *o = &tensorflow->operations[name];

	if (!o->is_known)
		return TENSORFLOW_NO_OPERATION;
	if (enters_function(o->type))
		return TENSORFLOW_ENTERS;
	if (is_forward(tensorflow, o))
		return TENSORFLOW_FORWARD;
	return is_of_optimizer(tensorflow, o) && writes_variable(o->type) ? TENSORFLOW_UPDATES
									  : TENSORFLOW_OTHER;
}
