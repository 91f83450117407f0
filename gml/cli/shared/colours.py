"""What is painted in the reports for people when they go to a terminal."""

from __future__ import annotations

from gml.terminal_style import HEADER, Style, rule

TABLE = (
    HEADER,
    rule(r"(?<=  )(?:changed|other inputs|no hash|unreadable)(?=  |$)", Style.BAD),
    rule(r"(?<=  )insufficient$", Style.DOUBTFUL),
    rule(r"(?<=  )dependent$", Style.BOLD),
)
"""Rows below a header, some with a verdict."""

ANSWER = (rule(r"\A(?:[Pp]\(.*\) = .*\n)*.+", Style.BOLD),)
"""How probable the evidence is, and a table."""

MODEL = (rule(r"^\S.*", Style.BOLD),)
"""Tables, each below its title and further in."""

COMPARISON = (rule(r"^.+ compared with .+, as \w+$", Style.BOLD),)

CHECK = (
    rule(r"^PASS(?=  )", Style.GOOD),
    rule(r"^(?:FAIL|ERROR)(?=  )", Style.BAD),
    rule(r"^WARN(?=  )", Style.DOUBTFUL),
    rule(r"^(?:culprit:|== .+|least likely rows$)", Style.BOLD),
    rule(r"^note:", Style.FAINT),
)

TEXT = (HEADER, rule(r"^\S[^:]*:$", Style.BOLD))
"""Sentences below a title, and sections with one of their own."""
