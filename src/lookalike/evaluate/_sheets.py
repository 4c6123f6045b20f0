"""Sheets of pictures: look-alikes, duplicates, and the evidence of one answer."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from lookalike._files import write_whole
from lookalike.evaluate import _pages as html
from lookalike.images import Unreadable, thumbnail

MOST_GROUPS = 300  # a page with more would be slow to open
SIDE, GAP, LINE = 168, 14, 18  # pixels of a strip: a picture, the space around it, a line of text


@dataclass(frozen=True)
class SheetPicture:
    """One picture of a sheet: the file, the lines under it, and a bar for its share (-1 … 1) if it has one.

    Examples
    --------
    >>> SheetPicture("cats/tom.jpg", ["93 % alike"]).share is None
    True
    """

    path: str
    caption: Sequence[str] = ()
    share: float | None = None


@dataclass(frozen=True)
class SheetGroup:
    """Pictures that stand together under a title, with a sentence about them.

    Examples
    --------
    >>> SheetGroup("Like tom.jpg", [SheetPicture("cats/tom.jpg")]).text
    ''
    """

    title: str
    pictures: Sequence[SheetPicture]
    text: str = ""


def _small(path: str) -> bytes | None:
    try:
        return thumbnail(path, 320)
    except Unreadable:
        return None


def write_sheet(
    path: Path | str,
    title: str,
    groups: Sequence[SheetGroup],
    *,
    lead: str = "",
    thumbnail: Callable[[str], bytes | None] = _small,
) -> Path:
    """Write groups of pictures as one self-contained HTML file; each picture is a link to its file.

    Examples
    --------
    >>> import tempfile
    >>> groups = [SheetGroup("Like tom.jpg", [SheetPicture("/cats/tom.jpg", ["100 % alike"])])]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_sheet(Path(folder, "sheet.html"), "Look-alikes", groups).read_text()
    >>> "100 % alike" in page
    True
    """
    parts = []
    for group in groups[:MOST_GROUPS]:
        pictures = [_linked(picture, thumbnail(picture.path)) for picture in group.pictures]
        text = [html.paragraph(group.text, soft=True)] if group.text else []
        parts.append(html.section(group.title, *text, html.row(*pictures)))
    if len(groups) > MOST_GROUPS:
        parts.append(
            html.paragraph(f"{len(groups) - MOST_GROUPS} more groups are not shown here.", soft=True)
        )
    return html.write_text(path, html.page(title, parts, lead=lead))


def _linked(picture: SheetPicture, image: bytes | None) -> str:
    figure = html.picture(image, picture.caption, share=picture.share)
    target = escape(Path(picture.path).absolute().as_uri())
    return f'<a href="{target}" style="color: inherit; text-decoration: none">{figure}</a>'


def draw_strip(
    path: Path | str,
    pictures: Sequence[SheetPicture],
    *,
    thumbnail: Callable[[str], bytes | None] = _small,
) -> Path:
    """Draw pictures side by side with their captions and shares, as one PNG.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     draw_strip(Path(folder, "strip.png"), [SheetPicture("gone.jpg", ["cat"], 0.5)]).exists()
    True
    """
    from PIL import Image, ImageDraw

    lines = max((len(picture.caption) for picture in pictures), default=0)
    width = GAP + len(pictures) * (SIDE + GAP)
    height = GAP + SIDE + 10 + lines * LINE + GAP
    strip = Image.new("RGB", (width, height), "white")
    pen, font = ImageDraw.Draw(strip), _font(13)
    for i, picture in enumerate(pictures):
        left = GAP + i * (SIDE + GAP)
        strip.paste(_square(thumbnail(picture.path)), (left, GAP))
        if picture.share is not None:
            colour = "#2b6cb0" if picture.share >= 0 else "#c05621"
            length = max(1, round(SIDE * min(abs(picture.share), 1)))
            pen.rectangle((left, GAP + SIDE + 3, left + length, GAP + SIDE + 7), fill=colour)
        for j, text in enumerate(picture.caption):
            place = (left, GAP + SIDE + 10 + j * LINE)
            pen.text(place, _fitted(text, font), fill="#1f2430" if j == 0 else "#667085", font=font)
    file = io.BytesIO()
    strip.save(file, "PNG")
    return write_whole(path, file.getvalue())


def _square(image: bytes | None) -> Any:
    """The middle square of a thumbnail, grey where there is none."""
    from PIL import Image, ImageOps

    if image is None:
        return Image.new("RGB", (SIDE, SIDE), "#e4e7ec")
    return ImageOps.fit(Image.open(io.BytesIO(image)).convert("RGB"), (SIDE, SIDE))


def _font(size: int) -> Any:
    """A font that knows most scripts: the one that comes with matplotlib."""
    import matplotlib
    from PIL import ImageFont

    return ImageFont.truetype(Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf"), size)


def _fitted(text: str, font: Any) -> str:
    """A text cut to the width of a picture; the end of a name says more than its start."""
    text = " ".join(text.encode("utf-8", "backslashreplace").decode().split())
    cut = text
    while cut and font.getlength(cut if cut == text else "…" + cut) > SIDE:
        cut = cut[1:]
    return cut if cut == text else "…" + cut
