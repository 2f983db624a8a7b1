/* cuSPARSE's version, of CUDA 13.0: JAX takes no device where it does not get one. The library has nothing
 * else. */
#include <stddef.h>

enum { SUCCESS = 0, INVALID_VALUE = 3 };

int cusparseGetProperty(unsigned part, int *value);

/* major, minor, patch */
int cusparseGetProperty(unsigned part, int *value)
{
	static const int parts[] = {12, 6, 3};

	if (part >= sizeof(parts) / sizeof(parts[0]) || value == NULL)
		return INVALID_VALUE;
	*value = parts[part];
	return SUCCESS;
}
