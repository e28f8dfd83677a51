"""What git knows about commits: order, time, subject and author. It never fails the caller.

Without git, outside of a repository, or when git does not answer in time, nothing is known.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

TIMEOUT = 5.0  # seconds for each call
HASH = re.compile(r"[0-9a-f]{7,64}", re.IGNORECASE)
SHORTEST_PREFIX = 6  # characters of a commit's name


class Commit(NamedTuple):
    """A commit of the repository.

    Attributes:
        hash: The full hash.
        time: When it was committed, in milliseconds since 1970.
        subject: The first line of its message.
        author: The name of its author.
    """

    hash: str
    time: int
    subject: str
    author: str = ""


class Repository:
    """The repository that a folder is in.

    Args:
        folder: Any folder of the work tree.

    Example:
        >>> Repository("/").find(["8674f78"])
        {}
    """

    def __init__(self, folder: str | Path = ".") -> None:
        self._folder = str(folder)

    def head(self) -> Commit | None:
        """Return the commit that is checked out, or None."""
        return self._read(["HEAD"]).get("HEAD")

    def branch(self) -> str:
        """Return the branch that is checked out; empty if it is a commit without a branch."""
        return self._git(["symbolic-ref", "--quiet", "--short", "HEAD"], b"").decode().strip()

    def find(self, names: Iterable[str]) -> dict[str, Commit]:
        """Return the commits that git knows, by the names that were asked for.

        Args:
            names: Hashes, which may be abbreviated to seven digits or more. Other names are
                not looked up: they could mean any branch or tag.
        """
        return self._read([name for name in dict.fromkeys(names) if HASH.fullmatch(name)])

    def history(self, hashes: Sequence[str]) -> list[str]:
        """Return commits with all commits before them, parents first.

        The commits of a branch that was merged come right before the merge.

        Args:
            hashes: Full hashes of commits that git knows.
        """
        command = ["rev-list", "--topo-order", "--reverse", "--stdin"]
        listed = self._git(command, "\n".join([*hashes, ""]).encode()) if hashes else b""
        return listed.decode().split()

    def is_shallow(self) -> bool:
        """Return whether the repository lacks a part of the history."""
        return self._git(["rev-parse", "--is-shallow-repository"], b"").strip() == b"true"

    def _read(self, names: Sequence[str]) -> dict[str, Commit]:
        """Read commit objects; `cat-file` reports unknown names instead of failing."""
        if not names:
            return {}
        request = "".join(f"{name}^{{commit}}\n" for name in names).encode()
        output = io.BytesIO(self._git(["cat-file", "--batch"], request))
        commits: dict[str, Commit] = {}
        for name in names:
            parts = output.readline().split()
            if len(parts) == 3 and parts[1] == b"commit":
                commits[name] = _commit(parts[0].decode(), output.read(int(parts[2])))
                output.readline()
        return commits

    def _git(self, arguments: Sequence[str], stdin: bytes) -> bytes:
        command = ["git", "-C", self._folder, *arguments]
        # Never ask for a password, nor fetch what a partial clone lacks.
        quiet = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
        try:
            return subprocess.check_output(  # noqa: S603 - names from files go to stdin only
                command, input=stdin, stderr=subprocess.DEVNULL, timeout=TIMEOUT, env=quiet
            )
        except (OSError, subprocess.SubprocessError):
            return b""


def _commit(name: str, content: bytes) -> Commit:
    """Read a commit object: headers, an empty line, the message."""
    headers, _, message = (part.decode("utf-8", "replace") for part in content.partition(b"\n\n"))
    committed = re.search(r"^committer .*> (\d+)", headers, re.MULTILINE)
    author = re.search(r"^author (.*) <", headers, re.MULTILINE)
    time = 1000 * int(committed[1]) if committed else 0
    [subject, *_] = message.strip().splitlines() or [""]
    return Commit(name, time, subject, author[1] if author else "")


def is_commit(name: str, prefix: str) -> bool:
    """Return whether a commit is named by a hash or by the start of one.

    Example:
        >>> is_commit("8674f78ab", "8674f78"), is_commit("8674f78ab", "86")
        (True, False)
    """
    return name == prefix or (len(prefix) >= SHORTEST_PREFIX and name.startswith(prefix))
