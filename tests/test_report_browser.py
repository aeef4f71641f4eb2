"""A report looked at in a real browser: layout, colours, and that no text of it runs."""

import json
import os
import re
import shutil
import subprocess
from html import unescape

import pytest
from dp_accounting import GaussianDpEvent

from skdp.privacy import InMemoryLedger, Neighbours, PrivacyBudget, PrivacyStatement, noise_source
from skdp.privacy.accounting import EventCurve
from skdp.reporting import write_report

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
EVIL = "<script>parent.ran = true</script><img src=x onerror='parent.ran = true'>"

# The page is shown in a frame of each width; this window measures it, since the page may not.
HARNESS = """<!doctype html><pre id="out"></pre><script>
const text = %s, widths = [320, 1200], out = {};
function measured(frame) {
  const page = frame.contentDocument, root = page.documentElement;
  const box = page.querySelector("svg").getBoundingClientRect();
  const style = frame.contentWindow.getComputedStyle(page.body);
  return {
    overflow: root.scrollWidth - root.clientWidth, svg: [box.width, box.height],
    background: style.backgroundColor, colour: style.color,
    stroke: frame.contentWindow.getComputedStyle(page.querySelector(".curve")).stroke,
    scripts: page.scripts.length, images: page.images.length, words: page.body.innerText,
    ran: Boolean(window.ran),
  };
}
for (const width of widths) {
  const frame = document.createElement("iframe");
  frame.width = width; frame.height = 800; frame.srcdoc = text;
  frame.onload = () => {
    out[width] = measured(frame);
    if (Object.keys(out).length === widths.length)
      document.getElementById("out").textContent = JSON.stringify(out);
  };
  document.body.append(frame);
}
</script>"""

pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no Chromium on the path, and none named by the variable CHROMIUM"
)


def looked_at(page, folder):
    # In a script, a closing tag within a text would end it.
    text = json.dumps(page.read_text(encoding="utf-8")).replace("<", "\\u003c")
    harness = folder / "harness.html"
    harness.write_text(HARNESS % text, encoding="utf-8")
    shown = subprocess.run(
        [
            *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
            *("--disable-dev-shm-usage", f"--user-data-dir={folder / 'profile'}"),
            *("--virtual-time-budget=10000", "--dump-dom", harness.as_uri()),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    return json.loads(unescape(re.search(r'<pre id="out">(.*?)</pre>', shown, re.DOTALL)[1]))


def test_a_browser_shows_all_of_the_page_at_both_widths_and_runs_nothing_of_it(tmp_path):
    statement = PrivacyStatement(
        curve=EventCurve(GaussianDpEvent(4.2247)),
        budget=PrivacyBudget(1.0, 1e-6),
        neighbours=Neighbours.ADD_OR_REMOVE_ONE,
        theorem=EVIL,
        assumptions=(EVIL, "x" * 400),
        noise=noise_source(seeded=False),
    )
    page = tmp_path / "report.html"
    write_report(statement, page, ledger=InMemoryLedger(1.5), title=EVIL)
    for width, seen in looked_at(page, tmp_path).items():
        assert seen["overflow"] <= 0, f"the page is wider than {width} pixels"
        assert min(seen["svg"]) > 200
        assert seen["background"] != seen["colour"]
        assert seen["stroke"] not in ("none", seen["background"])
        assert (seen["scripts"], seen["images"], seen["ran"]) == (0, 0, False)
        for words in (EVIL, "epsilon = 1, delta = 1e-06", "Budget left", "Assumptions to check"):
            assert words in seen["words"]
