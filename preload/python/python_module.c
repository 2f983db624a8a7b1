/*
 * The path of the calling nn.Module, found in the frames of the interpreter.
 *
 * A frame whose first local variable is called `self` and holds an nn.Module runs a method of that module.
 * From the innermost such frame outwards, each further module that has the one before among its submodules
 * (or theirs) puts its part of the path in front: what `named_modules` would say, but of the modules that are
 * running. The outermost has no parent to name it; its name is that of the variable that holds it in the
 * outermost frame where there is one, else of the attribute, else of its class. Where a module runs it that
 * does not have it in its tree, as Keras' models run their layers, a variable is that of a loop over several:
 * there it is the module's own `name`, if it has one.
 *
 * A module's `__init__` in the stack means that the tree is not yet what its names will be: then nothing is
 * said. Nor where a stack begins in PyTorch itself, unless it tells the name: there a backward pass computes
 * something again, and who called it the first time is not in the stack. And so wherever a step is not
 * certain.
 */
#include "python_frames.h"

#include <string.h>

#define SLOTS_MAX 512 /* local variables of a frame that are looked at */
#define DEPTH_MAX 4   /* a submodule's containers that do not run themselves: lists and dictionaries */
#define VISITS_MAX 512 /* of a search; one that ends so in the deepest level has found nothing */

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

/* What a variable refers to, an object or a cell. */
static uint64_t slot_reference(
	struct pmh_python_look *look, const struct pmh_python_frame *frame, uint64_t slot)
{
	const struct pmh_python_offsets *at = look->python->at;

	return pmh_python_word(look, frame->address + at->frame_locals + 8 * slot) &
	       ~(uint64_t)at->frame_tags;
}

