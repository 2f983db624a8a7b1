/*
 * Preloaded: a Python of a version that nobody knows yet.
 */
const char *Py_GetVersion(void);

__attribute__((visibility("default"))) const char *Py_GetVersion(void)
{
	return "3.99.1 (of another day) [C]";
}
