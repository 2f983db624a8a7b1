/* Progress where stderr is a file: nothing before a line is due, then whole lines without control characters.
 */
#include "base/terminal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What is in the file now; a zero after. */
static void read_all(FILE *file, char *text, size_t size)
{
	rewind(file);
	text[fread(text, 1, size - 1, file)] = '\0';
}

int main(void)
{
	FILE *file = tmpfile();
	char early[100], late[100];

	if (!file || dup2(fileno(file), STDERR_FILENO) < 0)
		return 1;
	pm_terminal_line_every(3600);
	pm_terminal_progress("%d%%", 10);
	pm_terminal_progress("%d%%", 20);
	pm_terminal_clear();
	read_all(file, early, sizeof(early));
	pm_terminal_line_every(0);
	pm_terminal_progress("%d%%", 30);
	pm_terminal_progress("%d%%", 40);
	pm_terminal_clear();
	read_all(file, late, sizeof(late));
	if (*early || strcmp(late, "30%\n40%\n") != 0) {
		printf("before a line is due '%s', then '%s'\n", early, late);
		return 1;
	}
	return 0;
}
