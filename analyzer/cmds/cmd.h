/* The commands of pmanalyze, and what they share beyond base/command.h. */
#ifndef CMDS_CMD_H
#define CMDS_CMD_H

#include "base/command.h"
#include "base/table.h"

extern const struct command cmd_report, cmd_layers, cmd_kernels, cmd_balance, cmd_comm, cmd_dump, cmd_window,
	cmd_arrivals, cmd_html, cmd_export, cmd_path, cmd_whatif, cmd_model, cmd_compare, cmd_roofline,
	cmd_reduce, cmd_slowdown, cmd_baseline, cmd_hang, cmd_top, cmd_metrics, cmd_snap, cmd_agent, cmd_memory;

/* Keys of options that several commands have; each says in its own row what its JSON and CSV are. */
enum {
	CMD_JSON = OPTION_SHARED,
	CMD_CSV,
	CMD_OPTION_KEYS, /* further shared keys begin here */
};

/* True if the key is CMD_JSON or CMD_CSV, of which command_main lets one pass. */
bool cmd_form_option(enum print_form *form, int key);

#endif
