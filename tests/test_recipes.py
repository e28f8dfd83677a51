"""The shell steps of action.yml and of docs/ci.md work, and the Dockerfile starts the service."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
import yaml

from barograph.cli import COMMANDS, group

ROOT = Path(__file__).resolve().parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["id"]: step for step in ACTION["runs"]["steps"] if "run" in step}
PAGE = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
INSERT = "test_insert"
# A stand-in for the user's benchmarks: its results are in BENCHMARK_RESULT.
TOOLS = {
    "barograph": f'exec "{sys.executable}" -m barograph "$@"\n',
    "pytest": 'cp "$BENCHMARK_RESULT" output.json\n',
    "gh": f'exec "{sys.executable}" "{ROOT / "tests/github.py"}" "$@"\n',
    "copyArtifacts": "true\n",
}


def benchmark(seconds: float) -> str:
    """Return what pytest-benchmark writes about one benchmark."""
    stats = {"min": seconds, "max": seconds, "mean": seconds, "median": seconds, "stddev": 0.0}
    stats |= {"rounds": 5, "iterations": 1, "ops": 1 / seconds}
    row: dict[str, Any] = {
        "group": None,
        "name": INSERT,
        "fullname": f"bench.py::{INSERT}",
        "params": None,
    }
    row |= {"param": None, "extra_info": {}, "options": {}, "stats": stats}
    return json.dumps(
        {"machine_info": {}, "commit_info": {}, "benchmarks": [row], "datetime": "", "version": "5"}
    )


class Job:
    """A checkout with a remote, and the variables that CI services set."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.temp = folder / "checkout", folder / "temp"
        self.remote = folder / "remote.git"
        tools = folder / "tools"
        for place in (self.temp, tools):
            place.mkdir()
        for name, script in TOOLS.items():
            (tools / name).write_text(f"#!/bin/sh\n{script}")
            (tools / name).chmod(0o755)
        kept = ("HOME", "NUMBA_CACHE_DIR", "LANG")
        self.environment = {name: os.environ[name] for name in kept if name in os.environ} | {
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "src"),
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_OUTPUT": str(self.temp / "output"),
            "GITHUB_STEP_SUMMARY": str(self.temp / "summary.md"),
            "GH_COMMENTS": str(self.temp / "comments.json"),
            "BENCHMARK_RESULT": str(self.temp / "result.json"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a@b",
            "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@b",
        }
        self.shell(f"git init -q --bare -b main {self.remote}", folder)
        self.shell(f"git clone -q {self.remote} checkout 2> /dev/null", folder)
        self.shell("git commit -q --allow-empty -m first && git push -q origin HEAD:main")
        self.sha = self.shell("git rev-parse HEAD").strip()

    def shell(self, script: str, folder: Path | None = None) -> str:
        """Run a script as CI services do, and return what it prints."""
        done = self.run(script, {}, folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def run(
        self, script: str, more: Mapping[str, str], folder: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a script with more variables."""
        return subprocess.run(  # noqa: S603 - our own scripts
            ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=folder or self.folder,
            env=self.environment | dict(more),
            capture_output=True,
            text=True,
            check=False,
        )

    def step(self, name: str, values: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a step of the action; the values are those of its variables."""
        assert set(values) == set(STEPS[name]["env"])
        return self.run(STEPS[name]["run"], values)

    @property
    def comments(self) -> list[dict[str, Any]]:
        """The comments on GitHub."""
        path = Path(self.environment["GH_COMMENTS"])
        comments: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []
        return comments

    @comments.setter
    def comments(self, comments: list[dict[str, Any]]) -> None:
        Path(self.environment["GH_COMMENTS"]).write_text(json.dumps(comments))

    def outputs(self) -> dict[str, str]:
        """Return the outputs that the steps have written."""
        lines = (self.temp / "output").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)


def quiet_history(path: Path) -> None:
    """Write a history of 30 commits with a level of one second."""
    noise = np.random.default_rng(5).normal(0, 0.005, 30)
    rows = [
        f"{k},c{k},main,bench.py,{INSERT},median,lower,{1 + x:.6f}" for k, x in enumerate(noise)
    ]
    header = "order,commit,branch,task,test,measurement,direction,value"
    path.write_text("\n".join([header, *rows, ""]))


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


GITHUB = {"GITHUB_ACTIONS": "true", "GITHUB_REF_NAME": "main", "GITHUB_REPOSITORY": "o/r"}
GITHUB |= {"GITHUB_WORKFLOW": "CI", "GITHUB_JOB": "bench"}
NEEDS_JQ = pytest.mark.skipif(shutil.which("jq") is None, reason="the stand-in for gh needs jq")


def condition(expression: str, values: Mapping[str, str]) -> bool:
    """Return the value of an expression of the action."""
    text = expression.strip("${} ")
    for name, value in values.items():
        text = text.replace(name, repr(value))
    result: bool = eval(text.replace("||", "or").replace("&&", "and"), {})  # noqa: S307 - our own
    return result


def reading(history: str) -> dict[str, str]:
    return {"HISTORY": history, "OUTPUTS": "output.json", "TOOL": "auto", "NAME": ""}


def comment_values(job: Job, number: str = "", needed: str = "true") -> dict[str, str]:
    """Return the variables of the step that comments, on a file whose text is `text`."""
    comment = job.temp / "barograph.md"
    comment.write_text("text\n")
    job.environment |= GITHUB | {"GITHUB_SHA": job.sha}
    values = {"GH_TOKEN": "x", "COMMENT": str(comment), "CC": "", "NAME": "", "NEEDED": needed}
    return values | {"NUMBER": number}


@pytest.mark.parametrize("number", ["7", ""])
def test_token_that_cannot_comment_does_not_fail_the_job(job: Job, number: str) -> None:
    (job.folder.parent / "tools/gh").write_text("#!/bin/sh\necho '{}'\nexit 1\n")
    done = job.step("comment", comment_values(job, number))
    assert done.returncode == 0
    assert "::warning::the comment could not be written" in done.stdout


@NEEDS_JQ
def test_comment_on_a_pull_request_is_updated(job: Job) -> None:
    place = "repos/o/r/issues/7/comments"
    values = comment_values(job, "7")
    mark = "<!-- barograph: CI, bench,  -->\n"
    others = [
        {"id": 1, "place": place, "user": {"type": "User", "login": "eve"}, "body": mark},
        {"id": 2, "place": place, "user": {"type": "Bot", "login": "other"}, "body": "LGTM"},
        {"id": 3, "place": place, "user": {"type": "Bot", "login": "b"}, "body": f"see {mark}"},
    ]
    job.comments = others
    assert job.step("comment", comment_values(job, "7", "false")).returncode == 0
    assert job.comments == others  # nothing to say, and nothing to correct
    assert job.step("comment", values).returncode == 0
    assert [entry["id"] for entry in job.comments] == [1, 2, 3, 4]
    assert job.comments[3]["body"] == f"{mark}text\n"
    for text in ("second", "third"):  # also if the regression is gone
        needed = "true" if text == "second" else "false"
        Path(values["COMMENT"]).write_text(text)
        assert job.step("comment", values | {"NEEDED": needed}).returncode == 0
        assert job.comments[:3] == others
        assert [entry["body"] for entry in job.comments[3:]] == [f"{mark}{text}"]
    assert job.step("comment", values | {"NAME": "other"}).returncode == 0
    assert len(job.comments) == 5


@NEEDS_JQ
def test_token_of_a_user_updates_the_comment_of_this_user(job: Job) -> None:
    job.environment["GH_LOGIN"] = "alice"
    for _ in range(2):
        assert job.step("comment", comment_values(job, "7")).returncode == 0
    assert [entry["user"]["login"] for entry in job.comments] == ["alice"]


@pytest.mark.parametrize(
    ("event", "stores"),
    [
        *(("push", "true"), ("schedule", "true"), ("workflow_dispatch", "true")),
        *(("pull_request", "false"), ("workflow_run", "false"), ("merge_group", "false")),
        ("release", "false"),
    ],
)
def test_action_stores_results_of_trusted_events_only(job: Job, event: str, stores: str) -> None:
    assert job.step("event", {"EVENT": event}).returncode == 0
    assert job.outputs()["stores"] == stores
    values = {"inputs.external-data-json-path": "", "inputs.auto-push": "true"}
    assert condition(STEPS["store"]["if"], values | {"steps.event.outputs.stores": stores}) is (
        stores == "true"
    )


def test_action_refuses_pull_request_target(job: Job) -> None:
    assert next(iter(ACTION["runs"]["steps"])) is STEPS["event"]  # before anything else runs
    done = job.step("event", {"EVENT": "pull_request_target"})
    assert done.returncode == 1
    assert "::error::the event pull_request_target is refused" in done.stdout
    assert not (job.temp / "output").exists()


def test_action_gates_comments_and_stores(job: Job) -> None:
    job.environment |= GITHUB | {"GITHUB_SHA": job.sha, "GITHUB_REF": "refs/heads/main"}
    branch = {"BRANCH": "barograph"}
    first = job.step("history", branch | {"FOLDER": "data", "EXTERNAL": "", "SKIP_FETCH": "false"})
    assert (first.returncode, first.stderr) == (0, "")
    history = job.outputs()["path"]
    quiet_history(Path(history))
    (job.folder / "output.json").write_text(benchmark(2.5))
    flags = {"FAIL_ON": "regression", "MIN_CHANGE": "0.5", "STORES": "true"}
    gate = job.step("gate", reading(history) | flags)
    assert gate.returncode == 0, gate.stdout + gate.stderr
    outputs = job.outputs()
    assert outputs["exit-code"] in ("2", "4")  # two and a half times as slow at the newest commit
    assert INSERT in gate.stdout
    assert INSERT in (job.temp / "summary.md").read_text()
    assert "<html" in Path(outputs["report"]).read_text()
    stored = job.step("store", branch | reading(history))
    assert stored.returncode == 0, stored.stderr
    kept = job.shell("git show barograph:data/history.csv", job.remote)
    assert kept.count("\n") == 32
    assert job.sha in kept
    comment = comment_values(job) | {"COMMENT": outputs["comment"], "CC": "@alice"}
    assert job.step("comment", comment).returncode == 0
    [written] = job.comments
    assert written["place"] == f"repos/o/r/commits/{job.sha}/comments"
    assert "CC: @alice" in written["body"]
    again = job.step("store", branch | reading(history))
    assert (again.returncode, again.stdout + again.stderr) == (0, "")  # nothing to commit
    assert job.step("fail", {"CODE": "4", "FAIL_ON_ALERT": "true"}).returncode == 4
    assert job.step("fail", {"CODE": "3", "FAIL_ON_ALERT": "true"}).returncode == 0
    assert job.step("fail", {"CODE": "2", "FAIL_ON_ALERT": "false"}).returncode == 0


def test_action_begins_no_history_if_the_remote_cannot_be_read(job: Job) -> None:
    job.shell("git remote set-url origin ./no-such-remote")
    values = {"BRANCH": "barograph", "FOLDER": ".", "EXTERNAL": "", "SKIP_FETCH": "false"}
    failed = job.step("history", values)
    assert failed.returncode != 0
    assert "no-such-remote" in failed.stderr


def test_action_judges_a_pull_request_without_storing_it(job: Job) -> None:
    job.environment |= GITHUB | {"GITHUB_SHA": job.sha, "GITHUB_HEAD_REF": "faster"}
    job.environment |= {"GITHUB_BASE_REF": "main", "GITHUB_REF_NAME": "7/merge"}
    history = job.temp / "history.csv"
    quiet_history(history)
    before = history.read_bytes()
    (job.folder / "output.json").write_text(benchmark(1.001))
    flags = {"FAIL_ON": "regression", "MIN_CHANGE": "0.5", "STORES": "false"}
    gate = job.step("gate", reading(str(history)) | flags)
    assert gate.returncode == 0, gate.stdout + gate.stderr
    assert job.outputs()["exit-code"] == "0"
    assert history.read_bytes() == before


def test_action_fails_if_the_history_cannot_be_committed(job: Job) -> None:
    job.environment |= GITHUB | {"GITHUB_SHA": job.sha, "GITHUB_REF": "refs/heads/main"}
    values = {"BRANCH": "barograph", "FOLDER": ".", "EXTERNAL": "", "SKIP_FETCH": "false"}
    assert job.step("history", values).returncode == 0
    history = job.outputs()["path"]
    quiet_history(Path(history))
    hook = job.folder / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\necho refused >&2\nexit 1\n")
    hook.chmod(0o755)
    stored = job.step("store", {"BRANCH": "barograph"} | reading(history))
    assert stored.returncode == 1
    assert "refused" in stored.stderr


def test_action_appends_again_if_another_job_pushed_first(job: Job) -> None:
    job.environment |= GITHUB | {"GITHUB_SHA": job.sha, "GITHUB_REF": "refs/heads/main"}
    values = {"BRANCH": "barograph", "FOLDER": ".", "EXTERNAL": "", "SKIP_FETCH": "false"}
    assert job.step("history", values).returncode == 0
    history = job.outputs()["path"]
    quiet_history(Path(history))
    job.shell(
        "git add -A && git commit -qm other && git push -q origin HEAD:refs/heads/barograph",
        Path(history).parent,
    )
    job.shell("git reset -q --hard HEAD~1", Path(history).parent)
    (job.folder / "output.json").write_text(benchmark(1.0))
    job.shell(f"barograph append {history} output.json")
    stored = job.step("store", {"BRANCH": "barograph"} | reading(history))
    assert stored.returncode == 0, stored.stderr
    assert job.shell("git show barograph:history.csv", job.remote).count("\n") == 32


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def gitlab_script() -> str:
    [document] = [yaml.safe_load(text) for text in blocks("yaml") if "gitlab" in text]
    return "\n".join(document["benchmarks"]["script"])


def jenkins_script() -> str:
    [text] = blocks("groovy")
    shells = re.findall(r"sh '''(.*?)'''|sh '(.*?)'", text, re.DOTALL)
    return "\n".join(long or short for long, short in shells)


@pytest.mark.parametrize(
    ("script", "history"),
    [(gitlab_script(), ".barograph/history.csv"), (jenkins_script(), "history.csv")],
    ids=["gitlab", "jenkins"],
)
def test_recipe_passes_a_quiet_commit_and_fails_a_doubled_run_time(
    job: Job, script: str, history: str
) -> None:
    path = job.folder / history
    path.parent.mkdir(exist_ok=True)
    quiet_history(path)
    sha = {"CI_COMMIT_SHA": job.sha, "GIT_COMMIT": job.sha}
    for seconds, expected in {1.001: [0], 2.0: [2, 4]}.items():
        (job.temp / "result.json").write_text(benchmark(seconds))
        done = job.run(script, sha)
        assert done.returncode in expected, done.stdout + done.stderr
    assert "<testsuite" in (job.folder / "barograph.xml").read_text()
    assert "<html" in (job.folder / "barograph.html").read_text()


def test_action_and_page_name_the_same_inputs_and_defaults() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| ([^|]*)\|", PAGE, re.MULTILINE)
    shown = {name: default.strip().strip("`") for name, default in rows}
    assert set(shown) == set(ACTION["inputs"])
    for name, options in ACTION["inputs"].items():
        expected = "required" if options.get("required") else str(options.get("default", ""))
        assert shown[name] == ("the job's" if "${{" in expected else expected)


@pytest.mark.parametrize(
    ("code", "on_alert", "always", "expected"),
    [
        ("2", "true", "false", True),
        ("4", "true", "false", True),
        ("0", "true", "false", False),
        ("3", "true", "false", False),
        ("2", "false", "false", False),
        ("0", "false", "true", True),
    ],
)
def test_action_comments_on_what_changed(
    code: str, on_alert: str, always: str, expected: bool
) -> None:
    # Code 3 is too little history: the first jobs of a repository get no comment.
    values = {"inputs.comment-on-alert": on_alert, "inputs.comment-always": always}
    step, exit_code = STEPS["comment"], {"steps.gate.outputs.exit-code": code}
    runs, needed = (
        condition(step["if"], values),
        condition(step["env"]["NEEDED"], values | exit_code),
    )
    assert (runs and needed) is expected


def test_steps_get_expressions_by_variables_only() -> None:
    # An expression inside of a script would run what a branch name says.
    for name, step in STEPS.items():
        assert "${{" not in step["run"], name


def test_dockerfile_runs_commands_that_exist() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    entry: list[Any] = json.loads(re.findall(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)[0])
    name, *arguments = json.loads(re.findall(r"^CMD (.*)$", text, re.MULTILINE)[0])
    assert (entry, name) == (["barograph"], "serve")
    command = group.get_command(click.Context(group), name)
    assert command is not None
    command.make_context(name, list(arguments))
    assert all(word in COMMANDS for word in re.findall(r"^RUN barograph (\w+)", text, re.MULTILINE))
    for source in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE):
        assert all((ROOT / path).exists() for path in source.split())
