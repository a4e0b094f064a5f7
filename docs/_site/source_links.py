"""MkDocs hook: publish the files of the repository that pages link to.

A page links to a file outside docs/ by its relative path, as in `../../serving/v1/translation.proto`, so that
the link works in the repository. On the site the same file is at `source/serving/v1/translation.proto`.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)")


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add the files outside docs/ that pages link to, and those that these link to."""
    pages = [file for file in files.documentation_pages() if file.inclusion is not InclusionLevel.EXCLUDED]
    for page in pages:  # grows
        for path in _targets(page.src_uri, page.content_string):
            if path.startswith("docs/") or not (ROOT / path).is_file():
                continue  # MkDocs reports a link that leads nowhere
            if files.get_file_from_path(_site_uri(path)) is None:
                inclusion = InclusionLevel.NOT_IN_NAV
                file = File.generated(
                    config, _site_uri(path), abs_src_path=str(ROOT / path), inclusion=inclusion
                )
                files.append(file)
                if file.is_documentation_page():
                    pages.append(file)
    return files


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    """Point each link at where the site has its file."""
    uri = page.file.src_uri

    def published(link: re.Match[str]) -> str:
        path = _target(uri, link[0])
        if files.get_file_from_path(_site_uri(path)) is None:
            return link[0]
        return os.path.relpath(_site_uri(path), Path(uri).parent)

    return LINK.sub(published, markdown)


def _targets(uri: str, markdown: str) -> Iterator[str]:
    return (_target(uri, link) for link in LINK.findall(markdown))


def _target(uri: str, link: str) -> str:
    """Return the path in the repository that a link on a page leads to."""
    return os.path.normpath(Path(_repository_path(uri)).parent / link)


def _repository_path(uri: str) -> str:
    return uri.removeprefix("source/") if uri.startswith("source/") else f"docs/{uri}"


def _site_uri(path: str) -> str:
    return path.removeprefix("docs/") if path.startswith("docs/") else f"source/{path}"
