# Device profile for softgpu's model clock: Instinct MI300X 192 GB.
# Peak rates, memory and links: AMD Instinct MI300X data sheet: 163.4 TFLOPS FP32, TF32 653.7, FP16 1307.4, FP8 2614.9, FP64 163.4 (matrix), all dense;
# 5.3 TB/s, 896 GB/s of Infinity Fabric (both directions of seven links together), PCIe 5.0 x16. As programs for CUDA run on softgpu, it calls
# itself a device of capability 9.0: the rates are AMD's, the kernels those of NVIDIA's libraries.
# Latencies, and how much of a bus or link a program gets of its data sheet's rate, are assumptions.
# A line is a name and a value; the unit is in the name. tf32 and fp16 are the matrix unit's; left out: as fp32.
name                           AMD Instinct MI300X
memory_gib                     192
multiprocessors                304
capability_major               9
capability_minor               0
fp32_tflops                    163.4
tf32_tflops                    653.7
fp16_tflops                    1307.4
fp8_tflops                     2614.9
fp64_tflops                    163.4
memory_gb_s                    5300
memory_bus_bits                8192

copy_to_device_gb_s            55
copy_to_host_gb_s              55
pageable_efficiency            0.31
pageable_to_host_efficiency    0.25
pageable_latency_us            10
copy_latency_us                2.4
launch_latency_us              5
kernel_floor_us                2.5
bytes_per_thread               12   # of kernels that nothing is known about: two reads and a write of 4 bytes

gpus_per_node                  8
# Infinity Fabric, a direction of one of seven links: 64 GB/s
device_link_latency_us         4
device_link_gb_s               50
# NDR InfiniBand: 400 Gbit/s = 50 GB/s
network_latency_us             6
network_gb_s                   44

# Efficiencies and half sizes are assumptions, not from a data sheet: they follow the order that published
# microbenchmarks of such devices report (large matrix products and convolutions reach most of the peak, work that
# is bound by memory most of the bandwidth, depthwise convolutions little). Work of the size `half` reaches half of it.
convolution_efficiency         0.60
convolution_half_gflop         0.294
convolution_memory_efficiency  0.75
convolution_half_mb            3.98
depthwise_efficiency           0.16
depthwise_half_gflop           0.01
depthwise_memory_efficiency    0.43
depthwise_half_mb              2.65
product_efficiency             0.85
product_half_gflop             0.417
product_memory_efficiency      0.80
product_half_mb                4.24
vector_efficiency              0.40
vector_half_gflop              0
vector_memory_efficiency       0.875
# Work bound by memory: the efficiency, the least time (as a part of kernel_floor_us) and a thread's rate are those measured on an H200. The L2's
# size is a data sheet's, its rate an assumption: of the Infinity Cache, twice the memory's rate.
vector_floor_us                1.67
l2_mb                          256
l2_gb_s                        11000
thread_mb_s                    60
multiprocessor_threads         2048
vector_half_mb                 0
# Of products and convolutions: the efficiencies measured on an H200, at the rates of this GPU.
curves                         h200
