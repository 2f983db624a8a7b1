/*
 * Where a kernel's arguments are: the driver says it of each kernel, from CUDA 12.4 on. Read once; without
 * the driver's answer nothing is guessed.
 */
#ifndef LAYOUT_H
#define LAYOUT_H

#include <stdint.h>

/* What a kernel is launched by. */
enum pmh_function {
	PMH_HOST_FUNCTION, /* the host's function of that name, as nvcc registers it */
	PMH_CU_FUNCTION,
	PMH_CU_KERNEL,
};

struct pmh_layout {
	uint32_t count; /* 0: not known, or it has none */
	struct pmh_param {
		uint16_t offset, byte_count;
	} params[];
};

/*
 * Asks the driver. Never NULL but where it cannot be asked now: an error of the program is pending, which a
 * question could replace. What it returns stays. errno and the program's last error stay. Any thread.
 */
const struct pmh_layout *pmh_layout_read(const void *function, enum pmh_function kind);

#endif
