"""Commit, branch and CPU of a run that a file does not name: from CI and the machine."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Variables of GitHub, GitLab, Jenkins, Buildkite and CircleCI, in the order they are looked up.
# GITHUB_HEAD_REF and CHANGE_BRANCH are those of a pull request only.
COMMIT = "GITHUB_SHA CI_COMMIT_SHA GIT_COMMIT BUILDKITE_COMMIT CIRCLE_SHA1"
BRANCH = (
    "GITHUB_HEAD_REF GITHUB_REF_NAME CI_MERGE_REQUEST_SOURCE_BRANCH_NAME CI_COMMIT_BRANCH "
    "CHANGE_BRANCH BRANCH_NAME GIT_BRANCH BUILDKITE_BRANCH CIRCLE_BRANCH"
)
BASE = (
    "GITHUB_BASE_REF CI_MERGE_REQUEST_TARGET_BRANCH_NAME CHANGE_TARGET "
    "BUILDKITE_PULL_REQUEST_BASE_BRANCH CI_DEFAULT_BRANCH BUILDKITE_PIPELINE_DEFAULT_BRANCH"
)
# GitHub, Jenkins and Buildkite give the name of a tag as that of the branch, too.
TAGS = ("TAG_NAME", "BUILDKITE_TAG")
UNKNOWN = {"", "HEAD", "false", "detached"}
CPUINFO = Path("/proc/cpuinfo")  # of Linux; that of ARM names no model, but `lscpu` does
COMMANDS = {"Linux": ("lscpu",), "Darwin": ("sysctl", "machdep.cpu.brand_string")}
PATIENCE = 5  # seconds
MODEL = re.compile(
    r"^(?:model name|machdep\.cpu\.brand_string)\s*:[ \t]*(\S.*)", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True)
class RunContext:
    """What the surroundings say about a run.

    Attributes:
        commit: The commit; empty if unknown.
        branch: The branch; empty if unknown.
        base_branch: The branch that this one will be merged into; empty if unknown.
    """

    commit: str = ""
    branch: str = ""
    base_branch: str = ""


def ci_context(variables: Mapping[str, str] | None = None) -> RunContext:
    """Return what the variables of a CI service say.

    Args:
        variables: The environment; that of this process by default.

    Example:
        >>> ci_context({"CI_COMMIT_SHA": "8674f78", "CI_COMMIT_BRANCH": "main"})
        RunContext(commit='8674f78', branch='main', base_branch='')
    """
    known = os.environ if variables is None else variables
    commit, branch, base = (_first(known, names) for names in (COMMIT, BRANCH, BASE))
    is_tag = known.get("GITHUB_REF_TYPE") == "tag" or branch in map(known.get, TAGS)
    return RunContext(commit, "" if is_tag else branch, base)


def cpu_of_job(variables: Mapping[str, str] | None = None) -> str:
    """Return the model of the CPU of this machine; empty if no CI service runs this process.

    Args:
        variables: The environment; that of this process by default.

    Example:
        >>> cpu_of_job({"HOME": "/home/ada"})
        ''
    """
    known = os.environ if variables is None else variables
    if not _first(known, f"CI {COMMIT}"):
        return ""
    system = platform.system()
    if system not in COMMANDS:
        return platform.processor()
    text = CPUINFO.read_text("utf-8", "replace") if CPUINFO.exists() else ""
    return _model_in(text) or _model_in(_output(COMMANDS[system]))


def _model_in(text: str) -> str:
    found = MODEL.search(text)
    return found[1].strip() if found else ""


def _output(command: Sequence[str]) -> str:
    """Return what a command prints; empty if there is no such command."""
    english = os.environ | {"LC_ALL": "C"}
    try:
        done = subprocess.run(  # noqa: S603 - one of COMMANDS
            command, check=False, capture_output=True, text=True, timeout=PATIENCE, env=english
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def _first(known: Mapping[str, str], names: str) -> str:
    texts = (known.get(name, "").strip() for name in names.split())
    plain = (text.removeprefix("refs/heads/").removeprefix("origin/") for text in texts)
    return next((text for text in plain if text not in UNKNOWN), "")
