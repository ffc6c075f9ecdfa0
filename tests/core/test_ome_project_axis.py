"""The parameters of projectAxis, the transformation of OME-Zarr 0.6dev that drops and creates axes."""

from typing import Any

import pytest

from zarrscope.ome.transforms import TransformError, check_parameters


@pytest.mark.parametrize(
    ("members", "source", "target"),
    [
        ({"droppedInputs": [0]}, 3, 2),
        ({"droppedInputs": [0, 2]}, 3, 1),
        ({"createdOutputs": [2]}, 2, 3),
        ({"createdOutputs": [{"index": 0}]}, 2, 3),
        ({"droppedInputs": [0], "createdOutputs": [2]}, 3, 3),
        ({"droppedInputs": [7]}, None, 2),
        ({"createdOutputs": [0]}, 2, None),
        ({"createdOutputs": [{"index": 0, "value": 1.5}]}, 2, 3),
        ({"createdOutputs": [7]}, None, None),
    ],
)
def test_parameters_that_fit_pass(members: dict[str, Any], source: int | None, target: int | None) -> None:
    check_parameters({"type": "projectAxis", **members}, source, target)


@pytest.mark.parametrize(
    ("members", "source", "target", "pointer"),
    [
        ({}, 3, 2, ""),
        ({"droppedInputs": None}, 3, 2, "/droppedInputs"),
        ({"droppedInputs": 0}, 3, 2, "/droppedInputs"),
        ({"droppedInputs": [3]}, 3, 2, "/droppedInputs"),
        ({"droppedInputs": [-1]}, 3, 2, "/droppedInputs"),
        ({"droppedInputs": [True]}, 3, 2, "/droppedInputs"),
        ({"droppedInputs": ["0"]}, 3, 2, "/droppedInputs"),
        ({"droppedInputs": [1, 1]}, 3, 1, "/droppedInputs"),
        ({"droppedInputs": [1, 1]}, None, None, "/droppedInputs"),
        ({"createdOutputs": [3]}, 2, 3, "/createdOutputs"),
        ({"createdOutputs": [{}]}, 2, 3, "/createdOutputs"),
        ({"createdOutputs": [0, {"index": 0}]}, 1, 3, "/createdOutputs"),
        ({"createdOutputs": [{"index": 0, "value": "1"}]}, 2, 3, "/createdOutputs/0/value"),
        ({"createdOutputs": [0, {"index": 1, "value": True}]}, 1, 3, "/createdOutputs/1/value"),
        ({"createdOutputs": [7]}, 2, None, ""),
        ({"droppedInputs": [0]}, 1, None, ""),
        ({"droppedInputs": [0]}, 3, 3, ""),
        ({"droppedInputs": [0, 1]}, 3, 2, ""),
        ({"createdOutputs": [0]}, 3, 3, ""),
        ({"droppedInputs": [0], "createdOutputs": [0]}, 3, 2, ""),
    ],
)
def test_parameters_that_do_not_fit_are_refused_where_they_stand(
    members: dict[str, Any], source: int | None, target: int | None, pointer: str
) -> None:
    with pytest.raises(TransformError) as caught:
        check_parameters({"type": "projectAxis", **members}, source, target)
    assert (caught.value.pointer or "") == pointer


DROP, MAKE = {"type": "projectAxis", "droppedInputs": [0]}, {"type": "projectAxis", "createdOutputs": [0]}
SCALE = {n: {"type": "scale", "scale": [2.0] * n} for n in (1, 2, 3, 4)}
AFFINE = {"type": "affine", "affine": [[1.0, 0.0, 0.0, 5.0], [0.0, 1.0, 0.0, 5.0]]}
BY_DIMENSION = {
    "type": "byDimension",
    "transformations": [{"transformation": SCALE[1], "inputAxes": [2], "outputAxes": [0]}],
}


@pytest.mark.parametrize(
    ("steps", "source", "target", "wrong"),
    [
        ([DROP, SCALE[2]], 3, 2, None),
        ([SCALE[3], DROP, SCALE[2], MAKE, SCALE[3]], 3, 3, None),
        ([SCALE[3], DROP, SCALE[2]], None, None, None),
        ([AFFINE, SCALE[2], MAKE], 3, 3, None),
        ([BY_DIMENSION, SCALE[1]], 3, 1, None),
        ([{"type": "sequence", "transformations": [DROP, DROP]}, SCALE[1]], 3, 1, None),
        ([{"type": "coordinates", "path": "field"}, SCALE[4]], 3, 4, None),
        ([{"type": "bijection", "forward": DROP, "inverse": MAKE}, SCALE[2]], 3, 2, None),
        ([DROP, SCALE[3]], 3, 3, 1),
        ([SCALE[3], DROP, SCALE[3]], None, None, 2),
        ([DROP, DROP, DROP], 3, None, 2),
        ([AFFINE, SCALE[3]], 3, 3, 1),
        ([AFFINE, {"type": "identity"}, SCALE[3]], 3, 3, 2),
        ([BY_DIMENSION, SCALE[3]], 3, 3, 1),
        ([{"type": "sequence", "transformations": [DROP, DROP]}, SCALE[2]], 3, 2, 1),
        ([DROP, MAKE], 3, 2, 1),
    ],
)
def test_numbers_of_axes_are_carried_through_a_sequence(
    steps: list[Any], source: int | None, target: int | None, wrong: int | None
) -> None:
    whole = {"type": "sequence", "transformations": steps}
    if wrong is None:
        check_parameters(whole, source, target)
        return
    with pytest.raises(TransformError) as caught:
        check_parameters(whole, source, target)
    assert (caught.value.pointer or "").startswith(f"/transformations/{wrong}")
