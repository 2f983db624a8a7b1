# Device profile for softgpu's model clock: H200 SXM 141 GB.
# Peak rates, memory and links: NVIDIA H200 Tensor Core GPU data sheet: 67 TFLOPS FP32, 34 FP64, TF32 989, FP16 1979 and FP8 3958 with sparsity,
# so half of those dense; 4.8 TB/s, NVLink 900 GB/s (both directions together), PCIe 5.0 x16.
# Latencies, and how much of a bus or link a program gets of its data sheet's rate, are assumptions.
# A line is a name and a value; the unit is in the name. tf32, fp16 and fp8 are the matrix unit's; left out: as fp32, fp8 as fp16.
name                           NVIDIA H200
memory_gib                     140
multiprocessors                132
capability_major               9
capability_minor               0
fp32_tflops                    67
tf32_tflops                    494.5
fp16_tflops                    989.5
fp8_tflops                     1979
fp64_tflops                    34
memory_gb_s                    4800
memory_bus_bits                6144

# measured: copies of 4 KB to 256 MB
copy_to_device_gb_s            55.3
copy_to_host_gb_s              55.2
pageable_efficiency            0.31
pageable_to_host_efficiency    0.25
pageable_latency_us            10
copy_latency_us                2.4
launch_latency_us              3.5
kernel_floor_us                1.8
bytes_per_thread               12   # of kernels that nothing is known about: two reads and a write of 4 bytes

gpus_per_node                  8
# NVLink, a direction: half of 900 GB/s
device_link_latency_us         3
device_link_gb_s               390
# NDR InfiniBand: 400 Gbit/s = 50 GB/s
network_latency_us             6
network_gb_s                   44

# Efficiencies and half sizes are assumptions, not from a data sheet: they follow the order that published
# microbenchmarks of such devices report (large matrix products and convolutions reach most of the peak, work that
# is bound by memory most of the bandwidth, depthwise convolutions little). Work of the size `half` reaches half of it.
convolution_efficiency         0.60
convolution_half_gflop         0.121
convolution_memory_efficiency  0.75
convolution_half_mb            3.6
depthwise_efficiency           0.16
depthwise_half_gflop           0.01
depthwise_memory_efficiency    0.43
depthwise_half_mb              2.4
product_efficiency             0.85
product_half_gflop             0.171
product_memory_efficiency      0.80
product_half_mb                3.84
vector_efficiency              0.40
vector_half_gflop              0
vector_memory_efficiency       0.875
# Work bound by memory, measured on an H200 (tests/gpu/nets.py, PyTorch 2.11, 2026-11-27): the least time of a kernel that reads and writes, the L2,
# which is faster, and what a thread gets, which binds kernels of few blocks.
vector_floor_us                1.2
l2_mb                          50
l2_gb_s                        5500
thread_mb_s                    60
multiprocessor_threads         2048
vector_half_mb                 0
# Of products and convolutions: fitted to measurements of an H200 (PyTorch 2.11, CUDA 13.0, cuDNN 9.19, 2026-11-27) by softgpu_fit.
curves                         h200
near                           h200
