/*
 * What modelled durations rest on: how much of the devices' time is of kernels that nothing is known about,
 * and how much was measured.
 *
 * The one idea: the duration of an unknown kernel follows from its number of threads, which may be far off,
 * so a run with much of it is told so: one line at exit, of the job's first rank, and one where times were
 * measured. Time is that of kernels, copies, sets and collectives without their waiting; sends and receives
 * are not in it. Where the hook records, the names of such kernels are in the trace as well (pm_note.h).
 */
#include "model.h"
#include "pm_note.h"
#include "rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOLD_FROM 0.1   /* of the time; less is not worth a line */
#define NAMES 512       /* kernels told apart; those beyond count in the sum alone */
#define TITLE_LIMIT 200 /* of a name */

static _Atomic uint64_t sums_ns[SG_BASES];
static struct {
	_Atomic(const char *) name;
	_Atomic uint64_t time_ns;
	_Atomic int noted;
} by_name[NAMES];
static pid_t owner;

/* Without a hook there is none. Not looked up: another thread may hold the loader's lock, in a constructor
 * that waits for us. */
__attribute__((weak)) __typeof__(pmhook_note) pmhook_note;

void sg_tally_start(void)
{
	owner = getpid();
}

void sg_tally_link(enum sg_basis basis, uint64_t duration_ns)
{
	atomic_fetch_add_explicit(&sums_ns[basis], duration_ns, memory_order_relaxed);
}

/* The name's place among by_name, new if it has none; NAMES: there is none left. A kernel's name has one
 * address for as long as the process lives (sg_kernel). */
static size_t place_of(const char *wanted)
{
	size_t at = ((uintptr_t)wanted >> 4) % NAMES;

	for (size_t tried = 0; tried < NAMES; tried++, at = (at + 1) % NAMES) {
		const char *name = atomic_load_explicit(&by_name[at].name, memory_order_acquire);

		if (name == NULL && atomic_compare_exchange_strong(&by_name[at].name, &name, wanted))
			name = wanted;
		if (name == wanted)
			return at;
	}
	return NAMES;
}

void sg_tally_add(const struct sg_activity *what, enum sg_basis basis, uint64_t duration_ns)
{
	size_t at;

	sg_tally_link(basis, duration_ns);
	if (basis != SG_BY_DEFAULT)
		return;
	at = place_of(what->name);
	if (at < NAMES)
		atomic_fetch_add_explicit(&by_name[at].time_ns, duration_ns, memory_order_relaxed);
}

void sg_tally_note(const struct sg_activity *what)
{
	size_t at;

	if (pmhook_note == NULL || what->name == NULL)
		return;
	at = place_of(what->name);
	if (at < NAMES && !atomic_load_explicit(&by_name[at].noted, memory_order_relaxed) &&
		pmhook_note("assumed", what->name) == 0)
		atomic_store(&by_name[at].noted, 1);
}

void sg_tally_note_device(void)
{
	static _Atomic int noted;
	char text[sizeof(sg_profile.name) + 48];

	if (SG_LIKELY(pmhook_note == NULL || atomic_load_explicit(&noted, memory_order_relaxed)))
		return;
	if (sg_time_scale == 1)
		snprintf(text, sizeof(text), "%s", sg_profile.name);
	else
		snprintf(text, sizeof(text), "%s, times x %g", sg_profile.name, sg_time_scale);
	if (pmhook_note("modelled", text) == 0)
		atomic_store(&noted, 1);
}

static _Atomic uint64_t rows_chosen_for;

void sg_tally_choices(uint64_t rows)
{
	static _Atomic int noted;

	atomic_fetch_add_explicit(&rows_chosen_for, rows, memory_order_relaxed);
	if (!sg_modelled() || pmhook_note == NULL || atomic_load_explicit(&noted, memory_order_relaxed))
		return;
	if (pmhook_note("balanced",
		    "classes that topk chooses by numbers which were not computed are given in turn") == 0)
		atomic_store(&noted, 1);
}

static void tell_choices(void)
{
	uint64_t rows = atomic_load(&rows_chosen_for);

	if (rows > 0)
		fprintf(stderr,
			"softgpu: topk: %llu rows had no largest numbers, as those were not computed: their classes were "
			"given in turn, the same number of rows to each\n",
			(unsigned long long)rows);
}

/* The last word of a mangled name that is one after the other: "kernel" of _ZN2at6kernelILi4EEEvPf. */
static int title_of(const char *name, const char **title)
{
	const char *at = name + 2;
	int length = (int)strnlen(name, TITLE_LIMIT);

	*title = name;
	if (strncmp(name, "_Z", 2) != 0)
		return length;
	at += *at == 'N';
	while (*at >= '1' && *at <= '9') {
		char *word;
		unsigned long count = strtoul(at, &word, 10);

		if (count > TITLE_LIMIT || strnlen(word, count) < count)
			break;
		*title = word;
		length = (int)count;
		at = word + count;
	}
	return length;
}

/* How much was measured, in percent of all. */
static void tell_measured(double all)
{
	double shares[SG_BASES];

	for (size_t i = 0; i < SG_BASES; i++)
		shares[i] = 100 * (double)atomic_load(&sums_ns[i]) / all;
	if (shares[SG_MEASURED] + shares[SG_SCALED] <= 0)
		fprintf(stderr,
			"softgpu: SOFTGPU_TIMES: %s: no operation of this program is in it; all times are the "
			"profile's\n",
			getenv("SOFTGPU_TIMES"));
	else
		fprintf(stderr,
			"softgpu: SOFTGPU_TIMES: %.1f%% of the modelled GPU time was measured, %.1f%% is scaled "
			"from other collectives, %.1f%% by rule, %.1f%% a default\n",
			shares[SG_MEASURED], shares[SG_SCALED], shares[SG_BY_RULE], shares[SG_BY_DEFAULT]);
}

static void tell_default(double all)
{
	double unknown = (double)atomic_load(&sums_ns[SG_BY_DEFAULT]);
	size_t count = 0, most = 0;
	const char *title;
	int length;

	if (unknown <= 0 || unknown < TOLD_FROM * all)
		return;
	for (size_t i = 0; i < NAMES; i++) {
		count += atomic_load(&by_name[i].name) != NULL;
		if (atomic_load(&by_name[i].time_ns) > atomic_load(&by_name[most].time_ns))
			most = i;
	}
	length = title_of(atomic_load(&by_name[most].name), &title);
	fprintf(stderr,
		"softgpu: %.0f%% of the modelled GPU time is a default by the number of threads, of %zu kernel%s "
		"without a rule; most of it: %.*s (%.0f%%)\n",
		100 * unknown / all, count, count == 1 ? "" : "s", length, title,
		100 * (double)atomic_load(&by_name[most].time_ns) / all);
}

__attribute__((destructor)) static void tell(void)
{
	double all = 0;

	for (size_t i = 0; i < SG_BASES; i++)
		all += (double)atomic_load(&sums_ns[i]);
	if (all <= 0 || getpid() != owner || sg_rules_rank() != 0)
		return;
	tell_default(all);
	tell_choices();
	if (sg_times_on)
		tell_measured(all);
}
