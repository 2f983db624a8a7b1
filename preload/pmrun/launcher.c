/*
 * What a launcher (torchrun, srun, mpirun) says of the job that this pmrun is one process of: which rank it
 * is, and a name that all processes of the job, and no other job, have in common.
 */
#include "pmrun.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest/settings.h"

bool pmrun_launched(int *rank)
{
	static const char *const names[] = {PMH_RANK_VARIABLES};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		const char *value = getenv(names[i]);

		if (value) {
			*rank = atoi(value);
			return true;
		}
	}
	return false;
}

/* Nothing that could leave the folder's name or make it long. */
static bool is_plain(const char *text)
{
	size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");

	return n > 0 && n <= 64 && !text[n];
}

bool pmrun_launched_job(char *name, size_t size)
{
	/* torchrun's default, "none", is every job's */
	static const char *const jobs[] = {"SLURM_JOB_ID", "PMIX_NAMESPACE", "PMI_JOBID", "PBS_JOBID",
		"LSB_JOBID", "TORCHELASTIC_RUN_ID"};
	const char *step = getenv("SLURM_STEP_ID");
	const char *world = getenv("WORLD_SIZE"), *local = getenv("LOCAL_WORLD_SIZE");

	for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
		const char *job = getenv(jobs[i]);

		if (!job || !is_plain(job) || strcmp(job, "none") == 0)
			continue;
		/* a job of Slurm's may start several programs, one after the other or at once */
		if (i == 0 && step && is_plain(step))
			snprintf(name, size, "%s.%s", job, step);
		else
			snprintf(name, size, "%s", job);
		return true;
	}
	/* all on one node: they have their parent in common */
	if (world && local && strcmp(world, local) == 0) {
		snprintf(name, size, "%ld", (long)getppid());
		return true;
	}
	return false;
}
