"""`barograph clusters`: common steps in files and in a store."""

import json
from pathlib import Path

import click
import numpy as np
import pytest

from barograph.cli import COMMANDS, group, main
from barograph.cli.clusters import configured_settings
from barograph.cli.config import load_config
from barograph.detection import ClusterSettings


def table(folder: Path, step: float = 5.0) -> Path:
    """Write 40 series of 80 commits; 25 of them, of either direction, step at commit 50."""
    noise = np.random.default_rng(4).normal(100.0, 1.0, (40, 80))
    noise[:25, 50:] += step
    rows = ["project,test,order,commit,direction,value"]
    rows += [
        f"db,t{row},{10 * index},c{index},{'lower' if row < 20 else 'higher'},{value}"
        for row, line in enumerate(noise.tolist())
        for index, value in enumerate(line)
    ]
    path = folder / "results.csv"
    path.write_text("\n".join([*rows, ""]))
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object, config: object = "") -> str:
    capsys.readouterr()
    first = ["--config", str(config)] if config else []
    with pytest.raises(SystemExit) as ended:
        main([*first, "clusters", *map(str, arguments)])
    assert not ended.value.code
    return capsys.readouterr().out


def test_clusters_of_a_file_name_commit_size_and_effect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = table(tmp_path)
    lines = run(capsys, path).splitlines()
    assert lines[0].startswith("db  c50  25 series: 20 worse, 5 better, +5")
    assert lines[-2:] == ["  and 20 more", "40 series in 1 project, 1 cluster"]
    assert len(run(capsys, path, "--all").splitlines()) == 27
    [project] = json.loads(run(capsys, path, "--format", "json"))["projects"]
    [cluster] = project["clusters"]
    assert {member["series"] for member in cluster["members"]} == {
        f"db/t{row}/-" for row in range(25)
    }
    _, first, *_ = run(capsys, path, "--format", "csv").splitlines()
    assert first.startswith("db,c50,500,25,20,5,4.99")
    (tmp_path / "barograph.toml").write_text("[clusters]\nspan = 20\n")
    *_, count, why = run(capsys, path, config=tmp_path / "barograph.toml").splitlines()
    assert count == "40 series in 1 project, 0 clusters"
    assert all(key in why for key in ("min-members", "cutoff", "span"))


def test_clusters_of_a_store_are_those_of_its_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, store = table(tmp_path), tmp_path / "store.db"
    with pytest.raises(SystemExit) as ended:
        main(["import", str(path), "--store", str(store)])
    assert not ended.value.code
    assert run(capsys, "--store", store, "--all") == run(capsys, path, "--all")


def test_named_store_counts_before_the_files_of_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = table(tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("barograph.toml").write_text(f'[input]\nfiles = ["{path.name}"]\n')
    for files, message in (((), "no such store"), ((path,), "files or --store, not both")):
        with pytest.raises(SystemExit) as ended:
            main(["clusters", *map(str, files), "--store", "absent.db"])
        assert ended.value.code == 1
        assert message in capsys.readouterr().err


def test_service_searches_as_the_configuration_says(tmp_path: Path) -> None:
    path = tmp_path / "barograph.toml"
    path.write_text("[clusters]\nspan = 100\nmin-members = 5\nall = true\n")
    context = click.Context(group, obj=load_config(COMMANDS, path))
    with context.scope():
        settings = configured_settings()
    assert settings == ClusterSettings(span=100, min_members=5)


def test_neither_files_nor_a_store_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["clusters"])
    assert ended.value.code == 1
    assert "name files, or a store with --store" in capsys.readouterr().err
