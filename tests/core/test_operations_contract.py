"""Every dialect keeps the promises of contracts/operations.py."""

from contracts.operations import *  # noqa: F403 - pytest collects the tests of the contract
