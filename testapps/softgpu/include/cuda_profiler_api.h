/* cudaProfilerStart and cudaProfilerStop are declared with the runtime. */
#include "cuda_runtime_api.h"
