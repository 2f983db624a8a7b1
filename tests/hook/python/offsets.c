/*
 * The offsets that the hook has for a version of Python are those of that version's own headers. Compiled by
 * offsets.sh against each version that is there.
 */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#include <stdio.h>

#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_code.h>
#include <internal/pycore_dict.h>
#include <internal/pycore_frame.h>
#else
/* the keys of dictionaries are in a header of no installation before 3.11 */
struct _dictkeysobject {
	Py_ssize_t dk_refcnt;
	Py_ssize_t dk_size;
	void *dk_lookup;
	Py_ssize_t dk_usable;
	Py_ssize_t dk_nentries;
	char dk_indices[];
};
#endif

#include "python/python.h"

#define AT(name, type, field) at.name = (uint16_t)offsetof(type, field)

static void frames(struct pmh_python_offsets *offsets)
{
	struct pmh_python_offsets at = *offsets;

#if PY_VERSION_HEX >= 0x030d0000
	AT(thread_frame, PyThreadState, current_frame);
#elif PY_VERSION_HEX >= 0x030b0000
	AT(thread_frame, PyThreadState, cframe);
	at.thread_frame_link = 1;
	AT(link_frame, _PyCFrame, current_frame);
#else
	AT(thread_frame, PyThreadState, frame);
#endif
#if PY_VERSION_HEX >= 0x030d0000
	AT(frame_code, _PyInterpreterFrame, f_executable);
	AT(frame_instruction, _PyInterpreterFrame, instr_ptr);
#elif PY_VERSION_HEX >= 0x030b0000
	AT(frame_code, _PyInterpreterFrame, f_code);
	AT(frame_instruction, _PyInterpreterFrame, prev_instr);
#else
	AT(frame_code, PyFrameObject, f_code);
	AT(frame_instruction, PyFrameObject, f_lasti);
#endif
#if PY_VERSION_HEX >= 0x030b0000
	AT(frame_previous, _PyInterpreterFrame, previous);
	AT(frame_namespace, _PyInterpreterFrame, f_locals);
	AT(frame_locals, _PyInterpreterFrame, localsplus);
	AT(frame_owner, _PyInterpreterFrame, owner);
#else
	AT(frame_previous, PyFrameObject, f_back);
	AT(frame_namespace, PyFrameObject, f_locals);
	AT(frame_locals, PyFrameObject, f_localsplus);
#endif
#if PY_VERSION_HEX >= 0x030e0000
	at.frame_tags = Py_TAG_BITS;
#endif
	at.frame_bytes = (uint16_t)PyFrame_Type.tp_basicsize;
	*offsets = at;
}

static void codes(struct pmh_python_offsets *offsets)
{
	struct pmh_python_offsets at = *offsets;

	AT(code_local_count, PyCodeObject, co_nlocals);
	AT(code_name, PyCodeObject, co_name);
	AT(code_file_name, PyCodeObject, co_filename);
	AT(code_first_line, PyCodeObject, co_firstlineno);
#if PY_VERSION_HEX >= 0x030b0000
	AT(code_slot_count, PyCodeObject, co_nlocalsplus);
	AT(code_names, PyCodeObject, co_localsplusnames);
	AT(code_qualified_name, PyCodeObject, co_qualname);
	AT(code_instructions, PyCodeObject, co_code_adaptive);
#else
	AT(code_slot_count, PyCodeObject, co_nlocals);
	AT(code_names, PyCodeObject, co_varnames);
	AT(code_cell_names, PyCodeObject, co_cellvars);
	AT(code_free_names, PyCodeObject, co_freevars);
	AT(code_qualified_name, PyCodeObject, co_name);
#endif
#if PY_VERSION_HEX >= 0x030a0000
	AT(code_lines, PyCodeObject, co_linetable);
#else
	AT(code_lines, PyCodeObject, co_lnotab);
#endif
	at.code_bytes = (uint16_t)PyCode_Type.tp_basicsize;
	*offsets = at;
}

static void objects(struct pmh_python_offsets *offsets)
{
	struct pmh_python_offsets at = *offsets;

	AT(type_name, PyTypeObject, tp_name);
	AT(type_basic_bytes, PyTypeObject, tp_basicsize);
	AT(type_flags, PyTypeObject, tp_flags);
	AT(type_dict_offset, PyTypeObject, tp_dictoffset);
	AT(type_mro, PyTypeObject, tp_mro);
	AT(type_cached_keys, PyHeapTypeObject, ht_cached_keys);
	at.type_bytes = (uint16_t)PyType_Type.tp_basicsize;
	AT(text_length, PyASCIIObject, length);
	AT(text_state, PyASCIIObject, state);
	at.text_ascii = sizeof(PyASCIIObject);
	at.text_compact = sizeof(PyCompactUnicodeObject);
	at.text_bytes = (uint16_t)PyUnicode_Type.tp_basicsize;
	AT(tuple_items, PyTupleObject, ob_item);
	AT(bytes_first, PyBytesObject, ob_sval);
	AT(cell_content, PyCellObject, ob_ref);
	AT(dict_keys, PyDictObject, ma_keys);
	AT(dict_values, PyDictObject, ma_values);
	at.dict_bytes = (uint16_t)PyDict_Type.tp_basicsize;
	*offsets = at;
}

static void dictionaries(struct pmh_python_offsets *offsets)
{
	struct pmh_python_offsets at = *offsets;

#if PY_VERSION_HEX >= 0x030b0000
	AT(keys_size, struct _dictkeysobject, dk_log2_size);
	at.keys_size_is_log = 1;
	_Static_assert(offsetof(struct _dictkeysobject, dk_log2_index_bytes) ==
				       offsetof(struct _dictkeysobject, dk_log2_size) + 1 &&
			       offsetof(struct _dictkeysobject, dk_kind) ==
				       offsetof(struct _dictkeysobject, dk_log2_size) + 2,
		"as pmh_python_offsets says");
	AT(values_first, struct _dictvalues, values);
#else
	AT(keys_size, struct _dictkeysobject, dk_size);
#endif
	AT(keys_count, struct _dictkeysobject, dk_nentries);
	AT(keys_index, struct _dictkeysobject, dk_indices);
#if PY_VERSION_HEX >= 0x030d0000
	at.instance_form = PMH_INSTANCE_INLINE;
#elif PY_VERSION_HEX >= 0x030c0000
	at.instance_form = PMH_INSTANCE_TAGGED;
#elif PY_VERSION_HEX >= 0x030b0000
	at.instance_form = PMH_INSTANCE_BEFORE;
#endif
	*offsets = at;
}

int main(void)
{
	struct pmh_python_offsets at = {.minor = PY_MINOR_VERSION};
	const struct pmh_python_offsets *known;
	int bad = 0;

	AT(thread_ident, PyThreadState, thread_id);
	frames(&at);
	codes(&at);
	objects(&at);
	dictionaries(&at);
	known = pmh_python_offsets(at.minor);
	if (!known) {
		printf("not ok: no offsets for Python 3.%u\n", at.minor);
		return 1;
	}
#define COMPARE(name, ...) \
	if (at.name != known->name) { \
		printf("not ok: " #name " of Python 3.%u is %u, not %u\n", at.minor, at.name, known->name); \
		bad = 1; \
	}
	PMH_PYTHON_OFFSETS(COMPARE)
	return bad;
}
