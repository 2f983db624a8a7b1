"""The ranges of a trace against what the program itself says.

    ranges.py train FILE            trains a small network, a part of which is computed again, and writes what it knows: the nodes of each
                                    step's graph by name, and of each output of a module the sequence number of its node
    ranges.py check FILE TRACE      compares; prints what is wrong
"""
import collections
import importlib.util
import json
import os
import sys

NONE = 0xFFFFFFFF
STEPS = 4


def train(path):
    import torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.LayerNorm(16)
            self.wide = nn.Linear(16, 32)
            self.narrow = nn.Linear(32, 16)

        def forward(self, x):
            return x + self.narrow(torch.relu(self.wide(self.norm(x))))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList(Block() for _ in range(3))
            self.head = nn.Linear(16, 4)

        def forward(self, x):
            for i, block in enumerate(self.blocks):
                x = checkpoint(block, x, use_reentrant=False) if i == 1 else block(x)
            return self.head(x)

    def nodes_of(root):
        seen, left, names = set(), [root], []
        while left:
            node = left.pop()
            if node in seen:
                continue
            seen.add(node)
            names.append(node.name())
            left.extend(following for following, _ in node.next_functions if following)
        return names

    net = Net().cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    counts, outputs, recomputed = collections.Counter(), [], collections.Counter()
    recording = {"backward": False}

    def note(name):
        def hook(module, inputs, output):
            if recording["backward"]:
                recomputed[name] += 1
            elif output.grad_fn:
                outputs.append((output.grad_fn._sequence_nr() & NONE, "net." + name))
        return hook

    for name, module in net.named_modules():
        if not list(module.children()) and name:
            module.register_forward_hook(note(name))
    for step in range(STEPS):
        with torch.autograd.profiler.record_function(f"my step {step}"):
            optimizer.zero_grad()
            x = torch.randn(8, 16, device="cuda")
            loss = net(x).sum()
            counts.update(nodes_of(loss.grad_fn))
            recording["backward"] = True
            loss.backward()
            recording["backward"] = False
            optimizer.step()
    with torch.no_grad():
        net(x)
    torch.cuda.synchronize()
    with open(path, "w") as file:
        json.dump({"nodes": counts, "outputs": outputs, "recomputed": recomputed}, file)


def check(path, trace):
    here = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.util.spec_from_file_location("framework", os.path.join(here, "..", "hook", "framework.py"))
    framework = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(framework)
    with open(path) as file:
        known = json.load(file)
    strings, ranges, notes, threads = framework.read(trace)
    wrong = []
    nodes, users, again, forward, unknown = (collections.Counter() for _ in range(5))
    operators, numbers = {}, {}
    for thread, slots in threads.items():
        depth = 0
        inside = []
        for number, sequence, of_thread in slots:
            if not number:
                depth -= 1
                inside.pop()
                if depth < 0:
                    wrong.append("an end without a begin")
                continue
            scope, name, _, module, line = ranges[number]
            scope, name, module = framework.SCOPES[scope], strings[name], strings.get(module)
            depth += 1
            in_node = "node" in inside
            inside.append(scope)
            if scope == "node":
                nodes[name.replace("torch::autograd::", "")] += 1
                if sequence != NONE:
                    numbers.setdefault((of_thread, sequence), name)
            elif scope == "user":
                users[name] += 1
                if not strings.get(line, "").startswith("train (ranges.py"):
                    wrong.append(f"{name} is in {strings.get(line)}")
            elif in_node and module:
                again[module] += 1
            elif sequence != NONE:
                operators[sequence] = module
            elif module:
                unknown[module] += 1
        if depth:
            wrong.append(f"{depth} ranges are open at the end")
    for name, count in known["nodes"].items():
        name = name.replace("torch::autograd::", "")
        if nodes[name] != count:
            wrong.append(f"{name}: {nodes[name]} nodes, the graphs have {count}")
    # the node of an output was made by the last operator that began before it
    for sequence, module in known["outputs"]:
        began = [number for number in operators if number <= sequence]
        if not began or operators[max(began)] != module:
            wrong.append(f"node {sequence}: {operators[max(began)] if began else None}, not {module}")
        if not any(number == sequence for _, number in numbers):
            wrong.append(f"node {sequence} of {module} did not run")
    for module in known["recomputed"]:
        if not again["net." + module]:
            wrong.append(f"{module} is computed again, and no operator of it is known")
    for module in {module for _, module in known["outputs"]}:
        if not unknown[module]:
            wrong.append(f"{module}: no operator without gradients")
    for name in "Optimizer.step#SGD.step", "Optimizer.zero_grad#SGD.zero_grad":
        if users[name] != STEPS:
            wrong.append(f"{name}: {users[name]} times in {STEPS} steps")
    if sum(name.startswith("my step") for name in users) != STEPS:
        wrong.append("the program's own ranges are not all there")
    if not any(note.startswith("pytorch: ") and note.endswith(", operators are recorded") for note in notes):
        wrong.append(f"notes: {notes}")
    for sentence in wrong[:20]:
        print("not ok:", sentence)
    print(f"ranges {sum(nodes.values())} nodes, {len(known['outputs'])} outputs, {sum(again.values())} operators computed again")
    return bool(wrong)


sys.exit(train(sys.argv[2]) if sys.argv[1] == "train" else check(*sys.argv[2:]))