/* A variable's object, 0: it has none. */
static uint64_t slot_value(struct pmh_python_look *look, const struct pmh_python_frame *frame, uint64_t slot)
{
	const struct pmh_python_offsets *at = look->python->at;
	const bool before = pmh_python_own_begin(look);
	uint64_t object = slot_reference(look, frame, slot);

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

/* ---- answers that are known ---- */

#define HOLDS_NS 1000000000u

enum { IS_MODULE = 1, PATH_BELOW, NAME_OF_ATTRIBUTE, NAME_OF_VARIABLE };

static struct pmh_python_answer *place_of(
	struct pmh_python_look *look, uint64_t question, uint64_t of, uint64_t about)
{
	const uint64_t hash = (of / 16 * 0x9e3779b97f4a7c15u + about / 16) * 0xd6e8feb86659fd93u + question;

	return &look->answers[(hash >> 32) % PMH_PYTHON_ANSWERS];
}

/* The answer, "" for no; NULL: it is not known. */
static const char *known_answer(struct pmh_python_look *look, uint64_t question, uint64_t of, uint64_t about)
{
	const struct pmh_python_answer *a = place_of(look, question, of, about);

	return look->now_ns && a->question == question && a->of == of && a->about == about &&
			       look->now_ns - a->found_ns < HOLDS_NS
		       ? a->text
		       : NULL;
}

static void keep_answer(
	struct pmh_python_look *look, uint64_t question, uint64_t of, uint64_t about, const char *text)
{
	struct pmh_python_answer *a = place_of(look, question, of, about);
	const size_t text_bytes = strlen(text) + 1;

	if (look->failed || text_bytes > sizeof a->text)
		return;
	*a = (struct pmh_python_answer){question, of, about, look->now_ns, ""};
	memcpy(a->text, text, text_bytes);
}

static bool is_module(struct pmh_python_look *look, uint64_t object)
{
	const struct pmh_python_class *class = object ? pmh_python_class(look, object) : NULL;
	struct pmh_python_table submodules;

	return class && class->is_module && open_submodules(look, object, &submodules);
}

/* The same of a frame's `self`. An object that the frame's own variable holds says by loads what class it
 * has, and that class whether it is the one that it was. */
static bool is_self_module(struct pmh_python_look *look, const struct pmh_python_frame *frame, uint64_t self)
{
	const bool before = pmh_python_own_begin(look);
	const char *known = NULL;
	uint64_t class = 0;
	bool is;

	if (slot_reference(look, frame, 0) == self) {
		class = pmh_python_class(look, self) ? pmh_python_type(look, self) : 0;
		known = known_answer(look, IS_MODULE, self, class);
	}
	pmh_python_own_end(look, before);
	if (known && class)
		return known[0] != 0;
	is = is_module(look, self);
	if (class)
		keep_answer(look, IS_MODULE, self, class, is ? "yes" : "");
	return is;
}

/*
 * What answers about a frame's `self` are kept by: another object may have come to the address of one that is
 * gone, and is mostly of another class.
 */
static uint64_t identity_of(struct pmh_python_look *look, const struct pmh_python_frame *frame, uint64_t self)
{
	const bool before = pmh_python_own_begin(look);
	const uint64_t class = slot_reference(look, frame, 0) == self ? pmh_python_type(look, self) : 0;

	pmh_python_own_end(look, before);
	return self + class * 0x9e3779b97f4a7c15u;
}

/* ---- the path ---- */

/* Made from its end towards its start. */
struct path {
	uint64_t outermost; /* the module that it begins at */
	uint64_t identity;  /* of that */
	size_t begin;
	unsigned visits_left;
	bool is_last; /* the search is in its deepest level */
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
		look->failed |= !path->is_last;
	if (look->failed || path->visits_left == 0 || !open_submodules(look, module, &submodules))
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

static bool find_below(struct pmh_python_look *look, struct path *path, uint64_t module)
{
	path->visits_left = VISITS_MAX;
	for (unsigned depth = 1; depth <= DEPTH_MAX; depth++) {
		path->is_last = depth == DEPTH_MAX;
		if (extend_at(look, path, module, depth))
			return true;
	}
	return false;
}

static bool extend(struct pmh_python_look *look, struct path *path, uint64_t module, uint64_t identity)
{
	const char *known = known_answer(look, PATH_BELOW, identity, path->identity);
	struct path piece = {.outermost = path->outermost, .begin = sizeof piece.text - 1};

	if (!known) {
		find_below(look, &piece, module);
		known = piece.text + piece.begin;
		keep_answer(look, PATH_BELOW, identity, path->identity, known);
	}
	if (!known[0])
		return false;
	put_in_front(look, path, known);
	path->outermost = module;
	path->identity = identity;
	return true;
}

/* ---- the name of the outermost module ---- */

/* The name of a key, "" where there is none, or it is too long. */
static void name_key(struct pmh_python_look *look, uint64_t key, char name[PMH_PYTHON_NAME])
{
	name[0] = 0;
	if (key)
		pmh_python_text(look, key, name, PMH_PYTHON_NAME);
}

/* The name of the frame's variable that holds the path's outermost module, "": none. */
static void find_variable(struct pmh_python_look *look, const struct pmh_python_frame *frame,
	const struct path *path, char name[PMH_PYTHON_NAME])
{
	const bool before = pmh_python_own_begin(look);
	const uint64_t namespace = pmh_python_word(look, frame->address + look->python->at->frame_namespace);
	const char *known = NULL;
	struct pmh_python_table table;
	uint64_t key = 0;

	for (uint64_t i = 0; i < frame->slot_count && i < SLOTS_MAX && !key; i++)
		if (slot_value(look, frame, i) == path->outermost)
			key = slot_name(look, frame, i);
	name_key(look, key, name);
	pmh_python_own_end(look, before);
	/* the variables of a file are in a dictionary */
	if (frame->slot_count > 0)
		return;
	known = known_answer(look, NAME_OF_VARIABLE, namespace, path->identity);
	if (known) {
		memcpy(name, known, strlen(known) + 1);
		return;
	}
	if (pmh_python_dict(look, namespace, &table))
		name_key(look, pmh_python_key_of(look, table, path->outermost), name);
	keep_answer(look, NAME_OF_VARIABLE, namespace, path->identity, name);
}

/* The name of the attribute of the frame's `self` that holds it, "": none. */
static void find_attribute(struct pmh_python_look *look, const struct pmh_python_frame *frame,
	const struct path *path, char name[PMH_PYTHON_NAME])
{
	const uint64_t self = find_self(look, frame), identity = self ? identity_of(look, frame, self) : 0;
	const char *known = self ? known_answer(look, NAME_OF_ATTRIBUTE, identity, path->identity) : "";
	struct pmh_python_table table;

	name[0] = 0;
	if (known) {
		memcpy(name, known, strlen(known) + 1);
		return;
	}
	if (pmh_python_attributes(look, self, &table))
		name_key(look, pmh_python_key_of(look, table, path->outermost), name);
	keep_answer(look, NAME_OF_ATTRIBUTE, identity, path->identity, name);
}

struct root {
	char variable[PMH_PYTHON_NAME], attribute[PMH_PYTHON_NAME]; /* "": none */
	bool is_apart; /* it runs within a module that does not have it */
};

/* What the path's outermost module says is its name, in an attribute of its own. */
static bool put_own_name(struct pmh_python_look *look, struct path *path)
{
	struct pmh_python_table attributes;
	char name[PMH_PYTHON_NAME] = "";

	if (pmh_python_attributes(look, path->outermost, &attributes))
		name_key(look, pmh_python_value_of(look, attributes, "name", &look->known_name), name);
	if (!name[0] || look->failed)
		return false;
	put_in_front(look, path, name);
	return true;
}

static void look_for_name(struct pmh_python_look *look, const struct pmh_python_frame *frame,
	const struct path *path, struct root *root)
{
	char variable[PMH_PYTHON_NAME], attribute[PMH_PYTHON_NAME] = "";

	find_variable(look, frame, path, variable);
	if (!root->attribute[0])
		find_attribute(look, frame, path, attribute);
	if ((!variable[0] && !attribute[0]) || pmh_python_is_pytorch(look, frame))
		return;
	if (variable[0] && strcmp(variable, "self") != 0)
		memcpy(root->variable, variable, sizeof variable);
	if (attribute[0])
		memcpy(root->attribute, attribute, sizeof attribute);
}

static void put_root(struct pmh_python_look *look, struct path *path, const struct root *root,
	const struct pmh_python_frame *outermost)
{
	char name[PMH_PYTHON_NAME];

	if (root->is_apart && put_own_name(look, path))
		return;
	if (root->variable[0]) {
		put_in_front(look, path, root->variable);
	} else if (root->attribute[0]) {
		put_in_front(look, path, root->attribute);
	} else if (!pmh_python_is_pytorch(look, outermost) &&
		 pmh_python_class_name(look, pmh_python_type(look, path->outermost), name, sizeof name)) {
		look->is_class_named = true;
		put_in_front(look, path, name);
	} else {
		look->failed = true;
	}
}

/* A frame outside of all those so far. False: there is nothing to be said. */
static bool take_frame(struct pmh_python_look *look, const struct pmh_python_frame *frame, struct path *path,
	struct root *root)
{
	const uint64_t self = find_self(look, frame);

	if (self && (self == path->outermost || is_self_module(look, frame, self))) {
		if (is_own_word(look, frame->name, "__init__", NULL))
			return false;
		if (self == path->outermost)
			return true;
		if (!path->outermost) {
			path->outermost = self;
			path->identity = identity_of(look, frame, self);
			return true;
		}
		if (extend(look, path, self, identity_of(look, frame, self))) {
			*root = (struct root){0};
			return true;
		}
		root->is_apart = true;
	}
	if (path->outermost)
		look_for_name(look, frame, path, root);
	return true;
}

/* False: the frame is passed over. */
static bool take_self(
	struct pmh_python_look *look, const struct pmh_python_frame *frame, struct pmh_python_self *self)
{
	const uint64_t object = find_self(look, frame);
	const struct pmh_python_class *class = object ? pmh_python_class(look, object) : NULL;

	if (!object) {
		if (frame->local_count && self->word_count < PMH_PYTHON_PASSED)
			self->words[self->word_count++] = slot_name(look, frame, 0);
		return false;
	}
	if (!class || (class->is_module && !is_self_module(look, frame, object))) {
		self->is_unknown = true;
		return true;
	}
	if (!class->is_module) {
		if (self->passed_count < PMH_PYTHON_PASSED)
			self->passed[self->passed_count++] = class->address;
		return false;
	}
	self->object = object;
	self->class = pmh_python_type(look, object);
	self->is_in_cell = slot_reference(look, frame, 0) != object;
	return true;
}

bool pmh_python_find_self(struct pmh_python_look *look, uint64_t thread, struct pmh_python_self *self)
{
	struct pmh_python_frame frame;
	unsigned passed;

	memset(self, 0, sizeof *self);
	for (bool more = pmh_python_first_frame(look, thread, &passed, &frame); more;
		more = pmh_python_next_frame(look, &passed, &frame))
		if (take_self(look, &frame, self))
			break;
	return self->object && !look->failed;
}

bool pmh_python_find_module(struct pmh_python_look *look, uint64_t thread, char *text, size_t text_bytes)
{
	struct path path = {.begin = sizeof path.text - 1};
	struct root root = {0};
	struct pmh_python_frame frame, outermost = {0};
	unsigned passed;

	text[0] = 0;
	look->is_class_named = false;
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
