"""Stage `algorithm_1`: Algorithm 1 of Bauer et al. 2022 beside the default online detector.

Learns the paper's forest on window 0, replays every commit with Pre from the last change point
found, and compares it with the trained models, without and with the second look. The model file
can be used by `OnlineDetector.algorithm_1` and `barograph replay --model`.
"""

from barograph.models import OnlineModels
from barograph.pipeline import report
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.replay import ONLINE, ReplayParams, learn_algorithm_1, write_replay
from barograph.pipeline.stage import page_without_verdicts, run
from barograph.studies.replay_methods import NOTES, methods_table

FOLDER = report.FOLDER / "algorithm_1"


@page_without_verdicts(FOLDER / "methods.md", "algorithm_1")
def main() -> None:
    """Run the stage."""
    params = parameters(ReplayParams, "replay")
    online = learn_algorithm_1(FOLDER, params)
    metrics = write_replay(FOLDER, online, params.min_points)
    replays = {"default, newest point alone": _default(params, "newest")}
    if OnlineModels.load(ONLINE).confirm is not None:
        replays["default, with the second look"] = _default(params, "second_look")
    replays["Algorithm 1"] = metrics
    table = methods_table(replays)
    report.write_csv(FOLDER / "methods.csv", table)
    title = f"Replay of every commit (Bauer et al. 2022, 4.2), profile {profile_name()}"
    report.write_table(FOLDER / "methods.md", title, report.formatted(table, 3), NOTES)
    report.write_json(report.FOLDER / "algorithm_1.json", metrics)


def _default(params: ReplayParams, name: str) -> dict[str, object]:
    """Replay with the trained models; parts that the stage `replay` did are not done again."""
    folder = FOLDER / name
    return write_replay(folder, ONLINE, params.min_points, second_look=name == "second_look")


if __name__ == "__main__":
    run(main)
