"""Every dialect keeps the promises of contracts/dialect.py."""

from contracts.dialect import *  # noqa: F403
