"""Otava's configuration: templates, CSV options, Graphite tests against a local server, errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from barograph.results.fields import FieldError
from barograph.results.repeats import Results
from barograph.results.series import Direction
from barograph.runtime.errors import DataError, SourceError
from barograph.sources.formats import content, otava
from barograph.sources.formats.base import InputFile, Judgement, ReadOptions, Result
from barograph.sources.formats.context import RunContext
from barograph.sources.formats.read import read_files
from barograph.sources.formats.yaml_text import decode_yaml
from barograph.sources.report import Skip
from tests.shared import PATIENCE
from tests.sources.formats.graphite_server import GraphiteServer, graphite_server
from tests.sources.formats.samples import results_of

CSV = "tests:\n  t:\n    type: csv\n    file: data.csv\n    metrics: [a]\n"


@pytest.fixture(scope="module")
def server() -> Iterator[GraphiteServer]:
    with graphite_server() as running:
        yield running


def read(folder: Path, config: str, kind: str = "otava") -> list[Result | Results | Skip]:
    """Return what a configuration in a folder yields; it has no verdicts."""
    path = folder / "otava.yaml"
    file = InputFile("otava.yaml", path, config.encode(), ReadOptions(kind))
    return [item for item in otava.read(file) if not isinstance(item, (Judgement, str))]


def results(folder: Path, config: str) -> list[Result]:
    return results_of(read(folder, config))


def test_a_later_template_and_the_test_override_earlier_templates(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("time,x,b\n2026-01-01,3,4\n")
    config = """
templates:
  one: {type: csv, file: missing.csv, metrics: {a: {column: x, direction: 1, scale: 10}}}
  two: {file: data.csv, metrics: {a: {scale: 100}}}
tests:
  t: {inherit: [one, two], metrics: {b: {}}}
  u: {inherit: two, type: csv, metrics: {a: {column: b, direction: "-1"}}}
