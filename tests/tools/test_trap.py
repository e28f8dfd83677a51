"""The picture of Algorithm 1 after an alarm: one forest is trapped, the other is not."""

from pathlib import Path

from tools import trap


def test_only_the_forest_without_short_sides_is_trapped(tmp_path: Path) -> None:
    trapped = trap.alarms(trap.forest(with_short=False))
    assert trapped == list(range(1, trap.LENGTH))  # from the second point on
    free = trap.alarms(trap.forest(with_short=True))
    assert trap.STEP in free
    assert all(trap.STEP <= point < trap.STEP + 6 for point in free)
    trap.main(tmp_path / "trap.png")
    assert (tmp_path / "trap.png").read_bytes().startswith(b"\x89PNG")
