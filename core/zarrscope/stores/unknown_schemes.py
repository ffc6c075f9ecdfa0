"""Schemes of other programs and services, for which zarrscope has no store: what to write in place of such an address.

`advice_for` gives the next step, so that a person who pastes an address from there need not know the known schemes.
"""

from __future__ import annotations

_IN_ITS_PLACE = {
    "s3n": "s3://{rest}",
    "wasb": "abfss://{rest}",
    "wasbs": "abfss://{rest}",
    "scp": "ssh://{rest}",
    "rsync": "ssh://{rest}",
    "ipfs": "https://ipfs.io/ipfs/{rest}",
}
_S3 = "Write s3://{bucket}?endpoint=https://…, with the address of its S3 interface after endpoint=."
_SESSION = "Open the repository with its own package in Python, and pass its session to zarrscope.open or explore."
_STEPS = {
    **dict.fromkeys(("r2", "b2", "cos", "obs", "minio", "ceph", "wasabi", "swift"), _S3),
    **dict.fromkeys(("al", "arraylake"), _SESSION),
    "dandi": "Open the metadata of the asset on dandiarchive.org, and copy the address of S3 under contentUrl.",
    "osf": "Copy the download link of the file on osf.io, or download the data and open the copy.",
    "globus": "Transfer the data with Globus and open the copy, or copy the HTTPS address of the collection.",
    "omero": "Ask the administrator of the OMERO server for the address of the image in OME-Zarr.",
    "nfs": "Give the path at which the share is mounted on this computer.",
    "irods": "Download the data and open the copy, or give the path at which the collection is mounted.",
    "vscode-remote": "Write ssh://host/path.",
}


def advice_for(address: str) -> str:
    """The next step for an address with a scheme of another program; "" for a scheme that is not known here.

    Examples
    --------
    >>> advice_for("s3n://bucket/x.zarr")
    'Write s3://bucket/x.zarr.'
    """
    scheme, _, rest = address.partition("://")
    scheme = scheme.lower()
    if scheme.startswith("wasb"):
        rest = rest.replace(".blob.core.", ".dfs.core.", 1)
    if scheme in _IN_ITS_PLACE:
        return f"Write {_IN_ITS_PLACE[scheme].format(rest=rest)}."
    return _STEPS.get(scheme, "").replace("{bucket}", rest)
