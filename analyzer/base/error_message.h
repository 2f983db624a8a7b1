/* What the library answers where something is wrong: one sentence of a thread. */
#ifndef BASE_ERROR_MESSAGE_H
#define BASE_ERROR_MESSAGE_H

/* A sentence that is valid until the thread's next; no argument may be one. */
__attribute__((format(printf, 1, 2))) const char *error_message(const char *format, ...);

#endif
