"""How far a stage of the work is, how fast it goes, and how long it will take."""

from __future__ import annotations

from dataclasses import dataclass

# How long a stage must have run for its rate to mean something.
_PACE_SECONDS = 0.5
_BAR_WIDTH = 30
_BYTE_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))


@dataclass
class Stage:
    """A stage of the work: since when it runs, how far it is, and when it said so."""

    started: float
    first: int
    """What was done already when it started."""
    heard_of: float = 0.0
    done: int | None = None
    total: int | None = None
    text: str = ""
    is_bar: bool = True
    in_bytes: bool = False
    is_paced: bool = True
    """Whether what it counts means something to those who watch."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to do."""
        return bool(self.total) and (self.done or 0) >= (self.total or 0)

    def shown(self) -> str:
        """What the stage is, and how far."""
        done = self.done or 0
        if not self.is_bar:
            return self.text
        if self.total:
            return f"{self.text} {bar(done, self.total)} {min(1.0, done / self.total):4.0%}"
        return f"{self.text} {_amount(done, self.in_bytes)}" if self.is_paced else self.text

    def pace(self, now: float, elapsed: float) -> str:
        """The rate, and the time that is left or, if nobody knows that, has passed."""
        running = now - self.started
        if running < _PACE_SECONDS:
            return ""
        rate = ((self.done or 0) - self.first) / running if self.is_paced else 0.0
        shown = f"  {_amount(rate, self.in_bytes)}/s" if rate else ""
        if self.total and rate:
            left = max(self.total - (self.done or 0), 0) / rate
            return f"{shown}  {clock(left)} left"
        return f"{shown}  {clock(elapsed)}"


def _amount(number: float, in_bytes: bool) -> str:
    """A number of things, or of bytes.

    Examples
    --------
    >>> _amount(12345, False), _amount(0.25, False), _amount(2.5e8, True)
    ('12,345', '0.25', '250 MB')
    """
    if in_bytes:
        unit, name = next((u for u in _BYTE_UNITS if number >= u[0]), _BYTE_UNITS[-1])
        digits = 1 if unit > 1 and number < 10 * unit else 0
        return f"{number / unit:,.{digits}f} {name}"
    return f"{number:,.0f}" if number >= 10 or number == int(number) else f"{number:.2g}"


def clock(seconds: float) -> str:
    """A time as a clock shows it.

    Examples
    --------
    >>> clock(0.2), clock(75), clock(3661)
    ('0:00', '1:15', '1:01:01')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def bar(done: int, total: int) -> str:
    """A bar that fills up.

    Examples
    --------
    >>> bar(1, 3)
    '[##########....................]'
    """
    filled = int(min(1.0, done / max(total, 1)) * _BAR_WIDTH)
    return f"[{'#' * filled}{'.' * (_BAR_WIDTH - filled)}]"
