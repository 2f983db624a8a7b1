/*
 * Every wrapper of the vendor's libraries, expanded from pm_hooks.def, and what happens around a call.
 *
 * A wrapper is: may I record? enter, the real call, leave. Enter and leave are compiled into each wrapper,
 * because with the row's kind and number of values known most of them falls away; what is rare is in
 * functions of its own. A call that another hooked call makes inside is let through: the outer one tells the
 * story.
 */
#include "hook.h"

#include "destroy.h"
#include "call/group.h"
#include "call/left.h"
#include "call/steps.h"
#include "call/turns.h"
#include "call/window.h"
#include "describe/backend.h"
#include "describe/communicator.h"
#include "describe/descriptor.h"
#include "describe/device_memory.h"
#include "describe/kernel.h"
#include "describe/matmul.h"
#include "describe/object.h"
#include "describe/operation.h"
#include "describe/touch.h"
#include "describe/value.h"
#include "device/capture.h"
#include "device/cuda_functions.h"
#include "device/cupti_session.h"
#include "device/event_time.h"
#include "device/place.h"
#include "device/stretch.h"
#include "framework/range.h"
#include "framework/record_function.h"
#include "guest/clock.h"
#include "guest/own_cost.h"
#include "guest/resolve.h"
#include "guest/sigbus.h"
#include "process.h"
#include "python/python_line.h"
#include "trace/live.h"
#include "trace/write.h"

/* What a library answers for a function that it does not have. */
#define PM_MISSING_cudart cudaErrorSymbolNotFound
#define PM_MISSING_cudnn CUDNN_STATUS_NOT_INITIALIZED
#define PM_MISSING_cublas CUBLAS_STATUS_NOT_INITIALIZED
#define PM_MISSING_cublaslt CUBLAS_STATUS_NOT_INITIALIZED
#define PM_MISSING_cuda CUDA_ERROR_NOT_FOUND
#define PM_MISSING_nccl ncclSystemError

/* Takes a context away, or may. */
PMH_INLINE bool ends_context(enum pm_role role)
{
	return role == PM_ROLE_RESETS_DEVICE || role == PM_ROLE_DESTROYS_CONTEXT ||
	       role == PM_ROLE_RELEASES_PRIMARY || role == PM_ROLE_RESETS_PRIMARY;
}

/* A thread without a record: false, its call is let through. */
static bool has_come(void)
{
	const int state = atomic_load_explicit(&pmh_state, memory_order_acquire);

	if (state == PMH_OFF || pmh_local.quiet || pmh_local.seeking)
		return false;
	if (pmh_self_make())
		return true;
	pmh_lose(PM_LOSS_THREADS, 1);
	return false;
}

/* Made inside of another call. Where that is let through itself nothing is to be known of it. */
static bool is_let_through(const uint64_t *mark, const void *caller)
{
	return atomic_load_explicit(&pmh_resting, memory_order_relaxed) || pmh_is_inside(mark, caller);
}

bool pmh_wanted_slowly(const uint64_t *mark, const void *caller)
{
	if (!pmh_local.thread ? !has_come() : pmh_self.depth > 0 && is_let_through(mark, caller))
		return false;
	if (atomic_load_explicit(&pmh_state, memory_order_acquire) == PMH_UNDECIDED) {
		pmh_frame_begin(mark);
		pmh_activate();
		pmh_self.depth = 0;
	}
	switch (atomic_load_explicit(&pmh_state, memory_order_acquire)) {
	case PMH_RECORDING:
		return true;
	case PMH_COUNTING:
		if (pmh_self.number == 0)
			pmh_thread_begin();
		atomic_store_explicit(&pmh_self.call_count,
			atomic_load_explicit(&pmh_self.call_count, memory_order_relaxed) + 1,
			memory_order_relaxed);
		return false;
	default:
		return false;
	}
}

static uint32_t next_correlation(void)
{
	static _Atomic uint32_t last;
	uint32_t n;

	do
		n = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
	while (n == 0);
	return n;
}

static __attribute__((noinline)) void enter_device(
	struct pmh_frame *f, struct pmh_thread *self, enum pm_kind kind)
{
	enum pmh_captured_as captured = pmh_capturing(f->place.stream);

