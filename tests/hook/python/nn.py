"""
The parts of PyTorch's torch.nn.Module that a reader of its memory can see, without PyTorch: how modules keep
their submodules, and which frames stand between a module's caller and its forward.
"""
from collections import OrderedDict


class Module:
    def __init__(self):
        keep = super().__setattr__
        keep('training', True)
        for name in ('_parameters', '_buffers'):
            keep(name, {})
        keep('_non_persistent_buffers_set', set())
        keep('_backward_pre_hooks', OrderedDict())
        keep('_backward_hooks', OrderedDict())
        keep('_is_full_backward_hook', None)
        for name in ('_forward_hooks', '_forward_hooks_with_kwargs', '_forward_pre_hooks'):
            keep(name, OrderedDict())
        keep('_modules', {})

    def __setattr__(self, name, value):
        if isinstance(value, Module):
            self._modules[name] = value
        else:
            super().__setattr__(name, value)

    def __getattr__(self, name):
        modules = self.__dict__.get('_modules', {})
        if name in modules:
            return modules[name]
        raise AttributeError(name)

    def add_module(self, name, module):
        self._modules[name] = module

    def named_modules(self, prefix='', seen=None):
        seen = set() if seen is None else seen
        if id(self) in seen:
            return
        seen.add(id(self))
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(prefix + '.' + name if prefix else name, seen)

    def _wrapped_call_impl(self, *args, **kwargs):
        return self._call_impl(*args, **kwargs)

    def _call_impl(self, *args, **kwargs):
        forward_call = self.forward
        return forward_call(*args, **kwargs)

    __call__ = _wrapped_call_impl


class Sequential(Module):
    def __init__(self, *modules):
        super().__init__()
        for i, module in enumerate(modules):
            self.add_module(str(i), module)

    def forward(self, x):
        for module in self._modules.values():
            x = module(x)
        return x


class ModuleList(Module):
    """Never called itself."""

    def __init__(self, modules=()):
        super().__init__()
        for i, module in enumerate(modules):
            self.add_module(str(i), module)

    def __getitem__(self, i):
        return list(self._modules.values())[i]

    def __iter__(self):
        return iter(list(self._modules.values()))


class ModuleDict(Module):
    def __init__(self, modules):
        super().__init__()
        for name, module in modules.items():
            self.add_module(name, module)

    def __getitem__(self, name):
        return self._modules[name]
