"""``estimate_many`` of estimators that gain nothing from batching."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, overload

from numpy.typing import ArrayLike

from mi_attention.estimators.samples import as_units, naming
from mi_attention.interface import MIEstimate, Unit

__all__ = ["OneByOne"]


class _Single(Protocol):
    def estimate(self, x: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> MIEstimate: ...


class OneByOne:
    """To be inherited by a class with ``estimate``."""

    @overload
    def estimate_many(self: _Single, units: Sequence[Unit]) -> list[MIEstimate]: ...

    @overload
    def estimate_many(
        self: _Single, units: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None
    ) -> list[MIEstimate]: ...

    def estimate_many(self: _Single, units: Any, y: Any = None, groups: Any = None) -> list[MIEstimate]:
        """Estimate a sequence of ``Unit``, or states ``(U, n, d)`` with one ``y``, one after another.

        Raises:
            ValueError: what ``estimate`` refuses, with the unit named.
        """
        found = []
        for index, unit in enumerate(as_units(units, y, groups)):
            with naming(index, unit):
                found.append(self.estimate(unit.x, unit.y, unit.groups))
        return found
