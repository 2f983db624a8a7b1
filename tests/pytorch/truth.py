"""What a training program of PyTorch does when, by its own hooks: the truth that pmanalyze is checked against.

Hooks of modules and of autograd's nodes tell softgpu which module and phase the thread is in (softgpu_truth); softgpu writes each
kernel, copy and collective with these labels and its modelled time to SOFTGPU_TRUTH. Nothing here knows of the hook or its traces.

A kernel of the forward pass belongs to the innermost module whose forward runs, one of the backward pass to the module whose
forward made the node of the graph, in whatever thread autograd runs it. Phases: forward, backward, update, other (the rest). What
is launched as a CUDA graph has the labels of its capture, and the iteration of the thread that launches it.
"""
import ctypes
import functools
import os
import threading

import torch


class Labels:
    """What softgpu is told, by thread: the phase and the module that its calls are of."""

    def __init__(self):
        self.library = ctypes.CDLL("libsoftgpu.so")
        self.step_number, self.kept, self.stack = 0, {}, []
        self.node = threading.local()
        self.owner, self.shared = {}, {}

    @staticmethod
    def sizes(module):
        if isinstance(module, torch.nn.Linear):
            return "%d->%d" % (module.in_features, module.out_features)
        if isinstance(module, torch.nn.Conv2d):
            return "%dx%dx%d->%d" % (*module.kernel_size, module.in_channels // module.groups, module.out_channels)
        return ""

    def say(self, phase, path):
        """Of the calling thread, from now on. The library keeps the address of what it is told, not the text."""
        texts = [self.kept.setdefault(t, ctypes.create_string_buffer(t.encode())) for t in
                 ("%s %d" % (phase, self.step_number), path)]
        self.library.softgpu_truth(*texts)
        if getattr(self.node, "step", None) != self.step_number:
            self.node.step = self.step_number
            self.library.softgpu_truth_iteration(self.step_number)

    def begin_step(self):
        self.step_number += 1
        self.say("other", "")

    def enter(self, path, module, inputs):
        """What the inputs were made by since the last module ran is the outer module's own work, none of this one's."""
        self.label_all(inputs, self.stack[-1] if self.stack else "loss")
        self.stack.append(path)
        self.say(self.phase(), path)

    def leave(self, path, module, inputs, outputs):
        """Work done again for the backward pass is done for a node of it, whose own work goes on after it."""
        self.stack.pop()
        self.label_all(outputs, path)
        outer = getattr(self.node, "path", "loss") if self.phase() == "backward" else "loss"
        self.say(self.phase(), self.stack[-1] if self.stack else outer)

    @staticmethod
    def phase():
        """Checkpointing runs a forward again in the backward pass; one without gradients is an evaluation."""
        if not torch.is_grad_enabled():
            return "other"
        return "backward" if torch._C._current_graph_task_id() != -1 else "forward"

    def label_all(self, values, path):
        for tensor in torch.utils._pytree.tree_leaves(values):
            if isinstance(tensor, torch.Tensor):
                self.label(tensor, path)

    def label(self, tensor, path):
        """Nodes that are new since the last module's: this one has made them."""
        nodes = [tensor.grad_fn]
        while nodes:
            node = nodes.pop()
            if node is None or "layer" in node.metadata:
                continue
            parameter = getattr(node, "variable", None)
            place = path if parameter is None else self.owner.get(parameter, path)
            node.metadata["layer"] = place
            node.register_prehook(functools.partial(self.backward, place))
            node.register_hook(self.backward_sum)
            nodes += [next_node for next_node, _ in node.next_functions]

    def backward(self, path, gradients):
        self.node.path = path
        self.say("backward", path)

    def backward_sum(self, *_):
        """Behind a node autograd adds its results to those of others: the work of none of them."""
        self.say("backward", "sum")


class Truth(Labels):
    """Of a program that says itself what it does: what the hooks of its model and its optimizers do not see it tells this."""

    def __init__(self, model, optimizer, name="model", hooks=True):
        super().__init__()
        for path, module in model.named_modules(remove_duplicate=False):
            path = name + "." + path if path else name
            if hooks:
                module.register_forward_pre_hook(functools.partial(self.enter, path), prepend=True)
                module.register_forward_hook(functools.partial(self.leave, path), always_call=True)
            for parameter in module.parameters(recurse=False):
                if self.owner.setdefault(parameter, path) != path:
                    self.shared[path] = self.owner[parameter]
        self.write_modules(model, name)
        for each in optimizer if isinstance(optimizer, list) else [optimizer]:
            each.register_step_pre_hook(lambda *_: self.say("update", ""))
            each.register_step_post_hook(lambda *_: self.say("other", ""))

    def write_modules(self, model, name):
        """The modules that have parameters, with sizes where they say them and how many parameters, beside the log of rank 0; and which have those of another."""
        log = os.environ.get("SOFTGPU_TRUTH", "")
        if log and os.environ.get("RANK", "0") == "0":
            with open(log.replace("%r", "0") + ".modules", "w") as file:
                for path in dict.fromkeys(self.owner.values()):
                    module = model.get_submodule(path[len(name) + 1:])
                    count = sum(p.numel() for p in module.parameters(recurse=False))
                    file.write("%s\t%s\t%d\n" % (path, self.sizes(module), count))
            with open(log.replace("%r", "0") + ".shared", "w") as file:
                for pair in self.shared.items():
                    file.write("%s\t%s\n" % pair)

    def begin_loss(self):
        self.say("forward", "loss")

    def begin_backward(self, loss):
        """Between the loss and loss.backward(): the nodes that no module has made are the loss's."""
        self.label(loss, "loss")
        self.say("backward", "loss")

    def begin_update(self):
        """Of what an optimizer's hooks do not see: a mean of the parameters. It ends as the backward pass does."""
        self.say("update", "")

    def end_backward(self):
        self.say("other", "")
