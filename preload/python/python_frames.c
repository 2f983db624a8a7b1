/*
 * The frames of the interpreter that a thread is in, innermost first.
 */
#include "python_frames.h"

#include <string.h>

#define FRAMES_MAX 1000 /* Python's own limit, unless the program raised it */
#define OWNED_BY_C 3    /* of a frame (3.12), or more: it marks a call from C, most of it is not set */

/* False for frames that only mark where C called the interpreter. */
static bool open_frame(struct pmh_python_look *look, uint64_t address, struct pmh_python_frame *frame)
{
	const struct pmh_python_offsets *at = look->python->at;

	/* first: of a frame that is C's the code may never have been set */
	if (at->frame_owner && pmh_python_byte(look, address + at->frame_owner) >= OWNED_BY_C)
		return false;
	frame->address = address;
	frame->code = pmh_python_word(look, address + at->frame_code) & ~(uint64_t)at->frame_tags;
	if (!frame->code || pmh_python_type(look, frame->code) != look->python->code_type)
		return false;
	frame->name = pmh_python_word(look, frame->code + at->code_name);
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
static bool find_frame(
	struct pmh_python_look *look, uint64_t address, unsigned *passed, struct pmh_python_frame *frame)
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

bool pmh_python_first_frame(
	struct pmh_python_look *look, uint64_t thread, unsigned *passed, struct pmh_python_frame *frame)
{
	const struct pmh_python_offsets *at = look->python->at;
	const bool before = pmh_python_own_begin(look);
	uint64_t address = pmh_python_word(look, thread + at->thread_frame);
	bool found;

	if (at->thread_frame_link)
		address = address ? pmh_python_word(look, address + at->link_frame) : 0;
	*passed = 0;
	found = find_frame(look, address, passed, frame);
	pmh_python_own_end(look, before);
	return found;
}

bool pmh_python_next_frame(struct pmh_python_look *look, unsigned *passed, struct pmh_python_frame *frame)
{
	const bool before = pmh_python_own_begin(look);
	bool found;

	++*passed;
	found = find_frame(look, pmh_python_word(look, frame->address + look->python->at->frame_previous),
		passed, frame);
	pmh_python_own_end(look, before);
	return found;
}

bool pmh_python_is_pytorch(struct pmh_python_look *look, const struct pmh_python_frame *frame)
{
	const char *folder = look->python->pytorch;
	char name[PMH_PYTHON_PATH];

	return folder[0] && pmh_python_file(look, frame, name) && strncmp(name, folder, strlen(folder)) == 0;
}

bool pmh_python_file(
	struct pmh_python_look *look, const struct pmh_python_frame *frame, char name[PMH_PYTHON_PATH])
{
	const bool before = pmh_python_own_begin(look);
	const bool found = pmh_python_text(look,
		pmh_python_word(look, frame->code + look->python->at->code_file_name), name, PMH_PYTHON_PATH);

	pmh_python_own_end(look, before);
	return found;
}
