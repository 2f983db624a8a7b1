/* NCCL as far as this project calls it. */
#ifndef SOFTGPU_NCCL_H
#define SOFTGPU_NCCL_H

#include "softgpu_api.h"

#define NCCL_UNIQUE_ID_BYTES 128
#define NCCL_MAJOR 2
#define NCCL_MINOR 28
#define NCCL_PATCH 0
#define NCCL_VERSION(major, minor, patch) ((major) * 10000 + (minor) * 100 + (patch))
#define NCCL_VERSION_CODE NCCL_VERSION(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH)
#define NCCL_SPLIT_NOCOLOR (-1)

#endif
