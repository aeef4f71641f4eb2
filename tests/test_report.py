"""A report says what the statement says, and nothing in it is markup."""

import json
import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent
from markdown_it import MarkdownIt
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVR

from skdp.cli import main
from skdp.decomposition import PrivatePCA
from skdp.exceptions import PrivacyLeakWarning, UnsupportedEventError
from skdp.feature_selection import PrivateSelectKBest
from skdp.linear_model import (
    PrivateElasticNet,
    PrivateElasticNetClassifier,
    PrivateRidge,
    PrivateRidgeClassifier,
    SparseDPSGDClassifier,
    SparseDPSGDRegressor,
    StableSGDClassifier,
)
from skdp.meta import StabilityOutputPerturbation
from skdp.model_selection import PrivateGridSearchCV
from skdp.neural_network import PrivateMLPClassifier
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import PrivateMinMaxScaler, PrivateQuantileClipper, PrivateStandardScaler
from skdp.privacy import (
    InMemoryLedger,
    Neighbours,
    PrivacyBudget,
    PrivacyLedger,
    PrivacyStatement,
    composed_statement,
    noise_source,
)
from skdp.privacy.accounting import EventCurve
from skdp.privacy.events import PureReleaseDpEvent
from skdp.privacy.trade_off import attack_power
from skdp.reporting import write_model_card, write_report
from skdp.reporting.power_figure import power_figure
from skdp.reporting.report import STYLE
from skdp.reporting.report_facts import declared

EVIL = (
    "<script>alert(1)</script> </style></pre> [a](javascript:alert(1)) ![b](https://c.example/d) "
    "`e` **f** | g | <img src=x onerror=alert(1)> https://h.example\n\n# Heading\n\n- item\n"
    "```\nfence\n``` &lt;b&gt; \x00\u202e\ud800"
)


def stated(*, seeded=False, **changes):
    fields = {
        "curve": EventCurve(GaussianDpEvent(4.2247)),
        "budget": PrivacyBudget(1.0, 1e-6),
        "neighbours": Neighbours.ADD_OR_REMOVE_ONE,
        "theorem": EVIL,
        "assumptions": (EVIL, "The number of columns is public."),
        "noise": noise_source(seeded=seeded),
    }
    return PrivacyStatement(**{**fields, **changes})


class Page(HTMLParser):
    """Elements, their attributes, and whether they are closed in order."""

    VOID = frozenset({"meta", "input", "circle", "line", "polyline"})

    def __init__(self, text):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def named(self, name):
        return [attributes for tag, attributes in self.elements if tag == name]


def page_of(statement, folder, **options):
    write_report(statement, folder / "r.html", **options)
    return (folder / "r.html").read_text(encoding="utf-8")


def test_no_text_of_a_statement_becomes_markup(tmp_path):
    harmless = stated(theorem="t", assumptions=("a", "b"))
    hostile = stated(noise=EVIL, unit=EVIL)
    text = page_of(hostile, tmp_path, title=EVIL)
    tags = [tag for tag, _ in Page(text).elements]
    assert tags == [tag for tag, _ in Page(page_of(harmless, tmp_path)).elements]
    assert not {"script", "img", "a", "link", "iframe"} & set(tags)
    assert not {"\x00", "\u202e"} & set(text)


def test_no_text_of_a_statement_becomes_markup_in_a_card(tmp_path):
    def kinds(statement):
        write_model_card(statement, tmp_path / "c.md")
        text = (tmp_path / "c.md").read_text(encoding="utf-8")
        reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
        blocks = reader.parse(text)
        inner = {part.type for block in blocks for part in block.children or ()}
        return [block.type for block in blocks], inner, text

    blocks, inner, text = kinds(stated(noise=EVIL, unit=EVIL))
    expected, _, _ = kinds(stated(theorem="t", assumptions=("a", "b")))
    assert blocks == expected
    assert inner <= {"text", "text_special"}
    assert "https://" not in text.replace("    ", "").split("## Caveats")[1]


def test_a_seeded_fit_is_warned_about_and_another_is_not(tmp_path):
    for seeded in (True, False):
        write_model_card(stated(seeded=seeded), tmp_path / "c.md")
        assert ('<p role="alert">' in page_of(stated(seeded=seeded), tmp_path)) is seeded
        assert ("Warning" in (tmp_path / "c.md").read_text(encoding="utf-8")) is seeded


def test_an_unproved_sensitivity_is_warned_about(tmp_path):
    assert "declared by the user, not proved" in page_of(stated(verified=False), tmp_path)


def test_a_page_has_a_language_landmarks_and_headings_that_name_its_sections(tmp_path):
    page = Page(page_of(stated(), tmp_path, ledger=InMemoryLedger(1.0)))
    assert page.named("html") == [{"lang": "en"}]
    assert len(page.named("main")) == len(page.named("h1")) == len(page.named("title")) - 1 == 1
    assert {a["aria-labelledby"] for a in page.named("section")} == {
        a["id"] for a in page.named("h2")
    }
    assert any(a.get("name") == "viewport" for a in page.named("meta"))
    assert sum(a.get("type") == "checkbox" for a in page.named("input")) == 2


