"""Commit, branch and time of a run that a file does not name: from options, CI or git."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

# Variables of GitHub, GitLab, Jenkins, Buildkite and CircleCI, in the order they are looked up.
COMMIT_VARIABLES = (
    "GITHUB_SHA",
    "CI_COMMIT_SHA",
    "GIT_COMMIT",
    "BUILDKITE_COMMIT",
    "CIRCLE_SHA1",
)
BRANCH_VARIABLES = (
    "GITHUB_HEAD_REF",  # of a pull request only
    "GITHUB_REF_NAME",
    "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME",
    "CI_COMMIT_BRANCH",
    "CHANGE_BRANCH",  # Jenkins, of a pull request only
    "BRANCH_NAME",
    "GIT_BRANCH",
    "BUILDKITE_BRANCH",
    "CIRCLE_BRANCH",
)
BASE_VARIABLES = (
    "GITHUB_BASE_REF",
    "CI_MERGE_REQUEST_TARGET_BRANCH_NAME",
    "CHANGE_TARGET",
    "BUILDKITE_PULL_REQUEST_BASE_BRANCH",
    "CI_DEFAULT_BRANCH",
    "BUILDKITE_PIPELINE_DEFAULT_BRANCH",
)
# GitHub, Jenkins and Buildkite give the name of a tag as that of the branch, too.
TAG_VARIABLES = ("TAG_NAME", "BUILDKITE_TAG")
UNKNOWN = {"HEAD", "false", "detached"}


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
    branch = _first(known, BRANCH_VARIABLES)
    is_tag = known.get("GITHUB_REF_TYPE") == "tag" or branch in map(known.get, TAG_VARIABLES)
    return RunContext(
        _first(known, COMMIT_VARIABLES),
        "" if is_tag else branch,
        _first(known, BASE_VARIABLES),
    )


def _first(known: Mapping[str, str], names: tuple[str, ...]) -> str:
    for name in names:
        text = known.get(name, "").strip().removeprefix("refs/heads/").removeprefix("origin/")
        if text and text not in UNKNOWN:
            return text
    return ""
