/*
 * The path of the calling nn.Module, found in the frames of the interpreter.
 *
 * A frame whose first local variable is called `self` and holds an nn.Module runs a method of that module.
 * From the innermost such frame outwards, each further module that has the one before among its submodules
 * (or theirs) puts its part of the path in front: what `named_modules` would say, but of the modules that are
 * running. The outermost has no parent to name it; its name is that of the variable that holds it in the
 * outermost frame where there is one, else of the attribute, else of its class.
 *
 * A module's `__init__` in the stack means that the tree is not yet what its names will be: then nothing is
 * said. Nor where a stack begins in PyTorch itself, unless it tells the name: there a backward pass computes
 * something again, and who called it the first time is not in the stack. And so wherever a step is not
 * certain.
 */
#include "python_frames.h"

#include <string.h>

#define SLOTS_MAX 512 /* local variables of a frame that are looked at */
#define DEPTH_MAX 3   /* a submodule's containers that do not run themselves: lists and dictionaries */
#define VISITS_MAX 512

static uint64_t slot_name(struct pmh_python_look *look, const struct pmh_python_frame *frame, uint64_t slot)
{
	const struct pmh_python_offsets *at = look->python->at;
	const bool before = pmh_python_own_begin(look);
	uint64_t names = pmh_python_word(look, frame->code + at->code_names), name;

	if (at->code_cell_names && slot >= frame->local_count) {
		uint64_t cell_count;

		slot -= frame->local_count;
		names = pmh_python_word(look, frame->code + at->code_cell_names);
		cell_count = pmh_python_item_count(look, names);
		if (slot >= cell_count) {
			slot -= cell_count;
			names = pmh_python_word(look, frame->code + at->code_free_names);
		}
	}
	name = pmh_python_item(look, names, slot);
	pmh_python_own_end(look, before);
	return name;
}

/* A variable's object, 0: it has none. */
static uint64_t slot_value(struct pmh_python_look *look, const struct pmh_python_frame *frame, uint64_t slot)
{
	const struct pmh_python_offsets *at = look->python->at;
	const bool before = pmh_python_own_begin(look);
	uint64_t object = pmh_python_word(look, frame->address + at->frame_locals + 8 * slot);

	/* arguments may be in cells too */
	if (object && (slot == 0 || slot >= frame->local_count) &&
		pmh_python_type(look, object) == look->python->cell_type)
		object = pmh_python_word(look, object + at->cell_content);
	pmh_python_own_end(look, before);
	return object;
}

/* Whether a string that the frame's code holds is this word. */
static bool is_own_word(struct pmh_python_look *look, uint64_t text, const char *word, uint64_t *known)
{
	const bool before = pmh_python_own_begin(look), is_word = pmh_python_is_word(look, text, word, known);

	pmh_python_own_end(look, before);
	return is_word;
}

/* The object that a method is called on, 0 in what is no method. */
static uint64_t find_self(struct pmh_python_look *look, const struct pmh_python_frame *frame)
{
	uint64_t object;

	if (frame->local_count == 0 || frame->slot_count > SLOTS_MAX ||
		!is_own_word(look, slot_name(look, frame, 0), "self", &look->known_self))
		return 0;
	object = slot_value(look, frame, 0);
	/* before 3.11 an argument may have moved to a cell */
	for (uint64_t i = frame->local_count; !object && i < frame->slot_count; i++)
		if (slot_name(look, frame, i) == look->known_self)
			object = slot_value(look, frame, i);
	return object;
}

static bool open_submodules(
	struct pmh_python_look *look, uint64_t module, struct pmh_python_table *submodules)
{
	struct pmh_python_table attributes;

	return pmh_python_attributes(look, module, &attributes) &&
	       pmh_python_dict(look, pmh_python_value_of(look, attributes, "_modules", &look->known_modules),
		       submodules);
}

/* A class that the frame's own variable holds is compared by loads, and is known then. */
static void meet_class(struct pmh_python_look *look, const struct pmh_python_frame *frame, uint64_t self)
{
	const bool before = pmh_python_own_begin(look);

	if (pmh_python_word(look, frame->address + look->python->at->frame_locals) == self)
		pmh_python_class(look, self);
	pmh_python_own_end(look, before);
}

static bool is_module(struct pmh_python_look *look, uint64_t object)
{
	const struct pmh_python_class *class = object ? pmh_python_class(look, object) : NULL;
	struct pmh_python_table submodules;

	return class && class->is_module && open_submodules(look, object, &submodules);
}

/* ---- the path ---- */

/* Made from its end towards its begin. */
struct path {
	uint64_t outermost; /* the module that it begins at */
	size_t begin;
	unsigned visits_left;
	char text[512];
};

static void put_in_front(struct pmh_python_look *look, struct path *path, const char *name)
{
	size_t length = strlen(name), dot = path->text[path->begin] != 0;

	if (length + dot > path->begin) {
		look->failed = true;
		return;
	}
	path->begin -= length + dot;
	memcpy(path->text + path->begin, name, length);
	if (dot)
		path->text[path->begin + length] = '.';
}

static void put_key(struct pmh_python_look *look, struct path *path, uint64_t key)
{
	char name[PMH_PYTHON_NAME];

	if (pmh_python_text(look, key, name, sizeof name))
		put_in_front(look, path, name);
	else
		look->failed = true;
}

