"""What axe-core, the accessibility checker, says of a page."""

from typing import TYPE_CHECKING, Any

from tests.support.needed import missing
from tests.support.paths import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Page

AXE = ROOT / "examples" / "node_modules" / "axe-core" / "axe.min.js"


def accessibility_problems(page: "Page") -> Any:
    """Return the serious and critical violations, each with its first elements."""
    if not AXE.exists():
        missing("axe-core", "run npm ci --ignore-scripts in examples")
    page.evaluate(AXE.read_text("utf-8") + "\n;0")
    return page.evaluate(
        """axe.run().then(({violations}) => violations
  .filter(({impact}) => ["serious", "critical"].includes(impact))
  .map(({id, nodes}) => [id, nodes.slice(0, 3).map(each => each.html.slice(0, 99) + each.failureSummary)]))"""
    )
