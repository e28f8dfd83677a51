"""What a file of no known format looks like, and what would help, for errors."""

from __future__ import annotations

import re

from barograph.sources.formats.base import UTF_16, InputFile

SHOWN_KEYS = 6
# Tools whose output is not read: a mark in it, and the option that writes what is read.
OUTPUTS = (
    ("Google Benchmark", r"^Benchmark +Time +CPU |^name,iterations,real_time,cpu_time",
     "JSON with --benchmark_out=FILE --benchmark_out_format=json"),
    ("JMH", r"^Benchmark .*Mode +Cnt +Score ", "JSON with -rf json -rff FILE"),
    ("pytest-benchmark", r"^-+ benchmark.*: \d+ tests -+$", "JSON with --benchmark-json=FILE"),
    ("BenchmarkDotNet", r"^BenchmarkDotNet v?\d", "JSON with --exporters json"),
    ("fio", r"^fio-\d|\"fio version\"", ""),
    ("wrk", r"^Running \d+\w+ test @ ", ""),
    ("vegeta", r"^Requests +\[total, rate|^{\"latencies\":", ""),
    ("pgbench", r"^pgbench \(|^transaction type: ", ""),
    ("Catch2's JSON reporter", r"\"catch2-version\"\s*:",
     "XML with --reporter xml, as its JSON has no benchmarks"),
)  # fmt: skip
CONVERTED = "write its numbers to a CSV file with the columns test,measurement,value,unit"
NEEDED = (
    "a table needs a column of values: name it with --value-columns COLUMN or --map COLUMN=value"
)


def described(file: InputFile) -> tuple[str, str]:
    """Return what a file of no known format looks like, and what would help."""
    formats_hint = "`barograph formats` lists what can be read; --kind NAME names the format"
    if file.folder:
        return "a folder of no known format", formats_hint
    start = (file.content or b"")[:4_000]
    if not start.strip():
        return "the file is empty", "it must hold results"
    if b"\0" in start and start[:2] not in UTF_16:
        return "binary data of no known format", formats_hint
    text = file.head or file.text()[:4_000]
    text = text.lstrip("\ufeff \t\r\n")
    for tool, mark, option in OUTPUTS:
        if re.search(mark, text, re.MULTILINE):
            hint = f"let it write {option}" if option else CONVERTED
            return f"the text that {tool} prints" if option else f"the output of {tool}", hint
    if file.is_json:
        document = file.json()
        if isinstance(document, list):
            return "a JSON array of no known format", formats_hint
        keys = ", ".join(name[:40] for name in [*document][:SHOWN_KEYS])
        more = ", ..." if len(document) > SHOWN_KEYS else ""
        return f"JSON of no known format, with the keys {keys or '(none)'}{more}", formats_hint
    line = text.splitlines()[0][:60] if text else ""
    return f"text of no known format, which begins {line!r}", NEEDED