"""
    read_ = [
        (r.series.test, r.series.measurement, r.value, r.direction)
        for r in results(tmp_path, config)
    ]
    assert read_ == [
        ("t", "a", 300, Direction.HIGHER_IS_BETTER),
        ("t", "b", 4, Direction.UNKNOWN),
        ("u", "a", 400, Direction.LOWER_IS_BETTER),
    ]


def test_delimiter_and_quotes_are_those_of_the_test(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(
        "time;run;a\n'2026;01;01';7;'1,5'\n".replace(";01;01", "-01-01")
    )
    config = CSV + "    csv_options: {delimiter: ';', quotechar: \"'\"}\n"
    (result,) = results(tmp_path, config)
    assert (result.value, result.run) == (1.5, "7")


def test_a_pattern_reads_all_files_in_order(tmp_path: Path) -> None:
    for name, value in (("p2", 2), ("p1", 1)):
        (tmp_path / f"{name}.csv").write_text(f"time,a\n2026-01-01,{value}\n")
    actual = results(tmp_path, CSV.replace("data.csv", "'p*.csv'"))
    assert [r.value for r in actual] == [1, 2]


def test_a_json_test_is_named_by_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text(
        '[{"timestamp": 1, "metrics": [{"name": "a", "value": 2}]}]'
    )
    (result,) = results(tmp_path, "tests: {t: {type: json, file: data.json}}")
    assert (result.series.test, result.series.measurement, result.value) == ("t", "a", 2)


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ("tests: [1]", "tests"),
        ("tests: {t: 1}", "tests.t"),
        ("tests: {t: {metrics: [a]}}", "tests.t.type"),
        ("tests: {t: {file: no.csv}}", "tests.t.file"),
        ("{graphite: {url: 'http://h', days: 0}, tests: {t: {prefix: p}}}", "graphite.days"),
        ("tests: {t: {type: csv, inherit: gone}}", "tests.t.inherit"),
        ("tests: {t: {type: csv, file: no.csv}}", "tests.t.file"),
        (CSV.replace("[a]", "3"), "tests.t.metrics"),
        (CSV.replace("[a]", "{a: {direction: 2}}"), "tests.t.metrics.a.direction"),
        (CSV.replace("[a]", "{a: {scale: [1]}}"), "tests.t.metrics.a.scale"),
        (CSV + "    csv_options: {delimiter: ab}", "tests.t.csv_options.delimiter"),
        ("tests: {t: {type: graphite, prefix: p}}", "graphite"),
        ("{graphite: {url: 'ftp://h'}, tests: {t: {type: graphite}}}", "graphite.url"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, config: str, field: str) -> None:
    (tmp_path / "data.csv").write_text("time,a,b\n2026-01-01,1,x\n")
    with pytest.raises(FieldError) as raised:
        read(tmp_path, config)
    assert raised.value.field == field


def test_a_missing_column_is_named_without_the_content_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("time,secret\n")
    with pytest.raises(DataError, match=r"otava\.yaml: data\.csv: no column 'a'") as raised:
        read(tmp_path, CSV)
    assert "secret" not in str(raised.value)


def test_value_that_is_no_number_is_skipped_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("\n# weekly\ntime,a\n2026-01-01,1\n2026-01-02,x\n")
    [skip] = [item for item in read(tmp_path, CSV) if isinstance(item, Skip)]
    assert str(skip) == "otava.yaml: data.csv: line 5: a = '(not shown)'"
    assert skip.reason == "value is not a number"


def test_metrics_of_one_column_and_cells_with_units_are_read(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("commit,a,b\nc1,1,2 ms\nc2,,3 ms\n")
    metrics = "{a: {column: b}, b: {scale: 10, unit: us}, c: {column: a, unit: s}}"
    actual = results(tmp_path, CSV.replace("[a]", metrics))
    assert [(r.series.measurement, r.commit, r.value, r.unit) for r in actual] == [
        ("a", "c1", 2, "ms"), ("b", "c1", 20, "ms"), ("c", "c1", 1, "s"),
        ("a", "c2", 3, "ms"), ("b", "c2", 30, "ms"),
    ]  # fmt: skip


def test_tests_of_other_types_only_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no test of the type csv, graphite or json"):
        read(tmp_path, "tests: {t: {type: bigquery}}")


@pytest.mark.parametrize(
    "content", ['"secret"', '{"secret": 1}', '["secret"]', "{secret", "secret"]
)
def test_no_error_shows_the_content_of_a_json_file(tmp_path: Path, content: str) -> None:
    (tmp_path / "data.json").write_text(content)
    (tmp_path / "x.yaml").write_text("tests:\n  t: {type: json, file: data.json}\n")
    with pytest.raises(DataError) as raised:
        read_files([tmp_path / "x.yaml"], context=RunContext())
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("place", ["{outside}/data.csv", "../data.csv", "link.csv", "../*.csv"])
def test_data_files_lie_below_the_configuration_or_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    folder, elsewhere = tmp_path / "inner", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    (tmp_path / "data.csv").write_text("time,a\n2026-01-01,1\n")
    (folder / "link.csv").symlink_to(tmp_path / "data.csv")
    config = CSV.replace("data.csv", f"'{place.format(outside=tmp_path)}'")
    with pytest.raises(FieldError) as raised:
        read(folder, config)
    assert raised.value.reason == otava.OUTSIDE
    monkeypatch.chdir(tmp_path)
    assert [r.value for r in results(folder, config)] == [1]


GRAPHITE = """
graphite: {{url: "{url}"}}
tests:
  read:
    type: graphite
    prefix: perf.read
    tags: [perf, daily]
    metrics:
      p50: {{suffix: client.p50, direction: -1, scale: 0.5, unit: ms}}
      ops: {{suffix: client.ops}}
      gone: {{suffix: gone}}
