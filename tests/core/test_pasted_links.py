"""Links that people paste: to viewers, to pages about data, to listings of buckets. No page is requested."""

from __future__ import annotations

import json
from urllib.parse import quote, urlencode

import pytest

from zarrscope.errors import Refused, Unsupported
from zarrscope.stores.address import split_address
from zarrscope.stores.address_text import cleaned, parse
from zarrscope.stores.linked_pages import data_behind
from zarrscope.stores.pasted_links import volume_in

VOLUME = "https://host/a b.zarr?v=1"


VITESSCE = {
    "version": "1.0.17",
    "datasets": [
        {"files": [{"fileType": "obs.csv", "url": "https://host/t.csv"},
                   {"fileType": "image.ome-zarr", "url": "https://host/a.zarr"},
                   {"fileType": "anndata.zarr", "url": "https://host/b"}]}
    ],
}  # fmt: skip


def state(*layers: object, **more: object) -> str:
    return "https://neuroglancer-demo.appspot.com/#!" + quote(json.dumps({"layers": list(layers), **more}))


@pytest.mark.parametrize(
    ("link", "address", "viewer"),
    [
        *(
            (f"{page}?{urlencode({name: VOLUME})}", VOLUME, viewer)
            for page, name, viewer in (
                ("https://hms-dbmi.github.io/vizarr/", "source", "vizarr"),
                ("https://avivator.gehlenborglab.org/", "image_url", "Avivator"),
                ("https://janeliascicomp.github.io/viv/", "image_url", "Avivator"),
                ("https://ome.github.io/ome-ngff-validator/", "source", "OME-NGFF validator"),
                ("https://volumeviewer.allencell.org/viewer", "url", "Vol-E"),
                ("https://our.own.page/viewer/", "source", "the page our.own.page/viewer/"),
                ("https://our.own.page/viewer/", "store", "the page our.own.page/viewer/"),
            )
        ),
        ("https://ome.github.io/ome-ngff-validator/?source=https://host/x.zarr", "https://host/x.zarr", "validator"),
        (state({"name": "em", "source": "zarr2://https://host/x"}), "zarr2://https://host/x", "layer 'em'"),
        (state({"name": "em", "source": {"url": "https://host/x|zarr3:"}}), "https://host/x|zarr3:", "'em'"),
        (state({"source": ["precomputed://gs://b/x", "n5://gs://b/y"]}), "n5://gs://b/y", "Neuroglancer"),
        (
            state({"name": "a", "source": "zarr://s3://b/a"}, {"name": "b", "source": "zarr://s3://b/b"},
                  selectedLayer={"layer": "b"}),
            "zarr://s3://b/b",
            "1 more",
        ),
        (
            state({"name": "a", "source": "zarr://s3://b/a", "visible": False}, {"name": "b", "source": "s3://b/b"}),
            "s3://b/b",
            "'b'",
        ),
        ("https://host/#!{'layers':{'i_1':{'source':'zarr://gs://a_b/c'_'x':1}}}", "zarr://gs://a_b/c", "i_1"),
        (
            "https://bff.allencell.org/app?" + urlencode({"filter": f'{{"name": "File Path", "value": "{VOLUME}"}}'}),
            VOLUME,
            "BioFile Finder",
        ),
        (
            "https://vitessce.io/#?url=data:," + quote(json.dumps(VITESSCE)),
            "https://host/a.zarr",
            "Vitessce; it names 1",
        ),
    ],
)  # fmt: skip
def test_links_to_viewers(link: str, address: str, viewer: str) -> None:
    found = volume_in(link)
    assert found is not None
    assert found.address == address
    assert viewer in found.remark
    assert parse(link).remarks == (found.remark,)