PURE = EventCurve(PureReleaseDpEvent(1.0, 0.0, 1.0, "l2", "replace-one", 1.0))


@pytest.mark.parametrize("curve", [EventCurve(GaussianDpEvent(4.2247)), PURE])
def test_the_figure_is_the_ceiling_of_the_curve(curve):
    points = re.search(r'class="curve" points="([^"]+)"', power_figure(curve))[1]
    drawn = np.array([point.split(",") for point in points.split()], dtype=float)
    rates, powers = (drawn[:, 0] - 52) / 300, 1 - (drawn[:, 1] - 12) / 300
    assert (rates[0], rates[-1]) == (0.0, 1.0)
    # Between its points too, where the curve may have a kink; to a pixel or two.
    for rate in np.linspace(0.02, 0.98, 97):
        shown = np.interp(rate, rates, powers)
        assert shown == pytest.approx(attack_power(curve, rate), abs=5e-3)


def test_rates_after_at_most_are_rounded_up(tmp_path):
    shown = re.findall(r"<td>([\d.]+) %</td>", page_of(stated(), tmp_path))
    for text, rate in zip(shown, (0.001, 0.01, 0.1), strict=True):
        assert 0 <= float(text) / 100 - attack_power(stated(), rate) < 1.001e-4


def _contrast(one, other):
    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def test_colours_can_be_read_in_light_in_dark_and_on_paper():
    schemes = [dict(re.findall(r"--(\w+):(#\w+)", part)) for part in STYLE.split("@media")]
    assert [set(scheme) for scheme in schemes] == [{"back", "text", "soft", "curve", "alarm"}] * 3
    for scheme in schemes:
        back = scheme.pop("back")
        assert min(_contrast(back, colour) for colour in scheme.values()) >= 4.5


def test_parameters_are_shown_without_seed_ledger_and_objects_that_may_hold_rows(tmp_path):
    model = StabilityOutputPerturbation(
        LogisticRegression(random_state=8675309), random_state=24601, ledger=InMemoryLedger(7.77)
    )
    write_report(stated(), tmp_path / "r.html", estimator=model)
    write_model_card(stated(), tmp_path / "c.md", estimator=model)
    for name in ("r.html", "c.md"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "LogisticRegression" in text
        assert not re.search("8675309|24601|7.77", text)


def test_what_is_left_in_a_ledger_is_shown(tmp_path):
    small = InMemoryLedger(1.5, 1e-5, Neighbours.ADD_OR_REMOVE_ONE)
    small.spend(stated(theorem="t"), purpose="fit")
    text = page_of(stated(), tmp_path, ledger=small)
    assert "epsilon left</th><td>0.5</td>" in text
    assert "delta left</th><td>9e-06</td>" in text
    kept = PrivacyLedger.create(
        tmp_path / "l.db", 1.5, 1e-5, filter="basic", neighbours="add-or-remove-one"
    )
    kept.spend(stated(theorem="t", assumptions=()), purpose="fit")
    text = page_of(stated(), tmp_path, ledger=kept)
    assert "epsilon left</th><td>0.5</td>" in text
    assert "releases entered</th><td>1</td>" in text


FAMILIES = {
    "pure": PrivateElasticNetClassifier(classes=[0, 1]),
    "Gaussian": PrivateElasticNetClassifier(classes=[0, 1], delta=1e-6, noise="gaussian"),
    "elastic net": PrivateElasticNet(),
    "ridge": PrivateRidge(),
    "ridge classifier": PrivateRidgeClassifier(neighbours="replace-one"),
    "private SGD": SparseDPSGDClassifier(classes=[0, 1], delta=1e-6),
    "private SGD regressor": SparseDPSGDRegressor(delta=1e-6),
    "permutation SGD": StableSGDClassifier(classes=[0, 1]),
    "network": PrivateMLPClassifier(hidden_layer_sizes=(3,), classes=[0, 1]),
    "PCA": PrivatePCA(2),
    "PCA with a private centre": PrivatePCA(2, center="private"),
    "selection": PrivateSelectKBest(k=2),
    "wrapper": StabilityOutputPerturbation(LogisticRegression()),
    "scaler": PrivateStandardScaler(),
    "ranges": PrivateMinMaxScaler(),
    "clipper": PrivateQuantileClipper(),
    "search": PrivateGridSearchCV(
        PrivateElasticNetClassifier(classes=[0, 1]), {"alpha": [0.1, 1.0]}, epsilon=2.0
    ),
}


@pytest.mark.parametrize("model", FAMILIES.values(), ids=FAMILIES.keys())
def test_the_statement_of_every_family_comes_back_from_its_text(model):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (200, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        statement = model.fit(X, np.arange(200) % 2).privacy_
    again = PrivacyStatement.from_dict(json.loads(statement.to_json()))
    assert again.to_dict() == statement.to_dict()
    assert again.delta_at(0.5) == pytest.approx(statement.delta_at(0.5), rel=1e-6)


def test_a_composed_statement_comes_back_from_its_text():
    whole = composed_statement([stated(), stated(verified=False)])
    assert not whole.verified
    assert composed_statement([stated(), stated()]).verified
    again = PrivacyStatement.from_dict(json.loads(whole.to_json()))
    assert again.to_dict() == whole.to_dict()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"neighbours": "replace-one"}, "its event is add-or-remove-one"),
        ({"epsilon": 0.5}, "The event of this document has delta"),
        ({"requested_delta": 0.0}, "The event of this document has delta"),
        ({"neighbours": "none"}, "not a valid Neighbours"),
        ({"assumptions": "text"}, "'assumptions'"),
        ({"assumptions": [1]}, "'assumptions'"),
        ({"verified": "false"}, "'verified'"),
        ({"epsilon": True}, "'epsilon'"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"event": {"type": "GaussianDpEvent", "sigma": 1.0}}, "cannot be read"),
    ],
)
def test_a_document_that_does_not_prove_what_it_states_is_refused(changes, told):
    with pytest.raises(ValueError, match=told):
        PrivacyStatement.from_dict({**stated().to_dict(), **changes})


