# Device profile for softgpu's model clock: GeForce RTX 2080 (TU104, reference clocks).
# Peak rates, memory and bus: NVIDIA Turing GPU Architecture Whitepaper (WP-09183), table for the RTX 2080: 2944 cores,
# 1710 MHz boost, 8 GB of GDDR6 at 448 GB/s, PCIe 3.0 x16. fp16 is the tensor cores' rate with FP32 sums.
# Latencies, and how much of a bus or link a program gets of its data sheet's rate, are assumptions.
# A line is a name and a value; the unit is in the name. tf32 and fp16 are the matrix unit's; left out: as fp32.
name                           NVIDIA GeForce RTX 2080
memory_gib                     8
multiprocessors                46
capability_major               7
capability_minor               5
fp32_tflops                    10.1
fp16_tflops                    40.3
fp64_tflops                    0.315
memory_gb_s                    448
memory_bus_bits                256

copy_to_device_gb_s            12
copy_to_host_gb_s              12
pageable_efficiency            0.5
copy_latency_us                1.5
launch_latency_us              5
kernel_floor_us                2.5
bytes_per_thread               12   # of kernels that nothing is known about: two reads and a write of 4 bytes

gpus_per_node                  4
# PCIe 3.0 through the host: 15.75 GB/s by the standard, less what its packets take
device_link_latency_us         10
device_link_gb_s               10
# 10 gigabit Ethernet: 1.25 GB/s
network_latency_us             30
network_gb_s                   1.1

# Efficiencies and half sizes are assumptions, not from a data sheet: they follow the order that published
# microbenchmarks of such devices report (large matrix products and convolutions reach most of the peak, work that
# is bound by memory most of the bandwidth, depthwise convolutions little). Work of the size `half` reaches half of it.
convolution_efficiency         0.60
convolution_half_gflop         0.0182
convolution_memory_efficiency  0.75
convolution_half_mb            0.336
depthwise_efficiency           0.16
depthwise_half_gflop           0.01
depthwise_memory_efficiency    0.43
depthwise_half_mb              0.224
product_efficiency             0.85
product_half_gflop             0.0258
product_memory_efficiency      0.80
product_half_mb                0.358
vector_efficiency              0.40
vector_half_gflop              0
vector_memory_efficiency       0.875
# Work bound by memory: the efficiency, the least time (as a part of kernel_floor_us) and a thread's rate are those measured on an H200. The L2's
# size is a data sheet's, its rate an assumption: as many bytes a clock and multiprocessor as the H200's.
vector_floor_us                1.67
l2_mb                          4
l2_gb_s                        1700
thread_mb_s                    60
multiprocessor_threads         1024
vector_half_mb                 0
# Of products and convolutions: the efficiencies measured on an H200, at the rates of this GPU.
curves                         h200
