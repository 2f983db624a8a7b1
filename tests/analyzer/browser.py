"""A headless Chromium, worked by its own input: what tests of pages and tests/bench/page.py have in common."""
import json
import os
import shutil
import subprocess


def find():
    """The path of a Chromium; None: none is installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """Chromium by its protocol over two pipes: one JSON message after another, each ended by a zero byte."""

    def __init__(self, program, folder):
        to_read, self.write = os.pipe()
        self.read, to_write = os.pipe()

        def place():
            # Descriptors 3 and 4, whichever numbers the pipes have.
            first, second = os.dup2(to_read, 100), os.dup2(to_write, 101)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
             "--window-size=1200,900", f"--user-data-dir={folder}", "about:blank"],
            preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.number, self.rest, self.session, self.errors = 0, b"", None, []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask("Page.enable")
        self.ask("Runtime.enable")

    def message(self):
        while b"\0" not in self.rest:
            got = os.read(self.read, 1 << 16)
            if not got:
                raise EOFError("Chromium ended")
            self.rest += got
        text, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(text)
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(message["params"]["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        return message

    def ask(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, path):
        self.ask("Page.navigate", url="file://" + path)
        while self.message().get("method") != "Page.loadEventFired":
            pass
        self.settle()

    def value(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def settle(self):
        """Two frames: what was to be drawn is."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def place(self, element, across=0.5, down=0.5):
        return self.value(f"(() => {{ const e = {element}; e.scrollIntoView({{block: 'center', behavior: 'instant'}});"
                          "const b = e.getBoundingClientRect();"
                          f"return [b.left + b.width * {across}, b.top + b.height * {down}]; }})()")

    def mouse(self, kind, x, y, **more):
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, element, across=0.5, down=0.5):
        x, y = self.place(element, across, down)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)
        self.settle()

    def key(self, key, text=""):
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, text=text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.settle()

    def type(self, text):
        self.ask("Input.insertText", text=text)
        self.settle()

    def close(self):
        self.session = None
        try:
            self.ask("Browser.close")
        except (EOFError, OSError):
            pass
        self.process.wait()

    def busy(self):
        """Seconds that the page's main thread has worked since the page was asked for."""
        self.ask("Performance.enable")
        return next(metric["value"] for metric in self.ask("Performance.getMetrics")["metrics"] if metric["name"] == "TaskDuration")
