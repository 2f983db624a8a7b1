/* JSON as the answer of a command. */
#ifndef JSON_PRINT_H
#define JSON_PRINT_H

#include <cjson/cJSON.h>

/* Prints it on the standard output, and deletes it. Ends the program without memory. */
void json_print(cJSON *root);

#endif