"""


def test_graphite_tests_are_requested_with_events_as_commits(
    server: GraphiteServer, tmp_path: Path
) -> None:
    server.targets = {
        "perf.read.client.p50": [[4.0, 1700000040], [None, 1700000100], [6.0, 1700000160]],
        "perf.read.client.ops": [[9.0, 1700000100]],
    }
    server.events = [
        {
            "what": "Performance Test",
            "when": 1700000045,
            "data": {"commit": "c1", "branch": "main"},
        },
        {
            "what": "Performance Test",
            "when": 1700000110,
            "data": "{'commit': 'c2', 'branch': 'null'}",
        },
    ]
    actual = [
        (r.series.measurement, r.value, r.unit, r.commit, r.branch, r.time)
        for r in results(tmp_path, GRAPHITE.format(url=server.url))
    ]
    assert actual == [
        ("p50", 2.0, "ms", "c1", "main", 1700000040000),
        ("p50", 3.0, "ms", "", "", 1700000160000),
        ("ops", 9.0, "", "c2", "", 1700000100000),
    ]
    assert "tags=perf+daily" in server.asked[-1]


@pytest.mark.parametrize("name", ["otava.yaml", "results.json.txt", "out"])
def test_no_server_is_contacted_for_a_file_that_was_recognised(
    server: GraphiteServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("A_TOKEN", "secret")
    before = len(server.asked)
    (tmp_path / name).write_text(GRAPHITE.format(url=f"{server.url}${{A_TOKEN}}/"))
    for location in (tmp_path / name, *([tmp_path] if name == "otava.yaml" else [])):
        with pytest.raises(
            DataError, match=r"tests\.read .* --kind otava, or kind = \"otava\""
        ) as e:
            read_files([location], context=RunContext())
        assert "secret" not in str(e.value)
    assert len(server.asked) == before
    with pytest.raises(SourceError, match="404"):
        read_files([tmp_path / name], ReadOptions("otava"), context=RunContext())
    assert server.asked[before].startswith("/secret/render?")


# Fleming et al. 2023, 2.2, as printed but for the address.
PRINTED = """
graphite:
  url: {url}
  suffixes:
    - ebdse_read.result

templates:
  common_metrics:
    metrics:
      throughput:
        scale: 1
        direction: 1
      p99:
        scale: 1.0e-6
        direction: -1

tests:
  db.20k-rw-ts.fixed:
    inherit:
      - common_metrics
    tags:
      - db.20k-rw-ts.fixed.1-bm2small-rf-1
    prefix: performance_regressions.db.20k-rw-ts.fixed
