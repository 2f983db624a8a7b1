/* cuProfilerStart and cuProfilerStop are declared with the driver API. */
#include "cuda.h"
