"""Sphinx configuration: `python -m sphinx -W docs docs/_build`."""

from importlib.metadata import version as installed_version

from numpydoc.docscrape import NumpyDocString
from numpydoc.docscrape_sphinx import SphinxDocString

project = "skdp"
author = "The skdp developers"
copyright = "The skdp developers"
release = version = installed_version("skdp")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
]
exclude_patterns = ["_build"]
default_role = "code"

html_theme = "pydata_sphinx_theme"
html_title = f"skdp {release}"
html_theme_options = {"show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}
html_show_sourcelink = False

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

myst_enable_extensions = ["dollarmath", "fieldlist"]
myst_heading_anchors = 3

# numpydoc drops sections that it does not know, and "Guarantees" is the one that matters most.
NumpyDocString.sections["Guarantees"] = []
known_section = SphinxDocString._str_section


def with_guarantees(docstring: SphinxDocString, name: str) -> list[str]:
    """Render a section, and the guarantees ahead of the notes."""
    ahead = known_section(docstring, "Guarantees") if name == "Notes" else []
    return [*ahead, *known_section(docstring, name)]


SphinxDocString._str_section = with_guarantees
