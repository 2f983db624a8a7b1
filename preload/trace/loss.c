/*
 * What is not recorded: counted in the trace's header at once, so that a process that is killed leaves it
 * too.
 */
#include "file.h"
#include "write.h"

static const uint8_t loss_classes[] = {
#define PM_FIELD(name, loss_class, words) PM_LOSS_OF_##loss_class,
	PM_FORMAT_LOSSES(PM_FIELD)
#undef PM_FIELD
};

void pmh_lose(enum pm_loss cause, uint64_t count)
{
	if (!pmh_file.header || !count)
		return;
	__atomic_fetch_add(&pmh_file.header->losses[cause], count, __ATOMIC_RELAXED);
	if (loss_classes[cause] == PM_LOSS_OF_RECORDS)
		__atomic_fetch_add(&pmh_file.header->lost_records, count, __ATOMIC_RELAXED);
}

uint64_t pmh_lost(enum pm_loss cause)
{
	return pmh_file.header ? __atomic_load_n(&pmh_file.header->losses[cause], __ATOMIC_RELAXED) : 0;
}

uint64_t pmh_lost_of(enum pm_loss_class loss_class)
{
	uint64_t sum = 0;

	for (unsigned cause = 0; cause < PM_LOSS_COUNT; cause++)
		if (loss_classes[cause] == loss_class)
			sum += pmh_lost((enum pm_loss)cause);
	return sum;
}
