/*
 * Libraries that take what the hook needs too: static thread-local storage, of which the loader has little to
 * spare.
 */
#include <link.h>

#define EXPORTED __attribute__((visibility("default")))

#ifdef AUDIT
EXPORTED unsigned la_version(unsigned version);
EXPORTED unsigned la_version(unsigned version)
{
	return version;
}
#else
EXPORTED char *storage_end(void);

static _Thread_local char storage[512] __attribute__((tls_model("initial-exec")));

EXPORTED char *storage_end(void)
{
	return storage + sizeof storage;
}
#endif
