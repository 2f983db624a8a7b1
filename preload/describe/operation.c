/*
 * A new operation: its values, its call site, the module of the program that it belongs to, and the device
 * that it runs on.
 *
 * In samples it is described once more with its addresses, for each set of them: of a program that uses no
 * address twice each call of a sample is one, so there is a number from which on no more are described.
 */
#include "operation.h"

#include <errno.h>
#include <string.h>

#include "budget.h"
#include "call_site.h"
#include "device.h"
#include "guest/guest.h"
#include "guest/resolve.h"
#include "guest/settings_hook.h"
#include "guest/thread.h"
#include "python/python_line.h"
#include "python/python_process.h"
#include "trace/write.h"

#define OPERATIONS_WITH_ADDRESSES (PMH_SLOTS / 8) /* of all */
#define OPERATIONS_MOST (PMH_SLOTS / 2)           /* with their values */
#define OPERATIONS_WITH_LINES (PMH_SLOTS / 4)
#define VALUES_MAX 30 /* of an operation, with its function; descriptors have up to 20 */

bool pmh_coarse_kept;

/* Of each operation, its hash without any address or handle. */
static _Atomic uint64_t coarse_hashes[PMH_SLOTS];

uint64_t pmh_coarse_hash(uint32_t op)
{
	return op < PMH_SLOTS ? atomic_load_explicit(&coarse_hashes[op], memory_order_relaxed) : 0;
}

/* The values without the addresses, those of an operation; true: there were some. */
static bool leave_out_addresses(const uint64_t *values, unsigned value_count, uint64_t *left)
{
	const struct pmh_label *labels = pmh_labels[values[0]];
	bool any = false;

	for (unsigned i = 0; i < value_count; i++) {
		const bool is_kept = i == 0 || pmh_is_kept(labels[i].value);

		left[i] = is_kept ? values[i] : 0;
		any |= left[i] != values[i];
	}
	return any;
}

static void keep_coarse(uint32_t op, const uint64_t *values, unsigned value_count)
{
	const struct pmh_label *labels = pmh_labels[values[0]];
	uint64_t coarse[VALUES_MAX], hash;
	bool is_input = false;

	leave_out_addresses(values, value_count, coarse);
	for (unsigned i = 0; i < value_count; i++) {
		coarse[i] = i && labels[i].value == PM_VALUE_HANDLE ? 0 : coarse[i];
		is_input |= i && labels[i].value == PM_VALUE_DIRECTION &&
			    (values[i] == PM_DIRECTION_H2D || values[i] == PM_DIRECTION_DEFAULT);
	}
	hash = pmh_hash_words(PM_ENTRY_OPERATION, coarse, value_count);
	hash = is_input ? hash | 2 : hash & ~(uint64_t)2;
	if (op < PMH_SLOTS)
		atomic_store_explicit(&coarse_hashes[op], hash, memory_order_relaxed);
}

/* Activities of the device are described by whoever collects them. */
static bool is_call(uint32_t function)
{
	return strcmp(pmh_rows[function].library, "cupti") != 0;
}

/* The call site is found outside of any lock: the unwinder may wait for locks of its own. */
static uint32_t add_operation(uint64_t hash, const uint64_t *values, unsigned value_count, uint32_t line)
{
	const uint32_t function = (uint32_t)values[0];
	const bool is_work = pmh_runs_on_device(pmh_rows[function].kind);
	struct pmh_python_names python;
	char text[1024];
	uint32_t number;

	text[0] = 0;
	if (pmh_budget_left()) {
		pmh_python_names(is_work, &python);
		pmh_python_begin_lines();
		if (!pmh_self.ours)
			pmh_call_site(python.callers, text, sizeof text);
	} else {
		python.frames = PMH_PYTHON_UNKNOWN;
		python.module[0] = 0;
		pmh_lose(PM_LOSS_BUDGET, 1);
	}
	number = pmh_operation_entry(hash, function, text, values + 1, value_count - 1);
	if (number && pmh_coarse_kept)
		keep_coarse(number, values, value_count);
	if (number && is_work)
		pmh_device_describe(pmh_self.device);
	if (number && python.module[0])
		pmh_module_entry(number, python.module);
	if (number && line && !is_work)
		pmh_python_entry(number, 0, line, "", "");
	else if (number && is_call(function) && is_work && python.frames != PMH_PYTHON_UNKNOWN)
		pmh_python_entry(number, python.frames == PMH_PYTHON_NO_FRAME ? PM_PYTHON_NONE : 0, line,
			python.line.text, python.outer);
	return number;
}

