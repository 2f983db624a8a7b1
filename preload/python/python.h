/*
 * Reading a CPython interpreter's memory: what python*.c share.
 *
 * Everything is read through one function that answers false instead of faulting, but for what the calling
 * thread itself holds (pmh_python_own_begin), and goes by offsets of the interpreter's version; nothing of
 * Python's headers is included and no object is touched. Nothing here knows that the memory is our own
 * process's: the tests put other memory behind the same function.
 */
#ifndef PYTHON_H
#define PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Offsets in bytes, by minor version. tests/hook/python/offsets.c compares each column with that version's
 * own headers. A name says the struct and what the field is; *_bytes are the sizes that the types themselves
 * state (tp_basicsize), which tells an interpreter that was built otherwise.
 */
/* clang-format off */
/* clang-format off */
#define PMH_PYTHON_OFFSETS(X) \
	/*                     3.8  3.9 3.10 3.11 3.12 3.13 3.14 */ \
	X(thread_ident,        176, 176, 176, 152, 136, 152, 152) /* of the thread, as pthread_self() */ \
	X(thread_frame,         24,  24,  24,  56,  56,  72,  72) /* innermost frame, or a link that knows it */ \
	X(thread_frame_link,     0,   0,   0,   1,   1,   0,   0) /* 1: a link, and where in it */ \
	X(link_frame,            0,   0,   0,   8,   0,   0,   0) \
	X(frame_code,           32,  32,  32,  32,   0,   0,   0) \
	X(frame_previous,       24,  24,  24,  48,   8,   8,   8) \
	X(frame_namespace,      56,  56,  56,  24,  40,  40,  40) /* dictionary of a file's own variables */ \
	X(frame_instruction,   104, 104,  96,  56,  56,  56,  56) /* last one, its address from 3.11 on */ \
	X(frame_locals,        360, 360, 352,  72,  72,  72,  80) /* array of the local variables */ \
	X(frame_owner,           0,   0,   0,  69,  70,  70,  74) /* 0: no such field */ \
	X(frame_tags,            0,   0,   0,   0,   0,   0,   3) /* bits of a frame's references that are not of the address */ \
	X(frame_bytes,         368, 368, 360, 120, 120, 136, 152) \
	X(code_local_count,     28,  28,  28,  80,  80,  80,  80) \
	X(code_slot_count,      28,  28,  28,  76,  72,  72,  72) /* from 3.11 on with cells and free variables */ \
	X(code_names,           72,  72,  72,  96,  96,  96,  96) /* tuple of the names of the slots */ \
	X(code_cell_names,      88,  88,  88,   0,   0,   0,   0) /* of slots further on; 0: in code_names */ \
	X(code_free_names,      80,  80,  80,   0,   0,   0,   0) \
	X(code_name,           112, 112, 112, 120, 120, 120, 120) \
	X(code_qualified_name,  112, 112, 112, 128, 128, 128, 128) /* before 3.11: code_name */ \
	X(code_file_name,      104, 104, 104, 112, 112, 112, 112) \
	X(code_first_line,      40,  40,  40,  72,  68,  68,  68) \
	X(code_lines,          120, 120, 120, 136, 136, 136, 136) /* bytes object: the line of each instruction */ \
	X(code_instructions,     0,   0,   0, 184, 192, 200, 208) /* in the object; 0: elsewhere */ \
	X(code_bytes,          176, 176, 176, 184, 192, 200, 208) \
	X(type_name,            24,  24,  24,  24,  24,  24,  24) \
	X(type_basic_bytes,     32,  32,  32,  32,  32,  32,  32) \
	X(type_flags,          168, 168, 168, 168, 168, 168, 168) \
	X(type_dict_offset,    288, 288, 288, 288, 288, 288, 288) \
	X(type_mro,            344, 344, 344, 344, 344, 344, 344) \
	X(type_cached_keys,    872, 864, 872, 872, 880, 880, 880) \
	X(type_bytes,          880, 880, 888, 904, 920, 928, 936) \
	X(text_length,          16,  16,  16,  16,  16,  16,  16) \
	X(text_state,           32,  32,  32,  32,  32,  32,  32) \
	X(text_ascii,           48,  48,  48,  48,  40,  40,  40) /* characters of an ASCII string */ \
	X(text_compact,         72,  72,  72,  72,  56,  56,  56) /* and of others */ \
	X(text_bytes,           80,  80,  80,  80,  64,  64,  64) \
	X(tuple_items,          24,  24,  24,  24,  24,  24,  32) \
	X(bytes_first,          32,  32,  32,  32,  32,  32,  32) \
	X(cell_content,         16,  16,  16,  16,  16,  16,  16) \
	X(dict_keys,            32,  32,  32,  32,  32,  32,  32) \
	X(dict_values,          40,  40,  40,  40,  40,  40,  40) \
	X(dict_bytes,           48,  48,  48,  48,  48,  48,  48) \
	X(keys_size,             8,   8,   8,   8,   8,   8,   8) /* of the index, in entries */ \
	X(keys_size_is_log,      0,   0,   0,   1,   1,   1,   1) /* 1: bytes: log2 of it, log2 of its bytes, kind */ \
	X(keys_count,           32,  32,  32,  24,  24,  24,  24) /* entries used */ \
	X(keys_index,           40,  40,  40,  32,  32,  32,  32) /* the index; the entries follow */ \
	X(values_first,          0,   0,   0,   0,   0,   8,   8) /* in the values of a split table */ \
	X(instance_form,         0,   0,   0,   1,   2,   3,   3) /* enum pmh_python_instance */
