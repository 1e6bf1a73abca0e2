"""nbgrader's exchange on a machine that the students use too: folders with safe rights, collecting that trusts no name
and no link, feedback that one submission cannot hold up.

nbgrader's own collecting takes whatever lies in the exchange's inbound folder, into which every student can write: work
in another's name, a link to the instructor's own files, a name it cannot read (it then stops for the whole class).
"""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime, timedelta
from glob import glob
from pathlib import Path
from typing import Any

from nbgrader.exchange.default import ExchangeCollect, ExchangeReleaseFeedback
from nbgrader.utils import ignore_patterns

from grader.errors import GraderError

__all__ = ["CollectOwn", "ReleaseReady", "make_exchange"]

OPEN_TO_ALL = 0o1777  # as /tmp: everyone may add, nobody may move or remove what another made
COURSE = {"": 0o755, "outbound": 0o755, "inbound": 0o2733, "feedback": 0o711}  # nbgrader's own

SLOW = timedelta(minutes=10)  # what writing a submission may take
RELEASED_BY = ("timestamp.txt", "submission_secret.txt")  # which attempt it is, and the key to its feedback


def make_exchange(root: Path, course: str) -> Path:
    """Make the course's folders in the exchange `root`, owned by whoever calls this; returns the course's folder.

    Made before the first release, so that no student can make them first. GraderError where `root` would let students
    replace each other's folders, or where the course's folder there is somebody else's.
    """
    try:
        if not root.exists():
            root.mkdir(parents=True)
            root.chmod(OPEN_TO_ALL)
        for part, mode in COURSE.items():
            place = root / course / part
            place.mkdir(exist_ok=True)
            if place.stat().st_uid != os.geteuid():
                raise GraderError(
                    f"{place} is another account's. Work as that account, have it removed, or give the course another "
                    f"name: c.CourseDirectory.course_id in nbgrader_config.py"
                )
            place.chmod(mode)
    except OSError as error:
        raise GraderError(
            f"cannot make the exchange in {root}: {error.strerror}. Let an administrator make it: "
            f"sudo install -d -m 1777 {root}"
        ) from error
    rights = stat.S_IMODE(root.stat().st_mode)
    if rights != OPEN_TO_ALL:
        raise GraderError(
            f"{root} has mode {rights:04o}. nbgrader wants it open to everyone; without the sticky bit any student "
            f"could put a folder of their own in the course's place. Mend it: sudo chmod 1777 {root}"
        )
    return root / course


class CollectOwn(ExchangeCollect):  # type: ignore[misc]
    """Collects from each student what their own account handed in, without links; what is left out is logged.

    `check_owner = False`, nbgrader's own setting, is for classes where all work under one account.
    """

    src_records: list[dict[str, Any]]

    def init_src(self) -> None:
        """Find the submission of each student to collect."""
        super().init_src()
        self.src_records = [record for record in self.src_records if self._is_own(record)]

    def _path_to_record(self, path: str) -> dict[str, Any]:
        """Whose and when, by the name; "" for a name that says neither."""
        try:
            record: dict[str, Any] = super()._path_to_record(path)
            return record
        except Exception as error:
            self.log.error("Left out, its name is not that of a submission: %s (%s)", path, error)
            return {"username": "", "filename": os.path.basename(path), "timestamp": datetime.min}

    def _sort_by_timestamp(self, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Newest first, without what others handed in for this student (unless there is nothing else)."""
        own = [record for record in records if self._is_own(record)]
        found: list[dict[str, Any]] = super()._sort_by_timestamp(own or records)
        return found

    def _is_own(self, record: dict[str, Any]) -> bool:
        student, path = record["username"], os.path.join(self.inbound_path, record["filename"])
        if not student or student.startswith("."):
            return False
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode):
            self.log.error("Left out, it is no folder: %s", path)
            return False
        owner = _account(found.st_uid)
        if self.check_owner and owner != student:
            self.log.error("Left out, it is in the name of %s but was handed in by %s: %s", student, owner, path)
            return False
        written = datetime.fromtimestamp(found.st_ctime, UTC).replace(tzinfo=None)  # set by the system alone
        if abs(written - record["timestamp"]) > SLOW:
            self.log.warning("Dated %s, but written %s (UTC): %s", record["timestamp"], written, path)
        return True

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        """Copy what belongs to whoever made the folder; the rest is left out and logged."""
        owner = os.lstat(src).st_uid
        about = self.coursedir
        room = [1000 * about.max_dir_size]  # bytes
        left_out = ignore_patterns(about.ignore, about.include, about.max_file_size, self.log)
        for place, folders, files in os.walk(src):  # follows no links
            inside = Path(dest, os.path.relpath(place, src))
            inside.mkdir(parents=True, exist_ok=True)
            folders[:] = [name for name in folders if name not in left_out(place, folders)]
            for name in sorted(set(files) - set(left_out(place, files)), key=lambda name: not name.endswith(".ipynb")):
                try:
                    data = _own_file(os.path.join(place, name), owner, room)
                except (OSError, ValueError) as error:
                    self.log.error("Left out of %s: %s (%s)", os.path.basename(src), name, error)
                    continue
                (inside / name).write_bytes(data)


class ReleaseReady(ExchangeReleaseFeedback):  # type: ignore[misc]
    """Releases the pages that nbgrader can address: one without its time or key is left out, and logged."""

    def copy_files(self) -> None:
        """Copy the pages into the exchange."""
        before = self.coursedir.student_id_exclude
        left_out = []
        for place in map(Path, sorted(glob(self.src_path))):
            if not all((place / name).is_file() for name in RELEASED_BY):
                left_out.append(place.parent.name)
                self.log.error(
                    "Feedback of %s not released, it was not handed in with nbgrader (no %s). Give out the page: %s",
                    *(place.parent.name, " or no ".join(RELEASED_BY), place),
                )
        self.coursedir.student_id_exclude = ",".join(filter(None, [before, *left_out]))
        try:
            super().copy_files()
        finally:
            self.coursedir.student_id_exclude = before


def _own_file(path: str, owner: int, room: list[int]) -> bytes:
    """The bytes of a file; ValueError unless it is an ordinary file of `owner`, by no link, and there is room for it.

    Asked of the opened file: whoever handed it in may still change the folder. `room` shrinks by what is read.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_uid != owner:
            raise ValueError("not an ordinary file of that account")
        data = file.read(room[0] + 1)
    if len(data) > room[0]:
        raise ValueError("the submission is larger than c.CourseDirectory.max_dir_size allows")
    room[0] -= len(data)
    return data


def _account(uid: int) -> str:
    import pwd  # not on Windows, where there is no exchange and the rest of the class works

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"account number {uid}"
