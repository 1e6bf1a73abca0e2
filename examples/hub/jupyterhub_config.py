"""JupyterHub for a class on one Linux machine, where everyone has an account and the instructor's holds the class.

docs/deployments.md says how to set the machine up. Put this file and the folder `students` beside it where all can read
them, and start the hub as root, in a folder that only root can enter: jupyterhub -f /srv/autograd/jupyterhub_config.py
"""

from __future__ import annotations

import os
import pwd
import sys
from pathlib import Path
from typing import Any

c = get_config()  # noqa: F821 (JupyterHub provides it)

# ---- Yours to set ----------------------------------------------------------------------------------------------------

INSTRUCTOR = "teacher"  # the account that holds the class
ASSISTANTS = ["assistant"]  # who may use the instructor's server too, with all that this account can do
CLASS = "/home/teacher/autograd"  # made by: grader new-class /home/teacher/autograd --exchange /srv/nbgrader/exchange
MEMBERS = "autograd"  # the Linux group of all who may log in, instructor and students
c.JupyterHub.bind_url = "http://127.0.0.1:8000"  # behind a web server that speaks HTTPS

# ---- What makes it a class -------------------------------------------------------------------------------------------

STUDENTS = Path(__file__).resolve().parent / "students"  # course, exchange, and no formgrader

c.JupyterHub.authenticator_class = "pam"  # the machine's own accounts and passwords
c.PAMAuthenticator.allowed_groups = {MEMBERS}
c.JupyterHub.spawner_class = "jupyterhub.spawner.LocalProcessSpawner"  # each server runs as its user
c.Spawner.cmd = [sys.executable, "-m", "jupyterhub.singleuser"]
c.Spawner.default_url = "/lab"


def before_start(spawner: Any) -> None:
    """Close the user's home to others (nbgrader keeps there the keys to their feedback) and choose their settings."""
    account = pwd.getpwnam(spawner.user.name)
    os.chmod(account.pw_dir, 0o700)
    settings = CLASS if account.pw_name == INSTRUCTOR else str(STUDENTS)
    spawner.environment = {**spawner.environment, "JUPYTER_CONFIG_PATH": settings}


c.Spawner.pre_spawn_hook = before_start
c.JupyterHub.load_groups = {"assistants": {"users": ASSISTANTS}}
c.JupyterHub.load_roles = [
    {
        "name": "assistant",
        "groups": ["assistants"],
        "scopes": [f"access:servers!user={INSTRUCTOR}", f"servers!user={INSTRUCTOR}"],
    }
]
