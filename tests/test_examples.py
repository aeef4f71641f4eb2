"""Every script in examples/ runs and says what it should."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_there_are_examples():
    assert EXAMPLES


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(script, capsys):
    runpy.run_path(str(script), run_name="__main__")
    shown = capsys.readouterr().out
    assert "What this does not promise" in shown
    assert "left in the ledger: Spending(epsilon=1.0" in shown
