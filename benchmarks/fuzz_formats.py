"""Damage the sample files of every format at random, and read them.

Whatever the bytes are, reading gives results or one error of one line that names the file, within
seconds and bounded memory. Each format is fuzzed in a process of its own, so that its memory can be
measured; the number of mutations is for each format. Exits with 1 if any promise is broken.

    python benchmarks/fuzz_formats.py --count 100000
    python benchmarks/fuzz_formats.py --count 3000 jmh k6
"""

import argparse
import math
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from mutations import mutated

from barograph.runtime.errors import BarographError
from barograph.sources.formats.base import HEAD, Format, InputFile, ReadOptions, Sample
from barograph.sources.formats.collect import Collector
from barograph.sources.formats.registry import formats
from barograph.sources.formats.runs import in_one_unit

SAMPLES = Path(__file__).resolve().parent.parent / "tests" / "sources" / "formats" / "samples"
SLOWEST = 5.0  # seconds for one file
LONGEST = 300  # characters of an error
MOST_MEMORY = 1_000  # MB of a process
RECOGNISED = 8  # every eighth file is shown to all formats: a fuzzing of all shows each many
SAVED = "fuzz-failure"
IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108


class BrokenPromiseError(AssertionError):
    """A mutation that was not read as promised."""


def known_formats() -> dict[str, Format]:
    """Return all formats by name."""
    return {form.name: form for form in formats()}


def sample_paths(name: str) -> list[Path]:
    """Return the samples of a format: files, and folders for formats that are folders."""
    return sorted((SAMPLES / name).iterdir())


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
    sample = Sample(path, b"" if is_folder else content[:HEAD])
    try:
        for other in known:
            other.matches(sample)
        collector = Collector(ReadOptions(), path.name)
        collector.add(InputFile(path.name, path, None if is_folder else content), form)
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


def mutations(path: Path, chance: random.Random, folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield damaged versions of a sample without end; one of a folder is written to `folder`."""
    if not path.is_dir():
        content = path.read_bytes()
        while True:
            yield path, mutated(content, chance)
    copy = folder / path.name
    shutil.copytree(path, copy, dirs_exist_ok=True)
    files = sorted(file for file in copy.rglob("*") if file.is_file())
    while True:
        file = chance.choice(files)
        content = file.read_bytes()
        file.write_bytes(mutated(content, chance))
        yield copy, b""
        file.write_bytes(content)


def fuzz(name: str, count: int, seed: int) -> int:
    """Fuzz one format; print a line for each problem and one with the figures."""
    known = known_formats()
    form, others = known[name], list(known.values())
    before, started, read, broken = _megabytes(), time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=IN_MEMORY) as folder:
        streams = [
            mutations(path, random.Random(f"{seed} {path.name}"), Path(folder))  # noqa: S311
            for path in sample_paths(name)
        ]
        for number in range(count):
            path, content = next(streams[number % len(streams)])
            try:
                shown = others if number % RECOGNISED == 0 else ()
                read += read_mutation(form, shown, path, content)
            except BrokenPromiseError as problem:
                broken += 1
                Path(f"{SAVED}-{name}-{broken}").write_bytes(content)
                print(f"{name}: mutation {number} of {path.name}: {problem}", flush=True)
                if broken >= 10:
                    break
            if sys.stderr.isatty() and number % 100 == 0:
                print(f"\r{name}: {number:,} of {count:,}", end="", file=sys.stderr)
    after = _megabytes()
    if after > MOST_MEMORY:
        print(f"{name}: {after} MB of memory, {MOST_MEMORY} allowed")
        broken += 1
    share = f"{read / max(count, 1):.0%} with results"
    speed = f"{count / (time.monotonic() - started):,.0f}/s"
    print(f"{name}: {count:,} mutations, {share}, {speed}, {before} to {after} MB", flush=True)
    return min(broken, 1)


def _megabytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    """Fuzz the formats that are named, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("formats", nargs="*", help="names of formats; default: all with samples")
    parser.add_argument("--count", type=int, default=100_000, help="mutations of each format")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if len(options.formats) == 1:
        sys.exit(fuzz(options.formats[0], options.count, options.seed))
    names = options.formats or sorted(folder.name for folder in SAMPLES.iterdir())
    failed = []
    for name in names:
        command = [sys.executable, __file__, name, f"--count={options.count}"]
        done = subprocess.run([*command, f"--seed={options.seed}"], check=False, env=os.environ)
        failed += [name] if done.returncode else []
    print(f"{len(names)} formats, {len(failed)} with problems{': ' if failed else ''}", *failed)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
