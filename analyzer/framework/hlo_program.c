/*
 * Modules out of the trace's dictionary: entries in the order of the file become computations, whose
 * instructions stand in the order of their schedule and know each other by number.
 */
#include "hlo_program.h"

#include <stdlib.h>

const char *hlo_direction_name(enum hlo_direction direction)
{
	static const char *const names[] = {
		"-", "forward", "backward", "recomputed", "update", "communication"};

	return names[(size_t)direction < sizeof(names) / sizeof(*names) ? direction : 0];
}

const char *hlo_source_name(enum hlo_source source)
{
	static const char *const names[] = {"-", "product", "name", "inside", "neighbour", "flow", "opcode"};

	return names[(size_t)source < sizeof(names) / sizeof(*names) ? source : 0];
}

/* Numbers of computations and instructions by their ids, while a module is built. */
struct build {
	const struct trace_hlo *programs;
	struct arena *arena;
	struct hlo_module *module;
	const struct trace_hlo_instruction **entries; /* of the module; then by number of the instruction */
	size_t entry_count;
	struct lookup computations, instructions;
	uint64_t *ids;   /* of instructions, by number */
	uint32_t *order; /* by place in entries: in the schedule, 0: not in one */
};

static const char *text_of(const struct build *b, uint32_t number)
{
	const char *text = number < b->programs->string_count ? b->programs->strings[number] : NULL;

	return text ? text : "";
}

static uint64_t id_at(const unsigned char *ids, size_t i)
{
	uint64_t id;

	memcpy(&id, ids + i * sizeof(id), sizeof(id));
	return id;
}

static uint32_t find_computation(const struct build *b, uint64_t id)
{
	uint32_t n;

	for (size_t at = 0;
		(n = lookup_next(&b->computations, mem_hash(MEM_HASH_START, id), &at)) != LOOKUP_NONE;)
		if (b->module->computations[n].id == id)
			return n;
	return HLO_NO_INSTRUCTION;
}

static uint32_t add_computation(struct build *b, uint64_t id)
{
	const uint32_t found = find_computation(b, id);

	if (found != HLO_NO_INSTRUCTION)
		return found;
	b->module->computations[b->module->computation_count] =
		(struct hlo_computation){.id = id, .caller = HLO_NO_INSTRUCTION};
	lookup_add(&b->computations, mem_hash(MEM_HASH_START, id), b->module->computation_count);
	return b->module->computation_count++;
}

static uint64_t instruction_hash(uint32_t computation, uint64_t id)
{
	return mem_hash(mem_hash(MEM_HASH_START, computation), id);
}

static uint32_t find_instruction(const struct build *b, uint32_t computation, uint64_t id)
{
	uint32_t n;

	for (size_t at = 0;
		(n = lookup_next(&b->instructions, instruction_hash(computation, id), &at)) != LOOKUP_NONE;)
		if (b->module->instructions[n].computation == computation && b->ids[n] == id)
			return n;
	return HLO_NO_INSTRUCTION;
}

/* What is run by itself has a name. */
static bool is_whole(const struct trace_hlo_instruction *entry)
{
	return entry->name[0] != 0;
}

static void count_entries(struct build *b)
{
	struct hlo_module *m = b->module;

	m->computations = arena_alloc(b->arena, b->entry_count + 1, sizeof(*m->computations));
	for (size_t i = 0; i < b->entry_count; i++) {
		struct hlo_computation *c =
			&m->computations[add_computation(b, b->entries[i]->fixed.computation)];

		if (is_whole(b->entries[i]))
			c->count++;
		else
			c->part_count++;
	}
	for (uint32_t n = 0; n < m->computation_count; n++) {
		struct hlo_computation *c = &m->computations[n];

		c->first = m->instruction_count;
		c->first_part = m->part_count;
		m->instruction_count += c->count;
		m->part_count += c->part_count;
		c->count = c->part_count = 0;
	}
}

/* ---- order ---- */

static uint32_t find_entry(
	const struct build *b, const struct lookup *entries, uint64_t computation, uint64_t id)
{
	const uint64_t hash = mem_hash(mem_hash(MEM_HASH_START, computation), id);
	uint32_t n;

	for (size_t at = 0; (n = lookup_next(entries, hash, &at)) != LOOKUP_NONE;)
		if (b->entries[n]->fixed.id == id && b->entries[n]->fixed.computation == computation)
			return n;
	return LOOKUP_NONE;
}

