"""
The line of Python that a launch is made in is part of its operation: launches of many sorts, each with a grid of its own.

    lines.py run LIBRARY EXPECTED    launches, and writes what must be found of each grid, as JSON; prints its number
    lines.py check EXPECTED          compares with `pmanalyze dump --ops --json` on standard input

Of a grid: the texts of the lines, each one operation, with its calls; "" where the thread is in no Python; null: anything, the
program only has to live.
"""
import collections
import ctypes
import gc
import json
import os
import sys
import threading

expected = {}
grids = iter(range(1, 100000))
HAS_LINES = sys.version_info >= (3, 11)


def here(depth=1):
    """The caller's line, as the hook writes it."""
    frame = sys._getframe(depth)
    code = frame.f_code
    file = os.path.basename(code.co_filename)
    if HAS_LINES:
        return '%s (%s:%d)' % (code.co_qualname, file, frame.f_lineno)
    return '%s (%s)' % (code.co_name, file)


def expect(grid, line, calls=1):
    lines = expected.setdefault(str(grid), collections.Counter())
    lines[line] += calls


def two_lines():
    grid = next(grids)
    for _ in range(3):
        launch(grid); expect(grid, here())
    launch(grid); expect(grid, here())


def two_functions():
    grid = next(grids)

    def first():
        launch(grid); expect(grid, here())

    def second():
        launch(grid); expect(grid, here())

    for _ in range(5):
        first()
        second()


def waits():
    """A wait has no values that tell it apart: its lines do."""
    lines = expected.setdefault('wait', collections.Counter())
    for _ in range(3):
        library.wait_for_stream(); lines[here()] += 1
    library.wait_for_stream(); lines[here()] += 1


def made_again():
    """Code that comes and goes: each time another object, perhaps at an address that was used before."""
    grid = next(grids)
    for i in range(3000):
        made = {}
        exec(compile('def made():\n    launch(%d)\n' % grid, 'made.py', 'exec'), {'launch': launch}, made)
        made['made']()
        del made
    expect(grid, 'made (made.py%s)' % (':2' if HAS_LINES else ''), 3000)


def other_at_one_address():
    """Code objects of equal size, one after the other at one address: only their first lines differ."""
    grid, lines_at = next(grids), {}
    texts = ['\n' * blank + ' ' * (1 - blank) + '\ndef made():\n    launch(%d)\n' % grid for blank in (0, 1)]
    for i in range(400):
        made = {}
        exec(compile(texts[i // 3 % 2], 'other.py', 'exec'), {'launch': launch}, made)
        code = made['made'].__code__
        lines_at.setdefault(id(code), set()).add(code.co_firstlineno)
        made['made']()
        expect(grid, 'made (other.py%s)' % (':%d' % (code.co_firstlineno + 1) if HAS_LINES else ''))
        del made, code
        gc.collect()
    assert any(len(lines) == 2 for lines in lines_at.values()), 'no address was used by two'


def lambdas():
    grid = next(grids)
    for _ in range(50):
        (lambda: (launch(grid), expect(grid, here())))()


def generators():
    grid = next(grids)

    def numbers():
        for i in range(4):
            launch(grid); expect(grid, here())
            yield i

    list(numbers())
    kept = numbers()
    next(kept)


def destructors():
    """What a frame's end destroys runs in a frame of its own, in its caller's, or in none."""
    grid = next(grids)

    class Mortal:
        def __del__(self):
            launch(grid); expect(grid, here())

    def owner():
        mortal = Mortal()  # noqa: F841

    owner()
    owner()


def recursion():
    grid = next(grids)

    def down(depth):
        if depth:
            return down(depth - 1)
        launch(grid); expect(grid, here())

    down(200)


def callbacks():
    """C between two frames."""
    grid = next(grids)

    def inner(*_):
        launch(grid); expect(grid, here())
        return 0

    sorted([2, 1], key=inner)
    ctypes.CFUNCTYPE(ctypes.c_int)(inner)()
    max([1, 2, 3], key=inner)


def threads():
    """Of another thread of Python's the line is that of the operation's first call; calls of its other lines are not apart."""
    grid, lines = next(grids), []

    def work():
        launch(grid); lines.append(here())
        launch(grid)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    expect(grid, lines[0], 2)
    grid = next(grids)
    library.launch_in_thread(grid); expect(grid, '')
    launch(grid); expect(grid, here())


def greenlets():
    try:
        import greenlet
    except ImportError:
        return
    grid = next(grids)

    def work():
        for _ in range(3):
            launch(grid); expect(grid, here())
            greenlet.getcurrent().parent.switch()

    parts = [greenlet.greenlet(work) for _ in range(3)]
    for part in parts * 3:
        part.switch()
        launch(grid); expect(grid, here())


def interpreters():
    grid = next(grids)
    expected[str(grid)] = None
    library.launch_in_interpreter(grid, b'a = 1\n')
    grid = next(grids)
    launch(grid); expect(grid, here())


def forks():
    """The child's trace is another file: here it must live, and the parent go on."""
    child = os.fork()
    if child == 0:
        launch(next(grids))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    grid = next(grids)
    launch(grid); expect(grid, here())


def daemon():
    """It still launches when the interpreter ends, and its state is freed."""
    grid = next(grids)
    expected[str(grid)] = None

    def work():
        while True:
            launch(grid)

    threading.Thread(target=work, daemon=True).start()


def run(path, to):
    global library, launch
    library = ctypes.PyDLL(path)
    launch = library.launch
    for case in (two_lines, two_functions, waits, made_again, other_at_one_address, lambdas, generators, destructors, recursion,
                 callbacks, threads, greenlets, interpreters, forks, daemon):
        case()
    grid = next(grids)
    expected[str(grid)] = {'': 1} if sys.version_info >= (3, 9) else None
    library.launch_at_end(grid)
    with open(to, 'w') as file:
        json.dump(expected, file)
    print(os.getpid())


def check(path):
    found = {}
    for operation in json.load(sys.stdin)['operations']:
        words = dict(word.split('=', 1) for word in operation['values'].split() if '=' in word)
        if operation['function'] not in ('cuLaunchKernel', 'cuStreamSynchronize'):
            continue
        line = '' if operation['innermost'] == 'not in Python' else operation['innermost']
        lines = found.setdefault(words.get('grid_x', 'wait'), {})
        assert line not in lines, 'one line has two operations: ' + line
        lines[line] = operation['calls']
    wrong = 0
    with open(path) as file:
        for grid, lines in json.load(file).items():
            if lines is not None and found.get(grid) != lines:
                print('not ok: grid %s: %s instead of %s' % (grid, found.get(grid), lines))
                wrong += 1
    sys.exit(wrong > 0)


if sys.argv[1] == 'run':
    run(sys.argv[2], sys.argv[3])
else:
    check(sys.argv[2])
