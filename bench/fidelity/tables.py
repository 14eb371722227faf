"""The tables of the campaign, in Markdown."""

import figures
from measure import VARIES_PERCENT
from targets import TARGETS


def _table(heads, rows):
    return ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads),
            *["| " + " | ".join(map(str, row)) + " |" for row in rows], ""]


def _seconds(value):
    return f"{value:.3f}"


def _percent(value):
    return f"{value:+.1f} %"


def _pair(row):
    return f"{row['from']} → {row['to']}"


def isCounted(row):
    """Whether the errors of a row count: it was measured, and its application is steady enough."""
    return "failed" not in row and figures.variation(row["application"]) <= VARIES_PERCENT


def _biasOf(row):
    return figures.bias(row["application"], row["replay"])


def _perRow(rows):
    lines = []
    for row in rows:
        if "failed" in row:
            lines.append([row["workload"], _pair(row), *[""] * 7, f"failed: {row['failed']}"])
            continue
        notes = [] if isCounted(row) else ["left out: the application varies"]
        if row["differences"]:
            notes.append(f"{row['differences']} results differ")
        lines.append([
            row["workload"], _pair(row), row["factor"],
            _seconds(figures.median(row["application"])),
            f"{figures.variation(row['application']):.1f} %",
            _seconds(figures.median(row["replay"])), f"{figures.variation(row['replay']):.1f} %",
            _percent(_biasOf(row)), f"{100 * row['share']:.0f} %", "; ".join(notes)])
    return _table(["workload", "recorded → replayed", "factor", "application, s", "varies",
                   "replay, s", "varies", "error", "I/O and waiting", "notes"], lines)


def _group(rows, name, key):
    groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(abs(_biasOf(row)))
    return _table([name, "rows", "mean error", "worst"],
                  [[group, len(errors), f"{sum(errors) / len(errors):.1f} %", f"{max(errors):.1f} %"]
                   for group, errors in groups.items()])


def _summary(rows):
    counted = [row for row in rows if isCounted(row)]
    failed = sum("failed" in row for row in rows)
    lines = [f"{len(rows)} rows; {len(rows) - failed - len(counted)} left out because the application "
             f"varies by more than {VARIES_PERCENT} %; {failed} failed.", ""]
    if not counted:
        return lines
    errors = [abs(_biasOf(row)) for row in counted]
    worst = max(counted, key=lambda row: abs(_biasOf(row)))
    half = sum(row["share"] >= 0.5 for row in counted)
    lines += [f"Mean error {sum(errors) / len(errors):.1f} %, worst {max(errors):.1f} % "
              f"({worst['workload']}, {_pair(worst)}). In {half} of {len(counted)} rows at least half "
              "of the time is I/O or waiting for it.", ""]
    return lines + _group(counted, "recorded → replayed", _pair) + _group(
        counted, "workload", lambda row: row["workload"])


def _ranking(rows):
    rows = [row for row in rows if "failed" not in row]
    lines = []
    for of, which in ((figures.atFirst(rows), "All rows, as they were at first"),
                      (figures.steadyLengths(rows, VARIES_PERCENT), "Rows at each length at which neither application "
                       f"nor replay varies by more than {VARIES_PERCENT} %")):
        compared, wrong = figures.ranking(of)
        lines += [f"{which}: {compared} comparisons of two targets whose application intervals do not overlap; "
                  f"the replays order {len(wrong)} of them otherwise.", ""]
        lines += [_disagreement(*pair) for pair in wrong] + ([""] if wrong else [])
    return lines


def _disagreement(faster, slower):
    def told(row):
        return (f"from {row['from']} to {row['to']}, application {_seconds(figures.median(row['application']))} s, "
                f"replay {_seconds(figures.median(row['replay']))} s "
                f"(varies by {figures.variation(row['replay']):.1f} %)")

    return f"- {faster['workload']}: {told(faster)}; {told(slower)}"


def _modes(rows, modes):
    """The errors of one replay in each mode, beside the median error in dt."""
    columns = sorted({(row["timing"], row["order"]) for row in modes})
    lines = []
    for row in rows:
        of = {(mode["timing"], mode["order"]): mode for mode in modes
              if "failed" not in mode and (mode["workload"], mode["from"], mode["to"]) ==
              (row["workload"], row["from"], row["to"])}
        if "failed" not in row and of:
            lines.append([row["workload"], _pair(row), _percent(_biasOf(row)),
                          *[_percent(_biasOf(of[column])) if column in of else ""
                            for column in columns]])
    heads = [f"{timing}{', no order' if order == 'none' else ''}" for timing, order in columns]
    return _table(["workload", "recorded → replayed", "dt", *heads], lines)


def document(rows, missing=None):
    """All tables of the rows of a campaign. `missing` are targets that were left out: name ->
    reason."""
    modes = [row for row in rows if (row["timing"], row["order"]) != ("dt", "all")]
    rows = [row for row in rows if (row["timing"], row["order"]) == ("dt", "all")]
    names = [name for name in TARGETS if any(name in (row["from"], row["to"]) for row in rows)]
    lines = ["### Targets", "", *_table(["target", ""], [[name, TARGETS[name][0]] for name in names])]
    lines += [f"Left out: {name} ({reason})." for name, reason in (missing or {}).items()]
    lines += [""] if missing else []
    lines += ["### Errors", "", *_summary(rows), "### Ranking", "", *_ranking(rows)]
    if modes:
        lines += ["### Modes", "", *_modes(rows, modes)]
    return "\n".join([*lines, "### Rows", "", *_perRow(rows)])