static void find_order(struct build *b, uint32_t module)
{
	struct lookup entries = {0};

	b->order = mem_alloc(b->entry_count + 1, sizeof(*b->order));
	for (uint32_t i = 0; i < b->entry_count; i++)
		lookup_add(&entries,
			mem_hash(mem_hash(MEM_HASH_START, b->entries[i]->fixed.computation),
				b->entries[i]->fixed.id),
			i);
	for (size_t s = 0; s < b->programs->schedule_count; s++) {
		const struct trace_hlo_schedule *schedule = &b->programs->schedules[s];

		for (uint32_t i = 0;
			schedule->fixed.module == module && i < schedule->fixed.instruction_count; i++) {
			const uint32_t n = find_entry(
				b, &entries, schedule->fixed.computation, id_at(schedule->instructions, i));

			if (n != LOOKUP_NONE)
				b->order[n] = i + 1;
		}
	}
	lookup_free(&entries);
}

struct placed {
	const struct trace_hlo_instruction *entry;
	uint32_t computation, order, place;
};

/* Those that no schedule has come last, in the order of the file. */
static int compare_placed(const void *a, const void *b)
{
	const struct placed *p = a, *q = b;

	if (p->computation != q->computation)
		return p->computation < q->computation ? -1 : 1;
	if (p->order != q->order)
		return p->order - 1 < q->order - 1 ? -1 : 1;
	return p->place < q->place ? -1 : p->place > q->place;
}

static void sort_entries(struct build *b)
{
	struct placed *placed = mem_alloc(b->entry_count + 1, sizeof(*placed));

	for (uint32_t i = 0; i < b->entry_count; i++)
		placed[i] = (struct placed){
			b->entries[i], find_computation(b, b->entries[i]->fixed.computation), b->order[i], i};
	qsort(placed, b->entry_count, sizeof(*placed), compare_placed);
	for (uint32_t i = 0; i < b->entry_count; i++) {
		b->entries[i] = placed[i].entry;
		b->order[i] = placed[i].order;
	}
	free(placed);
}

/* ---- instructions ---- */

static void fill_instruction(struct build *b, const struct trace_hlo_instruction *entry, uint32_t order)
{
	const uint32_t computation = find_computation(b, entry->fixed.computation);
	struct hlo_computation *c = &b->module->computations[computation];
	const uint32_t n = c->first + c->count++;

	b->module->instructions[n] = (struct hlo_instruction){
		.name = entry->name,
		.opcode = text_of(b, entry->fixed.opcode),
		.op_name = text_of(b, entry->fixed.op_name),
		.target = text_of(b, entry->fixed.target),
		.element_count = entry->fixed.element_count,
		.type = entry->fixed.type,
		.index = entry->fixed.index,
		.computation = computation,
		.order = order,
		.is_root = entry->fixed.flags & PM_HLO_ROOT,
		.operand_count = entry->fixed.operand_count,
		.called_count = entry->fixed.called_count,
		.operands = arena_alloc(b->arena, entry->fixed.operand_count + 1u, sizeof(uint32_t)),
		.called = arena_alloc(b->arena, entry->fixed.called_count + 1u, sizeof(uint32_t)),
		.layer = "",
	};
	memset(b->module->instructions[n].operands, 0xff, entry->fixed.operand_count * sizeof(uint32_t));
	memset(b->module->instructions[n].called, 0xff, entry->fixed.called_count * sizeof(uint32_t));
	b->ids[n] = entry->fixed.id;
	lookup_add(&b->instructions, instruction_hash(computation, entry->fixed.id), n);
	lookup_add(&b->module->by_name, mem_hash_text(MEM_HASH_START, entry->name), n);
}

static void fill_part(struct build *b, const struct trace_hlo_instruction *entry)
{
	struct hlo_computation *c = &b->module->computations[find_computation(b, entry->fixed.computation)];

	b->module->parts[c->first_part + c->part_count++] =
		(struct hlo_part){text_of(b, entry->fixed.opcode), text_of(b, entry->fixed.op_name)};
}

static void fill(struct build *b)
{
	struct hlo_module *m = b->module;

	m->instructions = arena_alloc(b->arena, m->instruction_count + 1u, sizeof(*m->instructions));
	m->parts = arena_alloc(b->arena, m->part_count + 1u, sizeof(*m->parts));
	b->ids = mem_alloc(m->instruction_count + 1u, sizeof(*b->ids));
	for (size_t i = 0; i < b->entry_count; i++)
		if (is_whole(b->entries[i]))
			fill_instruction(b, b->entries[i], b->order[i]);
		else
			fill_part(b, b->entries[i]);
}

