"""What a page of ours may do, as a policy in it (Content Security Policy, level 2).

Nothing may be loaded, from anywhere, but images that are in the page itself. A page has at most one
script, and its policy allows that one alone, by its hash: whatever a label holds, no other text of
the page can run.
"""

from __future__ import annotations

import base64
import hashlib

from gml.pictures.svg import Markup


def policy_element(script: str | None = None) -> Markup:
    r"""Return the element that lets this script run, if any, and nothing leave or enter the page.

    Examples
    --------
    >>> print(policy_element()[52:-2].replace("; ", "\n"))
    default-src 'none'
    style-src 'unsafe-inline'
    img-src data:
    base-uri 'none'
    form-action 'none'
    >>> "script-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; " in policy_element("")
    True
    """
    runs = ""
    if script is not None:
        digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
        runs = f"script-src 'sha256-{digest}'; "
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; {runs}img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    return Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">')
