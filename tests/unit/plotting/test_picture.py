import base64

import pytest
from matplotlib.figure import Figure

import mislid
from mislid.plotting import draw_dial
from mislid.plotting.theme import new_figure


@pytest.fixture
def formatter():
    return pytest.importorskip("IPython.core.formatters").DisplayFormatter()


def test_notebooks_show_what_is_drawn_without_pyplot(formatter):
    study = mislid.create_study(candidates=[[0], [1], [2]], m=1, misspecification=0.1, noise=1)
    study.add_observations([(0, 0.1), (1, 1.2), (2, 2.1)] * 20)
    shown, how = formatter.format(draw_dial(study.sensitivity()))
    image = shown["image/png"]
    image = base64.b64decode(image) if isinstance(image, str) else image
    assert image.startswith(b"\x89PNG")
    assert how["image/png"] == {"width": 720}


def test_a_plain_figure_is_not_shown(formatter):
    assert "image/png" not in formatter.format(Figure())[0]
    assert "image/png" in formatter.format(new_figure(1.0, 1.0))[0]
