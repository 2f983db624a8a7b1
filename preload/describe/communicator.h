/*
 * NCCL's communicators. Any thread.
 */
#ifndef COMMUNICATOR_H
#define COMMUNICATOR_H

#include <stdint.h>

#include "pm_abi.h"
#include "pm_hooks.h"

uint32_t pmh_comm(ncclComm_t comm); /* number, 0: not known */
void pmh_comm_init(ncclComm_t *comm, int size, const ncclUniqueId *ids, int id_count, int rank);
void pmh_comm_init_all(ncclComm_t *comms, int count, const int *devices);
void pmh_comm_split(ncclComm_t parent, int colour, ncclComm_t *comm);
void pmh_comm_shrink(ncclComm_t parent, const int *excluded, int excluded_count, ncclComm_t *comm);

/* Ordinal of a call among those of its function on the communicator, from 1; the same on all ranks. */
uint32_t pmh_comm_sequence(uint32_t communicator, enum pm_call call);
void pmh_comm_forget(void);

#endif
