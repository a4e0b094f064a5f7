"""Settings: a frozen dataclass that is read from a dictionary and tells what is wrong with its values."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Self


@dataclass(frozen=True)
class Settings:
    """What Network and Recipe share. A value of another type is a problem like any other."""

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """From what as_dict gave; a name that there is not is refused."""
        known = [field.name for field in fields(cls)]
        unknown = sorted(set(values) - set(known))
        if unknown:
            noun = cls.__name__.lower()
            raise ValueError(f"a {noun} has no {', '.join(unknown)}; it has {', '.join(known)}.")
        return cls(**values)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def _not_whole(self, least: int, *names: str, most: int | None = None) -> list[str]:
        bounds = f"at least {least}" if most is None else f"at least {least} and at most {most:,}"
        return [
            f"{name} must be a whole number of {bounds}; got {value!r}"
            for name in names
            if not isinstance(value := getattr(self, name), int)
            or isinstance(value, bool)
            or value < least
            or (most is not None and value > most)
        ]

    def _not_shares(self, *names: str) -> list[str]:
        return [
            f"{name} must be at least 0 and below 1; got {value!r}"
            for name in names
            if not isinstance(value := getattr(self, name), int | float) or not 0 <= value < 1
        ]
