"""Every dialect keeps the promises of contracts/dialect.py."""

from contracts.dialect import *  # noqa: F403 - pytest collects the tests of the contract
