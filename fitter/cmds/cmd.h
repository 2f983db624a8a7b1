/* The commands of pmfit, and what they share beyond base/command.h. */
#ifndef CMDS_CMD_H
#define CMDS_CMD_H

#include "base/command.h"

extern const struct command cmd_fit, cmd_path, cmd_baselines, cmd_predict, cmd_sweep, cmd_search, cmd_compare,
	cmd_guide, cmd_strategy, cmd_html, cmd_study, cmd_step, cmd_auto, cmd_advise;

/* A whole number or a number of at least `least` from an option's argument, or cmd_usage. */
unsigned long cmd_count(
	const struct command *command, const char *option, const char *text, unsigned long least);
double cmd_number(const struct command *command, const char *option, const char *text, double least);

#endif
