# Device profile for softgpu's model clock: B200 SXM 180 GB.
# Peak rates, memory and links: NVIDIA HGX B200 data sheet, an eighth of its eight GPUs: 75 TFLOPS FP32, 37 FP64, TF32 2250, FP16 4500 and
# FP8 9000 with sparsity, so half of those dense; 8 TB/s, NVLink 1800 GB/s (both directions together), PCIe 5.0 x16.
# Latencies, and how much of a bus or link a program gets of its data sheet's rate, are assumptions.
# A line is a name and a value; the unit is in the name. tf32 and fp16 are the matrix unit's; left out: as fp32.
name                           NVIDIA B200
memory_gib                     180
multiprocessors                148
capability_major               10
capability_minor               0
fp32_tflops                    75
tf32_tflops                    1125
fp16_tflops                    2250
fp8_tflops                     4500
fp64_tflops                    37
memory_gb_s                    8000
memory_bus_bits                8192

copy_to_device_gb_s            55
copy_to_host_gb_s              55
pageable_efficiency            0.31
pageable_to_host_efficiency    0.25
pageable_latency_us            10
copy_latency_us                2.4
launch_latency_us              3.5
kernel_floor_us                1.8
bytes_per_thread               12   # of kernels that nothing is known about: two reads and a write of 4 bytes

gpus_per_node                  8
# NVLink, a direction: half of 1800 GB/s
device_link_latency_us         3
device_link_gb_s               780
# NDR InfiniBand: 400 Gbit/s = 50 GB/s
network_latency_us             6
network_gb_s                   44

# Efficiencies and half sizes are assumptions, not from a data sheet: they follow the order that published
# microbenchmarks of such devices report (large matrix products and convolutions reach most of the peak, work that
# is bound by memory most of the bandwidth, depthwise convolutions little). Work of the size `half` reaches half of it.
convolution_efficiency         0.60
convolution_half_gflop         0.135
convolution_memory_efficiency  0.75
convolution_half_mb            6
depthwise_efficiency           0.16
depthwise_half_gflop           0.01
depthwise_memory_efficiency    0.43
depthwise_half_mb              4
product_efficiency             0.85
product_half_gflop             0.191
product_memory_efficiency      0.80
product_half_mb                6.4
vector_efficiency              0.40
vector_half_gflop              0
vector_memory_efficiency       0.875
# Work bound by memory: the efficiency, the least time (as a part of kernel_floor_us) and a thread's rate are those measured on an H200. The L2's
# size is a data sheet's, its rate an assumption: as far above the memory's rate as the H200's.
vector_floor_us                1.2
l2_mb                          126
l2_gb_s                        10000
thread_mb_s                    60
multiprocessor_threads         2048
vector_half_mb                 0
# Of products and convolutions: the efficiencies measured on an H200, at the rates of this GPU.
curves                         h200
