"""Whatever the bytes of a file are, reading gives results or one error that names the file."""

import random
from pathlib import Path

import pytest
from fuzz_formats import SAMPLES, known_formats, mutations, read_mutation, sample_paths
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import MUTATIONS, mutated

EXAMPLES = 12  # of each format; the benchmark fuzz_formats.py does the rest
KNOWN = known_formats()


@pytest.mark.parametrize("name", sorted(folder.name for folder in SAMPLES.iterdir()))
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_damaged_file_gives_results_or_one_error(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    sample = data.draw(st.sampled_from(sample_paths(name)))
    chance = data.draw(st.randoms(use_true_random=False))
    folder = tmp_path_factory.mktemp("fuzz") if sample.is_dir() else Path()
    path, content = next(mutations(sample, chance, folder))
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
