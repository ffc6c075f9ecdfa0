"""A data type of another package: amounts of money, kept as whole cents."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from zarrscope.model.dtype import DataType, data_type


def cents(name: str, configuration: Mapping[str, Any]) -> DataType:
    return replace(data_type("int64"), name=name)
