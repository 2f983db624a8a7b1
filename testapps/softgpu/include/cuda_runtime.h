/* In C, the runtime's API and no more. */
#include "cuda_runtime_api.h"
