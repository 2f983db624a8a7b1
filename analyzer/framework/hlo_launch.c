/*
 * Which instruction a launch belongs to: by XLA's ranges, and of a graph's nodes by an alignment of their
 * kernels with the schedule, which both are in order of.
 */
#include "hlo_program.h"

#include <ctype.h>
#include <stdlib.h>

#define CELLS_MOST 20000000u
#define LOOPS_MOST 256 /* times that a graph goes through a loop */

/* ---- ranges ---- */

/* What follows a key in "Begin:#key=value,key=value#"; NULL: it is not there. */
static const char *value_of(const char *text, const char *begin, const char *key)
{
	const char *at = text;

	if (strncmp(text, begin, strlen(begin)) != 0)
		return NULL;
	while ((at = strstr(at, key)) != NULL) {
		if (at[-1] == '#' || at[-1] == ',')
			return at + strlen(key);
		at += strlen(key);
	}
	return NULL;
}

bool hlo_range_program(const char *text, uint64_t *program)
{
	const char *value = value_of(text, "XlaModule:", "program_id=");

	if (!value || !isdigit((unsigned char)*value))
		return false;
	*program = strtoull(value, NULL, 10);
	return true;
}

bool hlo_range_instruction(const char *text, const char **name, size_t *length)
{
	const char *value = value_of(text, "Thunk:", "hlo_op=");

	*length = value ? strcspn(value, ",#") : 0;
	*name = value;
	return *length > 0;
}

/* ---- graphs ---- */

static bool is_launched(const struct hlo_instruction *i)
{
	static const char *const other[] = {"parameter", "tuple", "constant", "bitcast", "get-tuple-element",
		"after-all", "while", "conditional", "call", "copy-done", "all-reduce-done",
		"all-gather-done", "async-done"};

	for (size_t k = 0; k < sizeof(other) / sizeof(*other); k++)
		if (strcmp(i->opcode, other[k]) == 0)
			return false;
	return i->order > 0;
}

static char as_kernel(char c)
{
	return c == '.' || c == '-' ? '_' : c;
}

/* The length of a name without the numbers at its end: "loop_add_fusion.2" and "loop_add_fusion_2_0" are a
 * kernel's. */
static size_t stem_length(const char *name)
{
	size_t n = strlen(name);

	while (n > 0 && (isdigit((unsigned char)name[n - 1]) || as_kernel(name[n - 1]) == '_'))
		n--;
	return n;
}

