"""
Names of modules in the trace are those that the program itself knows: models of all shapes call cuBLAS, each
call with a size of its own, and write down for each size what the name must be, by named_modules().

    names.py run FILE      calls, and writes "size<TAB>module<TAB>callers" to FILE; "-" for none
    names.py check FILE    the same from the trace on standard input: compares
"""
import _thread
import abc
import asyncio
import ctypes
import functools
import itertools
import os
import sys
import threading
import typing

import nn

MODULE_NONE = '-'
PYTORCH = os.path.join(os.getcwd(), 'torch', '')  # names.sh puts a library there; the hook knows the folder by it
MAX_SIZE = 100000
sizes = itertools.count(1)
expected = []
expected_lock = threading.Lock()
truth = {}  # id of a module: its path
inside = False  # a call to cuBLAS is under way: no attribute may be asked for
touched = []
parent = os.getpid()


def load():
    global cublas, cublas_with_gil, handle, x
    for soname in (PYTORCH + '_C.so', 'libcudart.so.13', 'libcublas.so.13'):
        ctypes.CDLL(soname, mode=ctypes.RTLD_GLOBAL)
    # by the names that the whole process sees, so that the hook's come first
    cublas, cublas_with_gil = ctypes.CDLL(None), ctypes.PyDLL(None)
    handle, x = ctypes.c_void_p(), ctypes.c_void_p()
    assert cublas.cublasCreate_v2(ctypes.byref(handle)) == 0
    assert cublas.cudaMalloc(ctypes.byref(x), ctypes.c_size_t(4 * MAX_SIZE)) == 0


def callers():
    """The three innermost, as the interpreter itself tells them."""
    frame, texts = sys._getframe(2), []
    while frame and len(texts) < 3:
        code = frame.f_code
        shown = '/optim/' in code.co_filename and code.co_name in ('step', 'update_parameters')
        if code.co_filename.startswith(PYTORCH) and not shown:
            frame = frame.f_back
            continue
        if sys.version_info >= (3, 11):
            where = '%s:%d' % (os.path.basename(code.co_filename), frame.f_lineno)
            texts.append('%s (%s)' % (code.co_qualname, where))
        else:
            texts.append('%s (%s)' % (code.co_name, os.path.basename(code.co_filename)))
        frame = frame.f_back
    return texts


def call(size, library):
    """One call, on the caller's line."""
    global inside
    one = ctypes.c_float(1)
    inside = True
    status = library.cublasSscal_v2(handle, size, ctypes.byref(one), x, 1); line = sys._getframe().f_lineno
    inside = False
    assert status == 0 or os.getpid() != parent  # CUDA does not work after fork, the hook does
    return line


def work(path, library=None):
    size = next(sizes)
    line = call(size, library or cublas)
    texts = callers()
    if sys.version_info >= (3, 11):
        texts = ['call (names.py:%d)' % line, 'work (names.py:%d)' % (work.__code__.co_firstlineno + 2)] + texts[:1]
    else:
        texts = ['call (names.py)', 'work (names.py)'] + texts[:1]
    with expected_lock:
        expected.append((size, path, ' < '.join(texts)))


class Op(nn.Module):
    """A layer: calls cuBLAS."""

    def forward(self, x):
        work(truth.get(id(self), MODULE_NONE))
        return x


def name(root, root_name):
    """Says what the modules of a tree are called."""
    for path, module in root.named_modules():
        truth[id(module)] = root_name + '.' + path if path else root_name
        modules.append(module)  # so that no other object gets its address
    kept.append(root)
    return root


kept, modules = [], []


# ---- trees ----

