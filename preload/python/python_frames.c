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
#include "python.h"

#include <stdio.h>
#include <string.h>

#define FRAMES_MAX 1000 /* Python's own limit, unless the program raised it */
#define SLOTS_MAX 512   /* local variables of a frame that are looked at */
#define OWNED_BY_C 3    /* of a frame (3.12): it marks a call from C, most of it is not set */
#define DEPTH_MAX 3     /* a submodule's containers that do not run themselves: lists and dictionaries */
#define VISITS_MAX 512
#define CALLERS 3
#define NAME_BYTES 128

/* ---- frames ---- */

struct frame {
	uint64_t address, code;
	uint64_t local_count;
	uint64_t slot_count; /* local variables, then those in cells: shared with inner functions, with outer
				ones */
};

/* False for frames that only mark where C called the interpreter. */
static bool open_frame(struct pmh_python_look *look, uint64_t address, struct frame *frame)
{
	const struct pmh_python_offsets *at = look->python->at;

	frame->address = address;
	frame->code = pmh_python_word(look, address + at->frame_code);
	if (!frame->code || pmh_python_type(look, frame->code) != look->python->code_type ||
		(at->frame_owner && pmh_python_byte(look, address + at->frame_owner) == OWNED_BY_C))
		return false;
	frame->local_count = pmh_python_half(look, frame->code + at->code_local_count);
	frame->slot_count = pmh_python_half(look, frame->code + at->code_slot_count);
	if (at->code_cell_names)
		frame->slot_count +=
			pmh_python_item_count(
				look, pmh_python_word(look, frame->code + at->code_cell_names)) +
			pmh_python_item_count(look, pmh_python_word(look, frame->code + at->code_free_names));
	return true;
}

/* The first frame from `address` outwards that runs Python's code. */
static bool find_frame(struct pmh_python_look *look, uint64_t address, unsigned *passed, struct frame *frame)
{
	for (; address && !look->failed && *passed < FRAMES_MAX; ++*passed) {
		if (open_frame(look, address, frame))
			return !look->failed;
		address = pmh_python_word(look, address + look->python->at->frame_previous);
	}
	/* what lies beyond the limit is not known */
	look->failed |= address != 0;
	return false;
}

static bool first_frame(struct pmh_python_look *look, uint64_t thread, unsigned *passed, struct frame *frame)
{
	const struct pmh_python_offsets *at = look->python->at;
	uint64_t address = pmh_python_word(look, thread + at->thread_frame);

	if (at->thread_frame_link)
		address = address ? pmh_python_word(look, address + at->link_frame) : 0;
	*passed = 0;
	return find_frame(look, address, passed, frame);
}

static bool next_frame(struct pmh_python_look *look, unsigned *passed, struct frame *frame)
{
	++*passed;
	return find_frame(look, pmh_python_word(look, frame->address + look->python->at->frame_previous),
		passed, frame);
}

static uint64_t slot_name(struct pmh_python_look *look, const struct frame *frame, uint64_t slot)
{
	const struct pmh_python_offsets *at = look->python->at;
	uint64_t names = pmh_python_word(look, frame->code + at->code_names);

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
	return pmh_python_item(look, names, slot);
}

/* A variable's object, 0: it has none. */
static uint64_t slot_value(struct pmh_python_look *look, const struct frame *frame, uint64_t slot)
{
	const struct pmh_python_offsets *at = look->python->at;
	uint64_t object = pmh_python_word(look, frame->address + at->frame_locals + 8 * slot);

	/* arguments may be in cells too */
	if (object && (slot == 0 || slot >= frame->local_count) &&
		pmh_python_type(look, object) == look->python->cell_type)
		return pmh_python_word(look, object + at->cell_content);
	return object;
}

/* The object that a method is called on, 0 in what is no method. */
static uint64_t find_self(struct pmh_python_look *look, const struct frame *frame)
{
	uint64_t object;

	if (frame->local_count == 0 || frame->slot_count > SLOTS_MAX ||
		!pmh_python_is_word(look, slot_name(look, frame, 0), "self", &look->known_self))
		return 0;
	object = slot_value(look, frame, 0);
	/* before 3.11 an argument may have moved to a cell */
	for (uint64_t i = frame->local_count; !object && i < frame->slot_count; i++)
		if (slot_name(look, frame, i) == look->known_self)
			object = slot_value(look, frame, i);
	return object;
}

