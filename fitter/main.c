/* pmfit: the table of commands. What a command does is in cmds/COMMAND.c. */
#include "cmds/cmd.h"

static const struct command *const commands[] = {&cmd_sweep, &cmd_auto, &cmd_step, &cmd_next, &cmd_fit,
	&cmd_path, &cmd_search, &cmd_baselines, &cmd_compare, &cmd_predict, &cmd_export, &cmd_guide,
	&cmd_strategy, &cmd_transfer, &cmd_advise, &cmd_html, &cmd_study};

static const struct program program = {
	.name = "pmfit",
	.about = "pmfit: models of a training program's time, from measured runs\n"
		 "\n"
		 "usage: pmfit COMMAND [OPTION]... TABLE.csv\n"
		 "\n"
		 "The TABLE has a row per measured run: hyperparameters, number of GPUs, time. The "
		 "model is t = (sum a*I^p + categorical) * product E^q + C.\n"
		 "\n",
	.version = PM_PROJECT_VERSION,
	.build = PM_BUILD,
	.commands = commands,
	.command_count = sizeof(commands) / sizeof(*commands),
};

int main(int argument_count, char **arguments)
{
	return command_main(&program, argument_count, arguments);
}
