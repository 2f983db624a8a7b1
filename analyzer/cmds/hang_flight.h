/* pmanalyze hang where its paths are dumps of PyTorch's Flight Recorder. */
#ifndef CMDS_HANG_FLIGHT_H
#define CMDS_HANG_FLIGHT_H

#include "base/table.h"

#include <stdbool.h>
#include <stddef.h>

/* Prints what the dumps tell; answers the exit status, 1 where one could not be read. `found`: a rank is
 * behind, or ranks have entered different collectives. */
int hang_flight_run(char **paths, size_t path_count, enum print_form form, bool *found);

/* Puts the paths of dumps, and of folders of such, before the others; answers how many they are. */
size_t hang_flight_divide(char **paths, size_t path_count);

/* The same as hang_flight_run after a report on traces, or as a member `flight_recorder` of its object. */
int hang_flight_beside(char **paths, size_t path_count, enum print_form form, cJSON *object);

#endif
