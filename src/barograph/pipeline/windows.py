"""Stage `windows`: Figure 2 of Bauer et al. 2022, AUC by the window that After may fill."""

from barograph.pipeline import report
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.stage import run
from barograph.studies.windows import WindowsParams, auc_by_window, window_figure

FOLDER = report.FOLDER / "windows"


def main() -> None:
    """Run the stage."""
    table = auc_by_window(parameters(WindowsParams, "windows"))
    report.write_csv(FOLDER / "windows.csv", table)
    metrics = {
        "auc": dict(zip(table["window"], table["auc"], strict=True)),
        "best_window": int(table["auc"].to_numpy()[:-1].argmax()),
    }
    report.write_json(report.FOLDER / "windows.json", metrics)
    window_figure(table, f"profile {profile_name()}", FOLDER / "windows.png")


if __name__ == "__main__":
    run(main)
