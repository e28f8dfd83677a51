import json

from barograph.sources import LoadReport, Place, Skip


def report_of_skips(count: int) -> LoadReport:
    report = LoadReport("somewhere")
    for number in range(count):
        report.read["points"] += 1
        report.skip("points", Skip(Place("file", number), "data.0.value", "x" * 500, "bad"))
    return report


def test_report_keeps_the_count_and_the_first_examples() -> None:
    entry = report_of_skips(10).as_dict()["skipped"]["points"]["bad"]
    assert entry["count"] == 10
    assert [example["document"] for example in entry["examples"]] == [0, 1, 2]
    assert all(len(example["value"]) < 100 for example in entry["examples"])


def test_report_does_not_depend_on_the_order_of_the_input() -> None:
    report_a, report_b = LoadReport("s"), LoadReport("s")
    for report, labels in ((report_a, ("a", "b")), (report_b, ("b", "a"))):
        for label in labels:
            report.labels[label] += 1
            report.corrected[label] += 1
            report.skip("series", Skip(Place("f", 1), "x", None, label))
    assert json.dumps(report_a.as_dict()) == json.dumps(report_b.as_dict())


def test_report_as_text_names_counts_and_examples() -> None:
    text = str(report_of_skips(2))
    assert "0 of 2; skipped: bad (2 times, first file: data.0.value = 'xxx" in text


def test_skip_names_place_field_and_value() -> None:
    skip = Skip(Place("dump/time_series.bson", 7), "data.3.value", "abc", "value is not a number")
    assert str(skip) == ("dump/time_series.bson: document 7: data.3.value = 'abc'")
    assert "dict of 3" in str(Skip(Place("f", 1), "x", dict.fromkeys("abc"), "y"))
