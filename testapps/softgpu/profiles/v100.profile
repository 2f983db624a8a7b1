# Device profile for softgpu's model clock: Tesla V100 SXM2 16 GB.
# Peak rates, memory and links: NVIDIA Tesla V100 GPU Accelerator data sheet (2018): 15.7 TFLOPS FP32, 7.8 FP64, 125 tensor, 900 GB/s,
# NVLink 300 GB/s (both directions of six links together), PCIe 3.0 x16.
# Latencies, and how much of a bus or link a program gets of its data sheet's rate, are assumptions.
# A line is a name and a value; the unit is in the name. tf32 and fp16 are the matrix unit's; left out: as fp32.
name                           Tesla V100-SXM2-16GB
memory_gib                     16
multiprocessors                80
capability_major               7
capability_minor               0
fp32_tflops                    15.7
fp16_tflops                    125
fp64_tflops                    7.8
memory_gb_s                    900
memory_bus_bits                4096

copy_to_device_gb_s            12
copy_to_host_gb_s              12.5
pageable_efficiency            0.5
copy_latency_us                1.5
launch_latency_us              4.5
kernel_floor_us                2.2
bytes_per_thread               12   # of kernels that nothing is known about: two reads and a write of 4 bytes

gpus_per_node                  8
# NVLink, a direction: half of 300 GB/s
device_link_latency_us         4
device_link_gb_s               130
# EDR InfiniBand: 100 Gbit/s = 12.5 GB/s
network_latency_us             8
network_gb_s                   11

# Efficiencies and half sizes are assumptions, not from a data sheet: they follow the order that published
# microbenchmarks of such devices report (large matrix products and convolutions reach most of the peak, work that
# is bound by memory most of the bandwidth, depthwise convolutions little). Work of the size `half` reaches half of it.
convolution_efficiency         0.60
convolution_half_gflop         0.0283
convolution_memory_efficiency  0.75
convolution_half_mb            0.675
depthwise_efficiency           0.16
depthwise_half_gflop           0.01
depthwise_memory_efficiency    0.43
depthwise_half_mb              0.45
product_efficiency             0.85
product_half_gflop             0.04
product_memory_efficiency      0.80
product_half_mb                0.72
vector_efficiency              0.40
vector_half_gflop              0
vector_memory_efficiency       0.875
# Work bound by memory: the efficiency, the least time (as a part of kernel_floor_us) and a thread's rate are those measured on an H200. The L2's
# size is a data sheet's, its rate an assumption: as many bytes a clock and multiprocessor as the H200's.
vector_floor_us                1.47
l2_mb                          6
l2_gb_s                        2600
thread_mb_s                    60
multiprocessor_threads         2048
vector_half_mb                 0
# Of products and convolutions: the efficiencies measured on an H200, at the rates of this GPU.
curves                         h200
