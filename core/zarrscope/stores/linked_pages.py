"""Links to web pages about data, which people copy from the address bar of a browser: the consoles of clouds, listings
of buckets, GitHub, Hugging Face, Zenodo, Dropbox and others.

If the page's address tells where the data are, that address is taken. Otherwise the link raises Refused, and the advice
says which link to copy instead. No page is requested.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit, urlunsplit

from zarrscope.errors import Refused


class LinkedData(NamedTuple):
    """The address of data, and the name of the site from whose page it was taken."""

    address: str
    site: str


def data_behind(text: str) -> LinkedData | None:
    """The address of the data that a page shows; None for text that is not a link to such a page. Raises Refused if the
    page does not tell where its data are.

    Examples
    --------
    >>> data_behind("https://console.cloud.google.com/storage/browser/bucket/x.zarr").address
    'gs://bucket/x.zarr'
    >>> data_behind("https://host/x.zarr")
    """
    if (named := _ARN.match(text)) is not None:
        return LinkedData(f"s3://{named[1]}", "S3")
    try:
        link = urlsplit(text)
        host = (link.hostname or "").removeprefix("www.")
    except ValueError:  # the host is not valid, which is told when it is opened
        return None
    for site, hosts, address in _SITES:
        if re.fullmatch(hosts, host) and (found := address(link)) is not None:
            return None if found == text else LinkedData(found, site)
    for what, hosts, path, advice in _PAGES:
        if re.fullmatch(hosts, host) and re.match(path, link.path):
            raise Refused(f"This is the link of {what}, not of data", store=text, advice=advice)
    return None


_ARN = re.compile(r"arn:aws[\w-]*:s3:::(.+)", re.DOTALL)


# ---------------------------------------------------------------------- pages that tell where their data are
def _aws(link: SplitResult) -> str | None:
    found = re.match(r"/s3/(?:buckets|object|upload)/([^/]+)/?$", link.path)
    if found is None:
        return None
    told = parse_qs(link.query)
    region = "".join(f"?region={name}" for name in told.get("region", ())[:1])
    return f"s3://{found[1]}/{told.get('prefix', [''])[0]}".rstrip("/") + region


def _google(link: SplitResult) -> str | None:
    found = re.match(r"/storage/browser/(?:_details/)?([^;]+)", link.path)
    return None if found is None else f"gs://{unquote(found[1])}".rstrip("/")


def _google_with_login(link: SplitResult) -> str | None:
    return f"gs:/{unquote(link.path)}".rstrip("/") if link.path.strip("/") else None


def _github(link: SplitResult) -> str | None:
    found = re.match(r"/([^/]+)/([^/]+)/(?:tree|blob|raw)/([^/]+)/(.+)", link.path)
    return None if found is None else f"https://raw.githubusercontent.com/{'/'.join(found.groups())}"


def _gitlab(link: SplitResult) -> str | None:
    found = re.match(r"(/.+/-/)(?:tree|blob)(/[^/]+/.+)", link.path)
    return None if found is None else _moved(link, f"{found[1]}raw{found[2]}")


def _hugging_face(link: SplitResult) -> str | None:
    found = re.match(r"((?:/(?:datasets|spaces))?/[^/]+/[^/]+)/(?:tree|blob)/([^/]+/.+)", link.path)
    return None if found is None else _moved(link, f"{found[1]}/resolve/{found[2]}")


def _zenodo(link: SplitResult) -> str | None:
    found = re.match(r"(?:/api)?/records?/(\d+)/(?:files|preview)/([^/]+)(?:/content)?/?$", link.path)
    return None if found is None else _moved(link, f"/records/{found[1]}/files/{found[2]}")


def _dropbox(link: SplitResult) -> str | None:
    """Dropbox sends the file itself if the link has dl=1; otherwise a page."""
    if not re.match(r"/(s|scl/fi)/", link.path):
        return None
    kept = [part for part in link.query.split("&") if part and not part.startswith(("dl=", "raw="))]
    return urlunsplit((link.scheme, link.netloc, link.path, "&".join([*kept, "dl=1"]), ""))


_OF_LISTINGS = re.compile(
    r"(list-type|prefix|delimiter|max-keys|marker|continuation-token|start-after|encoding-type|fetch-owner"
    r"|restype|comp|maxresults|include)(=|$)"
)
"""Parameters that S3, Google Cloud Storage and Azure have in common with no request for a value."""


def _listing(link: SplitResult) -> str | None:
    """The folder that a link to the listing of a bucket lists; its other parameters are kept, such as a signature."""
    told = parse_qs(link.query)
    lists = told.get("list-type") == ["2"] or told.get("comp") == ["list"]
    if not lists and not ("prefix" in told and re.fullmatch(_BUCKETS, link.hostname or "")):
        return None
    kept = [part for part in link.query.split("&") if not _OF_LISTINGS.match(part)]
    bucket = re.sub(r"^/storage/v1/b/([^/]+)/o$", r"/\1", link.path)  # the JSON interface of Google Cloud Storage
    path = f"{bucket.rstrip('/')}/{quote(told.get('prefix', [''])[0])}".rstrip("/")
    return urlunsplit((link.scheme, link.netloc, path, "&".join(kept), ""))


_BUCKETS = r"(.+\.)?(s3([.-][\w-]+)*\.amazonaws\.com(\.cn)?|storage\.googleapis\.com)"


def _source_cooperative(link: SplitResult) -> str | None:
    found = re.match(r"/([^/]+/[^/]+/.+)", link.path)
    return None if found is None else f"https://data.source.coop/{found[1]}".rstrip("/")


def _minio(link: SplitResult) -> str | None:
    """Refuses a page of MinIO's console, which is at another port than the data."""
    found = re.match(r"/browser/(.+)", link.path)
    if found is None or (link.port != _CONSOLE_OF_MINIO and "minio" not in (link.hostname or "")):
        return None
    place = f"s3://{unquote(found[1]).rstrip('/')}?endpoint={link.scheme}://{link.hostname}:9000"
    raise Refused(
        "This is the link of a page of the console of MinIO, not of data",
        store=urlunsplit(link),
        advice=f"Write {place}, with the port of its S3 interface.",
    )


