# Device profile for softgpu's model clock: A100 SXM4 40 GB.
# Peak rates, memory and links: NVIDIA A100 Tensor Core GPU data sheet: 19.5 TFLOPS FP32, 156 TF32, 312 FP16, 9.7 FP64 (dense),
# 1555 GB/s, NVLink 600 GB/s (both directions together), PCIe 4.0 x16.
# Latencies, and how much of a bus or link a program gets of its data sheet's rate, are assumptions.
# A line is a name and a value; the unit is in the name. tf32 and fp16 are the matrix unit's; left out: as fp32.
name                           NVIDIA A100-SXM4-40GB
memory_gib                     40
multiprocessors                108
capability_major               8
capability_minor               0
fp32_tflops                    19.5
tf32_tflops                    156
fp16_tflops                    312
fp64_tflops                    9.7
memory_gb_s                    1555
memory_bus_bits                5120

copy_to_device_gb_s            24
copy_to_host_gb_s              24
pageable_efficiency            0.5
copy_latency_us                1.5
launch_latency_us              4
kernel_floor_us                2
bytes_per_thread               12   # of kernels that nothing is known about: two reads and a write of 4 bytes

gpus_per_node                  8
# NVLink, a direction: half of 600 GB/s
device_link_latency_us         3.5
device_link_gb_s               260
# HDR InfiniBand: 200 Gbit/s = 25 GB/s
network_latency_us             7
network_gb_s                   22

# Efficiencies and half sizes are assumptions, not from a data sheet: they follow the order that published
# microbenchmarks of such devices report (large matrix products and convolutions reach most of the peak, work that
# is bound by memory most of the bandwidth, depthwise convolutions little). Work of the size `half` reaches half of it.
convolution_efficiency         0.60
convolution_half_gflop         0.0351
convolution_memory_efficiency  0.75
convolution_half_mb            1.17
depthwise_efficiency           0.16
depthwise_half_gflop           0.01
depthwise_memory_efficiency    0.43
depthwise_half_mb              0.777
product_efficiency             0.85
product_half_gflop             0.0497
product_memory_efficiency      0.80
product_half_mb                1.24
vector_efficiency              0.40
vector_half_gflop              0
vector_memory_efficiency       0.875
# Work bound by memory: the efficiency, the least time (as a part of kernel_floor_us) and a thread's rate are those measured on an H200. The L2's
# size is a data sheet's, its rate an assumption: as many bytes a clock and multiprocessor as the H200's.
vector_floor_us                1.33
l2_mb                          40
l2_gb_s                        3200
thread_mb_s                    60
multiprocessor_threads         2048
vector_half_mb                 0
# Of products and convolutions: the efficiencies measured on an H200, at the rates of this GPU.
curves                         h200
