"""The tables of the ground as people read them: a value and its interval in one cell."""

import math

import pandas as pd


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """Put intervals into cells, and what is to be compared side by side."""
    if "mean" in table:
        return _crossed(table)
    cells = table.astype(object)
    for name in [column for column in table if f"{column}, low" in table]:
        bounds = [name, f"{name}, low", f"{name}, high"]
        cells[name] = [_cell(*row) for row in table[bounds].itertuples(index=False)]
        cells = cells.drop(columns=bounds[1:])
    return cells.map(_plain)


def _crossed(table: pd.DataFrame) -> pd.DataFrame:
    """Spread the waits, the cases of a single measure, or the measures over columns."""
    rows, columns = ["cases", "detector"], "measure"
    if "wait" in table:
        rows, columns = ["detector", "half found after"], "wait"
    elif len(set(table["measure"])) == 1:
        rows, columns = ["detector"], "cases"
    wide: dict[tuple[str, ...], dict[str, str]] = {}
    for record in table.to_dict("records"):
        key = tuple(_plain(record[name]) for name in rows)
        cell = _cell(record["mean"], record["low"], record["high"])
        wide.setdefault(key, {})[str(record[columns])] = cell
    return pd.DataFrame([dict(zip(rows, key, strict=True)) | row for key, row in wide.items()])


def _cell(mean: float, low: float, high: float) -> str:
    return "-" if math.isnan(mean) else f"{mean:.3f} [{low:.3f}, {high:.3f}]"


def _plain(value: object) -> str:
    if value is pd.NA or value != value:  # NaN
        return "-"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    return str(value)
