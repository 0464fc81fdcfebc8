"""The simulators as one fixture."""

from types import ModuleType

import pytest

from tests.statistics import simulators


@pytest.fixture(scope="session")
def simulate() -> ModuleType:
    """All simulators of ``simulators.py``."""
    return simulators