static void connect(struct build *b, const struct trace_hlo_instruction *entry)
{
	struct hlo_module *m = b->module;
	const uint32_t n =
		find_instruction(b, find_computation(b, entry->fixed.computation), entry->fixed.id);
	struct hlo_instruction *i = &m->instructions[n];

	if (i->name != entry->name)
		return; /* another has its id */
	for (uint32_t k = 0; k < i->operand_count; k++)
		i->operands[k] = find_instruction(b, i->computation, id_at(entry->ids, k));
	for (uint32_t k = 0; k < i->called_count; k++) {
		i->called[k] = find_computation(b, id_at(entry->ids, i->operand_count + k));
		if (i->called[k] != HLO_NO_INSTRUCTION)
			m->computations[i->called[k]].caller = n;
	}
}

/* ---- calls ---- */

static bool is_call(const struct hlo_module *m, const struct hlo_instruction *i)
{
	return strcmp(i->opcode, "call") == 0 && i->called_count == 1 && i->called[0] != HLO_NO_INSTRUCTION &&
	       &m->instructions[m->computations[i->called[0]].caller] == i;
}

static uint32_t root_of(const struct hlo_module *m, const struct hlo_computation *c)
{
	for (uint32_t n = c->first; n < c->first + c->count; n++)
		if (m->instructions[n].is_root)
			return n;
	return HLO_NO_INSTRUCTION;
}

/* What an operand that is a call gives: the root's element for an element, else the root. */
static uint32_t made_by(const struct hlo_module *m, const struct hlo_instruction *user, uint32_t operand)
{
	const struct hlo_instruction *call = &m->instructions[operand];
	const uint32_t n = root_of(m, &m->computations[call->called[0]]);
	const struct hlo_instruction *root = n == HLO_NO_INSTRUCTION ? NULL : &m->instructions[n];

	if (root && strcmp(user->opcode, "get-tuple-element") == 0 && strcmp(root->opcode, "tuple") == 0 &&
		user->index < root->operand_count)
		return root->operands[user->index];
	return n;
}

/* The parameters of what is called have what is given to the call as their operand. */
static void give_parameters(struct build *b, const struct hlo_instruction *call)
{
	struct hlo_module *m = b->module;
	struct hlo_computation *c = &m->computations[call->called[0]];

	c->is_straight = true;
	for (uint32_t n = c->first; n < c->first + c->count; n++) {
		struct hlo_instruction *i = &m->instructions[n];

		if (strcmp(i->opcode, "parameter") != 0 || i->operand_count ||
			i->index >= call->operand_count)
			continue;
		i->operands = &call->operands[i->index];
		i->operand_count = 1;
	}
}

/* What runs once, from the entry on: a call in a call comes after it. */
static void straighten(struct build *b)
{
	struct hlo_module *m = b->module;
	uint32_t *todo = mem_alloc(m->computation_count + 1u, sizeof(*todo)), count = 0;

	todo[count++] = m->entry;
	m->computations[m->entry].is_straight = true;
	for (uint32_t next = 0; next < count; next++) {
		const struct hlo_computation *c = &m->computations[todo[next]];

		for (uint32_t n = c->first; n < c->first + c->count; n++)
			if (is_call(m, &m->instructions[n]) &&
				!m->computations[m->instructions[n].called[0]].is_straight) {
				give_parameters(b, &m->instructions[n]);
				todo[count++] = m->instructions[n].called[0];
			}
	}
	free(todo);
	for (uint32_t n = 0; n < m->instruction_count; n++)
		for (uint32_t k = 0; k < m->instructions[n].operand_count; k++) {
			uint32_t *operand = &m->instructions[n].operands[k];

			if (*operand != HLO_NO_INSTRUCTION && is_call(m, &m->instructions[*operand]))
				*operand = made_by(m, &m->instructions[n], *operand);
		}
}

static void count_users(struct build *b)
{
	struct hlo_module *m = b->module;

	for (uint32_t n = 0; n < m->instruction_count; n++)
		for (uint32_t k = 0; k < m->instructions[n].operand_count; k++)
			if (m->instructions[n].operands[k] != HLO_NO_INSTRUCTION)
				m->instructions[m->instructions[n].operands[k]].user_count++;
}

