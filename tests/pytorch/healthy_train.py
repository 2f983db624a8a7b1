"""
healthy_train.py KIND SECONDS: a small training under DistributedDataParallel in which ranks wait for so many seconds, and longer, for
something that trainings do, and which comes to its end. Each rank prints that it has finished. Kinds: see KINDS; "list" prints them.
"""
import gc
import http.server
import os
import subprocess
import sys
import threading
import time

KIND = sys.argv[1]
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 8
RANK, WORLD = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
FIRST, LAST = RANK == 0, RANK == WORLD - 1
STEPS, PAUSE = 30, 15  # PAUSE: the step in which it happens

if KIND == "slow_import" and LAST:  # a file system that does not answer at once
    time.sleep(SECONDS)

if KIND != "list":
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel as DDP


def until():
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        yield


def computes():
    for _ in until():
        sorted(range(10000), key=lambda i: i * 7919 % 10007)


def checkpoint():
    if FIRST:
        with open("checkpoint", "wb") as file:
            for _ in until():
                file.write(bytes(100000))
                file.flush()
                time.sleep(0.1)
    dist.barrier()


def saves():
    if FIRST:
        for _ in until():
            torch.save({"weights": torch.zeros(100000), "step": PAUSE}, "state.pt")
            time.sleep(0.05)
    dist.barrier()


def preprocess():
    computes()


def evaluates_on_host():
    if FIRST:
        model = torch.nn.Linear(64, 10)
        for _ in until():
            model(torch.zeros(32, 64))
    dist.barrier()


def evaluates_on_device():
    if FIRST:
        with torch.no_grad():
            for _ in until():
                state.module(state.batch)
                torch.cuda.synchronize()
    dist.barrier()


def compiles():
    """As inductor does: another process compiles."""
    if LAST:
        subprocess.run([sys.executable, "-c", f"import time\nend = time.time() + {SECONDS}\nwhile time.time() < end: pass"], check=True)


def traces_graph():
    if LAST:
        for _ in until():
            torch.compiler.reset()
            torch.compile(torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(8)]), backend="eager")(torch.zeros(2, 8))


def indexes():
    if FIRST:
        for _ in until():
            for _, _, names in os.walk(os.path.dirname(torch.__file__)):
                len(names)
    dist.barrier()


def accumulates():
    with state.ddp.no_sync():
        for _ in until():
            state.ddp(state.batch).sum().backward()
            time.sleep(0.2 if LAST else 0.02)


def loads():
    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return torch.zeros(64)

    def start(_):
        time.sleep(SECONDS if LAST else 0)

    for _ in torch.utils.data.DataLoader(Data(), batch_size=2, num_workers=1, worker_init_fn=start):
        pass


def collects():
    if LAST:
        kept = [[i, {}] for i in range(200000)]
        for _ in until():
            gc.collect()
        del kept


def asks():
    """A debugger's prompt, answered late."""
    if LAST:
        ends = os.pipe()
        threading.Timer(SECONDS, os.write, (ends[1], b"c\n")).start()
        os.fdopen(ends[0]).readline()


def downloads():
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            for _ in until():
                self.wfile.write(bytes(50000))
                time.sleep(0.2)

        def log_message(self, *_):
            pass

    if FIRST:
        import urllib.request
        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.handle_request, daemon=True).start()
        urllib.request.urlopen(f"http://127.0.0.1:{server.server_address[1]}/").read()
    dist.barrier()


def logs():
    """A pipe whose reader is slow."""
    if FIRST:
        ends = os.pipe()

        def drain():
            for _ in until():
                os.read(ends[0], 4096)
                time.sleep(0.05)
            os.close(ends[0])

        thread = threading.Thread(target=drain)
        thread.start()
        for _ in until():
            try:
                os.write(ends[1], bytes(8192))
            except BrokenPipeError:
                break
        thread.join()
    dist.barrier()


def profiles():
    """What a profiler has is written again and again."""
    if LAST:
        for _ in until():
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
                for _ in range(2000):
                    torch.zeros(8).add_(1)
            profiler.key_averages()
            profiler.export_chrome_trace("profile.json")


def device_works():
    if LAST:
        big = torch.zeros(2048, 2048, device=state.batch.device)
        for _ in until():
            for _ in range(20):
                torch.mm(big, big)
            torch.cuda.synchronize()


def waits_for_thread():
    if FIRST:
        thread = threading.Thread(target=computes)
        thread.start()
        thread.join()
    dist.barrier()


def waits_for_child():
    if FIRST:
        subprocess.run(["sleep", str(SECONDS)], check=True)
    dist.barrier()


def sleeps():
    """All ranks, as before the next try of something that failed."""
    time.sleep(SECONDS)


def nothing():
    pass


KINDS = {function.__name__: function for function in (
    checkpoint, saves, preprocess, evaluates_on_host, evaluates_on_device, compiles, traces_graph, indexes, accumulates, loads, collects,
    asks, downloads, logs, profiles, device_works, waits_for_thread, waits_for_child, sleeps)}
KINDS.update(slow_import=nothing, late_rank=nothing, fewer_batches=nothing, stops_early=nothing)


class State:
    pass


state = State()


def train():
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    if KIND == "late_rank" and LAST:
        time.sleep(SECONDS)
    dist.init_process_group("nccl", device_id=device)
    state.module = torch.nn.Linear(64, 10).to(device)
    state.ddp = DDP(state.module, device_ids=[device.index])
    state.batch = torch.randn(32, 64, device=device)
    optimizer = torch.optim.SGD(state.ddp.parameters(), lr=0.01)

    def step():
        state.ddp(state.batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()

    # an uneven last epoch, and a rank that stops early, which shadows the others' exchanges until they end
    if KIND in ("fewer_batches", "stops_early"):
        with state.ddp.join():
            for i in range(STEPS - (LAST * (3 if KIND == "fewer_batches" else STEPS // 2))):
                step()
                if not LAST and i > STEPS // 2:
                    time.sleep(2 * SECONDS / STEPS)
    else:
        for i in range(STEPS):
            step()
            if i == PAUSE:
                KINDS[KIND]()
    print(f"rank {RANK} has finished", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if KIND == "list":
    print(*KINDS)
else:
    train()