/* PyTorch's own code says nothing of the program. A program may well lie below a folder called torch. */
static bool is_pytorch(struct pmh_python_look *look, const struct frame *frame)
{
	uint64_t file = pmh_python_word(look, frame->code + look->python->at->code_file_name);
	const char *folder = look->python->pytorch;
	char name[PMH_PYTHON_PATH];

	return folder[0] && pmh_python_text(look, file, name, sizeof name) &&
	       strncmp(name, folder, strlen(folder)) == 0;
}

static bool open_submodules(
	struct pmh_python_look *look, uint64_t module, struct pmh_python_table *submodules)
{
	struct pmh_python_table attributes;

	return pmh_python_attributes(look, module, &attributes) &&
	       pmh_python_dict(look, pmh_python_value_of(look, attributes, "_modules", &look->known_modules),
		       submodules);
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
	char name[NAME_BYTES];

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
static uint64_t find_variable(struct pmh_python_look *look, const struct frame *frame, uint64_t object)
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
static uint64_t find_attribute(struct pmh_python_look *look, const struct frame *frame, uint64_t object)
{
	struct pmh_python_table table;
	uint64_t self = find_self(look, frame);

	return self && pmh_python_attributes(look, self, &table) ? pmh_python_key_of(look, table, object) : 0;
}

struct root {
	char variable[NAME_BYTES], attribute[NAME_BYTES]; /* "": none */
};

static void look_for_name(
	struct pmh_python_look *look, const struct frame *frame, uint64_t module, struct root *root)
{
	char name[NAME_BYTES];
	uint64_t variable = find_variable(look, frame, module), attribute;

	attribute = root->attribute[0] ? 0 : find_attribute(look, frame, module);
	if ((!variable && !attribute) || is_pytorch(look, frame))
		return;
	if (variable && pmh_python_text(look, variable, name, sizeof name) && strcmp(name, "self") != 0)
		memcpy(root->variable, name, sizeof name);
	if (attribute)
		pmh_python_text(look, attribute, root->attribute, sizeof root->attribute);
}

static void put_root(struct pmh_python_look *look, struct path *path, const struct root *root,
	const struct frame *outermost)
{
	char name[NAME_BYTES];

	if (root->variable[0])
		put_in_front(look, path, root->variable);
	else if (root->attribute[0])
		put_in_front(look, path, root->attribute);
	else if (!is_pytorch(look, outermost) &&
		 pmh_python_class_name(look, pmh_python_type(look, path->outermost), name, sizeof name))
		put_in_front(look, path, name);
	else
		look->failed = true;
}

/* A frame outside of all those so far. False: there is nothing to be said. */
static bool take_frame(
	struct pmh_python_look *look, const struct frame *frame, struct path *path, struct root *root)
{
	const uint64_t self = find_self(look, frame);

