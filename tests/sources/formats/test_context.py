"""Commit and branch of a CI job, from the variables that each service sets."""

from pathlib import Path

import pytest

from barograph.sources.formats import context
from barograph.sources.formats.context import RunContext, ci_context, cpu_of_job

SHA = "ffac537e6cbbf934b08745a378932722df287a53"
GITHUB = {"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_SHA": SHA}
GITLAB = {"CI": "true", "GITLAB_CI": "true", "CI_COMMIT_SHA": SHA, "CI_DEFAULT_BRANCH": "trunk"}
JENKINS = {"JENKINS_URL": "http://ci/", "BUILD_NUMBER": "7", "GIT_COMMIT": SHA}
BUILDKITE = {
    "BUILDKITE": "true",
    "BUILDKITE_COMMIT": SHA,
    "BUILDKITE_PIPELINE_DEFAULT_BRANCH": "trunk",
    "BUILDKITE_PULL_REQUEST": "false",
    "BUILDKITE_PULL_REQUEST_BASE_BRANCH": "",
    "BUILDKITE_TAG": "",
}
CIRCLE = {"CI": "true", "CIRCLECI": "true", "CIRCLE_SHA1": SHA}
JOBS = {
    "GitHub, push": (
        GITHUB
        | {"GITHUB_REF": "refs/heads/main", "GITHUB_REF_NAME": "main", "GITHUB_REF_TYPE": "branch"}
        | {"GITHUB_HEAD_REF": "", "GITHUB_BASE_REF": ""},
        ("main", ""),
    ),
    "GitHub, pull request": (
        GITHUB
        | {"GITHUB_REF_NAME": "12/merge", "GITHUB_REF_TYPE": "branch"}
        | {"GITHUB_HEAD_REF": "fix/cache", "GITHUB_BASE_REF": "main"},
        ("fix/cache", "main"),
    ),
    "GitHub, tag": (
        GITHUB | {"GITHUB_REF_NAME": "v1.2", "GITHUB_REF_TYPE": "tag"},
        ("", ""),
    ),
    "GitLab, branch": (
        GITLAB | {"CI_COMMIT_BRANCH": "trunk", "CI_COMMIT_REF_NAME": "trunk"},
        ("trunk", "trunk"),
    ),
    "GitLab, merge request": (
        GITLAB
        | {"CI_COMMIT_REF_NAME": "fix", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "fix"}
        | {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "release"},
        ("fix", "release"),
    ),
    "GitLab, tag": (
        GITLAB | {"CI_COMMIT_TAG": "v1.2", "CI_COMMIT_REF_NAME": "v1.2"},
        ("", "trunk"),
    ),
    "Jenkins, one branch": (JENKINS | {"GIT_BRANCH": "origin/main"}, ("main", "")),
    "Jenkins, detached": (JENKINS | {"GIT_BRANCH": "detached"}, ("", "")),
    "Jenkins, multibranch": (
        JENKINS | {"GIT_BRANCH": "main", "BRANCH_NAME": "main"},
        ("main", ""),
    ),
    "Jenkins, pull request": (
        JENKINS
        | {"BRANCH_NAME": "PR-12", "CHANGE_BRANCH": "fix", "CHANGE_TARGET": "main"}
        | {"CHANGE_ID": "12", "GIT_BRANCH": "PR-12"},
        ("fix", "main"),
    ),
    "Jenkins, tag": (
        JENKINS | {"BRANCH_NAME": "v1.2", "TAG_NAME": "v1.2", "GIT_BRANCH": "v1.2"},
        ("", ""),
    ),
    "Buildkite, branch": (BUILDKITE | {"BUILDKITE_BRANCH": "trunk"}, ("trunk", "trunk")),
    "Buildkite, pull request": (
        BUILDKITE
        | {"BUILDKITE_BRANCH": "fix", "BUILDKITE_PULL_REQUEST": "12"}
        | {"BUILDKITE_PULL_REQUEST_BASE_BRANCH": "release"},
        ("fix", "release"),
    ),
    "Buildkite, tag": (
        BUILDKITE | {"BUILDKITE_BRANCH": "v1.2", "BUILDKITE_TAG": "v1.2"},
        ("", "trunk"),
    ),
    "CircleCI, branch": (CIRCLE | {"CIRCLE_BRANCH": "fix"}, ("fix", "")),
    "CircleCI, tag": (CIRCLE | {"CIRCLE_TAG": "v1.2"}, ("", "")),
    "no service": ({"HOME": "/root"}, ("", "")),
}


@pytest.mark.parametrize("job", JOBS)
def test_commit_and_branches_of_a_job_in(job: str) -> None:
    variables, (branch, base) = JOBS[job]
    commit = "" if job == "no service" else SHA
    assert ci_context(variables) == RunContext(commit, branch, base)


def test_a_commit_that_buildkite_does_not_know_yet_is_unknown() -> None:
    assert not ci_context({"BUILDKITE": "true", "BUILDKITE_COMMIT": "HEAD"}).commit


X86 = "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Intel(R) Xeon(R) @ 2.8GHz\n\nprocessor\t: 1\n"
ARM = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"
LSCPU = "Architecture:  aarch64\nModel name:    Neoverse-N1\nBIOS Model name:  x\n"


@pytest.mark.parametrize(
    ("system", "cpuinfo", "printed", "expected"),
    [
        ("Linux", X86, "", "Intel(R) Xeon(R) @ 2.8GHz"),
        ("Linux", ARM, LSCPU, "Neoverse-N1"),
        ("Linux", ARM, None, ""),
        ("Darwin", "", "machdep.cpu.brand_string: Apple M1 (Virtual)\n", "Apple M1 (Virtual)"),
        ("Windows", "", "", "AMD64 Family 25 Model 1"),
    ],
)
def test_cpu_of_a_job_is_that_of_this_machine(
    system: str,
    cpuinfo: str,
    printed: str | None,
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, script = tmp_path / "cpuinfo", tmp_path / "script"
    if cpuinfo:
        path.write_text(cpuinfo, encoding="utf-8")
    if printed is not None:
        script.write_text(f"#!/bin/sh\ncat <<'END'\n{printed}END\n", encoding="utf-8")
        script.chmod(0o755)
    monkeypatch.setattr(context, "CPUINFO", path)
    known = {name: (str(script),) for name in context.COMMANDS}
    monkeypatch.setattr(context, "COMMANDS", known)
    monkeypatch.setattr("platform.system", lambda: system)
    monkeypatch.setattr("platform.processor", lambda: "AMD64 Family 25 Model 1")
    for job in ({"CI": "true"}, JENKINS):
        assert cpu_of_job(job) == expected
    for job in ({}, {"CI": "false"}):
        assert not cpu_of_job(job)