class Block(nn.Module):
    def __init__(self, width=2):
        super().__init__()
        self.conv1 = Op()
        self.bn1 = Op()
        self.rest = nn.Sequential(*[Op() for _ in range(width)])

    def forward(self, x):
        return self.rest(self.bn1(self.conv1(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = Op()
        self.layer1 = nn.Sequential(Block(), Block(3))
        self.blocks = nn.ModuleList([Block(), nn.ModuleDict({'left': Op(), 'right': Block()}),
                                     nn.ModuleList([nn.ModuleList([Op()])])])
        self.none = None
        self.add_module('absent', None)
        self.head = Op()

    def forward(self, x):
        x = self.layer1(self.stem(x))
        x = self.blocks[0](x)
        for branch in ('left', 'right'):
            x = self.blocks[1][branch](x)
        x = self.blocks[2][0][0](x)
        return self.head(x)


def case_local():
    net = name(Net(), 'net')
    for _ in range(2):
        net(0)


def case_no_name():
    name(Net(), 'Net')
    kept[-1](0)


def case_file():
    space = {'nn': nn, 'Block': Block, 'name': name}
    exec(compile("in_file = name(Block(), 'in_file')\nin_file(0)\n", 'in_file.py', 'exec'), space)


class Trainer:
    def __init__(self):
        self.model = name(Net(), 'model')

    def step(self):
        self.model(0)


def case_attribute():
    Trainer().step()


def case_outermost_name():
    def inner(f, x):
        return f(x)

    def outer(model):
        return inner(model, 0)

    best_name = name(Block(), 'best_name')
    outer(best_name)


def case_closure():
    # the variable is a cell here and a free variable there
    model = name(Block(), 'model')

    def closure():
        return model(0)

    closure()


def case_parallel():
    class DistributedDataParallel(nn.Module):
        def __init__(self, module):
            super().__init__()
            self.module = module

        def forward(self, x):
            return self._run_ddp_forward(x)

        def _run_ddp_forward(self, x):
            return self.module(x)

    ddp = name(DistributedDataParallel(Net()), 'ddp')
    ddp(0)


def case_method():
    """A method that is not forward."""

    class Coder(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = Block()

        def encode(self, x):
            work('coder')
            return self.encoder(x)

        def encode_later(self, x):
            later = [lambda: self.encoder(x)]  # so `self` is a cell, from the call on or only before 3.11
            work('coder')
            return later[0]()

    coder = name(Coder(), 'coder')
    coder.encode(0)
    coder.encode_later(0)


# ---- dictionaries of all kinds ----

def case_wide():
    """Submodules that come later: the dictionary grows, and its index gets wider."""

    class Wide(nn.Module):
        def forward(self, x):
            for key in list(self._modules)[-3:]:
                x = self._modules[key](x)
            return x

    wide = Wide()
    kept.append(wide)
    for count in (1, 4, 5, 6, 11, 22, 40, 90, 200, 400, 700):
        while len(wide._modules) < count:
            wide.add_module('op%d' % len(wide._modules), Op())
        name(wide, 'wide')
        wide(0)
    for key in list(wide._modules)[3:-5]:
        del wide._modules[key]
    wide(0)
    wide._modules['late'] = Op()
    name(wide, 'wide')
    wide(0)


def case_dictionaries():
    """Instances whose attributes are kept in other ways than most."""

    class Ordered(Block):
        def __init__(self):
            super().__init__()
            self.__dict__['_modules'] = nn.OrderedDict(self._modules)

    class Many(Block):
        def __init__(self):
            for i in range(200):
                object.__setattr__(self, 'before%d' % i, i)
            super().__init__()

    class Slots(Block):
        __slots__ = ('a', 'b')

        def __init__(self):
            super().__init__()
            self.a = 1

    class WithList(Block, list):
        pass

    class Generic(Block, typing.Generic[typing.TypeVar('T')]):
        pass

    class Abstract(Block, abc.ABC):
        pass

    class Own(Block):
        """Its dictionary is another object than the class's keys expect."""

        def __init__(self):
            super().__init__()
            self.__dict__ = dict(self.__dict__)

    def odd_key(module):
        module.__dict__[7] = 'not a string'

    def materialised(module):
        assert len(vars(module)) > 5

    def removed(module):
        for key in ('training', '_buffers', '_backward_hooks'):
            del module.__dict__[key]

    def added(module):
        for i in range(40):
            object.__setattr__(module, 'after%d' % i, i)

    classes = [Block, Ordered, Many, Slots, WithList, Generic, Abstract, Own]
    for kind, change in itertools.product(classes, (None, odd_key, materialised, removed, added)):
        block = kind()
        if change:
            change(block)
        name(block, 'block')
        block(0)
        block.forward(0)


def case_text():
    """Names that are no plain words."""

    class Odd(nn.Module):
        def forward(self, x):
            for module in self._modules.values():
                x = module(x)
            return x

    odd = Odd()
    for key in ('gr\u00f6\u00dfe', 'a b', '\u03bb', '\u5c42', '\U0001f600', 'x' * 127, '0', '"'):
        odd.add_module(key, Op())
    name(odd, 'odd')
    too_long = Op()
    odd.add_module('x' * 128, too_long)
    truth[id(too_long)] = MODULE_NONE
    odd(0)
    deep = Op()
    for i in range(10):
        deep = nn.Sequential(deep)
        deep._modules['y' * 60] = deep._modules.pop('0')
    for _, module in name(deep, 'deep').named_modules():
        truth[id(module)] = MODULE_NONE
    deep(0)


# ---- frames of all kinds ----

def case_side_effects():
    class Touchy(Block):
        def __getattribute__(self, key):
            if inside:
                touched.append(key)
            return super().__getattribute__(key)

        @property
        def __class__(self):
            if inside:
                touched.append('__class__')
            return Block

    class Meta(type):
        def mro(cls):
            if inside:
                touched.append('mro')
            return super().mro()

        def __getattribute__(cls, key):
            if inside:
                touched.append(key)
            return super().__getattribute__(key)

    class TouchyClass(Block, metaclass=Meta):
        pass

    for kind in Touchy, TouchyClass:
        touchy = kind()
        touched.clear()
        name(touchy, 'touchy')
        touchy(0)
        assert not touched, touched


def case_generator():
    class Streamed(nn.Module):
        def __init__(self):
            super().__init__()
            self.op = Op()

        def pieces(self, x):
            for i in range(3):
                yield self.op(i)
                work('streamed')

        def forward(self, x):
            return [piece for piece in self.pieces(x)] + [self.op(i) for i in range(2)]

    streamed = name(Streamed(), 'streamed')
    streamed(0)
    generator = streamed.pieces(0)
    next(generator)
    work(MODULE_NONE)
    next(generator)


def case_coroutine():
    class Waiting(nn.Module):
        def __init__(self):
            super().__init__()
            self.op = Op()

        async def forward(self, x):
            self.op(x)
            await asyncio.sleep(0)
            self.op(x)

    waiting = name(Waiting(), 'waiting')

    async def main():
        await asyncio.gather(waiting(0), waiting(1))

    asyncio.new_event_loop().run_until_complete(main())


def case_threads():
    def run(i):
        model = name(Net(), 'model')
        for _ in range(5):
            model(i)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def case_deep():
    """Deep stacks. Beyond 1000 frames nothing is said."""

    def descend(levels, model):
        if levels == 0:
            return model(0)
        return descend(levels - 1, model)

    def run():
        sys.setrecursionlimit(20000)
        deep_net = name(Block(), 'deep_net')
        descend(500, deep_net)
        for _, module in name(Block(), '').named_modules():
            truth[id(module)] = MODULE_NONE
        descend(10000, kept[-1])

    threading.stack_size(512 << 20)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    threading.stack_size(0)


def case_recursion():
    class Again(nn.Module):
        def __init__(self):
            super().__init__()
            self.op = Op()

        def forward(self, x):
            work('again')
            self.op(x)
            return self(x - 1) if x else x

    again = name(Again(), 'again')
    again(3)

    class Shared(nn.Module):
        """At several places: called by the place that it is called from, the first of one parent's."""

        def forward(self, x):
            work(places.pop(0))

    places = ['pair.0', 'pair.1.0', 'pair.0']
    shared = Shared()
    pair = nn.Sequential(shared, nn.Sequential(shared), shared)
    pair(0)

    class Cycle(nn.Module):
        def forward(self, x):
            return self.child(x)

    cycle = Cycle()
    cycle.child = Op()
    cycle.child.parent = cycle
    name(cycle, 'cycle')
    cycle(0)


def case_no_self():
    class Static(nn.Module):
        def __init__(self):
            super().__init__()
            self.op = Op()

        @staticmethod
        def function(ctx, x):
            work('static')
            return ctx.op(x)

        def forward(self, x):
            seen = [lambda y: self.function(self, y)]  # `self` is a cell
            self.op(x)
            return list(map(seen[0], [x]))

    static = name(Static(), 'static')
    static(0)

    class Deleted(nn.Module):
        def __init__(self):
            super().__init__()
            self.op = Op()

        def forward(self, x):
            op = self.op
            del self
            work('deleted')
            return op(x)

    deleted = name(Deleted(), 'deleted')
    deleted(0)

    class This(nn.Module):
        def forward(this, x):
            work('this')

    this = name(This(), 'this')
    this(0)

    def train(model, x):
        """A function whose first variable is a module is no method of it."""
        work(MODULE_NONE)
        model(x)
        work(MODULE_NONE)

    trained = name(Block(), 'trained')
    train(trained, 0)


def case_decorated():
    def no_grad(f):
        @functools.wraps(f)
        def decorate_context(*args, **kwargs):
            return f(*args, **kwargs)

        return decorate_context

    class Decorated(Block):
        forward = no_grad(Block.forward)

    decorated = name(Decorated(), 'decorated')
    no_grad(decorated)(0)


def case_init():
    class Eager(nn.Module):
        def __init__(self):
            super().__init__()
            work(MODULE_NONE)
            self.op = Op()
            self.op(0)
            work(MODULE_NONE)

    Eager()


def case_not_nn():
    """A class that is only called Module."""

    class Module:
        def forward(self):
            work(MODULE_NONE)

    class WithText(nn.Module):
        def forward(self):
            self.__dict__['_modules'] = 'text'
            work(MODULE_NONE)

    Module().forward()
    WithText().forward()


def case_unrelated():
    """A module that calls another which it does not have."""
    perceptual = name(Block(), 'perceptual')

    class Loss(nn.Module):
        def __init__(self, hidden):
            super().__init__()
            self.hidden = [hidden]

        def forward(self, x):
            self.hidden[0](x)
            work('loss')

    loss = name(Loss(perceptual), 'loss')
    loss(0)


def case_own_names():
    """Layers that are not in the tree of the model that runs them, as Keras' are, say themselves what they are called."""

    class Layer(Op):
        def __init__(self, own):
            super().__init__()
            self.name = own

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [Layer('conv2d'), Layer('dense')]

        def forward(self, x):
            for operation in self.layers:
                x = operation(x)
            return x

    apart = Model()
    for layer in apart.layers:
        truth[id(layer)] = layer.name
    kept.append(apart)
    modules.extend([apart, *apart.layers])
    apart(0)

    tree = name(nn.Sequential(Layer('other'), Layer('another')), 'tree')
    tree(0)


def case_pytorch():
    """Frames of PyTorch's own are no place to take names from."""
    space = {}
    text = """
def checkpoint(run_function, x):
    run_function(x)

def begin(run_function, x, lock):
    run_function(x)
    lock.release()
"""
    exec(compile(text, PYTORCH + 'utils/checkpoint.py', 'exec'), space)
    name(Block(), 'Block')
    space['checkpoint'](kept[-1], 0)

    # a thread that begins there, as the autograd engine's do: who called the first time is not in its stack
    for _, module in name(Block(), '').named_modules():
        truth[id(module)] = MODULE_NONE
    lock = threading.Lock()
    lock.acquire()
    _thread.start_new_thread(space['begin'], (kept[-1], 0, lock))
    lock.acquire()


def case_folder_called_torch():
    """A program of the user's, in a folder of that name."""
    space = {}
    exec(compile('def train(in_torch, x):\n    in_torch(x)\n', '/home/user/torch/train.py', 'exec'), space)
    space['train'](name(Block(), 'in_torch'), 0)


def case_optimizer():
    """An optimizer's step is a caller, as the program's own functions are, and what keeps a mean; their helpers are none."""
    space = {}
    text = """
def helper(run_function, x):
    run_function(x)

class LBFGS:
    def step(self, closure, x):
        helper(closure, x)

class AveragedModel:
    def update_parameters(self, mean, x):
        helper(mean, x)
"""
    exec(compile(text, os.path.join(PYTORCH, 'optim', 'lbfgs.py'), 'exec'), space)
    space['LBFGS']().step(work, '-')
    space['AveragedModel']().update_parameters(work, '-')


def case_with_gil():
    class Held(nn.Module):
        def forward(self, x):
            work('held', cublas_with_gil)

    held = name(Held(), 'held')
    held(0)


def case_fork(path):
    pid = os.fork()
    if pid == 0:
        expected.clear()
        forked = name(Block(), 'forked')
        forked(0)
        write(path + '.child')
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


# ---- ----

def write(path):
    with open(path, 'w', encoding='utf-8') as f:
        for line in expected:
            f.write('%d\t%s\t%s\n' % line)


def run(path):
    load()
    for function_name, function in list(globals().items()):
        if function_name.startswith('case_') and function is not case_fork:
            function()
    work(MODULE_NONE)
    case_fork(path)
    write(path)


def check(path):
    wanted = [line.split('\t') for p in (path, path + '.child') for line in open(p, encoding='utf-8')]
    found = {}
    for line in sys.stdin.buffer.read().decode('utf-8').splitlines():
        size, module, site = line.split('\t')
        found[size] = module, site
    bad = 0
    for size, module, site in wanted:
        got = found.pop(size, ('no operation', ''))
        if got[0] != module or not got[1].endswith(site.strip()):
            bad += 1
            if bad < 10:
                print('not ok: size %s: %s instead of %s; callers %s instead of %s' % (
                    size, got[0], module, got[1], site.strip()))
    print('%d names, %d wrong, %d operations more' % (len(wanted), bad, len(found)))
    sys.exit(1 if bad or found or len(wanted) < 500 else 0)


if __name__ == '__main__':
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    {'run': run, 'check': check}[sys.argv[1]](sys.argv[2])
