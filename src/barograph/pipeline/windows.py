"""Stage `windows`: Figure 2 of Bauer et al. 2022, AUC by the window that After may fill."""

import pandas as pd

from barograph.learning.figures import note_figure
from barograph.pipeline import report
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.stage import run
from barograph.runtime.errors import NotEnoughDataError
from barograph.studies.windows import WindowsParams, auc_by_window, window_figure

FOLDER = report.FOLDER / "windows"


def main() -> None:
    """Run the stage; without verdicts of both kinds the table is empty, and the figure says why."""
    try:
        table = auc_by_window(parameters(WindowsParams, "windows"))
    except NotEnoughDataError as error:
        report.write_csv(FOLDER / "windows.csv", pd.DataFrame(columns=["window", "auc"]))
        report.write_json(report.FOLDER / "windows.json", {})
        note_figure(f"No AUC by window: {error}", FOLDER / "windows.png")
        return
    report.write_csv(FOLDER / "windows.csv", table)
    metrics = {
        "auc": dict(zip(table["window"], table["auc"], strict=True)),
        "best_window": int(table["auc"].to_numpy()[:-1].argmax()),
    }
    report.write_json(report.FOLDER / "windows.json", metrics)
    window_figure(table, f"profile {profile_name()}", FOLDER / "windows.png")


if __name__ == "__main__":
    run(main)
