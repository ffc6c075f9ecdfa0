"""Every dialect keeps the promises of contracts/operations.py and operations_moving.py."""

from contracts.operations import *  # noqa: F403 - pytest collects the tests of the contract
from contracts.operations_moving import *  # noqa: F403 - pytest collects the tests of the contract