"""


def test_the_configuration_printed_in_the_paper_is_read(
    server: GraphiteServer, tmp_path: Path
) -> None:
    path = "performance_regressions.db.20k-rw-ts.fixed.ebdse_read.result"
    server.targets = {
        f"{path}.throughput": [[20000.0, 1700000040]],
        f"{path}.p99": [[3e6, 1700000040]],
    }
    server.events = [{"when": 1700000040, "data": {"commit": "c1", "branch": "main"}}]
    before = len(server.asked)
    actual = [
        (str(r.series), r.value, r.direction, r.commit)
        for r in results(tmp_path, PRINTED.format(url=server.url))
    ]
    assert actual == [
        ("db.20k-rw-ts.fixed/throughput", 20000.0, Direction.HIGHER_IS_BETTER, "c1"),
        ("db.20k-rw-ts.fixed/p99", 3.0, Direction.LOWER_IS_BETTER, "c1"),
    ]
    assert all("from=-365d" in query for query in server.asked[before:])
    window = PRINTED.replace("  suffixes:", "  days: 30\n  suffixes:")
    results(tmp_path, window.format(url=server.url))
    assert "from=-30d" in server.asked[-1]


def test_a_suffix_of_a_metric_replaces_those_of_the_server(
    server: GraphiteServer, tmp_path: Path
) -> None:
    metrics = "{p99: {suffix: own.p99}, ops: {}}"
    config = f"""{{graphite: {{url: '{server.url}', suffixes: [a.b, c]}},
      tests: {{t: {{prefix: p, metrics: {metrics}}}}}}}"""
    server.targets = {
        "p.own.p99": [[1.0, 1700000040]],
        "p.a.b.ops": [[2.0, 1700000040]],
        "p.c.ops": [[3.0, 1700000040]],
    }
    actual = [(r.series.measurement, r.value) for r in results(tmp_path, config)]
    assert actual == [("p99", 1.0), ("a.b.ops", 2.0), ("c.ops", 3.0)]


def test_a_test_with_a_file_is_a_csv(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("time,a\n2026-01-01,1\n")
    assert [r.value for r in results(tmp_path, CSV.replace("    type: csv\n", ""))] == [1]


def test_a_server_without_events_gives_results_and_a_note(
    server: GraphiteServer, tmp_path: Path
) -> None:
    server.targets, server.events = {"perf.read.client.p50": [[4.0, 1700000040]]}, None
    note, result = read(tmp_path, GRAPHITE.format(url=server.url))
    assert isinstance(note, Skip)
    assert "404" in str(note.value)
    assert isinstance(result, Result)


def test_a_render_url_is_read_like_a_file(server: GraphiteServer) -> None:
    server.targets = {"a.b": [[1.5, 1700000040], [2.5, 1700000100]]}
    loaded = read_files([f"{server.url}render?target=a.b&format=png&from=-1d"])
    assert [(str(row.id), row.values.tolist()) for row in loaded.history] == [("a.b", [1.5, 2.5])]
    assert "format=json" in server.asked[-1]
    assert loaded.files[0].name == f"{server.url}render"


def test_credentials_go_to_the_server_and_into_no_message(server: GraphiteServer) -> None:
    url = server.url.replace("http://", "http://me:se%63ret@")
    with pytest.raises(SourceError) as raised:
        content.download(f"{url}missing?token=secret")
    assert server.credentials[-1] == "Basic bWU6c2VjcmV0"
    assert str(raised.value) == f"{server.url}missing: the server answers 404 Not Found"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://127.0.0.1:1/render?key=secret", "cannot be reached"),
        ("http://me:secret@[::1/render", "cannot be read"),
        ("http://127.0.0.1:port/secret", "cannot be"),
        ("http://127.0.0.1/a b\r\nX: 1", "cannot be read"),
    ],
)
def test_a_failing_url_is_one_error_without_secrets(
    server: GraphiteServer, monkeypatch: pytest.MonkeyPatch, url: str, message: str
) -> None:
    monkeypatch.setattr(content, "TIMEOUT", PATIENCE)
    with pytest.raises(SourceError, match=message) as raised:
        content.download(url.format(url=server.url))
    assert "key=" not in str(raised.value)
    assert "me:" not in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x]\nb: &b ["
        + "*a, " * 60
        + "]\nc: &c ["
        + "*b, " * 60
        + "]\nd: ["
        + "*c, " * 60
        + "]",
        "a: &a0 {k: 1}\n"
        + "".join(f"a{i}: &a{i} {{<<: [{f'*a{i - 1}, ' * 9}]}}\n" for i in range(1, 9)),
        "a: &a [*a]",
        "[" * 300,
        "a: !!python/object/apply:os.system [ls]",
        "a: !!int ''",
        "a: !!timestamp x",
        "a: 2026-13-45",
        "a: " + "9" * 5_000,
        "{[1]: 2}",
        "a: [",
        "\x00",
        "a: 1" + ":1" * 400 + ":1.5",  # of base 60, and larger than any float
        "&a <<: {x: 1}\nb: *a",
    ],
    ids=range(14),
)
def test_hostile_yaml_is_one_error(text: str) -> None:
    with pytest.raises(DataError, match=r"^f\.yaml: "):
        decode_yaml(text, "f.yaml")


def test_yaml_is_decoded_as_its_authors_expect() -> None:
    text = """
      base: {x: 1, y: 2}
      plain: [1, -2.5, 0x1f, true, ~, 1e3, 2024-01-31, "no", 'it''s', !!str 7, '<<']
      text: |
        two
        lines
    """
    assert decode_yaml(text, "f.yaml") == {
        "base": {"x": 1, "y": 2},
        "plain": [
            *(1, -2.5, 31, True, None, "1e3", date(2024, 1, 31)),
            *("no", "it's", "7", "<<"),
        ],
        "text": "two\nlines\n",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &b 1\nc: *b", "not valid YAML in line 2: aliases are not read; repeat the value"),
        ("--- 1\n--- 2\n", "line 2: expected a single document in the stream, but found another"),
        (
            "a: {<<: 3}",
            "line 1: while constructing a mapping, expected a mapping or list of mappings",
        ),
    ],
)
def test_yaml_that_means_nothing_is_named(text: str, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)):
        decode_yaml(text, "f.yaml")


@pytest.mark.parametrize("pattern", ["''", "'**x'", "'['"])
def test_pattern_that_names_no_file_is_an_error(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "data.csv").write_text("time,a\n2026-01-01,1\n")
    with pytest.raises(FieldError, match="is not an existing file"):
        read(tmp_path, CSV.replace("data.csv", pattern))
