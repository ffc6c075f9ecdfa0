"""A form field of another package: a licence by its name. Entry point: `licence = example_field:LICENCE`."""

from zarrscope_app.presenters.form.field_editors import FieldEditor

LICENCE = FieldEditor(
    "licence",
    "licence",
    lambda place: place.path == ("license",) and isinstance(place.value, str),
    "choice",
    choices=lambda place: ("CC0-1.0", "CC-BY-4.0"),
    check=lambda text: "" if text.startswith("CC") else "Only Creative Commons here.",
)
