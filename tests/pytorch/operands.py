"""What softgpu's model clock takes for the bytes of PyTorch's own kernels, against the tensors that these read and write; of memory-efficient
attention the operations, too.

    operands.py EXPECTED          runs them, under softgpu with SOFTGPU_TRUTH, and writes what is expected
    operands.py EXPECTED TRUTH    compares: the truth's lines have the kernels' names and bytes
"""
import csv
import ctypes
import json
import sys

expected = []


def expect(kernel, *operands, products=0):
    """The next kernel whose name has this in it reads or writes these, tensors or numbers of bytes, and computes so much in products."""
    size = sum(o if isinstance(o, (int, float)) else o.numel() * o.element_size() for o in operands)
    expected.append((kernel, size, products))


class Cases:
    def __init__(self, torch):
        self.torch, self.f = torch, torch.nn.functional

    def random(self, *shape, grad=True, **kind):
        return self.torch.randn(*shape, device="cuda", requires_grad=grad, **kind)

    def whole(self, most, *shape):
        return self.torch.randint(most, shape).to("cuda")

    def back(self, y):
        """The gradient that was handed to y."""
        gradient = self.torch.ones_like(y)
        y.backward(gradient)
        return gradient

    def images(self, last):
        x = self.torch.randn(4, 32, 28, 24, device="cuda")
        return (x.to(memory_format=self.torch.channels_last) if last else x).requires_grad_()

    def pooling(self, last):
        x, form = self.images(last), "nhwc" if last else "nchw"
        y, places = self.f.max_pool2d(x, 3, 2, 1, return_indices=True)
        expect("max_pool_forward_" + form, x, y, places)
        expect("max_pool_backward_" + form, x, self.back(y), places)
        form = "_nhwc" if last else ""
        y = self.f.avg_pool2d(x, 3, 2, 1)
        expect("avg_pool2d_out_cuda_frame" + form, x, y)
        expect("avg_pool2d_backward_out_cuda_frame" + form, x, self.back(y))
        y = self.f.adaptive_avg_pool2d(x, 7)
        expect("adaptive_average_pool" + form, x, y)
        expect("adaptive_average_gradinput" + form, x, self.back(y))

    def pooling_volumes(self):
        x = self.random(2, 8, 8, 12, 10)
        y, places = self.f.max_pool3d(x, 2, return_indices=True)
        expect("max_pool3d_with_indices_single_out_frame", x, y, places)
        self.back(y)
        expect("max_pool3d_with_indices_backward_single_out_frame", y, y, y, places)
        y = self.f.avg_pool3d(x, 2)
        expect("avg_pool3d_cuda_update_output", x, y)
        expect("avg_pool3d_cuda_update_grad_input", x, self.back(y))
        y = self.f.adaptive_avg_pool3d(x, 2)
        expect("adaptiveaveragepool", x, y)
        expect("adaptiveaveragegradinput", x, self.back(y))
        x = self.random(2, 8, 12, 10)
        y, places = self.f.adaptive_max_pool2d(x, 5, return_indices=True)
        expect("adaptivemaxpool", x, y, places)
        expect("adaptivemaxgradinput", x, self.back(y), places)

    def embedding(self):
        weight, places = self.random(1000, 256), self.whole(1000, 512)
        y = self.f.embedding(places, weight)
        expect("vectorized_gather_kernel", y, y, places)
        gradient = self.back(y)
        expect("embedding_backward_feature_kernel", gradient, y, y, places)
        bags = self.whole(1000, 32, 4)
        y = self.f.embedding_bag(bags, weight, mode="sum")
        expect("EmbeddingBag_updateOutputKernel_sum_mean", bags.numel() * 256 * 4, y, bags)
        y, counts = self.f.embedding_bag(bags, weight, mode="max"), 32 * 256 * 8
        expect("EmbeddingBag_updateOutputKernel_max", bags.numel() * 256 * 4, y, counts, bags)
        self.back(y)
        expect("EmbeddingBag_accGradParametersKernel_max", y, y, y, counts)

    def batch_norm(self, last):
        x, channel = self.images(last), lambda: self.random(32)
        last = "_channels_last" if last else ""
        with self.torch.backends.cudnn.flags(enabled=False):
            self.back(self.f.batch_norm(x, None, None, channel(), channel(), training=True))
        expect("batch_norm_collect_statistics" + last, x)
        expect("batch_norm_transform_input" + last, x, x)
        if last:
            expect("batch_norm_backward_reduce_channels_last", x, x)
            expect("batch_norm_backward_elemt_channels_last", x, x, x)
        else:
            expect("batch_norm_backward_kernel", x, x, x)

    def norms(self):
        x, weight = self.random(8, 32, 64), self.random(32)
        self.back(self.f.group_norm(x, 4, weight, self.random(32)))
        expect("RowwiseMomentsContiguousCUDAKernel", x)
        expect("ComputeInternalGradientsContiguousCUDAKernel", x, x)
        x = self.random(256, 512)
        y = self.f.rms_norm(x, (512,), self.random(512))
        expect("vectorized_layer_norm_kernel", x, y)
        self.back(y)
        expect("layer_norm_grad_input_kernel", x, x, x)

    def losses(self):
        x, y = self.random(256, 1000), self.whole(1000, 256)
        self.f.cross_entropy(x, y).backward()
        expect("softmax_warp_forward", x, x)
        expect("nll_loss_forward_reduce", 256 * 4, y)
        expect("nll_loss_backward_reduce", 256 * 4, y)
        expect("softmax_warp_backward", x, x, x)
        x, y = self.random(2, 21, 16, 16), self.whole(21, 2, 16, 16)
        self.f.cross_entropy(x, y).backward()
        expect("cunn_SpatialSoftMaxForward", x, x)
        expect("nll_loss2d_forward_kernel", 512 * 4, y)
        expect("nll_loss2d_backward_kernel", 512 * 4, y)
        expect("cunn_SpatialSoftMaxBackward", x, x, x)

    def places(self):
        x, places = self.random(512, 64), self.whole(512, 128)
        y = x[places]
        expect("index_elementwise_kernel", y, y)
        expect("indexing_backward_kernel", self.back(y), y, y, places, places)
        wide = places[:, None].expand(-1, 64)
        y = x.gather(0, wide.contiguous())
        expect("_scatter_gather_elementwise_kernel", y, y, y.numel() * 8)
        expect("roll_cuda_kernel", x, x.roll(1, 0))
        expect("triu_tril_kernel", x, x.tril())

    def dropout(self):
        x = self.random(512, 64)
        self.back(self.f.dropout(x, 0.5))
        expect("fused_dropout_kernel", x, x, x.numel())
        x = self.random(64, 33)
        self.f.glu(self.random(64, 66)).backward(x)
        expect("glu_backward_kernel", x, x, x, x, x)

    def upsampling(self, last):
        x, form = self.images(last), "_nhwc" if last else ""
        for mode in "nearest", "bilinear":
            y = self.f.interpolate(x, scale_factor=2, mode=mode)
            expect("upsample_%s2d%s_out_frame" % (mode, form), x, y)
            expect("upsample_%s2d_backward%s_out_frame" % (mode, form), x, self.back(y))
        grid = self.random(4, 20, 20, 2)
        y = self.f.grid_sample(x, grid, align_corners=False)
        expect("grid_sampler_2d_kernel", x, grid, y)
        expect("grid_sampler_2d_backward_kernel", self.back(y), x, grid, x, grid)

    def depthwise(self):
        x, weight = self.random(2, 16, 20, 20), self.random(16, 1, 3, 3)
        with self.torch.backends.cudnn.flags(enabled=False):
            y = self.f.conv2d(x, weight, groups=16, padding=1)
            expect("conv_depthwise2d_forward_kernel", x, y, weight)
            gradient = self.back(y)
        expect("conv_depthwise2d_backward_kernel", gradient, x, weight)
        expect("conv_depthwise2d_grad_weight_kernel", gradient, x, weight)

    def cells(self):
        rows = 32 * 64 * 4
        h, _ = self.torch.nn.LSTMCell(64, 64).to("cuda")(self.random(32, 64))
        expect("lstm_cell_forward", 15 * rows)
        self.back(h)
        expect("lstm_cell_backward", 13 * rows)
        self.back(self.torch.nn.GRUCell(64, 64).to("cuda")(self.random(32, 64)))
        expect("gru_cell_forward", 13 * rows)
        expect("gru_cell_backward", 13 * rows)

    def strided(self):
        x, row, column = self.random(128, 96, grad=False), self.random(96, grad=False), self.random(128, 1, grad=False)
        kernel = "18elementwise_kernelILi128ELi2E"
        expect(kernel, x, row, x + row)
        expect(kernel, x, column, x * column)
        expect(kernel, x, x.t().contiguous())
        half = column > 0
        expect(kernel, x, x, half, self.torch.where(half, x, x))

    def reductions(self):
        x = self.random(128, 96, grad=False)
        reduce = lambda *results: expect("13reduce_kernelI", x, *results)
        reduce(x.sum(1))
        reduce(*x.max(1))
        reduce(x.argmax(1))
        reduce(x.var(1))
        reduce(*x.aminmax(dim=1))

    def casts(self):
        x = self.random(512, 64, grad=False)
        y = x.bfloat16()
        expect("_copy_kernel_cuda", x, y)
        expect("_copy_kernel_cuda", x, x.half())
        expect("_copy_kernel_cuda", y, y.float())
        expect("15CUDAFunctor_addI", x, y, x + y)
        y.clamp_(min=0)
        expect("launch_clamp_scalar", y, y)

    def lists(self):
        a, b, c = ([self.random(*shape, grad=False) for shape in ((300, 300), (64,), (7, 9))] for _ in range(3))
        foreach = lambda *read_or_written: expect("multi_tensor_apply_kernelI", *(x for one in read_or_written for x in one))
        self.torch._foreach_sqrt(a)
        foreach(a, a)
        self.torch._foreach_mul_(a, 2.0)
        foreach(a, a)
        self.torch._foreach_add(a, b)
        foreach(a, b, a)
        self.torch._foreach_lerp_(a, b, 0.5)
        foreach(a, b, a)
        self.torch._foreach_addcmul_(a, b, c)
        foreach(a, b, c, a)
        self.torch._foreach_addcmul_(a, b, b)
        foreach(a, b, a)

    def random_numbers(self):
        x = self.torch.rand(1000, device="cuda", dtype=self.torch.half)
        expect("uniform_and_transformIN3c104HalfE", x)

    def attention(self, kind, masked):
        q, k, v = (self.random(2, 3, length, 64, dtype=kind) for length in (128, 192, 192))
        mask = self.torch.zeros(128, 192, device="cuda", dtype=kind) if masked else None
        with self.torch.nn.attention.sdpa_kernel(self.torch.nn.attention.SDPBackend.EFFICIENT_ATTENTION):
            y = self.f.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        pairs = 2 * 3 * 128 * 192
        expect("fmha_cutlassF", q, k, v, y, products=2 * pairs * 2 * 64)
        gradient = self.back(y)
        expect("fmha_cutlassB", q, k, v, y, gradient, q, k, v, products=5 * pairs * 2 * 64)


