/* Checks what the pages of a job's ranks say: from how many steps there are figures, and when a silent rank
 * is gone. */
#include "analyses/fleet/fleet.h"
#include "analyses/fleet/recent.h"
#include "check.h"
#include "trace_builder.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A look at the page of a rank of another host, which began so many seconds ago and has been silent since. */
static void look(const struct pm_live *page, int64_t silent_s, struct fleet *fleet)
{
	char path[] = "/tmp/test_fleet_ranks.XXXXXX", *paths[] = {path};
	struct builder builder;
	int file = mkstemp(path);

	if (file < 0)
		err(1, "%s", path);
	close(file);
	builder_init(&builder);
	builder.killed = true;
	builder.live = page;
	builder.header.real_ns = (uint64_t)((int64_t)time(NULL) - silent_s) * 1000000000;
	strcpy(builder.header.host, "elsewhere");
	builder_finish(&builder);
	builder_save(&builder, path);
	builder_free(&builder);
	memset(fleet, 0, sizeof(*fleet));
	fleet_look(fleet, paths, 1);
	unlink(path);
	CHECK(fleet->count == 1, "%zu ranks", fleet->count);
}

static enum fleet_state state_after(int64_t silent_s)
{
	const struct pm_live page = {.magic = PM_LIVE_MAGIC};
	enum fleet_state state;
	struct fleet fleet;

	look(&page, silent_s, &fleet);
	state = fleet.ranks[0]->state;
	fleet_free(&fleet);
	return state;
}

/* A step's computing, of a rank with so many steps of 2 ms of kernels each. */
static double compute_s(uint64_t steps)
{
	const struct pm_live page = {
		.magic = PM_LIVE_MAGIC, .steps = steps, .timed_steps = steps, .device_ns = {2000000 * steps}};
	struct fleet fleet;
	double seconds;

	look(&page, 0, &fleet);
	seconds = fleet.ranks[0]->compute_s;
	fleet_free(&fleet);
	return seconds;
}

/* A step's time before the last twenty, which are slower. */
static double before_ns(uint64_t steps)
{
	struct pm_live page = {.magic = PM_LIVE_MAGIC, .steps = steps};
	struct recent recent;
	struct fleet fleet;
	double ns;

	for (uint64_t i = 0; i < steps; i++)
		page.step_ns[i] = i + RECENT_LAST < steps ? 10000000 : 15000000;
	look(&page, 0, &fleet);
	recent_of_fleet(&fleet, "job", &recent);
	ns = recent.before_ns;
	recent_free(&recent);
	fleet_free(&fleet);
	return ns;
}

int main(void)
{
	double found;

	CHECK(state_after(45 * 60) == FLEET_RUNS, "silent for 45 minutes: it may compile, or evaluate");
	CHECK(state_after(90 * 60) == FLEET_GONE, "silent for 90 minutes");
	found = compute_s(15);
	CHECK(fabs(found - 0.002) < 1e-9, "of 15 steps: %g s", found);
	found = compute_s(7);
	CHECK(isnan(found), "of 7 steps: %g s", found);
	found = before_ns(31);
	CHECK(found == 1e7, "of 11 steps before the last: %g ns", found);
	found = before_ns(27);
	CHECK(isnan(found), "of 7 steps before the last: %g ns", found);
	return check_end();
}
