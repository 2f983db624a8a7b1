/* A library that is linked to such a one, as Python's extensions are. */
int ask_runtime(void);
int outer(void);

int outer(void)
{
	return ask_runtime();
}
