/* pmanalyze: the table of commands. What a command does is in cmds/COMMAND.c. */
#include "cmds/cmd.h"

static const struct command *const commands[] = {&cmd_report, &cmd_layers, &cmd_kernels, &cmd_balance,
	&cmd_comm, &cmd_path, &cmd_whatif, &cmd_slowdown, &cmd_model, &cmd_roofline, &cmd_compare, &cmd_baseline, &cmd_html,
	&cmd_hang, &cmd_memory, &cmd_top, &cmd_metrics, &cmd_agent, &cmd_snap, &cmd_window, &cmd_arrivals, &cmd_reduce, &cmd_dump,
	&cmd_export};

static const struct program program = {
	.name = "pmanalyze",
	.about = "pmanalyze: where the time of distributed training goes\n"
		 "\n"
		 "usage: pmanalyze COMMAND [OPTION]... RUN...\n"
		 "\n"
		 "A RUN is a folder with the *.pmtrace files that libpmhook.so wrote, one per "
		 "process, or the files themselves. Traces of other profilers are read too: "
		 "Kineto (PyTorch) and other Chrome-trace JSON, JAX's profiler, Ascend's, "
		 "rocprofv3's databases, pipeline data of AMD's Primus, and Nsight Systems' "
		 "SQLite exports.\n"
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
