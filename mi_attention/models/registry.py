"""Named members of a family, so that a configuration file can choose one and a user can add one."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Generic, TypeVar

__all__ = ["Registry"]

Member = TypeVar("Member")


class Registry(Generic[Member]):
    """A family of scores, normalisers or encoders by name."""

    def __init__(self, family: str) -> None:
        self.family = family
        self._members: dict[str, Member] = {}

    def add(self, name: str, member: Member) -> None:
        """Put a member in.

        Raises:
            ValueError: If the name is taken: two members of one name would make tables ambiguous.
        """
        if not name:
            raise ValueError(f"a {self.family} needs a name that is not empty")
        if name in self._members:
            raise ValueError(f"{self.family} {name!r} is registered already; choose another name")
        self._members[name] = member

    def remove(self, name: str) -> None:
        """Take a member out again, for notebooks and tests that register the same name twice."""
        self[name]
        del self._members[name]

    def __getitem__(self, name: str) -> Member:
        if name not in self._members:
            nearest = difflib.get_close_matches(name, self._members, n=1)
            hint = f" did you mean {nearest[0]!r}?" if nearest else ""
            raise ValueError(f"unknown {self.family} {name!r};{hint} registered are {', '.join(sorted(self._members))}")
        return self._members[name]

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._members))

    def __len__(self) -> int:
        return len(self._members)