	if (captured == PMH_IS_CAPTURED) {
		f->flags |= PM_FLAG_CAPTURED;
		return;
	}
	if (!pmh_device_timed || !pmh_window_open)
		return;
	if (kind == PM_KIND_COMM && self->group_depth > 0) {
		f->flags |= PM_FLAG_GROUP;
		if (pmh_stretch_rests(self))
			return;
		f->correlation = next_correlation();
		pmh_group_add(self, f);
		return;
	}
	if (pmh_stretch_rests(self))
		return;
	f->correlation = next_correlation();
	f->pushed = pmh_cupti_begin(f->place, f->correlation, 0);
	if (!f->pushed && captured == PMH_BESIDE_CAPTURE)
		pmh_lose(PM_LOSS_BESIDE_CAPTURE, 1);
	else if (!f->pushed)
		f->interval = pmh_device_begin(self, f->place.device, f->place.stream);
	if (!f->pushed && !f->interval.ring)
		f->correlation = 0;
}

/* The thread's first call, or the first in ranges that the trace does not have yet. */
static __attribute__((noinline)) void make_ready(struct pmh_thread *self)
{
	if (self->number == 0)
		pmh_thread_begin();
	if (!pmh_window_open)
		return;
	if (self->ranges.pending)
		pmh_range_catch_up(self);
	self->is_ready = true;
}

/* kept: of each value, whether it is part of the operation (pmh_is_kept). */
PMH_INLINE void enter(struct pmh_thread *self, enum pm_call call, enum pm_kind kind, enum pm_role role,
	struct pmh_place place, uint8_t flags, const uint64_t *values, const bool *kept, unsigned value_count)
{
	struct pmh_frame *f = &self->frame;

	if (__builtin_expect(!self->is_ready, 0))
		make_ready(self);
	/* polling loops get unrolled: a query is one operation, wherever it is made */
	f->op = kind == PM_KIND_SYNC && !pmh_queries(role)
			? pmh_operation_of_caller(
				  values, value_count, __builtin_return_address(0), pmh_python_line())
			: pmh_operation_of_work(values, kept, value_count,
				  pmh_runs_on_device(kind) ? pmh_python_line() : 0);
	f->path = 0;
	f->correlation = 0;
	f->flags = flags;
	f->pushed = false;
	f->interval.ring = NULL;
	f->place = place;
	if (place.queue && (pmh_runs_on_device(kind) || role == PM_ROLE_LAUNCHES_GRAPH) &&
		(pmh_device_timed || pmh_capture_under_way()))
		enter_device(f, self, kind);
	else if (role == PM_ROLE_ENDS_GROUP && self->group_depth == 1)
		pmh_group_launch(self, f);
	else if (role == PM_ROLE_DESTROYS_STREAM)
		pmh_before_stream_destroy(f, values);
	else if (ends_context(role))
		pmh_before_context_destroy(f, self, role, values);
	if (__builtin_expect(self->next == self->end, 0) && pmh_window_open)
		pmh_entered_slowly(self);
	f->begin = pmh_ticks();
	pmh_entered(self, f->begin, f->op, place.queue, f->flags);
	/* last: to a signal's handler it says that the record is nobody's at the moment (call/left.c) */
	atomic_signal_fence(memory_order_seq_cst);
	f->call = (uint16_t)call;
}

/* A record that is more than times: device times follow, it failed, it communicates, it was captured. */
static __attribute__((noinline)) void append_more(
	struct pmh_thread *self, struct pmh_frame *f, enum pm_call call, bool is_comm, int result)
{
	struct pm_more more = {.correlation = f->correlation, .result = result};

	if (is_comm) {
		pmh_live_communicated(f->op);
		more.sequence = pmh_comm_sequence(self->communicator, call);
		more.group = self->group_depth > 0 ? (uint8_t)(1 + self->group_count % 255) : 0;
	}
	if (f->flags & PM_FLAG_CAPTURED) {
		pmh_captured(f->place.stream, f->op);
		if (is_comm && self->group_depth > 0)
			self->group_captured = f->place.stream;
	}
	if (pmh_window_open)
		pmh_append_slowly(self,
			&(struct pmh_record){.begin = f->begin,
				.end = f->end,
				.op = f->op,
				.queue = f->place.queue,
				.kind = PM_RECORD_CALL,
				.flags = f->flags},
			&more);
	else
		pmh_not_entered(self);
}

/*
 * A program that polls would fill the disk: a question that was answered "not ready" like the one before it,
 * with nothing between them, makes that record longer instead of another.
 */
static __attribute__((noinline)) void append_query(
	struct pmh_thread *self, struct pmh_frame *f, enum pm_call call, int result)
{
	struct pm_record *last = self->polled;

