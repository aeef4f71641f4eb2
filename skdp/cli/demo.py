"""``skdp demo``: what privacy costs a classifier of a real census table."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skdp.cli import arguments

if TYPE_CHECKING:
    from skdp.datasets import AdultData
    from skdp.reporting import PrivacyCost

EPSILONS = (0.1, 0.5, 1.0, 3.0)
EXPLAINED_EPSILON = 1.0
TITLE = "Adult census: who earns more than $50,000?"


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "demo",
        help="train private classifiers on a real census table and show what privacy cost",
        description=(
            "Train private classifiers on the Adult census table at several epsilons, beside one "
            "without privacy; say what was promised; draw a figure."
        ),
    )
    parser.add_argument(
        "--output",
        type=arguments.figure_path,
        default=Path("skdp-demo.png"),
        help="figure to write; default: %(default)s",
    )
    parser.add_argument(
        "--draws",
        type=arguments.count,
        default=5,
        help="fits at each epsilon, each with noise of its own; default: %(default)s",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Measure, draw the figure, and print the table and the statement."""
    from rich.console import Console

    from skdp.datasets import load_adult
    from skdp.reporting import draw_privacy_cost, privacy_cost_table

    console = Console()
    cost, statement = measure(load_adult(), args.draws, console)
    draw_privacy_cost(cost, args.output, TITLE)
    console.print(privacy_cost_table(cost, TITLE))
    print(f"\n32,561 people to learn from, 16,281 to test on; {_draws_in_words(args.draws)}\n")
    print(f"What the model at epsilon {EXPLAINED_EPSILON:g} promises\n\n{statement.explain()}\n")
    print(f"Figure: {args.output}")


def _draws_in_words(draws: int) -> str:
    if draws == 1:
        return "one fit at each epsilon."
    return (
        f"mean, worst and best of {draws} fits at each epsilon.\n"
        "The encoding of this public table was chosen by accuracy on it; fix yours unseen.\n"
        "This is a demonstration: to release all of these models would spend the sum of budgets."
    )


def measure(adult: "AdultData", draws: int, console: Any) -> tuple["PrivacyCost", Any]:
    """Fit the models and score them on the test part.

    Returns
    -------
    cost : PrivacyCost
        The scores.
    statement : PrivacyStatement
        Of the last model with `EXPLAINED_EPSILON`.
    """
    from sklearn.linear_model import LogisticRegression

    from skdp.linear_model import PrivateElasticNetClassifier
    from skdp.reporting import PrivacyCost, Scores

    X_train, X_test, y_train, y_test = adult.encoded()
    earns_more = y_test == adult.classes[1]
    with _progress(console, total=1 + draws * len(EPSILONS)) as advance:

        def scores_of(model: Any) -> Scores:
            decision = model.fit(X_train, y_train).decision_function(X_test)
            advance()
            return Scores.of(earns_more, decision)

        non_private = scores_of(LogisticRegression(max_iter=1000))
        private, statements = {}, {}
        for epsilon in EPSILONS:
            model: Any = PrivateElasticNetClassifier(  # type: ignore[no-untyped-call]
                epsilon=epsilon, classes=adult.classes
            )
            private[epsilon] = tuple(scores_of(model) for _ in range(draws))
            statements[epsilon] = model.privacy_
    cost = PrivacyCost(private, non_private, Scores.of_majority(earns_more))
    return cost, statements[EXPLAINED_EPSILON]


@contextmanager
def _progress(console: Any, total: int) -> Iterator[Any]:
    """Show a bar, unless the output is not a terminal; yield what moves it by one fit."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("fitting models"), BarColumn(), MofNCompleteColumn())
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task("fits", total=total)
        yield lambda: progress.advance(task)
