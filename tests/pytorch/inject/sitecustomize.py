"""Python imports this by itself where the folder is in PYTHONPATH. It registers the hooks of injected.py as soon as PyTorch is imported."""
import contextlib
import importlib.abc
import importlib.util
import os
import sys

with contextlib.suppress(ImportError):  # of at_exit/, where that is in the path too: only one sitecustomize is imported
    import threads_end  # noqa: F401


class AfterTorch(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec:
            spec.loader.exec_module = self.then_inject(spec.loader.exec_module)
        return spec

    @staticmethod
    def then_inject(execute):
        def exec_module(module):
            execute(module)
            import injected

            injected.inject()

        return exec_module


if os.environ.get("SOFTGPU_TRUTH"):
    sys.meta_path.insert(0, AfterTorch())
