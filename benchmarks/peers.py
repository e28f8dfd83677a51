"""Other programs to compare with, each in a separate environment.

They pin other versions than Barograph, so each is installed once into an environment in a cache
folder.
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
    """Return the folder of the environments (BAROGRAPH_CACHE, or the user's cache)."""
    home = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    return Path(os.environ.get("BAROGRAPH_CACHE", str(Path(home) / "barograph"))) / "peers"


def environment(requirement: str) -> Path:
    """Return the Python of a program's environment, which is created on first use."""
    folder = cache() / requirement.replace("==", "-")
    python = folder / "bin" / "python"
    done = folder / "done"
    if not done.exists():
        print(f"creating an environment for {requirement} in {folder}", file=sys.stderr)
        venv.create(folder, clear=True, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet", requirement]
        subprocess.run(install, check=True, stdout=sys.stderr)
        done.touch()
    return python


def ask(requirement: str, script: str, question: Mapping[str, object]) -> list[dict[str, Any]]:
    """Run a script of this folder in a program's environment; input and output are JSON files."""
    with tempfile.TemporaryDirectory() as folder:
        question_file, answer_file = Path(folder) / "question.json", Path(folder) / "answer.json"
        question_file.write_text(json.dumps(question), encoding="utf-8")
        python = str(environment(requirement))
        command = [python, "-W", "ignore", str(HERE / script), str(question_file), str(answer_file)]
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        subprocess.run(
            command, check=True, env=threads | {"PATH": os.environ["PATH"]}, stdout=sys.stderr
        )
        answer: list[dict[str, Any]] = json.loads(answer_file.read_text(encoding="utf-8"))
        return answer