_CONSOLE_OF_MINIO = 9001


def _moved(link: SplitResult, path: str) -> str:
    return urlunsplit((link.scheme, link.netloc, path.rstrip("/"), "", ""))


_SITES: tuple[tuple[str, str, Callable[[SplitResult], str | None]], ...] = (
    ("the console of AWS", r"(.+\.)?console\.(aws\.amazon\.com|amazonaws\.cn)", _aws),
    ("the console of Google Cloud", r"console\.(cloud|developers)\.google\.com", _google),
    ("Google Cloud Storage", r"storage\.cloud\.google\.com", _google_with_login),
    ("GitHub, which lists no folders to programs", r"github\.com", _github),
    ("GitLab, which lists no folders to programs", r"gitlab\..+", _gitlab),
    ("Hugging Face, which lists no folders to programs", r"huggingface\.co", _hugging_face),
    ("Zenodo", r"(sandbox\.)?zenodo\.org", _zenodo),
    ("Dropbox", r"dropbox\.com", _dropbox),
    ("Source Cooperative", r"source\.coop", _source_cooperative),
    ("MinIO", r".+", _minio),
    ("the listing of a bucket", r".+", _listing),
)
"""The name of each site, its hosts, and the function that finds the address of data in a link; it returns None for
other pages, and raises Refused for one that only tells how to write the address."""

_COPY = "Copy the link of the file or folder with the data there."
_DOWNLOAD = "It sends pages to browsers, not parts of files to programs: download the data and open the copy."
_PAGES = (
    ("a DOI", r"(dx\.)?doi\.org", r"/.", f"Open it in a browser. {_COPY}"),
    ("a record of Zenodo", r"(sandbox\.)?zenodo\.org", r"/(records?|doi|communities)/", _COPY),
    ("a page of GitHub", r"github\.com", r"/[^/]+/[^/]+/?($|tree/|blob/|releases/?$|issues|pull)",
     "Copy the link of a folder or file of the repository, or clone it and open the copy."),
    ("a page of Hugging Face", r"huggingface\.co", r"/(datasets|spaces)/[^/]+/[^/]+(/tree/[^/]+)?/?$",
     "Open the tab Files there, and copy the link of a folder or file."),
    ("a page of the console of AWS", r"(.+\.)?console\.aws\.amazon\.com", r"", "Write s3://bucket/path."),
    ("a page of the console of Google Cloud", r"console\.(cloud|developers)\.google\.com", r"",
     "Write gs://bucket/path."),
    ("a page of the portal of Azure", r"portal\.azure\.com", r"", "Write az://container@account/path."),
    ("a page of Google Drive", r"(drive|docs)\.google\.com", r"", _DOWNLOAD),
    ("a folder of Dropbox", r"dropbox\.com", r"/(sh|scl/fo|home)", _DOWNLOAD),
    ("a page of OneDrive or SharePoint", r"1drv\.ms|onedrive\.live\.com|.+\.sharepoint\.com", r"", _DOWNLOAD),
    ("an article of figshare", r"(.+\.)?figshare\.com", r"/articles/", _COPY),
    ("a study of BioStudies", r"ebi\.ac\.uk", r"/(biostudies|bioimage-archive)/", _COPY),
    ("a page of DANDI", r"((gui|sandbox)\.)?dandiarchive\.org", r"",
     "Open the metadata of the asset there, and copy the address of S3 under contentUrl."),
    ("a page of OSF", r"osf\.io", r"/(?!download/)",
     "Copy the download link of the file there, or download the data and open the copy."),
    ("a page of Globus", r"app\.globus\.org", r"",
     "Copy the HTTPS address of the collection, or transfer the data and open the copy."),
    ("a page of WEBKNOSSOS", r"(app\.)?webknossos\.org", r"/(datasets|annotations|links)/",
     "Copy one of the Zarr links from the menu there."),
    ("a page of OpenOrganelle", r"openorganelle\.janelia\.org", r"/", _COPY),
    ("a page of the CryoET Data Portal", r"cryoetdataportal\.czscience\.com", r"/(runs|datasets|depositions)/", _COPY),
    ("a page of the BioImage Archive", r"(.+\.)?bioimagearchive\.org", r"/", _COPY),
    ("a page of Earthmover", r"app\.earthmover\.io", r"/",
     "Open the repository with the package arraylake, and pass its session to zarrscope.open or explore."),
    ("a page of OMERO", r".+", r"(/[^/]+)?/(webclient|iviewer|webgateway/img_detail)(/|$)",
     "OMERO serves no Zarr at this link: ask its administrator for the address of the image in OME-Zarr."),
)  # fmt: skip
"""Pages without the address of their data: a name, the hosts, the beginning of the path, and the advice."""
