/* What the commands do with their arguments: see cmd.h. */
#include "cmd.h"

bool cmd_form_option(enum print_form *form, int key)
{
	if (key != CMD_JSON && key != CMD_CSV)
		return false;
	*form = key == CMD_JSON ? PRINT_JSON : PRINT_CSV;
	return true;
}