/* clang-format on */

/* Where an instance keeps its attributes, when its type has no dictionary at a fixed offset. */
enum pmh_python_instance {
	PMH_INSTANCE_PLAIN = 0, /* always at a fixed offset (to 3.10) */
	PMH_INSTANCE_BEFORE,    /* values, dictionary: the two pointers before the collector's two (3.11) */
	PMH_INSTANCE_TAGGED,    /* one of them, by its lowest bit (3.12) */
	PMH_INSTANCE_INLINE,    /* dictionary there, values in the object itself (3.13) */
};

struct pmh_python_offsets {
	uint16_t minor;
#define PMH_FIELD(name, ...) uint16_t name;
	PMH_PYTHON_OFFSETS(PMH_FIELD)
#undef PMH_FIELD
};

/* The row of Python 3.minor, or NULL. */
const struct pmh_python_offsets *pmh_python_offsets(unsigned minor);

/* The types that are believed, by their addresses. */
#define PMH_PYTHON_TYPES(X) \
	X(type, PyType_Type) \
	X(code, PyCode_Type) \
	X(frame, PyFrame_Type) \
	X(text, PyUnicode_Type) \
	X(bytes, PyBytes_Type) \
	X(tuple, PyTuple_Type) \
	X(cell, PyCell_Type) \
	X(dict, PyDict_Type) \
	X(ordered_dict, PyODict_Type)

#define PMH_PYTHON_PATH 1024

struct pmh_python {
	const struct pmh_python_offsets *at;
#define PMH_FIELD(name, symbol) uint64_t name##_type;
	PMH_PYTHON_TYPES(PMH_FIELD)
#undef PMH_FIELD
	/* PyTorch's folder, "/usr/lib/python3/dist-packages/torch/"; "": not known, then no file is PyTorch's
	 */
	char pytorch[PMH_PYTHON_PATH];
	/* Copies memory; false where there is none. Never asked for bytes of more than one page. */
	bool (*fetch)(uint64_t from, void *to, size_t byte_count, void *data);
	void *data;
};

/* ---- python_memory.c, python_object.c: one look at the interpreter ---- */

#define PMH_PYTHON_BLOCK 2048
#define PMH_PYTHON_BLOCKS_LOG 7
#define PMH_PYTHON_BLOCKS (1 << PMH_PYTHON_BLOCKS_LOG)
#define PMH_PYTHON_CLASSES 64
#define PMH_PYTHON_LINES 64
#define PMH_PYTHON_ANSWERS 1024

struct pmh_python_class {
	uint64_t address;     /* 0: none */
	uint64_t bases, name; /* tell it from another at the same address */
	uint64_t flags, cached_keys;
	int64_t dict_offset, basic_bytes;
	unsigned look_number; /* the look in which it was last found to be the same */
	bool is_module;       /* nn.Module is among its bases */
};

/*
 * A look. Much of what is read lies close together and a fetch is a system call, so whole blocks are kept.
 * Once anything could not be read, or was too much, `failed` is set for good: then nothing that was found is
 * to be used.
 */
