/* The commands of pmfit. */
#ifndef CMDS_CMD_H
#define CMDS_CMD_H

#include "base/command.h"

extern const struct command cmd_fit, cmd_path, cmd_baselines, cmd_predict, cmd_sweep, cmd_search, cmd_compare,
	cmd_guide, cmd_strategy, cmd_transfer, cmd_html, cmd_study, cmd_step, cmd_auto, cmd_advise, cmd_export, cmd_next;

#endif
