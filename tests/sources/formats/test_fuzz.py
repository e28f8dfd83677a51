"""Whatever the bytes of a file are, reading gives results or one error that names the file."""

import math
import random
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.runtime.errors import BarographError
from barograph.sources.formats.base import Format, InputFile, ReadOptions
from barograph.sources.formats.read import Collector
from barograph.sources.formats.registry import formats
from barograph.sources.formats.runs import in_one_unit
from tests.sources.formats.mutations import MUTATIONS, mutated

SAMPLES = Path(__file__).with_name("samples")
EXAMPLES = 12  # of each format
SLOWEST = 5.0  # seconds for one file
LONGEST = 300  # characters of an error
KNOWN = {form.name: form for form in formats()}


class BrokenPromiseError(AssertionError):
    """A mutation that was not read as promised."""


def read_mutation(form: Format, known: Sequence[Format], path: Path, content: bytes) -> bool:
    """Read damaged content as a format; return whether there were results.

    Args:
        form: The format.
        known: The formats that try to recognise the content.
        path: The file; for a folder, the damaged file is in it.
        content: The damaged content; not used for a folder.

    Raises:
        BrokenPromiseError: There was another exception, or a result that cannot be used.
    """
    is_folder = path.is_dir()
    started = time.perf_counter()
    file = InputFile(path.name, path, None if is_folder else content)
    try:
        for other in known:
            other.matches(file)
        collector = Collector(ReadOptions(), path.name)
        collector.add(file, form)
        results = in_one_unit(collector.finish(), collector.report)
        for name in (*results.ids, *results.commits.names, *results.units.names):
            str(name).encode()
    except BarographError as error:
        message = str(error)
        if path.name not in message or "\n" in message or len(message) > LONGEST:
            raise BrokenPromiseError(f"bad message: {message!r:.400}") from None
        return False
    except Exception as error:
        raise BrokenPromiseError(f"{type(error).__name__}: {error!s:.200}") from error
    spent = time.perf_counter() - started  # a look at the CPU time would take as long as a reading
    if spent > SLOWEST:
        raise BrokenPromiseError(f"took {spent:.1f} s")
    if not all(map(math.isfinite, results.values.tolist())):
        raise BrokenPromiseError("a value is not finite")
    return len(results) > 0


def damaged(sample: Path, chance: random.Random, folder: Path) -> tuple[Path, bytes]:
    """Return a damaged version of a sample; one of a folder is written to `folder`."""
    if not sample.is_dir():
        return sample, mutated(sample.read_bytes(), chance)
    copy = folder / sample.name
    shutil.copytree(sample, copy)
    file = chance.choice(sorted(file for file in copy.rglob("*") if file.is_file()))
    file.write_bytes(mutated(file.read_bytes(), chance))
    return copy, b""


@pytest.mark.parametrize("name", sorted(folder.name for folder in SAMPLES.iterdir()))
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_damaged_file_gives_results_or_one_error(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    sample = data.draw(st.sampled_from(sorted((SAMPLES / name).iterdir())))
    chance = data.draw(st.randoms(use_true_random=False))
    folder = tmp_path_factory.mktemp("fuzz") if sample.is_dir() else Path()
    path, content = damaged(sample, chance, folder)
    read_mutation(KNOWN[name], list(KNOWN.values()), path, content)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda function: function.__name__)
def test_mutation_accepts_empty_and_binary_content(mutation: object) -> None:
    assert callable(mutation)
    for content in (b"", b"\x00\xff\xfe", b"[1]"):
        assert isinstance(mutation(content, random.Random(1)), bytes)


def test_mutations_differ_from_the_sample() -> None:
    content = b'{"benchmarks": [{"name": "graft", "value": 4.5}]}'
    actual = {mutated(content, random.Random(seed)) for seed in range(50)}
    assert len(actual - {content}) > 40
