"""The advice to install an extra of zarrscope, in the form that fits the way in which zarrscope itself was installed.

pip and uv record an installation from a folder, an archive or a repository in `direct_url.json`
(https://packaging.python.org/en/latest/specifications/direct-url/). Without that file zarrscope
came from a package index.
"""

from __future__ import annotations

_FIXED = "This build takes no further packages: use an installation by pip or conda"


def how_to_install(extra: str = "") -> str:
    """The command that installs zarrscope with this extra, in a sentence without a full stop. Where nothing can be
    installed, the sentence says so.

    Examples
    --------
    >>> how_to_install("tui").endswith("[tui]'")
    True
    """
    if is_bundle():
        return _FIXED
    wanted = f"[{extra}]" if extra else ""
    if from_index():
        return f"Run: pip install {_quoted(f'zarrscope{wanted}')}"
    return f"Run in the folder of zarrscope: pip install {_quoted(f'.{wanted}')}"


def how_to_install_packages(*requirements: str) -> str:
    """The command that installs packages of others, as a sentence like that of `how_to_install`.

    Examples
    --------
    >>> how_to_install_packages("pandas", "zarr>=3")
    "Run: pip install pandas 'zarr>=3'"
    """
    return _FIXED if is_bundle() else f"Run: pip install {' '.join(map(_quoted, requirements))}"


def is_bundle() -> bool:
    """Whether zarrscope runs from a folder that PyInstaller made, into which nothing can be installed."""
    import sys

    return bool(getattr(sys, "frozen", False))


def from_index() -> bool:
    """Whether zarrscope was installed from a package index, by its name."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return distribution("zarrscope").read_text("direct_url.json") is None
    except PackageNotFoundError:  # it runs from its folder
        return False


def _quoted(requirement: str) -> str:
    return f"'{requirement}'" if {*"[<>"} & {*requirement} else requirement
