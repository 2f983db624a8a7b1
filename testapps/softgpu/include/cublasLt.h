/* cuBLASLt as far as this project calls it. */
#ifndef SOFTGPU_CUBLASLT_H
#define SOFTGPU_CUBLASLT_H

#include "cublas_v2.h"

#endif
