import pytest
from benchmarks import gains
from benchmarks.tables import Table, benchmark, section, tables

RIVALS = """**`guaranteed`**

| rule | A (100) |
|---|---:|
| `mislid` | 9 ± 1 |
| `lucb` | 1.02 ± 0.05 |
| `ugape` |  |

| rule | B (100) |
|---|---:|
| `mislid` | 8 ± 1 |
| `lucb` | ≥ 3.70 ± 0.42 |
| `ugape` | 2.00 ± 0.10 |

| rule | µs a sample |
|---|---:|
| `mislid` | 3 |
| `lucb` | 4 |

**`heuristic`**

| rule | A (100) |
|---|---:|
| `mislid` | 5 ± 1 |
| `lucb` | 7.00 ± 0.05 |
"""


def test_rivals_are_read_from_all_tables_with_the_proof(monkeypatch):
    monkeypatch.setattr(gains, "benchmark", lambda name: list(tables(RIVALS)))
    lucb, ugape = sorted(gains.rivals(), key=lambda rival: rival.name)
    assert lucb.ratios == [gains.Ratio(1.02, 0.05), gains.Ratio(3.7, 0.42, at_least=True)]
    assert ugape.ratios == [gains.Ratio(2.0, 0.1)]
    words = gains.rivals_words()
    assert "`lucb` (2.36)" in words
    assert "`ugape`" not in words


def test_the_page_says_what_the_tables_say(capsys):
    assert gains.main(["--check"]) == 0, capsys.readouterr().out
    assert all((gains.PICTURES / f"{name}.png").is_file() for name in gains.PARTS)


def test_other_tables_are_noticed(monkeypatch, capsys):
    [proof] = benchmark("proof")
    other = [[cell.replace("35 ±", "36 ±") for cell in row] for row in proof.rows]
    fake = Table(proof.title, proof.header, other)
    monkeypatch.setattr(
        gains, "benchmark", lambda name: [fake] if name == "proof" else benchmark(name)
    )
    assert gains.main(["--check"]) == 1
    assert capsys.readouterr().out.count("should say") == 1


def test_speeds_are_of_the_same_instances():
    found = gains.speeds()
    assert len(found) > 10
    assert not [speed for speed in found if speed.case == "C"]
    assert all(speed.theirs > speed.ours for speed in found)


@pytest.mark.parametrize("name", list(gains.PARTS))
def test_pictures_name_every_row(name):
    [axes] = gains.picture(name).axes
    assert len(axes.get_yticklabels()) == len(gains.PARTS[name].rows())


def test_what_is_missing_is_named():
    with pytest.raises(ValueError, match="no markers <!-- a:begin -->"):
        section("nothing", "a")
    with pytest.raises(ValueError, match="no column 'time'; it has case"):
        Table("", ["case"], []).column("time")


@pytest.mark.parametrize(
    ("cut", "at_least"), [((), False), ((2,), False), ((0,), True), ((1,), True), ((0, 2), True)]
)
def test_a_median_is_a_bound_where_runs_given_up_could_move_it(cut, at_least):
    ratios = [gains.Ratio(1.0 + at, 0.1, at in cut) for at in range(3)]
    assert gains.Rival("lucb", ratios).at_least is at_least