def run(path):
    import torch
    import torch.nn.attention

    cases = Cases(torch)
    # the first ones are of kernels that others launch too
    for case in "casts lists reductions strided pooling_volumes embedding norms losses places dropout depthwise cells random_numbers".split():
        getattr(cases, case)()
    for last in False, True:
        cases.pooling(last)
        cases.batch_norm(last)
        cases.upsampling(last)
    cases.attention(torch.float, False)
    cases.attention(torch.half, True)
    torch.cuda.synchronize()
    with open(path, "w") as file:
        json.dump(expected, file)
    # autograd's threads may not survive the end of the interpreter
    ctypes.PyDLL(None).exit(0)


def compare(path, truth):
    with open(truth) as file:
        kernels = [line for line in csv.DictReader(file) if line["kind"] == "kernel" and line["kernel"]]
    at, bad = {}, 0
    with open(path) as file:
        wanted = json.load(file)
    for name, size, products in wanted:
        like = [line for line in kernels if name in line["kernel"]]
        at[name] = at.get(name, -1) + 1
        found = like[at[name]] if at[name] < len(like) else None
        if found is None or found["source"] == "threads" or [float(found["bytes"]), float(found["flops"])] != [size, products]:
            bad += 1
            found = found and [found[column] for column in ("bytes", "flops", "source")]
            print("%s, number %d: expected %s bytes and %s operations, found %s" % (name, at[name] + 1, size, products, found))
    if bad:
        raise SystemExit(1)
    print("%d kernels of %d families" % (len(wanted), len(at)))


compare(*sys.argv[1:]) if sys.argv[2:] else run(sys.argv[1])
