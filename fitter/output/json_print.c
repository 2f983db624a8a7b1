/* JSON as the program's answer: see json_print.h. */
#include "json_print.h"
#include "base/text.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>

void json_print(cJSON *root)
{
	char *text = pm_text_json(cJSON_Print(root));

	if (!text)
		errx(1, "out of memory");
	puts(text);
	free(text);
	cJSON_Delete(root);
}
