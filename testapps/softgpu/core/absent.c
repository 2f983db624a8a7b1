/* Says which function was called that softgpu does not have. */
#include "absent.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sg_absent(const char *name, _Atomic int *said)
{
	const char *setting = getenv("SOFTGPU_ABSENT");

	if (atomic_exchange(said, 1) == 0 && (setting == NULL || strcmp(setting, "off") != 0))
		fprintf(stderr, "softgpu: %s is not supported\n", name);
}
