"""The project's own promises: its commands, its version, its pages."""

import re
import tomllib
from pathlib import Path

import skdp

ROOT = Path(__file__).parents[1]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_readme_gives_exactly_two_commands_and_ci_runs_the_second():
    commands = re.findall(r"```console\n(.*?)\n```", read("README.md"), flags=re.DOTALL)
    assert commands == [
        "python -m pip install -e . && python -m skdp demo",
        'python -m pip install -e ".[test]" && python -m pytest',
    ]
    assert f"bash -c '{commands[1]}'" in read(".ci/run")


def test_the_version_is_the_same_everywhere_and_in_the_changelog():
    version = tomllib.loads(read("pyproject.toml"))["project"]["version"]
    assert skdp.__version__ == version
    assert re.search(rf"^## {re.escape(version)}\b", read("docs/changelog.md"), flags=re.MULTILINE)


def test_links_between_pages_lead_to_files():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    links = [
        (page, target)
        for page in pages
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
    ]
    assert len(links) > 5
    assert [link for link in links if not (link[0].parent / link[1]).exists()] == []
