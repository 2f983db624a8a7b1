/* cuMemset*: fills of one and two dimensions, with elements of one, two and four bytes; widths count
 * elements. */
#include "cuda_private.h"

static CUresult fill(CUdeviceptr to, size_t pitch, unsigned value, unsigned element_bytes, size_t width,
	size_t height, CUstream stream, enum sg_wait wait)
{
	struct sg_box box = {.to = sg_pointer(to), .to_pitch = pitch, .height = height, .depth = 1};

	if (__builtin_mul_overflow(width, (size_t)element_bytes, &box.width))
		return CUDA_ERROR_INVALID_VALUE;
	return sg_driver_result(sg_fill(&box, value, element_bytes, stream, wait));
}

DRIVER_OWN_PTDS(cuMemsetD8_v2, (CUdeviceptr, dstDevice, unsigned char, uc, size_t, N),
	CUDA_ERROR_INVALID_VALUE, fill(dstDevice, 0, uc, 1, N, 1, NULL, SG_SYNC))
DRIVER_OWN_PTSZ(cuMemsetD8Async, (CUdeviceptr, dstDevice, unsigned char, uc, size_t, N, CUstream, hStream),
	CUDA_ERROR_INVALID_VALUE, fill(dstDevice, 0, uc, 1, N, 1, hStream, SG_ASYNC))
DRIVER_OWN_PTDS(cuMemsetD2D8_v2,
	(CUdeviceptr, dstDevice, size_t, dstPitch, unsigned char, uc, size_t, Width, size_t, Height),
	CUDA_ERROR_INVALID_VALUE, fill(dstDevice, dstPitch, uc, 1, Width, Height, NULL, SG_SYNC))
DRIVER_OWN_PTSZ(cuMemsetD2D8Async,
	(CUdeviceptr, dstDevice, size_t, dstPitch, unsigned char, uc, size_t, Width, size_t, Height, CUstream,
		hStream),
	CUDA_ERROR_INVALID_VALUE, fill(dstDevice, dstPitch, uc, 1, Width, Height, hStream, SG_ASYNC))
DRIVER_OWN_PTDS(cuMemsetD16_v2, (CUdeviceptr, dstDevice, unsigned short, us, size_t, N),
	CUDA_ERROR_INVALID_VALUE, fill(dstDevice, 0, us, 2, N, 1, NULL, SG_SYNC))
DRIVER_OWN_PTSZ(cuMemsetD16Async, (CUdeviceptr, dstDevice, unsigned short, us, size_t, N, CUstream, hStream),
	CUDA_ERROR_INVALID_VALUE, fill(dstDevice, 0, us, 2, N, 1, hStream, SG_ASYNC))
DRIVER_OWN_PTDS(cuMemsetD2D16_v2,
	(CUdeviceptr, dstDevice, size_t, dstPitch, unsigned short, us, size_t, Width, size_t, Height),
	CUDA_ERROR_INVALID_VALUE, fill(dstDevice, dstPitch, us, 2, Width, Height, NULL, SG_SYNC))
DRIVER_OWN_PTSZ(cuMemsetD2D16Async,
	(CUdeviceptr, dstDevice, size_t, dstPitch, unsigned short, us, size_t, Width, size_t, Height,
		CUstream, hStream),
	CUDA_ERROR_INVALID_VALUE, fill(dstDevice, dstPitch, us, 2, Width, Height, hStream, SG_ASYNC))
DRIVER_OWN_PTDS(cuMemsetD32_v2, (CUdeviceptr, dstDevice, unsigned int, ui, size_t, N),
	CUDA_ERROR_INVALID_VALUE, fill(dstDevice, 0, ui, 4, N, 1, NULL, SG_SYNC))
DRIVER_OWN_PTSZ(cuMemsetD32Async, (CUdeviceptr, dstDevice, unsigned int, ui, size_t, N, CUstream, hStream),
	CUDA_ERROR_INVALID_VALUE, fill(dstDevice, 0, ui, 4, N, 1, hStream, SG_ASYNC))
DRIVER_OWN_PTDS(cuMemsetD2D32_v2,
	(CUdeviceptr, dstDevice, size_t, dstPitch, unsigned int, ui, size_t, Width, size_t, Height),
	CUDA_ERROR_INVALID_VALUE, fill(dstDevice, dstPitch, ui, 4, Width, Height, NULL, SG_SYNC))
DRIVER_OWN_PTSZ(cuMemsetD2D32Async,
	(CUdeviceptr, dstDevice, size_t, dstPitch, unsigned int, ui, size_t, Width, size_t, Height, CUstream,
		hStream),
	CUDA_ERROR_INVALID_VALUE, fill(dstDevice, dstPitch, ui, 4, Width, Height, hStream, SG_ASYNC))
