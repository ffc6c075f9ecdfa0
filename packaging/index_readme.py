"""A hook of hatchling that writes the README into the metadata with absolute links.

A package index shows the README without the files beside it, so a relative link leads nowhere there and a picture is
missing. The links begin with the `Repository` of `[project.urls]`; without one they are left relative.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(?P<picture>!?)\[(?P<words>[^\[\]]*)\]\((?P<target>[^()\s]+)\)")


class ReadmeHook(MetadataHookInterface):
    """Adds the README to the metadata; hatchling finds the class by its base."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Adds the README with links that a package index can follow.

        Parameters
        ----------
        metadata : dict
            The table `[project]`, which is changed.
        """
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = absolute(text, metadata.get("urls", {}).get("Repository"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def absolute(text: str, repository: str | None) -> str:
    """Makes the relative links of a Markdown text absolute.

    Parameters
    ----------
    text : str
        Markdown whose links start at the folder of the repository.
    repository : str, optional
        The web address of the repository; None leaves the text as it is.

    Returns
    -------
    str
        The text. Pictures lead to the file itself (`raw`), other links to the page that shows it (`blob`), as GitHub
        and its relatives name them.
    """
    if repository is None:
        return text

    def replace(link: re.Match[str]) -> str:
        target = link["target"]
        if ":" in target or target.startswith("#"):
            return link[0]
        kind = "raw" if link["picture"] else "blob"
        return f"{link['picture']}[{link['words']}]({repository.rstrip('/')}/{kind}/HEAD/{target})"

    return _LINK.sub(replace, text)
