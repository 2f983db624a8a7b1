/* The table of calls of pmanalyze comm, which the report has of runs that do nothing else. */
#ifndef ANALYSES_COMM_TABLE_H
#define ANALYSES_COMM_TABLE_H

#include "base/table.h"
#include "comm.h"

/* A row for each function and size of a communicator; times in ns, bandwidths in GB/s. */
void comm_call_table(struct print_table *table, const struct comm *comm);

#endif
