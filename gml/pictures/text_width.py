"""How wide text is drawn, without a font: the advance widths of Helvetica.

Arial and Liberation Sans have the same ones. Letters beyond them are taken to be as wide as a wide
letter, and those of East Asia as wide as they are high, so that a box never is too small by much.
"""

from __future__ import annotations

import unicodedata
from functools import cache

_BY_WIDTH = {
    191: "'",
    222: "ijlίι‘’",
    260: "|¦",
    278: " !,./:;I[\\]ft·ÌÍÎÏìíîïΙΪ",
    333: "()-`r¡¨²³´¸¹“”{}",
    355: '"',
    370: "ªºг",
    389: "*τ",
    400: "°",
    444: "кζέεξз",
    469: "^т",
    500: "Jcksvxyzçýÿγκλνςсухэ↓↑",
    531: "чьχв",
    556: "#$0123456789?L_abdeghnopqu¢£¤¥§«»àáâãäåèéêëðñòóôõöùúûüþήηθοδаеорнипйпяΓГ–€±÷≤≥≠¶υΰ",
    584: "+<=>~¬×−ρβμµαάКдлбц",
    611: "FTZ¿ßøΖΤТЗ",
    635: "σΣУъ",
    667: "&ABEKPSVXYÀÁÂÃÄÅÈÉÊËÝÞΑΒΕΚΡΥΧΫАВЕРХЧΔΛΞφБЛЬжД",
    722: "CDHNRUwÇÐÑÙÚÛÜΗΝΠНСЯИЙПЭымπψ∞",
    778: "GOQÒÓÔÕÖØΘΟОωΩю©®ЦФ",
    833: "MmΜМ¼½¾ΨфщшЪΦ",
    889: "%æЫ",
    944: "WШЖЩ",
    1015: "@ÆЮ—…←→",
}
_WIDTH = {char: width / 1000 for width, chars in _BY_WIDTH.items() for char in chars}
_OTHERWISE = 0.722


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return how wide a line of text is, letters being `size` high.

    Examples
    --------
    >>> round(text_width("smoke", 10), 2)
    29.45
    """
    return sum(map(_width_of, text)) * size * (1.08 if bold else 1.0)


def shortened(
    text: str, size: float, room: float, *, bold: bool = False, keep_end: bool = False
) -> str:
    """Return as much of the text as fits, with an ellipsis for what does not.

    Examples
    --------
    >>> shortened("temperature", 10, 40), shortened("temperature 12", 10, 50, keep_end=True)
    ('tempe…', 'temp… 12')
    """
    if text_width(text, size, bold=bold) <= room:
        return text
    left = max(room - text_width("…", size, bold=bold), 0.0)
    end = _fitting(text[::-1], size, 0.4 * left, bold)[::-1] if keep_end else ""
    start = _fitting(text, size, left - text_width(end, size, bold=bold), bold)
    return f"{start}…{end}"


def _fitting(text: str, size: float, room: float, bold: bool) -> str:
    """Return as many of the first letters as fit."""
    used = 0.0
    for place, char in enumerate(text):
        used += text_width(char, size, bold=bold)
        if used > room:
            return text[:place]
    return text


@cache
def _width_of(char: str) -> float:
    if char in _WIDTH:
        return _WIDTH[char]
    if unicodedata.combining(char):
        return 0.0
    return 1.0 if unicodedata.east_asian_width(char) in "WF" else _OTHERWISE