def test_a_document_without_a_field_or_with_an_unknown_event_is_refused():
    fields = stated().to_dict()
    for name in set(fields) - {"delta"}:
        with pytest.raises(ValueError, match=f"no '{name}'"):
            PrivacyStatement.from_dict({key: fields[key] for key in set(fields) - {name}})
    with pytest.raises(UnsupportedEventError):
        PrivacyStatement.from_dict({**fields, "event": {"type": "os.system"}})


def test_the_command_writes_a_page_and_a_card_and_says_that_a_file_proves_nothing(tmp_path, capsys):
    source, page, card = (tmp_path / name for name in ("s.json", "r.html", "c.md"))
    source.write_text(stated().to_json(), encoding="utf-8")
    assert main(["report", str(source), "--output", str(page), "--card", str(card)]) == 0
    told = capsys.readouterr().out
    assert "proves nothing" in told
    assert str(page) in told
    assert str(card) in told
    assert "epsilon = 1, delta = 1e-06" in page.read_text(encoding="utf-8")
    assert "epsilon = 1, delta = 1e-06" in card.read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000, '{"epsilon": 1}'])
def test_a_file_that_is_no_statement_is_told_in_words(text, tmp_path, capsys):
    source = tmp_path / "s.json"
    source.write_text(text, encoding="utf-8")
    assert main(["report", str(source), "--output", str(tmp_path / "r.html")]) == 1
    assert capsys.readouterr().err.startswith("skdp: error: ")
    assert not (tmp_path / "r.html").exists()


def test_the_command_does_not_write_over_the_statement(tmp_path, capsys):
    source = tmp_path / "s.json"
    source.write_text(stated().to_json(), encoding="utf-8")
    assert main(["report", str(source), "--output", str(source)]) == 1
    assert "must differ" in capsys.readouterr().err
    assert source.read_text(encoding="utf-8") == stated().to_json()


def test_a_search_shows_one_class_and_one_budget(tmp_path):
    """The search divides its own: what the estimator within it would spend is not used."""
    y = np.arange(40) % 2
    model = PrivateElasticNetClassifier(epsilon=7.0, delta=0.03125, classes=[0, 1])
    found = PrivateGridSearchCV(model, {"alpha": [1.0]}, epsilon=2.0).fit(np.eye(40, 3), y)
    rows = declared(found)
    names = [name for name, _ in rows]
    assert len(set(names)) == len(names)
    assert rows[0] == ("class", "PrivateGridSearchCV")
    assert ("estimator", "PrivateElasticNetClassifier") in rows
    assert [row for row in rows if row[0].endswith("epsilon")] == [("epsilon", "2.0")]
    page = page_of(found.privacy_, tmp_path, estimator=found)
    write_model_card(found.privacy_, tmp_path / "c.md", estimator=found)
    for text in (page, (tmp_path / "c.md").read_text(encoding="utf-8")):
        assert "0.03125" not in text


def test_steps_of_a_private_pipeline_are_shown_with_shares_of_the_whole():
    pipeline = make_private_pipeline(
        PrivateStandardScaler((0.0, 1.0), neighbours="replace-one"),
        PrivateElasticNetClassifier(epsilon=7.0, classes=[0, 1]),
        epsilon=2.0,
    )
    assert [name for name, _ in declared(pipeline) if "epsilon" in name] == ["epsilon"]
    rows = declared(pipeline.fit(np.eye(40, 3), np.arange(40) % 2))
    assert [row for row in rows if "epsilon" in row[0]] == [
        ("epsilon", "2.0"),
        ("privateelasticnetclassifier__epsilon", "1.5 (a share of the whole)"),
        ("privatestandardscaler__epsilon", "0.5 (a share of the whole)"),
    ]


def test_what_is_called_epsilon_and_is_no_budget_is_shown():
    wrapped = StabilityOutputPerturbation(LinearSVR(epsilon=0.25))
    assert ("estimator__epsilon", "0.25") in declared(wrapped)