	if (result != 0 && last && last + 1 == self->next && last->op == f->op &&
		last->queue == f->place.queue) {
		uint64_t duration = f->end - (self->base[0] + last->begin);

		if (duration >> 32 == 0) {
			__atomic_store_n(&last->duration, (uint32_t)duration, __ATOMIC_RELAXED);
			pmh_not_entered(self);
			atomic_store_explicit(&self->call_count,
				atomic_load_explicit(&self->call_count, memory_order_relaxed) + 1,
				memory_order_relaxed);
			return;
		}
	}
	append_more(self, f, call, false, result);
	self->polled = result != 0 && self->next ? self->next - 1 : NULL;
}

/* Describing a new operation is counted where it is done. */
static __attribute__((noinline)) void sampled(struct pmh_thread *self, const struct pmh_frame *f)
{
	uint64_t own = f->begin - f->entry + (pmh_ticks() - f->end);
	uint64_t described =
		atomic_load_explicit(&self->new_cost.ticks, memory_order_relaxed) - f->new_before;

	if (atomic_load_explicit(&pmh_sigbus_aside, memory_order_relaxed))
		pmh_sigbus_begin();
	if (own > described)
		pmh_cost_sample(&self->own, own - described);
	pmh_live_calls(PMH_COST_EVERY);
	pmh_turns_check(self);
	pmh_framework_seek(self->sample_count);
}

PMH_INLINE void leave(
	struct pmh_thread *self, enum pm_call call, enum pm_kind kind, enum pm_role role, int result)
{
	struct pmh_frame *f = &self->frame;

	f->call = PM_CALL_NONE;
	if (f->pushed)
		pmh_cupti_end();
	if (f->interval.ring && (kind == PM_KIND_COPY || kind == PM_KIND_SET))
		pmh_live_classify(f->op, PMH_LIVE_COPY);
	if (f->interval.ring)
		pmh_device_end(f->interval, f->place.stream, f->op, f->correlation, f->place.queue, 0);
	if ((role == PM_ROLE_BEGINS_CAPTURE && result == 0) ||
		(role == PM_ROLE_DESTROYS_STREAM && result != 0 && f->place.stream))
		pmh_capture_begun(f->place.stream, f->place.device);
	if (role == PM_ROLE_ENDS_CAPTURE)
		pmh_capture_ended(f->place.stream);
	if (ends_context(role))
		pmh_after_context_destroy(f, role, result);
	if (role == PM_ROLE_ENDS_GROUP && self->group_depth > 0 && --self->group_depth == 0)
		pmh_group_end(self);
	if (pmh_queries(role) && result != 0)
		append_query(self, f, call, result);
	else if (__builtin_expect(kind == PM_KIND_COMM || (result | (int)f->correlation | f->flags) != 0 ||
					  !pmh_window_open,
			 kind == PM_KIND_COMM))
		append_more(self, f, call, kind == PM_KIND_COMM, result);
	else
		pmh_append_call(self, f->begin, f->end, f->op, f->place.queue, f->flags);
	if ((pmh_runs_on_device(kind) || role == PM_ROLE_LAUNCHES_GRAPH) &&
		__builtin_expect(pmh_window_counts, 0))
		pmh_window_count(self, f->op);
	if (pmh_runs_on_device(kind) || role == PM_ROLE_LAUNCHES_GRAPH ||
		(kind == PM_KIND_SYNC && !pmh_queries(role)))
		pmh_steps_see(self, f->op, kind, f->end);
	/* after a wait all before it is ready; and now and then, for threads that never wait */
	if ((kind == PM_KIND_SYNC && !pmh_queries(role)) ||
		((f->interval.ring || f->pushed || pmh_queries(role)) && self->timed_count++ % 64 == 0)) {
		pmh_finish_at_exit();
		pmh_device_collect(self, false);
	}
	if (__builtin_expect(f->entry != 0, 0))
		sampled(self, f);
	pmh_framework_check();
	pmh_frame_end(self);
}

/* Samples the hook's own cost. */
PMH_INLINE void sample(struct pmh_thread *self)
{
	struct pmh_frame *f = &self->frame;

	f->entry = 0;
	if (__builtin_expect(++self->sample_count % PMH_COST_EVERY == 0, 0)) {
		f->new_before = atomic_load_explicit(&self->new_cost.ticks, memory_order_relaxed);
		f->entry = pmh_ticks();
	}
}

#define PM_QUEUE_NONE ((struct pmh_place){0})
#define PM_QUEUE_STREAM(stream) pmh_place_of_stream(stream)
#define PM_QUEUE_PER_THREAD_STREAM(stream) pmh_place_of_per_thread_stream(stream)
#define PM_QUEUE_PER_THREAD_NONE PM_QUEUE_NONE
#define PM_QUEUE_HANDLE(handle) pmh_place_of_handle(handle)

