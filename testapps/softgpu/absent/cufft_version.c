/* cuFFT's version, of CUDA 13.0: JAX takes no device where it does not get one. The library has nothing else.
 */
#include <stddef.h>

enum { SUCCESS = 0, INVALID_VALUE = 4 };

int cufftGetVersion(int *version);

int cufftGetVersion(int *version)
{
	if (version == NULL)
		return INVALID_VALUE;
	*version = 12000;
	return SUCCESS;
}
