"""Links of the pages to files of the repository, as they are followed on a code host; the site's build checks those between pages."""
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_linked_files_are_there(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", re.sub(r"`[^`]*`", "", text))
    missing = [target for target in targets if not target.startswith(("http", "mailto")) and not (page.parent / target).exists()]
    assert not missing


def test_every_page_of_the_site_is_listed():
    """By the index of the site, or as a page of the reference in it."""
    index = (ROOT / "docs" / "index.md").read_text()
    listed = re.findall(r"^([\w/-]+)$", index, re.MULTILINE)
    pages = {str(page.relative_to(ROOT / "docs").with_suffix("")) for page in (ROOT / "docs").rglob("*.md")} - {"index"}
    assert pages == set(listed) & pages and len(pages) > 20
