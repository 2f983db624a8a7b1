/*
 * Communication by logs of NCCL Inspector, as comm.h has it of traces. The logs have how long a collective
 * took on each rank, and no times that ranks share; but a collective ends on all ranks at about the same
 * time, so the last rank to arrive has the shortest: what others take longer is waiting.
 */
#ifndef ANALYSES_COMM_INSPECTOR_H
#define ANALYSES_COMM_INSPECTOR_H

#include "comm.h"
#include "import/inspector_log.h"

/* `skip`: of each row the first units. Waiting is known of units that all ranks have. The log must stay, and
 * is put in order; comm_free frees the rest. */
void comm_inspector_find(struct inspector_log *log, size_t skip, struct comm *comm);

#endif
