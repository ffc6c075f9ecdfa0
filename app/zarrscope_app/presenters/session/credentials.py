"""The question after a service has denied access, when opening or later: which credentials were tried, and which to
use.

The answer becomes part of the address (zarrscope.stores.address_options), which then opens in every front end. The
question never asks for keys and passwords of buckets: these belong in the files and environment variables of the
service's own tools. A web server recognises a person by the address alone, so there the question asks for another
address: a fresh link, or one with a user's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from zarrscope.errors import Refused, ZarrscopeError
from zarrscope.errors.confidential import public
from zarrscope.model.frozen import frozen
from zarrscope.runtime.threads import JobResult
from zarrscope.stores.address import address_with, split_address
from zarrscope.stores.address_options import BUCKETS, split_options
from zarrscope.stores.credentials import profiles
from zarrscope.stores.store import renew
from zarrscope_app.presenters import strings
from zarrscope_app.presenters.session.opening import Opening
from zarrscope_app.presenters.session.part import SessionPart
from zarrscope_app.presenters.session.view_models import SessionStatus
from zarrscope_app.presenters.signals import signal

if TYPE_CHECKING:
    from zarrscope.nodes.hierarchy import Hierarchy

CONFIRM = "Try again"
TRYING = "Trying the other credentials…"


@frozen
class CredentialsField:
    """One field of the form. `choices`: proposed values for a text; `yes_or_no`: whether the value is a flag, "1" or
    ""."""

    name: str
    label: str
    value: str
    hint: str = ""
    choices: tuple[str, ...] = ()
    yes_or_no: bool = False


@frozen
class CredentialsQuestion:
    """The question as a form. `line` and `line_label`: all values as one text, and its label, for hosts with a single
    line of input: "profile=lab region=eu-west-1"."""

    title: str
    sentence: str
    note: str
    fields: tuple[CredentialsField, ...]
    confirm: str
    line: str
    line_label: str


_FIELDS = (
    CredentialsField("profile", "Profile", "", "A profile of ~/.aws"),
    CredentialsField("endpoint", "Endpoint", "", "https://host:9000, for another server than the service's own"),
    CredentialsField("region", "Region", "", "eu-west-1; found out where it is left empty"),
    CredentialsField("anon", "Without credentials, as for public buckets", "", yes_or_no=True),
)
_OF_PLACE = ("endpoint", "region")
"""The fields that say where the bucket is: an answer about other credentials need not name them again."""
_OF_S3 = ("profile", "region")
_ADDRESS = CredentialsField(
    "address", "Address", "", "The same place with a new token, or https://user:password@host/…"
)
_WEB = ("http", "https")


_OF_DENIED = ("missing-is-fill", "credentials")
"""The commands that may help where a service denied access without saying whether there is a value."""


def question_of(url: str, tried: str) -> CredentialsQuestion | None:
    """The question for an address whose service denied the credentials `tried`; None if the address leads neither to a
    bucket nor to a web server."""
    bucket = _service(url)
    if bucket is None:
        return None
    if bucket.partition("://")[0] in _WEB:
        return CredentialsQuestion(
            "Credentials",
            _denied(public(bucket), tried),
            "Left empty, the same address is tried again. Confidential parts of an address are never shown or stored.",
            (_ADDRESS,),
            CONFIRM,
            "address=",
            "Credentials: address=…",
        )
    bare, told = split_options(bucket)
    s3 = bare.startswith(("s3://", "s3a://"))
    fields = tuple(
        CredentialsField(
            each.name,
            each.label,
            "1" if told.get(each.name) is True else str(told.get(each.name) or ""),
            each.hint,
            profiles() if each.name == "profile" else (),
            each.yes_or_no,
        )
        for each in _FIELDS
        if s3 or each.name not in _OF_S3
    )
    names = " ".join(f"{each.name}=…" for each in fields)
    return CredentialsQuestion(
        "Credentials",
        _denied(bare, tried),
        "Keys are not entered here: put them into the environment or the files of the service's own tools.",
        fields,
        CONFIRM,
        " ".join(f"{each.name}={each.value}" for each in fields if each.value),
        f"Credentials: {names}",
    )


def _denied(place: str, tried: str) -> str:
    return f"Access to {strings.clean(place, 200)} was denied." + (f" Tried: {tried}." if tried else "")


def answered(url: str, values: Mapping[str, str]) -> str:
    """The address with the answered values in it. Raises Refused for an invalid answer."""
    given = {name: str(value).strip() for name, value in values.items()}
    address = given.pop("address", "")
    if address and split_address(address).store_url.partition("://")[0] not in _WEB:
        raise Refused(f"{public(address)!r} is not a web address", advice="Write https://host/…")
    if address or not given:
        return address or url
    known = {each.name for each in _FIELDS}
    if unknown := sorted(given.keys() - known):
        raise Refused(f"There is no setting {unknown[0]!r}", advice=f"Known are {', '.join(sorted(known))}.")
    if (endpoint := given.get("endpoint")) and not endpoint.startswith(("http://", "https://")):
        raise Refused(f"The endpoint {endpoint!r} is not a web address", advice="Write https://host:port.")
    anonymous = given.pop("anon", "").lower() in ("1", "true", "yes", "on")
    options: dict[str, Any] = {name: value or None for name, value in given.items()}
    return address_with(url, {**options, "anon": anonymous or None})


def values_of(line: str) -> dict[str, str]:
    """The values that a line names: "profile=lab anon=1". Raises Refused for a text of another form."""
    if line.strip().startswith("address="):
        return {"address": line.strip().removeprefix("address=")}
    found: dict[str, str] = {}
    for word in line.split():
        name, equals, value = word.partition("=")
        if not equals:
            raise Refused(f"{word!r} is no setting", advice="Write profile=NAME, endpoint=URL, region=NAME or anon=1.")
        found[name] = value
    return found


def _service(url: str) -> str | None:
    """A name for the bucket or web server of an address; None if the address leads to neither."""
    try:
        place = split_address(url).store_url.rpartition("::")[2]
    except ZarrscopeError:
        return None
    return place if place.partition("://")[0] in (*BUCKETS, *_WEB) else None


class AsksCredentials(SessionPart):
    """Part of a session: if a service denies access, the person is asked for other credentials.

    An open hierarchy continues with the new credentials: data that were denied are read again, and everything else
    stays, unsaved changes included. Only an answer that leads to another place opens the hierarchy anew.
    """

    _opening: Opening
    _opener: Callable[..., Hierarchy]
    _status: SessionStatus
    relocated = signal()
    """Emitted when `url` has changed."""
    _tried: str | None = None
    """The sources of the credentials that were tried when access was last denied; kept until the hierarchy opens with
    other credentials; None if access was not denied."""
    _answer = ""
    """The address that the last answer made, if it did not help; the next question proposes its values."""
    _wrong: tuple[strings.Problem, ...] = ()
    """The problems of invalid or unsuccessful answers so far."""
    _trying = False

    @property
    def access_denied(self) -> bool:
        """Whether the service denied access, so that `credentials` returns a question."""
        return not self._trying and self._denied_to() is not None and _service(self.url) is not None

    @property
    def helpful(self) -> set[str]:
        """The ids of commands that may solve one of the present problems."""
        return {problem.offer for problem in self.problems.items} | ({"credentials"} if self.access_denied else set())

    @property
    def credentials(self) -> CredentialsQuestion | None:
        """The question for other credentials while access is denied; else None."""
        tried = self._denied_to()
        return None if tried is None or self._trying else question_of(self._answer or self.url, tried)

    def _denied_to(self) -> str | None:
        told = self._tried
        failed = self._status is SessionStatus.FAILED
        if told is None and failed and any(each.offer in _OF_DENIED for each in self.problems.items):
            told = ""  # such servers answer 403 both for a missing value and to somebody without permission
        return next((each.tried for each in reversed(self.problems.items) if each.tried), told)

    def use_credentials(self, values: Mapping[str, str] | str) -> None:
        """Opens the hierarchy again with the credentials that the person typed: values of fields by name, or all in one
        line. A profile that is not named is not used; the server and region that are not named stay. An invalid answer
        is shown as a problem."""
        question = self.credentials
        if question is None:
            return
        try:
            found = values_of(values) if isinstance(values, str) else values
            unnamed = {each.name: each.value if each.name in _OF_PLACE else "" for each in question.fields}
            url = answered(self.url, {**unnamed, **found})
        except ZarrscopeError as error:
            self._refuse(error)
            return
        self._tried = self._denied_to()
        if self.hierarchy is None or self.state.status is not SessionStatus.READY:
            self._open_with(url)
        else:
            self._try(self.hierarchy, url)

    def _refuse(self, error: BaseException) -> None:
        self._wrong = (*self._wrong, self.problems.add(error))
        self.report(error)

    def _open_with(self, url: str) -> None:
        self._answer, self.url = "", public(url)
        self.relocated.emit()
        self.reload()

    def _try(self, hierarchy: Hierarchy, url: str) -> None:
        """Opens the address a second time, beside the open hierarchy. If the service accepts its credentials, the open
        hierarchy continues with them."""
        opening, opener = self._opening, self._opener

        def work() -> bool:
            fresh = opening.open(opener, url)
            taken = renew(hierarchy.store, fresh.store)
            if not taken:
                fresh.close()
            return taken

        def done(outcome: JobResult[bool]) -> None:
            self._trying = False
            if self.hierarchy is not hierarchy:  # the hierarchy was opened anew meanwhile
                self._refresh()
            elif outcome.error is not None:
                self._answer = public(url)
                self._refuse(outcome.error)
            elif not outcome.value:
                self._open_with(url)
            else:
                self._tried, self._answer, self.url = None, "", public(url)
                self.problems.clear_denied(self._wrong)
                self._wrong = ()
                self.relocated.emit()
                self._go_on()

        self._trying = True
        self._show_problem(strings.Problem("warning", TRYING))
        self.owner.fetch(work, done)
