/*
 * libc's own dlsym, found without any look-up, because dlsym is hooked. Async-signal-safe; any thread.
 */
#ifndef LIBC_DLSYM_H
#define LIBC_DLSYM_H

/* libc's dlsym, whoever else intercepts it: RTLD_NEXT means what comes after this library. */
void *pmh_libc_dlsym(void *handle, const char *name);

/* Those that come behind this library, libc's or another interposer's: for the host. Set once pmh_find_dlsym
 * was called. */
extern __attribute__((visibility("hidden"))) void *(*pmh_real_dlsym)(void *, const char *);
extern __attribute__((visibility("hidden"))) void *(*pmh_real_dlvsym)(void *, const char *, const char *);
void pmh_find_dlsym(void);

#endif
