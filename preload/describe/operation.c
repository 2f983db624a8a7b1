/*
 * A new operation: its values, its call site, the module of the program that it belongs to, and the device
 * that it runs on.
 *
 * A program that uses no address twice would fill the table of operations, so from a number on addresses are
 * left out.
 */
#include "operation.h"

#include <errno.h>
#include <string.h>

#include "call_site.h"
#include "device.h"
#include "guest/guest.h"
#include "guest/resolve.h"
#include "guest/settings_hook.h"
#include "guest/thread.h"
#include "python/python_line.h"
#include "python/python_process.h"
#include "trace/write.h"

#define OPERATIONS_WITH_ADDRESSES (PMH_SLOTS / 4)
#define OPERATIONS_WITH_LINES (PMH_SLOTS / 8)
#define VALUES_MAX 30 /* of an operation, with its function; descriptors have up to 20 */

bool pmh_coarse_kept;

/* Of each operation, its hash without any address. */
static _Atomic uint64_t coarse_hashes[PMH_SLOTS];

uint64_t pmh_coarse_hash(uint32_t op)
{
	return op < PMH_SLOTS ? atomic_load_explicit(&coarse_hashes[op], memory_order_relaxed) : 0;
}

static bool is_address(enum pm_value value)
{
	return value == PM_VALUE_READS || value == PM_VALUE_WRITES || value == PM_VALUE_ADDRESS;
}

static void keep_coarse(uint32_t op, const uint64_t *values, unsigned value_count)
{
	const struct pmh_label *labels = pmh_rows[values[0]].labels;
	uint64_t coarse[VALUES_MAX], hash;
	bool is_input = false;

	for (unsigned i = 0; i < value_count; i++) {
		coarse[i] = i && (is_address(labels[i].value) || labels[i].value == PM_VALUE_WEIGHT ||
					 labels[i].value == PM_VALUE_GRAD)
				    ? 0
				    : values[i];
		is_input |= i && labels[i].value == PM_VALUE_DIRECTION && (values[i] == 1 || values[i] == 4);
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
	pmh_python_names(is_work, &python);
	pmh_python_begin_lines();
	if (!pmh_self.ours)
		pmh_call_site(python.callers, text, sizeof text);
	number = pmh_operation_entry(hash, function, text, values + 1, value_count - 1);
	if (number && pmh_coarse_kept)
		keep_coarse(number, values, value_count);
	if (number && is_work)
		pmh_device_describe(pmh_self.device);
	if (number && python.module[0])
		pmh_module_entry(number, python.module);
	if (number && is_call(function) && is_work && python.frames != PMH_PYTHON_UNKNOWN)
		pmh_python_entry(number, python.frames == PMH_PYTHON_NO_FRAME ? PM_PYTHON_NONE : 0, line,
			python.line.text, python.outer);
	return number;
}

/* The same operation without its addresses (parameters and gradients stay), so that a program which never
 * uses one twice does not fill the table. */
static uint32_t coarse_operation(const uint64_t *values, unsigned value_count)
{
	const struct pmh_label *labels = pmh_rows[values[0]].labels;
	uint64_t coarse[VALUES_MAX], hash;
	uint32_t number;

	pmh_lose(PM_LOSS_OPERATIONS, 1);
	for (unsigned i = 0; i < value_count; i++)
		coarse[i] = i && is_address(labels[i].value) ? 0 : values[i];
	hash = pmh_hash_words(PM_ENTRY_OPERATION, coarse, value_count);
	number = pmh_found(hash);
	if (!number && !pmh_intern_is_nearly_full())
		number = add_operation(hash, coarse, value_count, 0);
	if (number)
		return number;
	memset(coarse + 1, 0, (value_count - 1) * sizeof coarse[0]);
	hash = pmh_hash_words(PM_ENTRY_OPERATION, coarse, value_count);
	number = pmh_found(hash);
	return number ? number : add_operation(hash, coarse, value_count, 0);
}

struct operation {
	uint64_t hash;
	const uint64_t *values;
	unsigned value_count;
	uint32_t line;
	uint32_t number;
};

static void describe_operation(void *data)
{
	struct operation *o = data;

	if (pmh_operation_count() >= OPERATIONS_WITH_LINES)
		pmh_python_end_lines();
	if (o->value_count > VALUES_MAX)
		pmh_trouble();
	else if (pmh_operation_count() >= OPERATIONS_WITH_ADDRESSES)
		o->number = coarse_operation(o->values, o->value_count);
	else
		o->number = add_operation(o->hash, o->values, o->value_count, o->line);
}

uint32_t pmh_new_operation(uint64_t hash, const uint64_t *values, unsigned value_count, uint32_t line)
{
	const int saved_errno = errno;
	const struct pmh_moment begin = pmh_moment();
	struct operation o = {hash, values, value_count, line, 0};

	pmh_rarely(describe_operation, &o);
	pmh_new_cost_since(&pmh_self.new_cost, begin);
	errno = saved_errno;
	return o.number;
}