	if (self && (self == path->outermost || is_module(look, self))) {
		uint64_t name = pmh_python_word(look, frame->code + look->python->at->code_name);

		if (pmh_python_is_word(look, name, "__init__", NULL))
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
	struct frame frame, outermost = {0};
	unsigned passed;

	text[0] = 0;
	for (bool more = first_frame(look, thread, &passed, &frame); more;
		more = next_frame(look, &passed, &frame)) {
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

/* ---- callers ---- */

/* Reads a number of 6 bits a byte, the lowest first, bit 6 set where another follows. */
static uint32_t read_number(struct pmh_python_look *look, uint64_t *at, uint64_t end)
{
	uint32_t number = 0;

	for (unsigned shift = 0; shift < 30 && *at < end; shift += 6) {
		uint8_t byte = pmh_python_byte(look, (*at)++);

		number |= (uint32_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return number;
}

/*
 * The line of the frame's last instruction, 0: not known (and so before 3.11). A table of lines has an entry
 * for each few instructions: a byte with bit 7 set, the form in bits 3 to 6 and in bits 0 to 2 how many units
 * of 2 bytes, less one; then what goes by the form, without bit 7. Forms 10 to 12 are that many lines less 10
 * further on, 13 and 14 are followed by a signed number of lines, 15 has no line, others stay on the line.
 */
static uint32_t find_line(struct pmh_python_look *look, const struct frame *frame)
{
	const struct pmh_python_offsets *at = look->python->at;
	uint64_t lines = pmh_python_word(look, frame->code + at->code_lines), entry, end, instruction;
	uint32_t line = pmh_python_half(look, frame->code + at->code_first_line);

	if (!at->code_instructions || pmh_python_type(look, lines) != look->python->bytes_type)
		return 0;
	instruction = pmh_python_word(look, frame->address + at->frame_instruction) -
		      (frame->code + at->code_instructions);
	entry = lines + at->bytes_first;
	end = entry + pmh_python_word(look, lines + 16);
	for (uint64_t passed = 0; entry < end && !look->failed;) {
		uint8_t head = pmh_python_byte(look, entry++);
		unsigned form = head >> 3 & 15;

		if (form == 13 || form == 14) {
			uint32_t number = read_number(look, &entry, end);

			line += number & 1 ? 0 - (number >> 1) : number >> 1;
		} else if (form >= 10 && form <= 12) {
			line += form - 10;
		}
		passed += 2u * ((head & 7u) + 1);
		if (instruction < passed)
			return form == 15 ? 0 : line;
		while (entry < end && !(pmh_python_byte(look, entry) & 0x80) && !look->failed)
			entry++;
	}
	return 0;
}

/*
 * A method "step" of PyTorch's optimizers, or "update_parameters" of its means of parameters: of all its
 * frames those that say something of the program, that its work is an update, or what an update evaluates.
 */
static bool is_optimizer(struct pmh_python_look *look, const struct frame *frame)
{
	const struct pmh_python_offsets *at = look->python->at;
	const uint64_t name = pmh_python_word(look, frame->code + at->code_name);
	char file[PMH_PYTHON_PATH];

	return (pmh_python_is_word(look, name, "step", NULL) ||
		       pmh_python_is_word(look, name, "update_parameters", NULL)) &&
	       pmh_python_text(
		       look, pmh_python_word(look, frame->code + at->code_file_name), file, sizeof file) &&
	       strstr(file, "/optim/");
}

/* Appends "Net.forward (net.py:12)". False: the frame is left out. */
static bool append_caller(
	struct pmh_python_look *look, const struct frame *frame, char *text, size_t text_bytes, size_t *used)
{
	const struct pmh_python_offsets *at = look->python->at;
	char name[NAME_BYTES], file[PMH_PYTHON_PATH], where[32] = "";
	const char *base;
	uint32_t line;
	int n;

	if ((is_pytorch(look, frame) && !is_optimizer(look, frame)) ||
		!pmh_python_text(look, pmh_python_word(look, frame->code + at->code_qualified_name), name,
			sizeof name) ||
		!pmh_python_text(
			look, pmh_python_word(look, frame->code + at->code_file_name), file, sizeof file))
		return false;
	line = find_line(look, frame);
	if (line)
		snprintf(where, sizeof where, ":%u", line);
	base = strrchr(file, '/');
	n = snprintf(text + *used, text_bytes - *used, "%s%s (%s%s)", *used ? " < " : "", name,
		base ? base + 1 : file, where);
	if (look->failed || n < 0 || (size_t)n >= text_bytes - *used) {
		text[*used] = 0;
		return false;
	}
	*used += (size_t)n;
	return true;
}

bool pmh_python_find_callers(struct pmh_python_look *look, uint64_t thread, char *text, size_t text_bytes)
{
	struct frame frame;
	unsigned passed, wanted = CALLERS;
	size_t used = 0;

	text[0] = 0;
	for (bool more = first_frame(look, thread, &passed, &frame); more && wanted > 0;
		more = next_frame(look, &passed, &frame))
		if (append_caller(look, &frame, text, text_bytes, &used))
			wanted--;
	return used > 0;
}
