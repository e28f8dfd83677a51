"""Commands start quickly."""

import subprocess
import sys

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