@pytest.mark.parametrize(
    ("link", "address", "site"),
    [
        (
            "https://eu-west-1.console.aws.amazon.com/s3/buckets/b?region=eu-west-1&bucketType=general&prefix=a/x.zarr/",
            "s3://b/a/x.zarr?region=eu-west-1",
            "the console of AWS",
        ),
        ("https://s3.console.aws.amazon.com/s3/object/b?prefix=x.zarr/zarr.json", "s3://b/x.zarr/zarr.json", "of AWS"),
        ("arn:aws:s3:::b/x.zarr", "s3://b/x.zarr", "S3"),
        (
            "https://console.cloud.google.com/storage/browser/b/a%20b/x.zarr;tab=objects?prefix=&project=p",
            "gs://b/a b/x.zarr",
            "Google Cloud",
        ),
        ("https://console.cloud.google.com/storage/browser/_details/b/x.zip", "gs://b/x.zip", "Google Cloud"),
        ("https://storage.cloud.google.com/b/x.zarr", "gs://b/x.zarr", "Google Cloud Storage"),
        ("https://github.com/o/r/tree/main/a/x.zarr", "https://raw.githubusercontent.com/o/r/main/a/x.zarr", "GitHub"),
        ("https://github.com/o/r/blob/v1/x.zip", "https://raw.githubusercontent.com/o/r/v1/x.zip", "GitHub"),
        ("https://gitlab.com/g/s/r/-/tree/main/x.zarr", "https://gitlab.com/g/s/r/-/raw/main/x.zarr", "GitLab"),
        (
            "https://huggingface.co/datasets/o/r/tree/main/x.zarr",
            "https://huggingface.co/datasets/o/r/resolve/main/x.zarr",
            "Hugging Face",
        ),
        ("https://zenodo.org/records/1/files/x.zip?download=1", "https://zenodo.org/records/1/files/x.zip", "Zenodo"),
        ("https://zenodo.org/api/records/1/files/x.zip/content", "https://zenodo.org/records/1/files/x.zip", "Zenodo"),
        ("https://www.dropbox.com/scl/fi/i/x.zip?rlkey=k&dl=0", "https://www.dropbox.com/scl/fi/i/x.zip?rlkey=k&dl=1",
         "Dropbox"),
        ("https://b.s3.amazonaws.com/?list-type=2&prefix=a/x.zarr/", "https://b.s3.amazonaws.com/a/x.zarr", "listing"),
        ("https://s3.us-west-2.amazonaws.com/b?prefix=a%20b/x.zarr/&delimiter=/",
         "https://s3.us-west-2.amazonaws.com/b/a%20b/x.zarr", "the listing of a bucket"),
        ("http://host:9000/b/?list-type=2&delimiter=/", "http://host:9000/b", "the listing of a bucket"),
        (
            "https://a.blob.core.windows.net/c?restype=container&comp=list&prefix=x.zarr/&sv=2024&sig=k%3D",
            "https://a.blob.core.windows.net/c/x.zarr?sv=2024&sig=k%3D",
            "the listing of a bucket",
        ),
        ("https://storage.googleapis.com/storage/v1/b/b/o?prefix=a/x.zarr/&delimiter=/",
         "https://storage.googleapis.com/b/a/x.zarr", "the listing of a bucket"),
        ("https://source.coop/o/r/a/x.zarr", "https://data.source.coop/o/r/a/x.zarr", "Source Cooperative"),
    ],
)  # fmt: skip
def test_a_link_to_a_page_leads_to_its_data(link: str, address: str, site: str) -> None:
    found = data_behind(link)
    assert found is not None
    assert found.address == address
    assert site in found.site
    assert cleaned(link) == (address, "", (f"The address was taken from a link to {found.site}",))
    assert cleaned(address).text == address


@pytest.mark.parametrize(
    ("link", "says"),
    [
        ("https://doi.org/10.5281/zenodo.1", "the link of a DOI, not of data"),
        ("https://zenodo.org/records/13305156", "a record of Zenodo"),
        ("https://github.com/zarr-developers/zarr-python", "a page of GitHub"),
        ("https://github.com/o/r/tree/main", "a page of GitHub"),
        ("https://huggingface.co/datasets/o/r/tree/main", "a page of Hugging Face"),
        ("https://console.aws.amazon.com/s3/home", r"the console of AWS.*Write s3://bucket/path\.$"),
        ("https://console.cloud.google.com/storage/browser", "the console of Google"),
        ("https://portal.azure.com/#blade/x", "the portal of Azure"),
        ("https://drive.google.com/drive/folders/1abc", "Google Drive.*download the data"),
        ("https://www.dropbox.com/scl/fo/i?dl=0", "a folder of Dropbox"),
        ("https://lab.sharepoint.com/sites/x", "SharePoint"),
        ("https://figshare.com/articles/dataset/x/123", "an article of figshare"),
        ("https://www.ebi.ac.uk/biostudies/bioimages/studies/S-BIAD845", "a study of BioStudies"),
        ("https://idr.openmicroscopy.org/webclient/?show=image-6001240", "a page of OMERO"),
        ("https://dandiarchive.org/dandiset/000108/draft/files?location=sub-x", "a page of DANDI.*contentUrl"),
        ("https://osf.io/abcde/", "a page of OSF"),
        ("https://app.globus.org/file-manager?origin_id=a&origin_path=%2Fx.zarr%2F", "a page of Globus"),
        ("https://webknossos.org/datasets/o/name/view", "a page of WEBKNOSSOS"),
        ("https://openorganelle.janelia.org/datasets/jrc_hela-2", "a page of OpenOrganelle"),
        ("https://cryoetdataportal.czscience.com/runs/1", "a page of the CryoET Data Portal"),
        ("https://beta.bioimagearchive.org/image/a", "a page of the BioImage Archive"),
        ("https://app.earthmover.io/o/r", "a page of Earthmover.*session"),
        (
            "http://minio.lab:9001/browser/b/a/x.zarr%2F",
            r"the console of MinIO.*s3://b/a/x\.zarr\?endpoint=http://minio\.lab:9000",
        ),
    ],
)
def test_a_page_that_does_not_tell_its_data_is_refused(link: str, says: str) -> None:
    with pytest.raises(Refused, match=says):
        parse(link)