struct pmh_python_look {
	const struct pmh_python *python;
	bool failed;
	bool is_own;     /* of the calling thread, which may load what its frames hold (pmh_python_own) */
	unsigned number; /* of looks so far */
	bool is_loaded;  /* what is read now is loaded, not fetched */
	unsigned reads_left, fetches_left;              /* bound every walk, whatever the memory holds */
	uint64_t known_self, known_modules, known_name; /* where these words were met */
	uint64_t module_class;                          /* nn.Module itself, once met */
	bool is_class_named; /* the last path that was found begins with the name of a class */
	struct pmh_python_class classes[PMH_PYTHON_CLASSES];
	struct pmh_python_place {
		uint64_t table, instruction;
		uint32_t first_line, line;
	} places[PMH_PYTHON_LINES]; /* of which the line was found */
	/*
	 * What was found in dictionaries of the program's modules: where the moments of looks are known
	 * (now_ns not 0), answers hold for a while, as modules may be put elsewhere in their tree, or others
	 * of their classes come to their addresses.
	 */
	uint64_t now_ns;
	struct pmh_python_answer {
		uint64_t question, of, about; /* question 0: none */
		uint64_t found_ns;
		char text[128]; /* "": no */
	} answers[PMH_PYTHON_ANSWERS];
	uint64_t block_address[PMH_PYTHON_BLOCKS];
	unsigned char blocks[PMH_PYTHON_BLOCKS][PMH_PYTHON_BLOCK];
};

void pmh_python_look(struct pmh_python_look *look, const struct pmh_python *python);

/*
 * Between these two reads are plain loads, in a look whose is_own is set. Nests: begin returns what end
 * wants. For what is there as long as the calling thread is in its call, and nothing else:
 *  - the thread's state and its frames, which nobody else takes away (python_line.c says of which thread that
 * is so) and which wait for the call to return;
 *  - each frame's code, which the frame holds, and what that code holds and never changes: its names, its
 * file's name and its table of lines;
 *  - the slots of the frame's local variables, which only a debugger in another thread would write to, the
 * first words of the object in such a slot, which the slot holds, and of a cell there, its content's address.
 * Fetched, as another thread may change them and free what was there: dictionaries and values of attributes,
 * what they refer to, what a cell refers to, and classes' lists of bases. An object whose type is not the one
 * expected is not read further; a look ends where one is not as it should be.
 */
static inline bool pmh_python_own_begin(struct pmh_python_look *look)
{
	const bool before = look->is_loaded;

	look->is_loaded = look->is_own;
	return before;
}
static inline void pmh_python_own_end(struct pmh_python_look *look, bool before)
{
	look->is_loaded = before;
}

/*
 * A later look with the same storage and the same interpreter: of what was met before only classes are kept,
 * each of which is compared when it is met again, the lines of instructions, and the words, which the
 * program's text holds. The first one has all zeros.
 */
void pmh_python_look_again(struct pmh_python_look *look, const struct pmh_python *python);

/* Another question in the same moment: what was read is kept, failures and limits are not. */
void pmh_python_reader_reset(struct pmh_python_look *look);

/* True if the interpreter's types have the sizes that the offsets go with. */
bool pmh_python_fits(struct pmh_python_look *look);

/* A word of memory, 0 where it cannot be read. Addresses near 0 are none and no failure. */
uint64_t pmh_python_word(struct pmh_python_look *look, uint64_t from);
uint32_t pmh_python_half(struct pmh_python_look *look, uint64_t from);
uint8_t pmh_python_byte(struct pmh_python_look *look, uint64_t from);
bool pmh_python_bytes(struct pmh_python_look *look, uint64_t from, void *to, size_t byte_count);
uint64_t pmh_python_type(struct pmh_python_look *look, uint64_t object);

/* A string object as UTF-8. False if it is none or finds no room; then text is "". */
bool pmh_python_text(struct pmh_python_look *look, uint64_t object, char *text, size_t text_bytes);

/* Whether a string object holds this word. *known: where it was met before, 0: nowhere; known may be NULL. */
bool pmh_python_is_word(struct pmh_python_look *look, uint64_t object, const char *word, uint64_t *known);

