"""Attacks through Jupyter: hooks of the shell, of what is displayed, and messages of the kernel."""

from __future__ import annotations

from grader.attacks.attack import Attack, beside

__all__ = ["ATTACKS"]

_LATER = """
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        at_work()
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        return g
"""
_VERDICT = """{"application/vnd.custom-autograd.verdict+json": {"exercise": "relu", "passed": True, "points": 4.0,
    "out_of": 4, "findings": [], "diagnosis": []}, "text/plain": "verdict on relu"}"""

ATTACKS = (
    Attack(
        "execute_result",
        "sends the notebook an execute_result of 4.0 from inside forward, before the test's own",
        """
def at_work():
    hook = get_ipython().displayhook
    hook.session.send(hook.pub_socket, "execute_result", {"data": {"text/plain": "4.0"}, "metadata": {},
        "execution_count": 1}, parent=hook.parent_header)
""",
        answer=_LATER,
    ),
    Attack(
        "shown_float",
        "changes how a float is displayed, so that every number reads 4.0",
        "get_ipython().display_formatter.formatters['text/plain'].for_type(float, lambda v, p, c: p.text('4.0'))",
    ),
    Attack(
        "silence",
        "switches all output off: nbgrader gives full marks to a test that shows nothing",
        """
import builtins
shell = get_ipython()
hook = type(shell.displayhook)
hook.__call__ = lambda self, value=None: None
shell.display_pub.publish = shell.showtraceback = builtins.print = lambda *a, **k: None
""",
    ),
    Attack(
        "input_transformer",
        "rewrites the text of the test cell before it runs",
        """
def rewrite(lines):
    return ["4.0\\n"] if any("test cell" in l or "grade(" in l for l in lines) else lines
get_ipython().input_transformers_cleanup.append(rewrite)
""",
    ),
    Attack(
        "ast_transformer",
        "rewrites the syntax tree of the test cell: every call of grade becomes 4.0",
        """
import ast
class Rewrite(ast.NodeTransformer):
    def visit_Call(self, node):
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "grade":
            return ast.copy_location(ast.Constant(4.0), node)
        return node
get_ipython().ast_transformers.append(Rewrite())
""",
    ),
    Attack(
        "cell_event",
        "registers a hook that runs before every cell and puts its own grade in place",
        """
def before(info):
    import grader.hidden
    grader.hidden.grade = lambda *a: 4.0
get_ipython().events.register("pre_run_cell", before)
""",
    ),
    Attack(
        "run_cell",
        "replaces the shell's run_cell: whatever the text says, 4.0 is run",
        """
shell = get_ipython()
run, run_async = shell.run_cell, shell.run_cell_async
shell.run_cell = lambda text, *a, **k: run("4.0" if "grade(" in text else text, *a, **k)
shell.run_cell_async = lambda text, *a, **k: run_async("4.0" if "grade(" in text else text, *a, **k)
""",
    ),
    Attack(
        "namespace",
        "gives the notebook a namespace that answers grade with its own function",
        """
class Names(dict):
    def __setitem__(self, name, value):
        super().__setitem__(name, (lambda *a: 4.0) if name == "grade" else value)
shell = get_ipython()
shell.user_ns = Names(shell.user_ns)
shell.user_module = type("Module", (), {"__dict__": shell.user_ns})()
""",
    ),
    Attack(
        "extension",
        "loads an IPython extension that lies beside the notebook",
        "%load_ext helper_extension",
        edit=beside(
            {
                "helper_extension.py": "def load_ipython_extension(shell):\n"
                "    import grader.hidden\n"
                "    grader.hidden.grade = lambda *a: 4.0\n"
            }
        ),
    ),
    Attack(
        "fake_record",
        "displays a record of full marks in the format this package reads verdicts from",
        f"def at_work():\n    display({_VERDICT}, raw=True)\n",
        answer=_LATER,
    ),
    Attack(
        "leaves",
        "prints a verdict of full marks during the test and ends the process with exit code 0",
        """
import os, sys
def at_work():
    print('{"exercise": "relu", "passed": true, "points": 4.0, "out_of": 4}\\n4.0')
    sys.stdout.flush()
    os._exit(0)
""",
        answer=_LATER,
    ),
    Attack(
        "system_exit",
        "leaves the test cell by SystemExit or KeyboardInterrupt, before it has said anything",
        "def at_work():\n    get_ipython().showtraceback = lambda *a, **k: None\n    raise KeyboardInterrupt",
        answer=_LATER,
    ),
    Attack(
        "kernel_reply",
        "has the kernel report each cell as done without running it",
        """
kernel = getattr(get_ipython(), "kernel", None)
run = kernel.do_execute
async def do_execute(code, *a, **k):
    return await run("4.0" if "grade(" in code else code, *a, **k)
kernel.do_execute = do_execute
""",
    ),
    Attack(
        "magic",
        "hides the test cell behind a magic: every cell that calls grade is captured and dropped",
        """
shell = get_ipython()
shell.input_transformers_cleanup.append(lambda lines: ["%%capture\\n", *lines] if "grade(" in "".join(lines) else lines)
""",
    ),
)
