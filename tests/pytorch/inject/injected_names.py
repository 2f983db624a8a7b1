"""What a program calls its model: the outermost module that a variable of the running functions, or of their objects, holds."""
import torch


def held(frame):
    """(name, module) of a frame: its variables, then those of the object whose method it is."""
    spaces = [frame.f_locals] + ([frame.f_globals] if frame.f_code.co_name == "<module>" else [])
    owner = frame.f_locals.get("self")
    if owner is not None and not isinstance(owner, torch.nn.Module):
        spaces.append(getattr(owner, "__dict__", {}))
    for space in spaces:
        for name, value in list(space.items()):
            if isinstance(value, torch.nn.Module):
                yield name, value


def find_root(module, frame):
    """(the outermost module around it, its name); of variables with the same module the one nearest to the model's call."""
    found, name, size = module, "model", 0
    while frame:
        for variable, value in held(frame):
            parts = set(value.modules())
            if module in parts and len(parts) > size:
                found, name, size = value, variable, len(parts)
            elif value is found and name == "self":
                name = variable
        frame = frame.f_back
    return found, "model" if name == "self" else name


def unused(name, taken):
    """The name, with a number where another module has it."""
    number, tried = 1, name
    while tried in taken:
        number += 1
        tried = "%s%d" % (name, number)
    return tried
