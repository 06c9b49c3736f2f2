"""The picture of what is proved and refuted, over misspecifications."""

import math
from pathlib import Path

import pytest

from mislid import plotting
from mislid.forecast import Sensitivity, SensitivityRow
from mislid.paper.representation import Choice, TradeOff
from mislid.plotting import draw_dial, save

ROWS = tuple(
    SensitivityRow(eps, ("C33",), found, 3.0, decided=found >= 3.0, contradicted=eps < 0.05)
    for eps, found in ((0.0, 9.0), (0.01, 8.0), (0.1, 4.0), (1.0, 1.0), (math.inf, -math.inf))
)
DIAL = Sensitivity(0.2, 0.35, ("C33",), 0.05, 0.05, ((0.0, 0.35),), (), ROWS, proven=True)
CHOICES = tuple(
    Choice(order, 1, 0.4, 0.3, 2.0, 10.0, 5.0, 9.0, 8.0) for order in ("variance", "prediction")
)
EMPTY = Sensitivity(0.2, None, None, 0.0, 0.05, (), (), (), proven=True)
RANGES = Sensitivity(
    math.inf, math.inf, ("a", "b"), 5.0, 0.05, ((0.0, 0.1), (0.3, math.inf)), (), ROWS
)


def test_what_is_drawn_is_what_was_found() -> None:
    (axes,) = draw_dial(DIAL).axes
    evidence, needed, declared = axes.lines
    assert evidence.get_xydata().tolist() == [[0.0, 9.0], [0.01, 8.0], [0.1, 4.0], [1.0, 1.0]]
    assert set(needed.get_ydata()) == {3.0}
    assert set(declared.get_xdata()) == {0.2}
    proved, refuted = axes.patches
    assert (proved.get_x(), proved.get_x() + proved.get_width()) == (0.0, 0.35)
    assert (refuted.get_x(), refuted.get_x() + refuted.get_width()) == (0.0, 0.05)
    assert axes.get_title(loc="left") == "C33: proved for up to 0.35"
    assert axes.get_xlim()[0] == 0.0


def test_before_there_is_anything_to_draw() -> None:
    (axes,) = draw_dial(EMPTY).axes
    assert len(axes.lines) == 1
    assert axes.get_title(loc="left") == "proved for no misspecification"


def test_several_ranges_and_what_is_beyond_the_axis() -> None:
    (axes,) = draw_dial(RANGES).axes
    end = axes.get_xlim()[1]
    assert [patch.get_x() + patch.get_width() for patch in axes.patches] == pytest.approx(
        [0.1, end, end]
    )
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["decided", "refuted", "needed"]
    assert axes.get_title(loc="left") == "a, b: decided for any"


@pytest.mark.parametrize(("name", "begin"), [("d.png", b"\x89PNG"), ("d.SVG", b"<svg")])
def test_files(tmp_path: Path, name: str, begin: bytes) -> None:
    save(draw_dial(DIAL), tmp_path / name)
    content = (tmp_path / name).read_bytes()
    assert content.startswith(begin)
    save(draw_dial(DIAL), tmp_path / name)
    assert (tmp_path / name).read_bytes() == content


def test_what_saved_it_before_still_does(tmp_path: Path) -> None:
    with pytest.warns(DeprecationWarning, match=r"is save\(draw_dial\(found\), path\) now"):
        plotting.save_dial(tmp_path / "dial.svg", DIAL)
    assert (tmp_path / "dial.svg").read_bytes().startswith(b"<svg")
    with pytest.warns(DeprecationWarning, match="draw_trade_off"):
        former = plotting.save_trade_off
    former(path=tmp_path / "choices.png", trade_off=TradeOff(1, CHOICES, 12.0))
    assert (tmp_path / "choices.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(AttributeError, match="no attribute 'save_all'"):
        plotting.save_all  # noqa: B018
