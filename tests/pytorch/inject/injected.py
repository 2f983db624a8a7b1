"""What a PyTorch program does when, by hooks that it does not know of: the truth of programs that are not touched (README.md)."""
import atexit
import ctypes
import functools
import importlib.util
import os
import sys
import threading
import weakref

import torch
from torch.optim import optimizer as optimizers
from torch.utils.weak import WeakTensorKeyDictionary

import injected_names


def load(name):
    """A file of the folder above, under a name that no program has."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", name + ".py")
    spec = importlib.util.spec_from_file_location("injected_" + name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


truth = load("truth")


def tensors(value, depth=4):
    """Those in lists, mappings and objects, as models return them."""
    if isinstance(value, torch.Tensor):
        return [value]
    if depth == 0 or isinstance(value, (str, bytes, torch.nn.Module)):
        return []
    if isinstance(value, dict):
        value = list(value.values())
    elif not isinstance(value, (list, tuple)):
        value = list(getattr(value, "__dict__", {}).values())
    return [tensor for each in value for tensor in tensors(each, depth - 1)]


class Injected(truth.Labels):
    def __init__(self):
        super().__init__()
        self.owner, self.paths = WeakTensorKeyDictionary(), weakref.WeakKeyDictionary()
        self.modules, self.thread = {}, threading.get_ident()
        self.passes = self.updates = self.steps = 0
        self.graded = True  # the outermost module that runs was called with gradients

    def is_seen(self):
        """Modules that other threads run have labels only where autograd runs them; a compiler runs them to see what they do."""
        ours = threading.get_ident() == self.thread or torch._C._current_graph_task_id() != -1
        return ours and not torch.compiler.is_compiling()

    def path_of(self, module):
        if module not in self.paths:
            root, name = injected_names.find_root(module, sys._getframe(2))
            name = injected_names.unused(name, {path.split(".")[0] for path in self.paths.values()})
            for path, part in root.named_modules():
                if isinstance(part, (torch.nn.ParameterList, torch.nn.ParameterDict)):
                    path = path.rpartition(".")[0]  # whose forward uses them
                self.add(part, name + "." + path if path else name)
        return self.paths[module]

    def add(self, module, path):
        path = self.paths.setdefault(module, path)
        mine = list(module.parameters(recurse=False))
        owners = [self.owner.setdefault(parameter, path) for parameter in mine]
        if mine and path in owners:
            count = self.modules.get(path, ("", 0))[1]
            self.modules[path] = (self.sizes(module), count + sum(p.numel() for p in mine))
        elif mine:  # all are another's, as of a head with the weights of the embeddings
            self.shared[path] = owners[0]

    def phase(self):
        if torch._C._current_graph_task_id() != -1:
            return "backward"
        if torch.is_grad_enabled():
            return "forward"
        return "forward?" if self.stack and self.graded else "evaluation"

    def label_all(self, values, path):
        for tensor in tensors(values):
            self.label(tensor, path)

    def before_module(self, module, inputs):
        if not self.is_seen():
            return
        if not self.stack:
            self.graded = torch.is_grad_enabled()
        caller = sys._getframe(1).f_locals  # PyTorch gives global hooks no arguments by name
        self.enter(self.path_of(module), module, [inputs, caller.get("kwargs")])

    def after_module(self, module, inputs, outputs):
        if self.is_seen() and self.stack:
            self.leave(self.paths.get(module, ""), module, inputs, outputs)

    def after_backward(self):
        self.say("update" if self.updates else "update?", "")

    def before_step(self, *_):
        self.updates += 1
        self.say("update", "")

    def after_step(self, *_):
        """Of an optimizer within another the outer one's step counts."""
        self.updates -= 1
        if not self.updates:
            self.steps += 1
            self.begin_step()

    def passing(self, function, is_grad):
        """torch.autograd.backward and grad; the latter's results may have a graph of their own, of no module."""

        @functools.wraps(function)
        def run(tensors_of, *arguments, **named):
            if torch.compiler.is_compiling() or self.passes:
                return function(tensors_of, *arguments, **named)
            self.label_all(tensors_of, "loss")
            self.say("backward", "loss")
            self.passes += 1
            try:
                result = function(tensors_of, *arguments, **named)
            finally:
                self.passes -= 1
                # what is done with gradients that have no graph may be the loss's or be called an update of weights within the step
                self.say("forward" if named.get("create_graph") else "forward?", "loss") if is_grad else self.after_backward()
            self.label_all(result, "sum")
            return result

        @functools.wraps(function)
        def run_named(*arguments, **named):
            if not arguments:
                arguments = (named.pop("outputs" if is_grad else "tensors"),)
            return run(*arguments, **named)

        return run_named

    def during(self, phase, function):
        """While it runs the thread is in that phase, after it between the passes and the step."""

        @functools.wraps(function)
        def run(*arguments, **named):
            if torch.compiler.is_compiling():
                return function(*arguments, **named)
            self.say(phase, "")
            try:
                return function(*arguments, **named)
            finally:
                self.say("update?" if phase == "update" else "other", "")

        return run

    def write(self):
        log = os.environ["SOFTGPU_TRUTH"].replace("%r", "0")
        tables = {"modules": [(path, *sizes) for path, sizes in self.modules.items()], "shared": self.shared.items(),
                  "steps": [(self.steps,)]}
        for name, rows in tables.items():
            with open(log + "." + name, "w") as file:
                file.writelines("\t".join(map(str, row)) + "\n" for row in rows)

    def finish(self):
        """autograd's threads may still be releasing the hooks, which CPython does not survive when it finalizes (before 3.14)."""
        if not self.modules:
            return
        if os.environ.get("RANK", "0") == "0":
            self.write()
        sys.stdout.flush()
        sys.stderr.flush()
        ctypes.PyDLL(None).exit(1 if hasattr(sys, "last_value") else 0)


def inject():
    injected = Injected()
    torch.nn.modules.module.register_module_forward_pre_hook(injected.before_module)
    torch.nn.modules.module.register_module_forward_hook(injected.after_module, always_call=True)
    optimizers.register_optimizer_step_pre_hook(injected.before_step)
    optimizers.register_optimizer_step_post_hook(injected.after_step)
    torch.autograd.backward = injected.passing(torch.autograd.backward, False)
    torch.autograd.grad = injected.passing(torch.autograd.grad, True)
    clip = torch.nn.utils.clip_grad
    for name in ("clip_grad_norm_", "clip_grad_value_"):
        setattr(clip, name, injected.during("update", getattr(clip, name)))
        setattr(torch.nn.utils, name, getattr(clip, name))
    scaler = torch.amp.GradScaler
    scaler.unscale_ = injected.during("update", scaler.unscale_)
    scaler.update = injected.during("update?", scaler.update)
    torch.optim.Optimizer.zero_grad = injected.during("update?", torch.optim.Optimizer.zero_grad)
    if os.environ.get("PM_TRUTH_COMPILED"):
        load("truth_compiled").say_by_kernel(injected)
    injected.begin_step()
    atexit.register(injected.finish)