/* Item i of a tuple, 0 if there is none; how many there are, 0 if it is none. */
uint64_t pmh_python_item_count(struct pmh_python_look *look, uint64_t tuple);
uint64_t pmh_python_item(struct pmh_python_look *look, uint64_t tuple, uint64_t i);

/* An object's class, NULL if it has none that is believed. Valid until the next call. Its list of bases is
 * never loaded, but where the object is the thread's own what else the class has may be. */
const struct pmh_python_class *pmh_python_class(struct pmh_python_look *look, uint64_t object);

/* The last part of a class's name. */
bool pmh_python_class_name(struct pmh_python_look *look, uint64_t class, char *text, size_t text_bytes);

/* The pairs of a dictionary, or of an instance's attributes, in their order. */
struct pmh_python_table {
	uint64_t entries; /* address of the next */
	uint64_t values;  /* of a split table: address of the next, else 0 */
	uint64_t left;
	unsigned entry_bytes, key_offset;
};

bool pmh_python_dict(struct pmh_python_look *look, uint64_t dict, struct pmh_python_table *table);
bool pmh_python_attributes(struct pmh_python_look *look, uint64_t object, struct pmh_python_table *table);

/* The next pair; false at the end. Pairs that were deleted are passed over. */
bool pmh_python_next(
	struct pmh_python_look *look, struct pmh_python_table *table, uint64_t *key, uint64_t *value);

/* The key of a value (of that very object), the value of a key; 0: there is none. */
uint64_t pmh_python_key_of(struct pmh_python_look *look, struct pmh_python_table table, uint64_t value);
uint64_t pmh_python_value_of(
	struct pmh_python_look *look, struct pmh_python_table table, const char *key, uint64_t *known);

/* ---- python_module.c, python_callers.c ---- */

/*
 * The path of the nn.Module that calls, as the program would write it; false: none, or not for certain.
 * thread: address of the calling thread's PyThreadState.
 */
bool pmh_python_find_module(struct pmh_python_look *look, uint64_t thread, char *text, size_t text_bytes);

/* The innermost callers, "Net.forward (net.py:12) < train (train.py:40)"; false: none. */
bool pmh_python_find_callers(struct pmh_python_look *look, uint64_t thread, char *text, size_t text_bytes);

/* All of them likewise, PyTorch's too, as far as there is room. */
bool pmh_python_find_stack(struct pmh_python_look *look, uint64_t thread, char *text, size_t text_bytes);

/*
 * The outermost, the outermost first, "<module> (train.py:90) > main (train.py:57)": the line of the loop
 * that a call comes from is among them. True and "" where all of them are PyTorch's or the interpreter's own;
 * false: the thread is in no Python, or, with look->failed, it is not known.
 */
bool pmh_python_find_outer(struct pmh_python_look *look, uint64_t thread, char *text, size_t text_bytes);

/*
 * The innermost frame whose `self` is an nn.Module; false: there is none, or, with look->failed or
 * is_unknown, it is not known. What the frames before it have as `self` is no module, by their classes.
 */
#define PMH_PYTHON_PASSED 16
struct pmh_python_self {
	uint64_t object, class;
	bool is_in_cell; /* the frame's variable is a cell that refers to it */
	bool is_unknown; /* an object of a module's class that is none yet, or a class that is not believed */
	uint64_t passed[PMH_PYTHON_PASSED]; /* classes */
	uint64_t words[PMH_PYTHON_PASSED];  /* names of first variables that are not `self` */
	unsigned passed_count, word_count;
};
bool pmh_python_find_self(struct pmh_python_look *look, uint64_t thread, struct pmh_python_self *self);

/* The innermost, PyTorch's own too. */
struct pmh_python_line {
	uint64_t frame, code, instruction; /* as the interpreter has them */
	char text[256];                    /* "Net.forward (net.py:12)" */
};
/* False: there is none, or, with look->failed, it is not known. */
bool pmh_python_find_line(struct pmh_python_look *look, uint64_t thread, struct pmh_python_line *line);

/* The innermost of the program: not PyTorch's, nor the interpreter's own. passed: the code of the frames
 * before it. */
bool pmh_python_find_program(struct pmh_python_look *look, uint64_t thread, struct pmh_python_line *line,
	uint64_t passed[PMH_PYTHON_PASSED], unsigned *passed_count);

#endif
