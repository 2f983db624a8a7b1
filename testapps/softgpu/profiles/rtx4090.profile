# Device profile for softgpu's model clock: GeForce RTX 4090 24 GB.
# Peak rates, memory and bus: NVIDIA Ada GPU Architecture whitepaper, table for the RTX 4090: 82.6 TFLOPS FP32, TF32 82.6, FP16 and FP8 with
# FP32 sums 165.2 and 330.3 (dense), FP64 1.29; 1008 GB/s, PCIe 4.0 x16.
# Latencies, and how much of a bus or link a program gets of its data sheet's rate, are assumptions.
# A line is a name and a value; the unit is in the name. tf32 and fp16 are the matrix unit's; left out: as fp32.
name                           NVIDIA GeForce RTX 4090
memory_gib                     24
multiprocessors                128
capability_major               8
capability_minor               9
fp32_tflops                    82.6
tf32_tflops                    82.6
fp16_tflops                    165.2
fp8_tflops                     330.3
fp64_tflops                    1.29
memory_gb_s                    1008
memory_bus_bits                384

copy_to_device_gb_s            25
copy_to_host_gb_s              25
pageable_efficiency            0.5
copy_latency_us                1.5
launch_latency_us              4
kernel_floor_us                2
bytes_per_thread               12   # of kernels that nothing is known about: two reads and a write of 4 bytes

gpus_per_node                  4
# PCIe 4.0 through the host: 31.5 GB/s by the standard, less what its packets take
device_link_latency_us         10
device_link_gb_s               20
# 10 gigabit Ethernet: 1.25 GB/s
network_latency_us             30
network_gb_s                   1.1

# Efficiencies and half sizes are assumptions, not from a data sheet: they follow the order that published
# microbenchmarks of such devices report (large matrix products and convolutions reach most of the peak, work that
# is bound by memory most of the bandwidth, depthwise convolutions little). Work of the size `half` reaches half of it.
convolution_efficiency         0.60
convolution_half_gflop         0.149
convolution_memory_efficiency  0.75
convolution_half_mb            0.756
depthwise_efficiency           0.16
depthwise_half_gflop           0.01
depthwise_memory_efficiency    0.43
depthwise_half_mb              0.504
product_efficiency             0.85
product_half_gflop             0.211
product_memory_efficiency      0.80
product_half_mb                0.806
vector_efficiency              0.40
vector_half_gflop              0
vector_memory_efficiency       0.875
# Work bound by memory: the efficiency, the least time (as a part of kernel_floor_us) and a thread's rate are those measured on an H200. The L2's
# size is a data sheet's, its rate an assumption: as many bytes a clock and multiprocessor as the H200's.
vector_floor_us                1.33
l2_mb                          72
l2_gb_s                        6800
thread_mb_s                    60
multiprocessor_threads         1536
vector_half_mb                 0
# Of products and convolutions: the efficiencies measured on an H200, at the rates of this GPU.
curves                         h200
