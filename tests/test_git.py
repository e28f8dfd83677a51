"""What git knows about commits, and that nothing it does not know is an error."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from barograph.sources.git import Repository
from tests.repositories import START, Made, make_repository

# main:   first - second - merge - last        (the branch left at `first` and is merged)
# branch:     \-- one - two --/
# old:    first - lost: what `second` was before a rebase; no branch points to it
COMMITS = {
    "first": Made(time=0),
    "lost": Made(("first",), 5),
    "second": Made(("first",), 30),
    "one": Made(("first",), 10, "topic"),
    "two": Made(("one",), 40, "topic"),
    "merge": Made(("second", "two"), 50),
    "last": Made(("merge",), 60),
}


class Tree(NamedTuple):
    """A repository and the hashes of its commits."""

    folder: Path
    hashes: dict[str, str]

    def ordered(self, *names: str) -> list[str]:
        """Return the names of commits in the order that git gives them."""
        listed = Repository(self.folder).history([self.hashes[name] for name in names])
        by_hash = {commit: name for name, commit in self.hashes.items()}
        return [by_hash[commit] for commit in listed if by_hash[commit] in names]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    folder = tmp_path_factory.mktemp("git")
    return Tree(folder, make_repository(folder, COMMITS))


def test_head_is_the_checked_out_commit(tree: Tree) -> None:
    head = Repository(tree.folder).head()
    assert head == (tree.hashes["last"], 1000 * (START + 60), "last", "A")


def test_abbreviated_hashes_keep_the_requested_names(tree: Tree) -> None:
    names = [tree.hashes["one"][:7], tree.hashes["two"].upper()]
    actual = Repository(tree.folder).find(names)
    assert [(name, commit.subject) for name, commit in actual.items()] == [
        (names[0], "one"),
        (names[1], "two"),
    ]


def test_subject_ends_with_its_line_whatever_ends_lines(tmp_path: Path) -> None:
    made = make_repository(tmp_path, {"Fix\r": Made()})
    [commit] = Repository(tmp_path).find(made.values()).values()
    assert commit.subject == "Fix"


@pytest.mark.parametrize("name", ["f" * 40, "main", "HEAD", "abc", "", "--all", "first\nmain"])
def test_other_names_are_not_found(tree: Tree, name: str) -> None:
    assert Repository(tree.folder).find([name, tree.hashes["one"]]).keys() == {tree.hashes["one"]}


def test_parents_come_before_children_whatever_their_dates(tree: Tree) -> None:
    assert tree.ordered("last", "second", "merge", "first") == ["first", "second", "merge", "last"]


def test_merged_branch_comes_right_before_its_merge(tree: Tree) -> None:
    names = ["first", "second", "one", "two", "merge", "last"]
    assert tree.ordered(*reversed(names)) == names


def test_commit_that_no_branch_holds_any_more_keeps_its_place(tree: Tree) -> None:
    assert tree.ordered("lost", "first")[0] == "first"


def test_history_has_the_commits_between_the_given_ones(tree: Tree) -> None:
    names = {commit: name for name, commit in tree.hashes.items()}
    listed = Repository(tree.folder).history([tree.hashes["merge"], tree.hashes["second"]])
    assert [names[commit] for commit in listed] == ["first", "second", "one", "two", "merge"]
    assert Repository(tree.folder).history([]) == []


def test_shallow_clone_is_recognised(tree: Tree, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    command = ["git", "clone", "-q", "--depth", "1", f"file://{tree.folder}", str(clone)]
    subprocess.run(command, check=True)  # noqa: S603
    assert [Repository(folder).is_shallow() for folder in (clone, tree.folder)] == [True, False]


def test_a_hash_that_git_does_not_know_has_no_history(tree: Tree) -> None:
    assert Repository(tree.folder).history(["f" * 40]) == []


def test_repository_without_commits_has_no_head(tmp_path: Path) -> None:
    make_repository(tmp_path / "a", {})
    assert Repository(tmp_path / "a").head() is None


def test_nothing_is_known_outside_of_a_repository(tmp_path: Path, tree: Tree) -> None:
    outside = Repository(tmp_path / "missing")
    assert (outside.head(), outside.find([tree.hashes["one"]])) == (None, {})


def test_nothing_is_known_when_git_is_missing_or_too_slow(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("barograph.sources.git.TIMEOUT", 1e-6)
        assert Repository(tree.folder).head() is None
    monkeypatch.setenv("PATH", "")
    assert Repository(tree.folder).head() is None