@pytest.mark.parametrize(
    "address",
    [
        "https://uk1s3.embassy.ebi.ac.uk/idr/zarr/v0.4/idr0062A/6001240.zarr",
        "https://ftp.ebi.ac.uk/biostudies/x.zarr",
        "https://raw.githubusercontent.com/o/r/main/x.zarr",
        "https://o.github.io/x.zarr",
        "https://figshare.com/ndownloader/files/1",
        "https://data.source.coop/o/r/x.zarr",
        "https://data-humerus.webknossos.org/data/zarr/a/color",
        "https://host/x.zarr?prefix=a",
        "http://host/browser/x.zarr",
        "https://host:notaport/x.zarr",
    ],
)
def test_other_links_are_taken_as_they_are(address: str) -> None:
    assert data_behind(address) is None
    assert cleaned(address) == (address, "", ())


@pytest.mark.parametrize(
    ("link", "says"),
    [
        (state({"source": "precomputed://gs://x"}), "no Zarr or N5 volume, but precomputed://gs://x"),
        ("https://neuroglancer-demo.appspot.com/#!gs://bucket/state.json", "does not contain its state"),
        ("https://neuroglancer-demo.appspot.com/#!{", "not JSON"),
        ("https://bff.allencell.org/app?" + urlencode({"source": '{"uri": "https://h/t.csv"}'}), "table .* t.csv"),
        ("https://fileglancer.int.janelia.org/browse/groups_x/a/b.zarr", "page of Fileglancer"),
        ("https://vitessce.io/#?url=https://host/config.json", "Vitessce names a configuration.*host/config"),
        ("https://vitessce.io/?url=data:,%7B%7D", "Vitessce shows no Zarr"),
    ],
)  # fmt: skip
def test_links_without_a_volume_are_refused_by_name(link: str, says: str) -> None:
    with pytest.raises(Refused, match=says.replace("t.csv", r"https://h/t\.csv") if "table" in says else says):
        volume_in(link)


@pytest.mark.parametrize(
    "text",
    [
        "https://host/x.zarr?url=https://elsewhere/y.zarr",
        "https://host/x.zip/a?source=s3://b/c",
        "https://host/folder?X-Amz-Signature=1",
        "https://fileglancer.int.janelia.org/files/kEy/b.zarr?x=1",
        "x.zarr?source=https://host/y.zarr",
    ],
)
def test_addresses_are_no_links(text: str) -> None:
    assert volume_in(text) is None


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("s3n://b/x.zarr", "Write s3://b/x.zarr"),
        ("wasbs://c@a.blob.core.windows.net/x.zarr", "Write abfss://"),
        ("r2://b/x.zarr", "endpoint"),
        ("dandi://dandi/000108/x.ome.zarr", "contentUrl"),
        ("arraylake://o/r", "session"),
        ("scp://host/x.zarr", "Write ssh://host/x.zarr"),
        ("ipfs://bafy/x.zarr", "Write https://ipfs.io/ipfs/bafy/x.zarr"),
        ("what://b/x.zarr", "Known are file"),
    ],
)
def test_a_scheme_of_other_programs_is_refused_with_the_next_step(text: str, advice: str) -> None:
    with pytest.raises(Unsupported, match="cannot be opened") as refused:
        split_address(text)
    assert advice in (refused.value.advice or "")
