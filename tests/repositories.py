"""Small git repositories, written by one call of `git fast-import`."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

START = 1_700_000_000  # seconds since 1970


class Made(NamedTuple):
    """A commit to write.

    Attributes:
        parents: The names of its parents, the first parent first.
        time: When it is committed, in seconds after `START`.
        branch: The branch that it becomes the newest commit of.
    """

    parents: tuple[str, ...] = ()
    time: int = 0
    branch: str = "main"


def make_repository(folder: Path, commits: Mapping[str, Made]) -> dict[str, str]:
    """Write a repository whose checked out branch is `main`, and return the hash of each commit.

    Args:
        folder: Where to write it.
        commits: The commits by name, parents before children. The name is the subject.
    """
    marks = {name: k for k, name in enumerate(commits, 1)}
    lines: list[str] = []
    for name, commit in commits.items():
        moment = f"{START + commit.time} +0200"
        lines += [f"reset refs/heads/{commit.branch}", "", f"commit refs/heads/{commit.branch}"]
        lines += [f"mark :{marks[name]}", f"author A <a@b> {START - 999} +0000"]
        lines += [f"committer C <c@d> {moment}", f"data {len(name) + 6}", f"{name}\n\nbody"]
        words = ["from", *["merge"] * len(commit.parents)]
        pairs = zip(words, commit.parents, strict=False)
        lines += [f"{word} :{marks[parent]}" for word, parent in pairs]
    folder.mkdir(parents=True, exist_ok=True)
    _git(folder, "init", "-q", "-b", "main")
    written = folder / ".git" / "written"
    _git(
        folder,
        "fast-import",
        "--quiet",
        "--force",
        f"--export-marks={written}",
        text="\n".join([*lines, ""]),
    )
    hashes = dict(line.split() for line in written.read_text(encoding="utf-8").splitlines())
    return {name: hashes[f":{mark}"] for name, mark in marks.items()}


def _git(folder: Path, *arguments: str, text: str = "") -> None:
    subprocess.run(  # noqa: S603
        ["git", "-C", folder, *arguments],  # noqa: S607
        input=text.encode(),
        check=True,
        capture_output=True,
    )
