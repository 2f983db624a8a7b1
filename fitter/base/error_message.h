/* The sentences with which the library answers. */
#ifndef SAY_H
#define SAY_H

/* A sentence that is valid until the thread's next; no argument may be one. */
__attribute__((format(printf, 1, 2))) const char *say(const char *format, ...);

#endif
