/* A library of a package, beside which a wheel has the fake compiler: see test_nvrtc.c. */
int package(void);

int package(void)
{
	return 0;
}