static bool has_stem_of(const char *kernel, const char *name)
{
	const size_t n = stem_length(name);

	if (n == 0 || stem_length(kernel) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (kernel[i] != as_kernel(name[i]))
			return false;
	return true;
}

static bool has_name_of(const char *kernel, const char *name)
{
	size_t i = 0;

	while (kernel[i] && kernel[i] == as_kernel(name[i]))
		i++;
	return !kernel[i] && (!name[i] || strcmp(name + i, ".0") == 0);
}

/* How well a node fits; 0: not at all. A kernel that has no instruction's name is a library's. */
static unsigned fit(const struct hlo_instruction *i, const char *kernel, uint64_t bytes, bool is_library)
{
	enum { NOT, PERHAPS, SAME_KIND = 4, SAME = 5, BYTES_MOST = 16 };
	const bool is_copy = strncmp(i->opcode, "copy", 4) == 0;
	const bool is_as_large = bytes && i->element_count && bytes % i->element_count == 0 &&
				 bytes / i->element_count <= BYTES_MOST;

	if (!kernel)
		return is_copy && is_as_large ? SAME : is_copy && !bytes ? SAME_KIND : PERHAPS;
	if (is_library)
		return strcmp(i->opcode, "custom-call") == 0 ? SAME_KIND : NOT;
	if (has_name_of(kernel, i->name))
		return SAME;
	return has_stem_of(kernel, i->name) ? SAME_KIND : NOT;
}

struct alignment {
	const struct hlo_instruction **rows; /* those that are launched, in order of the schedule */
	size_t row_count, row_room;
	const char *const *names;
	const uint64_t *bytes; /* by name, of copies */
	bool *is_library;      /* by name */
	size_t count;
	uint32_t *best; /* (count + 1) x (row_count + 1): of the nodes before and the rows before */
};

static uint32_t *best_at(const struct alignment *a, size_t node, size_t row)
{
	return &a->best[node * (a->row_count + 1) + row];
}

static void fill(struct alignment *a)
{
	for (size_t n = 1; n <= a->count; n++)
		for (size_t r = 1; r <= a->row_count; r++) {
			const unsigned fits =
				fit(a->rows[r - 1], a->names[n - 1], a->bytes[n - 1], a->is_library[n - 1]);
			const uint32_t both = fits ? *best_at(a, n - 1, r - 1) + fits : 0;
			uint32_t best = *best_at(a, n - 1, r);

			best = *best_at(a, n, r - 1) > best ? *best_at(a, n, r - 1) : best;
			*best_at(a, n, r) = both > best ? both : best;
		}
}

/* A library may launch several kernels for one instruction: those after the first that nothing else fits. */
static void walk_back(const struct alignment *a, const struct hlo_instruction **found)
{
	size_t n = a->count, r = a->row_count;

	while (n > 0 && r > 0)
		if (*best_at(a, n, r) == *best_at(a, n, r - 1)) {
			r--;
		} else if (*best_at(a, n, r) == *best_at(a, n - 1, r)) {
			n--;
		} else {
			found[--n] = a->rows[--r];
		}
	for (n = 1; n < a->count; n++)
		if (!found[n] && found[n - 1] && a->is_library[n] &&
			strcmp(found[n - 1]->opcode, "custom-call") == 0)
			found[n] = found[n - 1];
}

/* In the order of a computation: is it not before the first and not after the second, as far as these are of
 * it? */
static bool is_between(const struct hlo_instruction *i, const struct hlo_instruction *after,
	const struct hlo_instruction *before)
{
	return (!after || after->computation != i->computation || i->order > after->order) &&
	       (!before || before->computation != i->computation || i->order < before->order);
}

/* A loop's body has more instructions than its condition. */
static uint32_t body_of(const struct hlo_module *module, const struct hlo_instruction *i)
{
	uint32_t best = HLO_NO_INSTRUCTION;

	for (uint32_t k = 0; k < i->called_count; k++)
		if (i->called[k] != HLO_NO_INSTRUCTION &&
			(best == HLO_NO_INSTRUCTION ||
				module->computations[i->called[k]].count > module->computations[best].count))
			best = i->called[k];
	return best;
}

static size_t count_of(const struct alignment *a, const struct hlo_instruction *i)
{
	size_t count = 0;

	for (size_t n = 0; n < a->count; n++)
		count += a->names[n] && has_name_of(a->names[n], i->name);
	return count;
}

/* How often a graph goes through a loop in it: as often as the kernel of most of its instructions is there.
 * Kernels that several instructions have say too much. */
static size_t repetitions(
	const struct alignment *a, const struct hlo_module *module, const struct hlo_computation *body)
{
	size_t votes[LOOPS_MOST + 1] = {0}, best = 0;

	for (uint32_t n = body->first; n < body->first + body->count; n++) {
		const size_t count = count_of(a, &module->instructions[n]);

		if (is_launched(&module->instructions[n]) && count <= LOOPS_MOST)
			votes[count]++;
	}
	for (size_t count = 1; count <= LOOPS_MOST; count++)
		if (votes[count] > votes[best] || best == 0)
			best = votes[count] ? count : best;
	return best;
}

static void add_loop(struct alignment *a, const struct hlo_module *module, const struct hlo_instruction *loop)
{
	const uint32_t number = body_of(module, loop);
	const struct hlo_computation *body;

	if (number == HLO_NO_INSTRUCTION)
		return;
	body = &module->computations[number];
	for (size_t times = repetitions(a, module, body); times-- > 0;)
		for (uint32_t n = body->first; n < body->first + body->count; n++)
			if (is_launched(&module->instructions[n]))
				*MEM_PUSH(a->rows, a->row_count, a->row_room) = &module->instructions[n];
}

static void list_rows(struct alignment *a, const struct hlo_module *module, uint32_t computation,
	const struct hlo_instruction *after, const struct hlo_instruction *before)
{
	const struct hlo_computation *c = &module->computations[computation];

	if (after && before && after->computation == before->computation && after->order >= before->order)
		before = NULL; /* of another run of the loop */
	for (uint32_t n = c->first; n < c->first + c->count; n++) {
		const struct hlo_instruction *i = &module->instructions[n];

		if (!is_between(i, after, before) || i->order == 0)
			continue;
		if (strcmp(i->opcode, "while") == 0)
			add_loop(a, module, i);
		else if (is_launched(i))
			*MEM_PUSH(a->rows, a->row_count, a->row_room) = i;
	}
}

static void find_libraries(struct alignment *a)
{
	a->is_library = mem_alloc(a->count + 1, sizeof(bool));
	for (size_t n = 0; n < a->count; n++) {
		a->is_library[n] = a->names[n] != NULL;
		for (size_t r = 0; a->names[n] && a->is_library[n] && r < a->row_count; r++)
			a->is_library[n] = !has_stem_of(a->names[n], a->rows[r]->name);
	}
}

static uint32_t computation_of(const struct hlo_module *module, const struct hlo_instruction *around)
{
	uint32_t body;

	if (!around || (strcmp(around->opcode, "call") != 0 && strcmp(around->opcode, "while") != 0))
		return module->entry;
	body = body_of(module, around);
	return body == HLO_NO_INSTRUCTION ? module->entry : body;
}

void hlo_align(const struct hlo_module *module, const struct hlo_instruction *around,
	const struct hlo_instruction *after, const struct hlo_instruction *before, const char *const *names,
	const uint64_t *bytes, size_t count, const struct hlo_instruction **found)
{
	struct alignment a = {.names = names, .bytes = bytes, .count = count};

	memset(found, 0, count * sizeof(*found));
	list_rows(&a, module, computation_of(module, around), after, before);
	if (a.row_count && count < CELLS_MOST / (a.row_count + 1)) {
		find_libraries(&a);
		a.best = mem_alloc((count + 1) * (a.row_count + 1), sizeof(*a.best));
		fill(&a);
		walk_back(&a, found);
	}
	free(a.rows);
	free(a.is_library);
	free(a.best);
}
