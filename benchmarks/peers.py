"""Programs that others use, each in an environment of its own, and a way to ask them.

A peer pins versions that Barograph does not, so it cannot live beside it: the environment is made
once, in a cache folder, from the peer's own package.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
OTAVA = "apache-otava==0.8.0"
SIGNAL = "signal-processing-algorithms==2.1.6"


def cache() -> Path:
    """Return the folder that holds the environments (BAROGRAPH_CACHE, or the user's cache)."""
    home = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    return Path(os.environ.get("BAROGRAPH_CACHE", str(Path(home) / "barograph"))) / "peers"


def environment(requirement: str) -> Path:
    """Return the Python of the environment that holds one peer; make it if it is not there."""
    folder = cache() / requirement.replace("==", "-")
    python = folder / "bin" / "python"
    done = folder / "done"
    if not done.exists():
        print(f"making an environment for {requirement} in {folder}", file=sys.stderr)
        venv.create(folder, clear=True, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet", requirement]
        subprocess.run(install, check=True, stdout=sys.stderr)
        done.touch()
    return python


def ask(requirement: str, script: str, question: Mapping[str, object]) -> list[dict[str, Any]]:
    """Run a script of this folder in a peer's environment: question and answer are JSON files."""
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder) / "question.json", Path(folder) / "answer.json"
        asked.write_text(json.dumps(question), encoding="utf-8")
        python = str(environment(requirement))
        command = [python, "-W", "ignore", str(HERE / script), str(asked), str(answered)]
        alone = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PATH": os.environ["PATH"]}
        subprocess.run(command, check=True, env=alone, stdout=sys.stderr)
        answer: list[dict[str, Any]] = json.loads(answered.read_text(encoding="utf-8"))
        return answer
