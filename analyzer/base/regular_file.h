/* Files that are named by users or found in folders, and may be pipes, which would be waited for. */
#ifndef BASE_REGULAR_FILE_H
#define BASE_REGULAR_FILE_H

/* Opens a file for reading. Its descriptor, which the caller closes, or a negative number: of a pipe, a
 * socket or a device at once. */
int regular_file_open(const char *path);

/* What the negative number says, for a sentence that begins with the path. */
const char *regular_file_trouble(int status);

/* NULL: it can be opened so; else what is wrong. */
const char *regular_file_check(const char *path);

#endif
