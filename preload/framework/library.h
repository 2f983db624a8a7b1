/*
 * Libraries of frameworks that are in the process.
 */
#ifndef LIBRARY_H
#define LIBRARY_H

/* A handle of dlopen's of the library with that name (without folders), which stays loaded from then on;
 * NULL: it is not in the process. Takes the loader's lock, so no lock of ours may be held. */
void *pmh_library_loaded(const char *name);

#endif