/* The same function without any values, so that a program whose values never come again does not fill the
 * table. */
static uint32_t coarse_operation(const uint64_t *values, unsigned value_count)
{
	const uint64_t coarse[VALUES_MAX] = {values[0]};
	const uint64_t hash = pmh_hash(PM_ENTRY_OPERATION, coarse, sizeof coarse);
	const uint32_t number = pmh_found(hash);

	pmh_lose(PM_LOSS_OPERATIONS, 1);
	return number ? number : add_operation(hash, coarse, value_count, 0);
}

struct operation {
	uint64_t hash; /* without addresses */
	const uint64_t *values;
	unsigned value_count;
	uint32_t line;
	bool has_addresses;
	uint32_t number;
};

/* The number of the operation itself, which may be new; 0: there is no room. */
static uint32_t base_operation(const struct operation *o)
{
	uint64_t base[VALUES_MAX];
	uint32_t number = pmh_found(o->hash);

	if (number)
		return number;
	if (pmh_operation_count() >= OPERATIONS_WITH_LINES)
		pmh_python_end_lines();
	if (pmh_runs_on_device(pmh_rows[o->values[0]].kind))
		pmh_sample_new();
	if (pmh_operation_count() >= OPERATIONS_MOST)
		return coarse_operation(o->values, o->value_count);
	leave_out_addresses(o->values, o->value_count, base);
	return add_operation(o->hash, base, o->value_count, o->line);
}

/* No hash of an operation without addresses. */
static uint64_t placed_hash(const struct operation *o)
{
	return pmh_hash_words(pmh_operation_seed(o->line) ^ PM_ENTRY_PLACED << 8, o->values, o->value_count);
}

/* Whether the call has addresses, and there is room and time for an operation with them. */
static bool may_be_placed(const struct operation *o)
{
	uint64_t left[VALUES_MAX];

	return o->has_addresses && o->value_count <= VALUES_MAX &&
	       pmh_operation_count() < OPERATIONS_WITH_ADDRESSES && pmh_budget_left() &&
	       leave_out_addresses(o->values, o->value_count, left);
}

static void describe_operation(void *data)
{
	struct operation *o = data;
	uint32_t base;

	if (o->value_count > VALUES_MAX) {
		pmh_trouble();
		return;
	}
	o->number = base = base_operation(o);
	if (!base || !may_be_placed(o) || !pmh_sample_take())
		return;
	o->number = add_operation(placed_hash(o), o->values, o->value_count, o->line);
	if (o->number)
		pmh_placed_entry(o->number, base);
	else
		o->number = base;
}

static uint32_t describe(struct operation *o)
{
	const int saved_errno = errno;
	const struct pmh_moment begin = pmh_moment();

	pmh_run_on_own_stack(describe_operation, o);
	pmh_budget_spent(begin);
	errno = saved_errno;
	return o->number;
}

uint32_t pmh_new_operation(
	uint64_t hash, const uint64_t *values, unsigned value_count, uint32_t line, bool has_addresses)
{
	return describe(&(struct operation){hash, values, value_count, line, has_addresses, 0});
}

uint32_t pmh_sampled_operation(uint64_t hash, const uint64_t *values, unsigned value_count, uint32_t line)
{
	struct operation o = {hash, values, value_count, line, true, 0};
	const uint32_t placed = pmh_found(placed_hash(&o)), base = pmh_found(hash);

	/* counted in any case: where no more are described the sample ends, too */
	if (base && (placed || !may_be_placed(&o)))
		return pmh_sample_take() && placed ? placed : base;
	return describe(&o);
}