/* The expression of a value, as the word that goes into the trace. */
#define PM_WORD(value, label, expression) PM_WORD_##value(expression),
#define PM_WORD_INT(e) (uint64_t)(int64_t)(e)
#define PM_WORD_BYTES(e) (uint64_t)(e)
#define PM_WORD_TYPE(e) (uint64_t)(e)
#define PM_WORD_DIRECTION(e) (uint64_t)(e)
#define PM_WORD_SCALE(e) (uint64_t)(e)
#define PM_WORD_READS(e) (uint64_t)(uintptr_t)(e)
#define PM_WORD_WRITES(e) (uint64_t)(uintptr_t)(e)
#define PM_WORD_WEIGHT(e) (uint64_t)(uintptr_t)(e)
#define PM_WORD_GRAD(e) (uint64_t)(uintptr_t)(e)
#define PM_WORD_ADDRESS(e) (uint64_t)(uintptr_t)(e)
#define PM_WORD_HANDLE(e) (uint64_t)(uintptr_t)(e)
#define PM_WORD_DESCRIPTOR(e) (uint64_t) pmh_descriptor(e)
#define PM_WORD_COMMUNICATOR(e) (uint64_t)(pmh_self.communicator = (e))
#define PM_WORD_STRING(e) (uint64_t)(e)
#define PM_WORD_GRAPH(e) (uint64_t)(e)

/* Whether a value is part of the operation, as a constant: pmh_is_kept. */
#define PM_KEPT(value, label, expression) pmh_is_kept(PM_VALUE_##value),

/* What is done before the call for its further columns, as flags of its record. */
#define PM_BEFORE(column, value) PM_BEFORE_##column(value)
#define PM_BEFORE_NONE
#define PM_BEFORE_ROLE(role)
#define PM_BEFORE_TOUCHES(arguments) | pmh_touches arguments
#define PM_BEFORE_TABLE(arguments) | pmh_table_touches arguments
#define PM_BEFORE_FREES(address) | (pmh_memory_gone(address), 0)
#define PM_BEFORE_SINCE(version)
#define PM_BEFORE_CALLBACK(numbers)
#define PM_BEFORE_CHANGED(major)
#define PM_BEFORE_ACCESS(accesses)
#define PM_BEFORE_SHAPE(label)
#define PM_BEFORE_TWIN(name)

