"""Self-contained HTML: one file, no script, no link to anywhere; every text is escaped."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from lookalike._files import write_whole

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2430; --soft: #667085; --line: #e4e7ec; --page: #fff;
        --good: #2b6cb0; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8ee; --soft: #98a2b3; --line: #2b3242; --page: #151922; --good: #7db4ef; }
  figure.plot { background: #fff; border-radius: 8px; }
}
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); margin: 0 auto;
       max-width: 1080px; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p.lead, figcaption, .soft { color: var(--soft); } p { max-width: 46rem; }
table { border-collapse: collapse; margin: .5rem 0; } th, td { padding: .3rem .8rem .3rem 0; text-align: left;
       border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
td.number, th.number { text-align: right; }
.row { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; }
figure { margin: 0; } figure.plot { padding: .25rem; max-width: 100%; }
.row figure.plot { flex: 1 1 320px; max-width: 420px; }
figure.plot svg { max-width: 100%; height: auto; }
figure.picture { width: 148px; font-size: .8rem; } figure.picture img { width: 148px; height: 148px;
       object-fit: cover; border-radius: 6px; background: var(--line); display: block; }
figure.picture.wide { width: 224px; } figure.picture.wide img { width: 224px; height: 224px; }
figcaption { overflow-wrap: anywhere; margin-top: .25rem; } .bar { height: 4px; background: var(--good);
       border-radius: 2px; margin-top: .25rem; } .bar.against { background: #c05621; }
"""


def page(title: str, body: Iterable[str], *, lead: str = "") -> str:
    """A whole page from parts that are HTML already."""
    intro = f'<p class="lead">{escape(lead)}</p>' if lead else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>{intro}\n" + "\n".join(body) + "\n</body></html>\n"
    )


def section(title: str, *parts: str) -> str:
    """A heading and what stands under it."""
    return f"<section><h2>{escape(title)}</h2>\n" + "\n".join(parts) + "</section>"


def paragraph(text: str, *, soft: bool = False) -> str:
    """One paragraph."""
    return f'<p class="soft">{escape(text)}</p>' if soft else f"<p>{escape(text)}</p>"


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; numbers stand right, floats with one digit after the point."""
    rows = [list(row) for row in rows]
    numeric = [
        bool(rows) and all(isinstance(row[i], int | float) or row[i] == "–" for row in rows)
        for i in range(len(heads))
    ]

    def cell(tag: str, value: object, right: bool) -> str:
        text = f"{value:.1f}" if isinstance(value, float) else str(value)
        return f"<{tag}{' class=number' if right else ''}>{escape(text)}</{tag}>"

    top = "".join(cell("th", h, r) for h, r in zip(heads, numeric))
    body = "".join("<tr>" + "".join(cell("td", v, r) for v, r in zip(row, numeric)) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def plot(svg: str, caption: str) -> str:
    """A drawn figure with its caption."""
    return f'<figure class="plot">{svg}<figcaption>{escape(caption)}</figcaption></figure>'


def picture(
    thumbnail: bytes | None, caption: Sequence[str], *, share: float | None = None, wide: bool = False
) -> str:
    """A thumbnail (JPEG or PNG bytes; None where the picture is gone), its lines, and a bar for its share."""
    if thumbnail is None:
        image = '<img alt="not readable any more">'
    else:
        kind = "png" if thumbnail.startswith(b"\x89PNG") else "jpeg"
        image = f'<img alt="" src="data:image/{kind};base64,{base64.b64encode(thumbnail).decode()}">'
    bar = ""
    if share is not None:
        side = " against" if share < 0 else ""
        bar = f'<div class="bar{side}" style="width:{100 * min(abs(share), 1):.0f}%"></div>'
    lines = "<br>".join(escape(line) for line in caption)
    size = " wide" if wide else ""
    return f'<figure class="picture{size}">{image}{bar}<figcaption>{lines}</figcaption></figure>'


def row(*parts: str) -> str:
    """Things side by side."""
    return '<div class="row">' + "".join(parts) + "</div>"


def write_text(path: Path | str, text: str) -> Path:
    """Write a page whole or not at all."""
    return write_whole(path, text.encode("utf-8", "backslashreplace"))
