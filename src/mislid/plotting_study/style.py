"""The style sheet of a report: light, dark and printed."""

from mislid.plotting_study.theme import DARK

_RULES = """
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 var(--sans); }
main { max-width: 58rem; margin: 0 auto; padding: 3.5rem 1.5rem 5rem; }
h1 { font-size: 1.05rem; font-weight: 600; margin: 0; color: var(--grey); overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 4rem 0 0.4rem; }
p { margin: 0.4rem 0; max-width: 46rem; }
.answer { font-size: 2rem; line-height: 1.25; font-weight: 700; margin: 0.6rem 0;
  max-width: none; overflow-wrap: anywhere; }
.answer.long { font-size: 1.35rem; }
.note, figcaption { color: var(--grey); font-size: 0.9rem; }
figcaption { max-width: 46rem; margin-bottom: 1rem; }
figure { margin: 0 0 1.5rem; break-inside: avoid; }
.picture svg { display: block; width: 100%; height: auto; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem 3rem; margin: 2rem 0 0; padding: 0; }
.figures div { min-width: 8rem; }
.figures dt { color: var(--grey); font-size: 0.85rem; }
.figures dd { margin: 0; font-size: 1.35rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.box { border-left: 4px solid var(--optimal); padding: 0.6rem 1.1rem; margin: 1.5rem 0;
  background: color-mix(in srgb, var(--optimal) 8%, transparent); break-inside: avoid; }
.box ul { margin: 0.3rem 0; padding-left: 1.2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; margin: 0.8rem 0;
  font-variant-numeric: tabular-nums; }
th, td { padding: 0.26rem 1.3rem 0.26rem 0; text-align: right; border-bottom: 1px solid var(--rule);
  font-weight: 400; vertical-align: top; }
th:first-child, .text, .plain td { text-align: left; }
thead th { color: var(--grey); font-size: 0.85rem; vertical-align: bottom; }
tbody th { overflow-wrap: anywhere; min-width: 9rem; }
.plain td { overflow-wrap: anywhere; }
tr.in th, tr.in td { font-weight: 700; }
tr.in th { color: var(--best); }
tr { break-inside: avoid; }
thead { display: table-header-group; }
code { font: 0.85em ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
@page { margin: 16mm 14mm; }
@media print {
  body { font-size: 10.5pt; }
  main { max-width: none; padding: 0; }
  h2 { margin-top: 2rem; break-after: avoid; }
  .wide { overflow: visible; }
  .box { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""


def style_sheet() -> str:
    """The rules, with colours for light screens and paper, and for dark screens."""
    light = " ".join(f"--{name}: {colour};" for colour, (name, _) in DARK.items())
    dark = " ".join(f"--{name}: {colour};" for name, colour in DARK.values())
    sans = '--sans: system-ui, "Segoe UI", Helvetica, Arial, sans-serif;'
    return (
        f":root {{ color-scheme: light dark; {sans} {light} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}{_RULES}"
    )
