"""The truth of a model that torch.compile has compiled: hooks of modules do not run in it, but the compiler knows for each kernel
which operations of which modules are in it. They are said in the code that it makes, before each kernel (softgpu_truth): a kernel
of several modules has the names of all, "a|b". What the compiler does not name is said to be of no module.
"""
import builtins
import re

from torch._inductor import config
from torch._inductor.scheduler import ExternKernelSchedulerNode, Scheduler
from torch._inductor.virtualized import V


def path_of(node, name):
    """The innermost module of an operation, as named_modules() calls it; "": none."""
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
    if not stack:
        return ""
    text = list(stack.values())[-1][0].replace("L['fn']", "")  # what Dynamo wraps around a module of PyTorch's own
    parts = [p for p in re.split(r"[.\[\]'\"()]+", text) if p and p not in ("L", "self", "_modules", "_orig_mod")]
    return ".".join([name] + parts)


def origins_of(node):
    """A library's call does what one operation says; the compiler counts its input to it, too."""
    one = getattr(node.node, "origin_node", None)
    return [one] if one is not None and isinstance(node, ExternKernelSchedulerNode) else node.node.get_origins()


def paths_of(node, name):
    """Of all operations of a kernel."""
    return {path_of(o, name) for n in node.get_nodes() if n.node is not None for o in origins_of(n)} - {""}


def users_of(node):
    """The kernels that use what a kernel makes."""
    return [user.node for buffer in node.get_outputs() for user in buffer.users if getattr(user.node, "node", None) is not None]


def say_by_kernel(truth, name="model"):
    """To be called before the model is compiled."""
    config.force_disable_caches = True  # of an earlier run's code, which may say nothing
    enter = Scheduler.enter_context
    said = []

    def enter_context(scheduler, node):
        enter(scheduler, node)
        # what the compiler adds, as another layout of weights, is work for what uses it
        paths = sorted(paths_of(node, name) or set().union(*(paths_of(user, name) for user in users_of(node))))
        said.append(("backward" if V.graph.is_backward else "forward", "|".join(paths)))
        V.graph.wrapper_code.writeline("softgpu_say(%d)" % (len(said) - 1))

    Scheduler.enter_context = enter_context
    builtins.softgpu_say = lambda number: truth.say(*said[number])
