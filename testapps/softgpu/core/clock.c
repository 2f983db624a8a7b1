/*
 * The model clock's settings, its answers to the other stand-ins, and sleeping until a time. See sg.h.
 *
 * The one idea: what turns it on is known when the library is loaded; the files it needs are read at the
 * first use, where a mistake in them can end the program with a sentence.
 */
#include "model.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

_Atomic int sg_named;
double sg_time_scale = 1;

static int modelled, numerics = 1;

__attribute__((constructor)) static void read_switches(void)
{
	const char *profile = getenv("SOFTGPU_PROFILE"), *wanted = getenv("SOFTGPU_NUMERICS");

	modelled = profile != NULL && *profile != '\0';
	numerics = !modelled || (wanted != NULL && strcmp(wanted, "on") == 0);
}

int sg_modelled(void)
{
	return modelled;
}

int sg_numerics(void)
{
	return numerics;
}

__attribute__((noreturn)) static void end_program(const char *sentence)
{
	/* Not by exit: handlers of other libraries would call functions that wait for this start to be over.
	 */
	fflush(NULL);
	fprintf(stderr, "softgpu: %s\n", sentence);
	_exit(1);
}

static void check_switches(void)
{
	const char *wanted = getenv("SOFTGPU_NUMERICS");
	char sentence[256];

	if (wanted != NULL && *wanted != '\0' && strcmp(wanted, "on") != 0 && strcmp(wanted, "off") != 0) {
		snprintf(sentence, sizeof(sentence), "SOFTGPU_NUMERICS: found '%s', expected on or off",
			wanted);
		end_program(sentence);
	}
	sg_time_scale = sg_text_time_scale();
	if (sg_time_scale == 0) {
		snprintf(sentence, sizeof(sentence),
			"SOFTGPU_TIME_SCALE: found '%s', expected a number from 0.001 to 1000000",
			getenv("SOFTGPU_TIME_SCALE"));
		end_program(sentence);
	}
}

void sg_model_start(void)
{
	char sentence[4500];
	size_t used = (size_t)snprintf(sentence, sizeof(sentence), "SOFTGPU_PROFILE: ");

	check_switches();
	if (modelled) {
		if (sg_profile_read(&sg_profile, getenv("SOFTGPU_PROFILE"), sentence + used,
			    sizeof(sentence) - used) != 0)
			end_program(sentence);
		sg_profile_scale(&sg_profile, sg_time_scale);
	}
	used = (size_t)snprintf(sentence, sizeof(sentence), "SOFTGPU_TIMES: ");
	if (sg_times_start(sentence + used, sizeof(sentence) - used) != 0)
		end_program(sentence);
	if (sg_disturb_start(sentence, sizeof(sentence)) != 0)
		end_program(sentence);
	sg_truth_start();
	sg_tally_start();
}

void sg_sleep_until(uint64_t time_ns)
{
	static __thread int exact;
	struct timespec until = {(time_t)(time_ns / 1000000000u), (long)(time_ns % 1000000000u)};

	if (sg_now_ns() >= time_ns)
		return;
	/* The system may wake a thread later by its slack, so that it need not wake up so often. */
	if (!exact) {
		prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
		exact = 1;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* Without a profile devices are such as PyTorch knows all of. */
#define CAPABILITY 90

int sg_capability(void)
{
	return sg_modelled() && sg_ready() == 0
		       ? (int)(10 * sg_profile.capability_major + sg_profile.capability_minor)
		       : CAPABILITY;
}

uint64_t sg_cost_ns(int device, const struct sg_cost *cost)
{
	struct sg_activity what = {.cost = *cost};

	(void)device;
	if (!modelled || sg_ready() != 0)
		return 0;
	what.copy_to_device = 1;
	return sg_whole_ns(sg_profile_time(&sg_profile, &what));
}

struct sg_link sg_link_between(int rank, int other)
{
	struct sg_link link = {0, 1};

	if (!modelled || sg_ready() != 0)
		return link;
	link = rank / (int)sg_profile.gpus_per_node == other / (int)sg_profile.gpus_per_node
		       ? sg_profile.device_link
		       : sg_profile.network;
	if (rank == other)
		link = (struct sg_link){0, sg_profile.memory_rate};
	return sg_disturb_link(link, rank, other);
}