/* A row may call its parameters anything, so every name of our own in the body begins with pm. */
#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	PMH_EXPORT result name PM_PARAMETERS pairs; \
	PMH_EXPORT result name PM_PARAMETERS pairs \
	{ \
		__typeof__(&name) pm_real = (__typeof__(&name))pmh_real(PM_CALL_##name); \
		uint64_t pm_mark = PMH_MARK; \
\
		if (!pm_real) \
			return PM_MISSING_##library; \
		if (!pmh_wanted(&pm_mark)) \
			return pm_real PM_ARGUMENTS pairs; \
		if (pmh_rests(PM_KIND_##kind, PM_ROLE_IN(__VA_ARGS__))) { \
			struct pmh_thread *const pm_rests = pmh_rest_begin(&pm_mark); \
			result pm_result = pm_real PM_ARGUMENTS pairs; \
\
			pmh_rest_end(pm_rests, &pm_mark); \
			return pm_result; \
		} \
		struct pmh_thread *const pm_self = pmh_frame_begin(&pm_mark); \
		sample(pm_self); \
		const uint64_t pm_words[] = {PM_CALL_##name, PM_TRIPLES(PM_WORD, PM_OPEN values)}; \
		const bool pm_kept[] = {true, PM_TRIPLES(PM_KEPT, PM_OPEN values)}; \
		enter(pm_self, PM_CALL_##name, PM_KIND_##kind, PM_ROLE_IN(__VA_ARGS__), PM_QUEUE_##queue, \
			(uint8_t)(0 PM_PAIRS(PM_BEFORE, PM_NOTHING, __VA_ARGS__)), pm_words, pm_kept, \
			sizeof pm_words / sizeof pm_words[0]); \
		result pm_result = pm_real PM_ARGUMENTS pairs; \
		if (!pmh_has_frame_of(pm_self, &pm_mark)) \
			return pm_result; \
		pm_self->frame.end = pmh_ticks(); \
		if ((int)pm_result == 0) { \
			after; \
		} \
		leave(pm_self, PM_CALL_##name, PM_KIND_##kind, PM_ROLE_IN(__VA_ARGS__), (int)pm_result); \
		return pm_result; \
	}
#define WATCHED(library, result, name, pairs, before, after) \
	PMH_EXPORT result name PM_PARAMETERS pairs; \
	PMH_EXPORT result name PM_PARAMETERS pairs \
	{ \
		__typeof__(&name) pm_real = (__typeof__(&name))pmh_real(PM_CALL_##name); \
		uint64_t pm_mark = PMH_MARK; \
\
		if (!pm_real) \
			return PM_MISSING_##library; \
		if (!pmh_wanted(&pm_mark)) \
			return pm_real PM_ARGUMENTS pairs; \
		pmh_frame_begin(&pm_mark); \
		before; \
		result pm_result = pm_real PM_ARGUMENTS pairs; \
		if (!pmh_has_frame(&pm_mark)) \
			return pm_result; \
		if ((int)pm_result == 0) { \
			after; \
		} \
		pmh_frame_end(&pmh_self); \
		return pm_result; \
	}
#define PM_WATCH(library, result, name, pairs, after, ...) \
	WATCHED(library, result, name, pairs, PM_NOTHING(), after)
#define PM_DESTROYS(library, result, name, pairs, before, ...) \
	WATCHED(library, result, name, pairs, before, PM_NOTHING())
#include "pm_hooks.def"

/* ---- for wrappers written by hand ---- */

void pmh_call_begin(struct pmh_place place, const uint64_t *values, unsigned value_count)
{
	const struct pmh_row *row = &pmh_rows[values[0]];
	bool kept[PMH_HASH_KEYS];

	for (unsigned i = 0; i < value_count && i < PMH_HASH_KEYS; i++)
		kept[i] = i == 0 || pmh_is_kept(pmh_labels[values[0]][i].value);
	sample(&pmh_self);
	enter(&pmh_self, (enum pm_call)values[0], row->kind, row->role, place, 0, values, kept, value_count);
}

void pmh_call_end(const uint64_t *mark, enum pm_call call, int result)
{
	if (!pmh_has_frame(mark))
		return;
	pmh_self.frame.end = pmh_ticks();
	leave(&pmh_self, call, pmh_rows[call].kind, pmh_rows[call].role, result);
}

/* ---- the wrappers as a table ---- */

/* Written by hand elsewhere. */
#define PM_HANDWRITTEN(library, kind, result, name, pairs, values, ...) \
	PM_DECLARE_##library(result, name, pairs)
#define PM_DECLARE_libc(result, name, pairs)
#define PM_DECLARE_cuda(result, name, pairs) PMH_EXPORT result name PM_PARAMETERS pairs;
#define PM_DECLARE_cudart PM_DECLARE_cuda
#define PM_DECLARE_cudnn PM_DECLARE_cuda
#define PM_DECLARE_cublaslt PM_DECLARE_cuda
#define PM_DECLARE_cupti PM_DECLARE_cuda
#define PM_HOOK(...)
#include "pm_hooks.def"

#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	[PM_CALL_##name] = (void *)&name,
#define PM_WATCH(library, result, name, pairs, after, ...) [PM_CALL_##name] = (void *)&name,
#define PM_HANDWRITTEN(library, kind, result, name, pairs, values, ...) PM_WRAPPER_##library(name)
#define PM_WRAPPER_libc(name)
#define PM_WRAPPER_cuda(name) [PM_CALL_##name] = (void *)&name,
#define PM_WRAPPER_cudart PM_WRAPPER_cuda
#define PM_WRAPPER_cudnn PM_WRAPPER_cuda
#define PM_WRAPPER_cublaslt PM_WRAPPER_cuda
#define PM_WRAPPER_cupti PM_WRAPPER_cuda
void *const pmh_wrappers[PM_CALL_COUNT] = {
#include "pm_hooks.def"
};

PMH_EXPORT void __cudaRegisterFunction(void **module, const char *host_function, char *device_function,
	const char *device_name, int thread_limit, void *thread_id, void *block_id, void *block_size,
	void *grid_size, int *warp_size)
{
	__typeof__(&__cudaRegisterFunction) real =
		(__typeof__(&__cudaRegisterFunction))pmh_real(PM_CALL___cudaRegisterFunction);

	if (real)
		real(module, host_function, device_function, device_name, thread_limit, thread_id, block_id,
			block_size, grid_size, warp_size);
	pmh_kernel_named(host_function, device_name);
}
