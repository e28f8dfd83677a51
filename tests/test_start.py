"""Commands start quickly, and need only the dependencies of a plain install."""

import os
import subprocess
import sys
from pathlib import Path

BIG = ("numpy", "numba", "pandas", "pyarrow", "sklearn", "scipy", "mlflow", "xgboost", "tsfeatures")


def test_help_imports_no_large_package() -> None:
    code = (
        "import sys\nfrom barograph.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {BIG!r} if name in sys.modules])"
    )
    done = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


# What the extras of pyproject.toml bring, by the names that are imported.
EXTRAS = (
    *("dask", "distributed", "dvc", "fastapi", "matplotlib", "mlflow", "prometheus_client"),
    *("psycopg", "pydantic", "statsmodels", "tsfeatures", "uvicorn", "xgboost", "yaml"),
)
COMMANDS = (
    *(["detect", "results.csv"], ["gate", "results.csv"]),
    *(["score", "results.csv"], ["import", "results.csv"], ["recompute"], ["export", "tables"]),
    *(["replay", "tables", "--workers", "1", "--out", "found"],),
    *(["classify", "tables", "--workers", "1"], ["token", "add", "ci", "--scope", "read"]),
)


def test_plain_install_runs_every_command_but_serve(tmp_path: Path) -> None:
    values = [100.0 + k % 3 for k in range(20)] + [130.0 + k % 3 for k in range(20)]
    rows = [f"insert,{k},{value}" for k, value in enumerate(values)]
    (tmp_path / "results.csv").write_text("\n".join(["test,order,value", *rows, ""]))
    code = (
        f"import sys\nsys.modules.update(dict.fromkeys({EXTRAS!r}))\n"
        "from barograph.cli import main\n"
        f"for command in {COMMANDS!r}:\n"
        "    try:\n        main(command)\n"
        "    except SystemExit as left:\n        print(command[0], 'left', left.code or 0)\n"
    )
    source = Path(__file__).resolve().parents[1] / "src"
    done = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(source), "BAROGRAPH_STORE": "store.db"},
    )
    assert done.returncode == 0, done.stderr
    left = [line.split() for line in done.stdout.splitlines() if " left " in line]
    codes = {name: code for name, _, code in left}
    assert codes == {command[0]: codes[command[0]] for command in COMMANDS}
    assert codes.pop("gate") in {"0", "2"}
    assert set(codes.values()) == {"0"}, done.stdout + done.stderr
