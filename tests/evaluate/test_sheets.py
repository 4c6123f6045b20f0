import io

import numpy as np
from PIL import Image

from lookalike.evaluate import SheetGroup, SheetPicture, draw_strip, write_sheet
from lookalike.evaluate import _sheets as sheets


def colour(name, size=(64, 48)):
    file = io.BytesIO()
    Image.new("RGB", size, name).save(file, "PNG")
    return file.getvalue()


def test_a_sheet_links_and_escapes(tmp_path):
    (tmp_path / "a & <b>.png").write_bytes(colour("red"))
    picture = SheetPicture(str(tmp_path / "a & <b>.png"), ["<script>alert(1)</script>", "50 %"], 0.5)
    page = write_sheet(
        tmp_path / "s.html", "Like <this>", [SheetGroup("T & T", [picture], "text")]
    ).read_text()
    assert "<script>" not in page
    assert "Like &lt;this&gt;" in page
    assert "T &amp; T" in page
    assert "a%20%26%20%3Cb%3E.png" in page
    assert page.count("data:image/jpeg;base64,") == 1
    assert "width:50%" in page


def test_a_sheet_shows_a_missing_picture_as_missing_and_stays_small(tmp_path, monkeypatch):
    monkeypatch.setattr(sheets, "MOST_GROUPS", 2)
    groups = [SheetGroup(f"group {i}", [SheetPicture(str(tmp_path / "gone.jpg"))]) for i in range(5)]
    page = write_sheet(tmp_path / "s.html", "Twins", groups).read_text()
    assert page.count("not readable any more") == 2
    assert "3 more groups" in page


def test_a_strip_draws_pictures_and_the_length_of_shares(tmp_path):
    for name in ("red", "blue"):
        (tmp_path / f"{name}.png").write_bytes(colour(name))
    pictures = [
        SheetPicture(str(tmp_path / "red.png"), ["cat", "a very long name " * 20], 1.0),
        SheetPicture(str(tmp_path / "blue.png"), ["дом", "犬"], -0.25),
        SheetPicture(str(tmp_path / "gone.png")),
    ]
    strip = np.asarray(Image.open(draw_strip(tmp_path / "deep" / "s.png", pictures)).convert("RGB")).astype(
        int
    )
    assert strip.shape[1] == sheets.GAP + 3 * (sheets.SIDE + sheets.GAP)
    middle = sheets.GAP + sheets.SIDE // 2
    step = sheets.SIDE + sheets.GAP
    assert np.abs(strip[middle, middle] - [255, 0, 0]).max() < 4
    assert np.abs(strip[middle, middle + step] - [0, 0, 255]).max() < 4
    bar = strip[sheets.GAP + sheets.SIDE + 5]
    assert (bar.sum(1) < 765)[:step].sum() >= sheets.SIDE
    assert abs((bar.sum(1) < 765)[step : 2 * step].sum() - sheets.SIDE / 4) <= 2


def test_an_empty_strip_is_an_image(tmp_path):
    assert Image.open(draw_strip(tmp_path / "s.png", [])).size[0] == sheets.GAP