static void list_users(struct build *b)
{
	struct hlo_module *m = b->module;

	for (uint32_t n = 0; n < m->instruction_count; n++) {
		struct hlo_instruction *i = &m->instructions[n];

		i->users = arena_alloc(b->arena, i->user_count + 1u, sizeof(uint32_t));
		i->user_count = 0;
	}
	for (uint32_t n = 0; n < m->instruction_count; n++)
		for (uint32_t k = 0; k < m->instructions[n].operand_count; k++)
			if (m->instructions[n].operands[k] != HLO_NO_INSTRUCTION) {
				struct hlo_instruction *from =
					&m->instructions[m->instructions[n].operands[k]];

				from->users[from->user_count++] = n;
			}
}

#define ELEMENTS_MOST (1u << 20) /* of a result */

static void fill_aliases(struct build *b, const struct trace_hlo_module *entry)
{
	uint32_t element, greatest = 0;
	bool *is_aliased;

	for (uint32_t i = 0; i < entry->fixed.alias_count; i++) {
		memcpy(&element, entry->aliases + i * sizeof(element), sizeof(element));
		if (element < ELEMENTS_MOST && element >= greatest)
			greatest = element + 1;
	}
	is_aliased = arena_alloc(b->arena, greatest + 1u, sizeof(*is_aliased));
	for (uint32_t i = 0; i < entry->fixed.alias_count; i++) {
		memcpy(&element, entry->aliases + i * sizeof(element), sizeof(element));
		if (element < greatest)
			is_aliased[element] = true;
	}
	b->module->is_aliased = is_aliased;
	b->module->alias_count = greatest;
}

/* Entries of one module stand in no other's way: two threads may compile at once. */
static void gather(struct build *b, uint32_t module)
{
	size_t room = 0;

	for (size_t i = 0; i < b->programs->instruction_count; i++)
		if (b->programs->instructions[i].fixed.module == module)
			*MEM_PUSH(b->entries, b->entry_count, room) = &b->programs->instructions[i];
}

static void build_module(
	struct hlo *hlo, const struct trace_hlo *programs, const struct trace_hlo_module *entry)
{
	struct hlo_module *module = &hlo->modules[hlo->module_count++];
	struct build b = {.programs = programs, .arena = &hlo->arena, .module = module};
	struct hlo_flow flow;

	module->name = text_of(&b, entry->fixed.name);
	module->program = entry->fixed.program;
	module->is_partial = entry->fixed.flags & PM_HLO_PARTIAL;
	gather(&b, entry->fixed.number);
	count_entries(&b);
	module->entry = find_computation(&b, entry->fixed.entry);
	if (module->entry == HLO_NO_INSTRUCTION)
		module->entry = add_computation(&b, entry->fixed.entry);
	find_order(&b, entry->fixed.number);
	sort_entries(&b);
	fill(&b);
	for (size_t i = 0; i < b.entry_count; i++)
		if (is_whole(b.entries[i]))
			connect(&b, b.entries[i]);
	straighten(&b);
	count_users(&b);
	list_users(&b);
	fill_aliases(&b, entry);
	flow = hlo_label(&hlo->arena, module);
	hlo_list_arguments(&hlo->arena, module, &flow);
	free(b.entries);
	free(b.order);
	free(b.ids);
	lookup_free(&b.computations);
	lookup_free(&b.instructions);
}

void hlo_init(struct hlo *hlo, const struct trace_hlo *programs)
{
	*hlo = (struct hlo){.modules = NULL};
	hlo->modules = arena_alloc(&hlo->arena, programs->module_count + 1, sizeof(*hlo->modules));
	for (size_t i = 0; i < programs->module_count; i++)
		build_module(hlo, programs, &programs->modules[i]);
}

void hlo_free(struct hlo *hlo)
{
	for (size_t i = 0; i < hlo->module_count; i++)
		lookup_free(&hlo->modules[i].by_name);
	arena_free(&hlo->arena);
	memset(hlo, 0, sizeof(*hlo));
}

const struct hlo_module *hlo_find_module(const struct hlo *hlo, uint64_t program)
{
	for (size_t i = hlo->module_count; i > 0; i--)
		if (hlo->modules[i - 1].program == program)
			return &hlo->modules[i - 1];
	return NULL;
}

const struct hlo_instruction *hlo_find(const struct hlo_module *module, const char *name, size_t length)
{
	uint32_t n;

	for (size_t at = 0; (n = lookup_next(&module->by_name, mem_hash_bytes(MEM_HASH_START, name, length),
				     &at)) != LOOKUP_NONE;)
		if (strlen(module->instructions[n].name) == length &&
			memcmp(module->instructions[n].name, name, length) == 0)
			return &module->instructions[n];
	return NULL;
}