/* Looks for the path's outermost module `depth` levels below another, and extends the path on success. */
static bool extend_at(struct pmh_python_look *look, struct path *path, uint64_t module, unsigned depth)
{
	struct pmh_python_table submodules;
	uint64_t key, value;

	if (path->visits_left == 0)
		look->failed = true;
	if (look->failed || !open_submodules(look, module, &submodules))
		return false;
	path->visits_left--;
	if (depth == 1) {
		key = pmh_python_key_of(look, submodules, path->outermost);
		if (key)
			put_key(look, path, key);
		return key != 0;
	}
	while (pmh_python_next(look, &submodules, &key, &value))
		if (is_module(look, value) && extend_at(look, path, value, depth - 1)) {
			put_key(look, path, key);
			return true;
		}
	return false;
}

static bool extend(struct pmh_python_look *look, struct path *path, uint64_t module)
{
	path->visits_left = VISITS_MAX;
	for (unsigned depth = 1; depth <= DEPTH_MAX; depth++)
		if (extend_at(look, path, module, depth)) {
			path->outermost = module;
			return true;
		}
	return false;
}

/* ---- the name of the outermost module ---- */

/* The name of the frame's variable that holds an object, 0: none. */
static uint64_t find_variable(
	struct pmh_python_look *look, const struct pmh_python_frame *frame, uint64_t object)
{
	const uint64_t namespace = frame->address + look->python->at->frame_namespace;
	struct pmh_python_table table;

	/* the variables of a file are in a dictionary */
	if (frame->slot_count == 0)
		return pmh_python_dict(look, pmh_python_word(look, namespace), &table)
			       ? pmh_python_key_of(look, table, object)
			       : 0;
	for (uint64_t i = 0; i < frame->slot_count && i < SLOTS_MAX; i++)
		if (slot_value(look, frame, i) == object)
			return slot_name(look, frame, i);
	return 0;
}

/* The name of the attribute of the frame's `self` that holds an object, 0: none. */
static uint64_t find_attribute(
	struct pmh_python_look *look, const struct pmh_python_frame *frame, uint64_t object)
{
	struct pmh_python_table table;
	uint64_t self = find_self(look, frame);

	return self && pmh_python_attributes(look, self, &table) ? pmh_python_key_of(look, table, object) : 0;
}

struct root {
	char variable[PMH_PYTHON_NAME], attribute[PMH_PYTHON_NAME]; /* "": none */
};

static void look_for_name(struct pmh_python_look *look, const struct pmh_python_frame *frame, uint64_t module,
	struct root *root)
{
	char name[PMH_PYTHON_NAME];
	uint64_t variable = find_variable(look, frame, module), attribute;

	attribute = root->attribute[0] ? 0 : find_attribute(look, frame, module);
	if ((!variable && !attribute) || pmh_python_is_pytorch(look, frame))
		return;
	if (variable && pmh_python_text(look, variable, name, sizeof name) && strcmp(name, "self") != 0)
		memcpy(root->variable, name, sizeof name);
	if (attribute)
		pmh_python_text(look, attribute, root->attribute, sizeof root->attribute);
}

static void put_root(struct pmh_python_look *look, struct path *path, const struct root *root,
	const struct pmh_python_frame *outermost)
{
	char name[PMH_PYTHON_NAME];

	if (root->variable[0])
		put_in_front(look, path, root->variable);
	else if (root->attribute[0])
		put_in_front(look, path, root->attribute);
	else if (!pmh_python_is_pytorch(look, outermost) &&
		 pmh_python_class_name(look, pmh_python_type(look, path->outermost), name, sizeof name))
		put_in_front(look, path, name);
	else
		look->failed = true;
}

/* A frame outside of all those so far. False: there is nothing to be said. */
static bool take_frame(struct pmh_python_look *look, const struct pmh_python_frame *frame, struct path *path,
	struct root *root)
{
	const uint64_t self = find_self(look, frame);

	if (self)
		meet_class(look, frame, self);
	if (self && (self == path->outermost || is_module(look, self))) {
		if (is_own_word(look, frame->name, "__init__", NULL))
			return false;
		if (self == path->outermost)
			return true;
		if (!path->outermost) {
			path->outermost = self;
			return true;
		}
		if (extend(look, path, self)) {
			*root = (struct root){{0}, {0}};
			return true;
		}
	}
	if (path->outermost)
		look_for_name(look, frame, path->outermost, root);
	return true;
}

bool pmh_python_find_module(struct pmh_python_look *look, uint64_t thread, char *text, size_t text_bytes)
{
	struct path path = {.begin = sizeof path.text - 1};
	struct root root = {{0}, {0}};
	struct pmh_python_frame frame, outermost = {0};
	unsigned passed;

	text[0] = 0;
	for (bool more = pmh_python_first_frame(look, thread, &passed, &frame); more;
		more = pmh_python_next_frame(look, &passed, &frame)) {
		outermost = frame;
		if (!take_frame(look, &frame, &path, &root))
			return false;
	}
	if (look->failed || !path.outermost)
		return false;
	put_root(look, &path, &root, &outermost);
	if (look->failed || sizeof path.text - path.begin > text_bytes)
		return false;
	memcpy(text, path.text + path.begin, sizeof path.text - path.begin);
	return true;
}
