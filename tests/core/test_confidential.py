"""Passwords, tokens and signatures in addresses are kept in memory, sent to the same host only, and never shown."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

import zarrscope
from zarrscope.errors import Refused, ZarrscopeError
from zarrscope.errors.confidential import cause, conceal, private, public, scrub, without_numbers
from zarrscope.stores.address import split_address
from zarrscope.stores.http import HTTPStore

SECRETS = ("s3cr3tPassword", "AKIAEXAMPLE%2F2026", "deadbeef0123", "tok3n+value", "gh0_user_token")
ADDRESSES = (
    "https://ann:s3cr3tPassword@host/a b.zarr",
    "https://host/a.zarr?X-Amz-Credential=AKIAEXAMPLE%2F2026&X-Amz-Date=20260101&X-Amz-Signature=deadbeef0123",
    "https://acc.blob.core.windows.net/c/a.zarr?sv=2024&se=2027-01-01&sig=deadbeef0123&sp=r",
    "zip://inner::https://host/a.zip?access_token=tok3n+value",
    "https://host/a.zip?token=tok3n+value|zip:inner|zarr3:x",
    "https://gh0_user_token@host/a.zarr",
    "https://gh0_user_token:@host/a.zarr",
    "https://gh0_user_token:x-oauth-basic@host/a.zarr",
    "https://host/a.zarr?gh0_user_token",
    "https://host/a.zarr#access_token=tok3n+value",
    "zarr3://https://ann:s3cr3tPassword@host/a.zarr",
    "zarr://s3://gh0_user_token:s3cr3tPassword@bucket/a",
    "sftp://ann:s3cr3tPassword@host:22/a.zarr",
    "s3://gh0_user_token:s3cr3tPassword@bucket/a.zarr",
    "HTTPS://ann:s3cr3tPassword@Host/a.zarr?KEY=deadbeef0123&AccessKeyId=tok3n+value",
)


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_public_face_says_where_and_gives_the_address_back(address: str) -> None:
    face = public(address)
    assert not any(secret in face for secret in SECRETS)
    assert "***" in face
    assert public(face) == face
    assert private(face) == address
    assert public(f"  {address}") == f"  {face}"
    assert not any(secret in repr(split_address(address)) for secret in SECRETS)
    assert split_address(face) == split_address(address)


def test_a_fragment_is_confidential_unless_it_is_a_path() -> None:
    assert public("unknown://host/a.zarr#access_token=tok3n+value") == "unknown://host/a.zarr#***"
    assert public("unknown://host/a.zarr#/group/0") == "unknown://host/a.zarr#/group/0"
    assert public("s3://bucket/a#1") == "s3://bucket/a#1"


@pytest.mark.parametrize(
    "address",
    ["/data/a?b=c", "file:///a%3Fsig=x", "memory://a", "s3://bucket/a", "/x/https://a:b@c/d?e=f", "C:\\a", "a/b"],
)
def test_an_address_without_secrets_is_its_own_face(address: str) -> None:
    assert public(address) == private(address) == address


def test_what_anybody_may_see_stays() -> None:
    assert (
        public("https://h/a?versionId=3&se=2027&X-Amz-Expires=60") == "https://h/a?versionId=3&se=2027&X-Amz-Expires=60"
    )
    assert public("sftp://ann@host/a") == "sftp://ann@host/a"


def test_two_values_of_one_parameter_have_two_faces() -> None:
    first, second = public("https://two/a?sig=firstvalue"), public("https://two/a?sig=secondvalue")
    assert first != second
    assert private(second) == "https://two/a?sig=secondvalue"
    assert without_numbers(second) == first


@pytest.mark.parametrize(
    "address", ["https://evil/a?sig=***", "https://owner/a?other=***", "http://owner/a?sig=***", "https://***@owner/a"]
)
def test_a_value_goes_to_no_other_host_and_into_no_other_parameter(address: str) -> None:
    public("https://owner/a?sig=ownersvalue")
    with pytest.raises(KeyError):
        private(address)
    with pytest.raises(Refused, match="ZARRSCOPE_ADDRESSES"):
        split_address(address)


def test_long_messages_are_scrubbed_in_linear_time_and_lose_their_middle() -> None:
    """With a pattern that tries the rest of the text from each letter, this takes minutes."""
    long = "x" * (2 << 20)
    assert scrub(f"{long} https://ann:swordfish@one.example/a").endswith("x https://ann:***@one.example/a")
    assert scrub(f"{long}https://ann:tunafish@two.example/a").endswith("https://ann:***@two.example/a")
    told = str(ZarrscopeError(f"The name {long} is wrong: https://ann:catfish@three.example/", pointer=f"/{long}"))
    assert len(told) < 5000
    assert told.startswith("The name xxx")
    assert "ann:***@three.example/ (at /xxx" in told


def test_sentences_and_causes_are_scrubbed() -> None:
    public("https://quoted/a?sig=AA%2FBBccdd")
    conceal({"key": "optionkey1", "client_kwargs": {"aws_secret_access_key": "optionsecret2", "region": "eu-west"}})
    text = scrub("GET https://u:pw@x/y?sig=new failed: AA/BBccdd, AA%2FBBccdd, optionkey1 optionsecret2 eu-west")
    assert text == "GET https://u:***@x/y?sig=*** failed: ***, ***, *** *** eu-west"
    assert str(cause(ValueError("optionsecret2"))) == "ValueError: ***"
    plain = ValueError("plain")
    assert cause(plain) is plain


def test_an_error_shows_no_secret_even_with_its_traceback_and_pickled() -> None:
    whole = "https://ann:s3cr3tPassword@host/a?sig=deadbeef0123"
    try:
        raise zarrscope.ZarrscopeError(f"No {whole}", store=whole, advice=f"Try {whole}")
    except zarrscope.ZarrscopeError as error:
        shown = [traceback.format_exc(), str(error), repr(error), repr(vars(error)), repr(pickle.dumps(error))]
    assert not [text for text in shown for secret in SECRETS if secret in text]


def test_a_store_pickles_by_its_public_address(tmp_path: Path) -> None:
    whole = "https://ann:s3cr3tPassword@host/a.zarr?sig=deadbeef0123"
    store = HTTPStore(whole, timeout=7)
    assert not any(secret in repr(store) + store.url for secret in SECRETS)
    pickled = pickle.dumps(store)
    assert not any(secret.encode() in pickled for secret in SECRETS)
    again = pickle.loads(pickled)
    assert again.network.timeout == 7
    assert again._url("k") == store._url("k") == "https://ann:s3cr3tPassword@host/a.zarr/k?sig=deadbeef0123"

    program = "import pickle, sys; print(pickle.loads(sys.stdin.buffer.read())._url('k'))"
    environment = {name: value for name, value in os.environ.items() if name != "ZARRSCOPE_ADDRESSES"}
    told = subprocess.run([sys.executable, "-c", program], input=pickled, env=environment, capture_output=True)
    assert b"Refused" in told.stderr
    assert b"ZARRSCOPE_ADDRESSES" in told.stderr
    file = tmp_path / "addresses"
    file.write_text(whole + "\n")
    environment["ZARRSCOPE_ADDRESSES"] = str(file)
    told = subprocess.run([sys.executable, "-c", program], input=pickled, env=environment, capture_output=True)
    assert told.stdout.decode().strip() == store._url("k"), told.stderr


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (1,)])
def test_another_process_finds_a_token_by_its_path(order: tuple[int, ...], tmp_path: Path) -> None:
    """Each process numbers the tokens of a host in the order in which it meets them."""
    whole = ["https://two.tokens/a.zarr?sig=0123456789", "https://two.tokens/b.zarr?sig=9876543210"]
    shown = [public(address) for address in whole]
    assert shown == ["https://two.tokens/a.zarr?sig=***", "https://two.tokens/b.zarr?sig=***2"]
    node = shown[1].replace("b.zarr", "b.zarr/0/c")
    file = tmp_path / "addresses"
    file.write_text("".join(f"{whole[number]}\n" for number in order))
    program = "import sys; from zarrscope.errors.confidential import private; print(*map(private, sys.argv[1:]))"
    asked = [shown[number] for number in order]
    told = subprocess.run(
        [sys.executable, "-c", program, *asked, node],
        env=os.environ | {"ZARRSCOPE_ADDRESSES": str(file)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert told.stdout.split() == [*(whole[number] for number in order), whole[1].replace("b.zarr", "b.zarr/0/c")]


def test_an_action_of_s3_is_no_token() -> None:
    sentence = "POST https://bucket.example/?delete failed: delete it yourself"
    assert scrub(sentence) == sentence


def test_a_path_is_no_token() -> None:
    """Globus's links name folders so; every later sentence with such a folder lost it."""
    address = "https://app.globus.org/file-manager?origin_path=%2Fsome-folder.zarr%2F"
    assert public(address) == address
    assert scrub("inside /some-folder.zarr/a") == "inside /some-folder.zarr/a"
