"""Form fields of another package: a licence by its name, and the time of an embargo, stored in milliseconds since 1970.

Entry points: `licence = example_field:LICENCE` and `embargo = example_field:EMBARGO`.
"""

from zarrscope_app.presenters.form.field_editors import FieldEditor

LICENCE = FieldEditor(
    "licence",
    "licence",
    lambda place: place.path == ("license",) and isinstance(place.value, str),
    "choice",
    choices=lambda place: ("CC0-1.0", "CC-BY-4.0"),
    check=lambda text: "" if text.startswith("CC") else "Only Creative Commons here.",
)

EMBARGO = FieldEditor(
    "embargo",
    "end of the embargo",
    lambda place: place.path == ("embargo",) and isinstance(place.value, int),
    "date",
)
