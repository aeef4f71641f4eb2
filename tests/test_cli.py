"""The command line and what it prints: exit codes, words, table, figure."""

import dataclasses
import io
import subprocess
import sys
import time

import matplotlib
import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import skdp
from skdp.cli import demo, main
from skdp.datasets import AdultData, load_adult
from skdp.exceptions import PrivacyError
from skdp.privacy.meaning import explain_budget
from skdp.reporting import PrivacyCost, Scores, draw_privacy_cost, privacy_cost_table

COST = PrivacyCost(
    private={
        1.0: (Scores(0.80, 0.61, 0.86), Scores(0.82, 0.63, 0.88)),
        0.1: (Scores(0.70, 0.51, 0.71), Scores(0.76, 0.57, 0.75)),
    },
    non_private=Scores(0.851, 0.764, 0.902),
    majority=Scores(0.764, 0.5, 0.5),
)


def run(*arguments):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=120
    )


def test_the_version_is_printed_by_the_module_and_by_main(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"skdp {skdp.__version__}\n"
    process = run("-m", "skdp", "--version")
    assert (process.returncode, process.stdout) == (0, f"skdp {skdp.__version__}\n")


def test_explain_prints_what_the_pair_means(capsys):
    assert main(["explain", "--epsilon", "1", "--delta", "1e-6"]) == 0
    assert capsys.readouterr().out == explain_budget(1.0, 1e-6) + "\n"
    assert main(["explain", "--epsilon", "0.5"]) == 0
    assert capsys.readouterr().out == explain_budget(0.5, 0.0) + "\n"


def test_help_names_the_commands(capsys):
    assert main(["--help"]) == 0
    told = capsys.readouterr().out
    assert "demo" in told
    assert "explain" in told
    assert "account" in told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "required: COMMAND"),
        (["dmeo"], "invalid choice"),
        (["explain"], "required: --epsilon"),
        (["explain", "--epsilon", "0"], "--epsilon: must be a finite number above 0, got '0'"),
        (["explain", "--epsilon", "-1"], "--epsilon: must be a finite number above 0"),
        (["explain", "--epsilon", "inf"], "--epsilon: must be a finite number above 0"),
        (["explain", "--epsilon", "nan"], "--epsilon: must be a finite number above 0"),
        (["explain", "--epsilon", "one"], "--epsilon: must be a finite number above 0"),
        (["explain", "--epsilon", "1", "--delta", "1"], "--delta: must be a number in [0, 1)"),
        (["explain", "--epsilon", "1", "--delta", "-0.1"], "--delta: must be a number in [0, 1)"),
        (["explain", "--epsilon", "1", "--delta", "x"], "--delta: must be a number in [0, 1)"),
        (["demo", "--draws", "0"], "--draws: must be a whole number of at least 1"),
        (["demo", "--draws", "1.5"], "--draws: must be a whole number of at least 1"),
        (["demo", "--output", "figure.txt"], "--output: must end in one of .pdf, .png, .svg"),
        (["demo", "--output", "no/such/folder/a.png"], "--output: must be a file in a folder"),
    ],
)
def test_a_wrong_request_is_told_in_words_with_exit_code_2(arguments, told, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert told in captured.err
    assert captured.out == ""


def test_a_wrong_request_shows_no_traceback():
    process = run("-m", "skdp", "explain", "--epsilon", "-3")
    assert process.returncode == 2
    assert "Traceback" not in process.stderr


@pytest.mark.parametrize("error", [PrivacyError("no budget"), PermissionError("no room")])
def test_a_failure_is_told_in_words_with_exit_code_1(error, monkeypatch, capsys, tmp_path):
    def fail(*_):
        raise error

    monkeypatch.setattr(demo, "measure", fail)
    assert main(["demo", "--output", str(tmp_path / "a.png")]) == 1
    assert capsys.readouterr().err == f"skdp: error: {error}\n"
    assert not (tmp_path / "a.png").exists()


def test_the_command_line_starts_without_the_heavy_libraries():
    heavy = "{'dp_accounting', 'matplotlib', 'mpmath', 'rich'}"
    process = run("-c", f"import sys, skdp.cli; print(sorted({heavy} & set(sys.modules)))")
    assert process.stdout.strip() == "[]", process.stderr


@pytest.fixture(scope="module")
def adult():
    return load_adult()


def test_the_demo_shows_what_privacy_cost_in_less_than_a_minute(capsys, tmp_path):
    figure = tmp_path / "figure.png"
    start = time.perf_counter()
    assert main(["demo", "--draws", "1", "--output", str(figure)]) == 0
    assert time.perf_counter() - start < 60
    told = capsys.readouterr().out
    for words in ("majority class", "epsilon 0.1", "epsilon 3", "without privacy", str(figure)):
        assert words in told
    assert "epsilon = 1" in told
    assert "What this does not promise" in told
    assert "fitting models" not in told, "no progress bar when the output is not a terminal"
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert figure.stat().st_size > 20_000


def test_the_demo_measures_every_draw_and_references_that_can_be_checked(adult):
    parts = [adult.frame[adult.frame["split"] == split].head(4000) for split in ("train", "test")]
    small = AdultData(pd.concat(parts))
    cost, statement = demo.measure(small, 2, Console(quiet=True))
    assert {epsilon: len(draws) for epsilon, draws in cost.private.items()} == dict.fromkeys(
        demo.EPSILONS, 2
    )
    assert statement.epsilon == demo.EXPLAINED_EPSILON
    majority = (parts[1]["income"] == "<=50K").mean()
    assert cost.majority == Scores(majority, 0.5, 0.5)
    assert cost.non_private.accuracy > majority + 0.05
    for first, second in cost.private.values():
        assert first != second, "each draw has noise of its own"


def test_scores_are_those_of_a_hand_count():
    is_positive = np.array([True, True, False, False, False])
    decision = np.array([2.0, -1.0, -3.0, 0.5, 0.0])
    # Right: the first, third and fifth; of the six pairs four are in order.
    scores = Scores.of(is_positive, decision)
    expected = (3 / 5, (1 / 2 + 2 / 3) / 2, 4 / 6)
    assert dataclasses.astuple(scores) == pytest.approx(expected, rel=1e-12)
    assert Scores.of_majority(is_positive) == Scores(3 / 5, 0.5, 0.5)
    assert Scores.of_majority(~is_positive) == Scores(3 / 5, 0.5, 0.5)


def test_spreads_are_ordered_by_epsilon_and_hold_mean_and_extremes():
    spreads = COST.spreads(lambda scores: scores.accuracy)
    assert list(spreads) == [0.1, 1.0]
    assert (spreads[0.1].low, spreads[0.1].high) == (0.70, 0.76)
    assert spreads[0.1].mean == pytest.approx(0.73)


def test_the_table_fits_into_80_characters_and_shows_mean_and_range():
    console = Console(width=80, file=io.StringIO())
    console.print(privacy_cost_table(COST, "title"))
    lines = console.file.getvalue().splitlines()
    rows = [line.split() for line in lines if line.startswith((" epsilon", " majority"))]
    assert rows[0] == ["majority", "class", "0.764", "0.500", "0.500"]
    assert rows[1][:4] == ["epsilon", "0.1", "0.730", "(.700-.760)"]
    assert rows[2][2:] == ["0.810", "(.800-.820)", "0.620", "(.610-.630)", "0.870", "(.860-.880)"]
    assert "…" not in "".join(lines)


def test_a_single_draw_has_no_range():
    console = Console(width=80, file=io.StringIO())
    console.print(
        privacy_cost_table(PrivacyCost({2.0: COST.private[1.0][:1]}, *[COST.majority] * 2))
    )
    row = next(line for line in console.file.getvalue().splitlines() if "epsilon 2" in line)
    assert row.split() == ["epsilon", "2", "0.800", "0.610", "0.860"]


def test_the_figure_names_its_lines_and_states_their_values(tmp_path):
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        draw_privacy_cost(COST, tmp_path / "figure.svg", "A title")
    drawn = (tmp_path / "figure.svg").read_text()
    for text in (
        "A title",
        "Accuracy",
        "AUC",
        "epsilon (smaller is more private)",
        "private, mean and range of 2 draws",
        "without privacy",
        "majority class",
        *("0.730", "0.810", "0.870", "0.851", "0.902", "0.764"),
    ):
        assert text in drawn, text
