// The page of `omnio predict`, drawn with the means of page.js and those that comparison.js shares,
// which come after this file in the page. Its data is the document of `omnio predict --json`.
"use strict";

globalThis.omnioPrediction = (means, { commandsOf, maybeColumn, showTop }) => {
  const { FONT_SIZE, NO_BREAK } = means;
  const { barTip, bytes, count, counted, dataTable, duration, element, empty, figure, grid } = means;
  const { keyFigure, largest, legend, numberColumn, pathNode, percent, roundDuration } = means;
  const { section, textColumn, theme, threeDigits, tipNode, twinTable, valueAxis } = means;

  const WAYS = [
    ["grammar", "Grammar", "read"],
    ["same_as_last", "Same as last", "write"],
    ["contiguous", "Contiguous", "metadata"],
    ["same_distance", "Same distance", "sync"],
    ["patterns", "Access patterns", "data"],
    ["read_ahead", "Kernel's read-ahead", "other"],
  ];
  const isThere = (value) => typeof value === "number";
  const share = (part, all) => (all > 0 ? part / all : null);
  const showShare = (value) => percent(value);
  const showPercent = (value) => `${threeDigits(value)}${NO_BREAK}%`;
  const showError = (value) => (value === 0 ? "0" : value.toPrecision(3));
  const compact = { notation: "compact", maximumSignificantDigits: 3 };
  const roundNumber = (value) => value.toLocaleString("en-US", compact);

  // Lines over bins of one width; a line is { name, colour, values, isSparse }. Bins without a value
  // are gaps, or are passed over where values are sparse. With `floor` the axis is logarithmic,
  // with a label each `decades`, and begins there: what is smaller is drawn at it.
  function curve({ id, what, width, lines, showPlace, place, show, axis, more, floor, decades }) {
    const there = lines.filter(({ values }) => values.some(isThere));
    if (there.length === 0) return empty(`The trace has nothing to draw here: no ${what}.`);
    const bins = largest(there.map(({ values }) => values.length));
    const end = bins * width;
    const height = (value) => (floor && isThere(value) ? Math.log10(Math.max(value, floor)) : value);
    const onAxis = floor ? (power) => axis(10 ** power) : axis;
    const powers = () => {
      const min = Math.log10(floor);
      const most = largest(there.flatMap(({ values }) => values.filter(isThere)));
      const steps = Math.max(1, Math.ceil((Math.log10(Math.max(most, floor)) - min) / decades));
      return { min, max: min + steps * decades, interval: decades };
    };
    const rangeOf = (bin) => `${showPlace(bin * width)} to ${showPlace((bin + 1) * width)}`;
    const series = ({ name, colour, values, isSparse }) => ({
      type: "line",
      name,
      ...(isSparse
        ? { symbol: "circle", symbolSize: 4, connectNulls: true }
        : { symbol: "none", step: "end" }),
      lineStyle: { width: 1.5, color: theme[colour] },
      itemStyle: { color: theme[colour] },
      // A value holds until the next bin; the last point ends the last bin.
      data: (isSparse ? values : [...values, values[values.length - 1]]).map((value, bin) => [
        bin * width,
        height(value),
      ]),
    });
    const chart = {
      name: id,
      height: () => 240,
      label: () =>
        `Line chart of ${what} in ${counted(bins, "bin")}. ` +
        there
          .map(({ name, values }) => {
            const known = values.filter(isThere);
            const last = show(known[known.length - 1]);
            return `${name}: at most ${show(largest(known))}, ${last} at the end.`;
          })
          .join(" "),
      option: () => ({
        grid: grid({ left: 64, right: 24, top: 12, bottom: 44 }),
        tooltip: barTip(({ dataIndex }) => {
          const bin = Math.min(dataIndex, bins - 1);
          return tipNode(
            rangeOf(bin),
            there.map(({ name, colour, values }) => [
              name,
              isThere(values[bin]) ? show(values[bin]) : "-",
              colour,
            ]),
          );
        }),
        xAxis: valueAxis(showPlace, {
          min: 0,
          max: end,
          name: place,
          nameLocation: "middle",
          nameGap: 28,
          nameTextStyle: { color: theme.quiet, fontSize: FONT_SIZE },
          axisLine: { show: true, onZero: false, lineStyle: { color: theme.line } },
          // The end of the axis is seldom round.
          axisLabel: {
            color: theme.quiet,
            fontSize: FONT_SIZE,
            hideOverlap: true,
            formatter: (value) => (value === end ? "" : showPlace(value)),
          },
        }),
        yAxis: valueAxis(onAxis, { min: 0, splitNumber: 4, ...more, ...(floor ? powers() : {}) }),
        series: there.map(series),
      }),
    };
    const rows = Array.from({ length: bins }, (_, bin) => ({
      from: bin * width,
      ...Object.fromEntries(there.map(({ values }, at) => [at, values[bin]])),
    }));
    const twin = () =>
      twinTable(
        `Numbers of the chart of ${what}`,
        [
          numberColumn("from", "From", showPlace),
          ...there.map(({ name }, at) => maybeColumn(String(at), name, (row) => row[at], show)),
        ],
        rows,
      );
    return figure(
      chart,
      twin,
      element("div", { class: "controls" }, legend(there.map(({ name, colour }) => [colour, name]))),
    );
  }

  const waysOf = (series, some = WAYS) =>
    some.map(([key, name, colour]) => ({ name, colour, values: series[key] }));

  function overOperations(data, { id, title, lead, ...rest }) {
    const { operations } = data.curves;
    return section(
      id,
      title,
      `${lead} Each bin has ${count(operations)} operations of each thread.`,
      curve({ id, width: operations, showPlace: count, place: "operations of a thread", ...rest }),
    );
  }

  function curvesOf(data) {
    const { curves, timeline } = data;
    const onPercent = {
      show: showPercent,
      axis: (value) => `${value}${NO_BREAK}%`,
      more: { max: 100, interval: 25 },
    };
    return [
      overOperations(data, {
        id: "contexts",
        title: "Next contexts",
        lead:
          "How often the call and file of the next operation were predicted right, and in the worst " +
          `${curves.window} operations in a row.`,
        what: "contexts that were predicted right",
        lines: [
          ...waysOf(curves.contexts_right, WAYS.slice(0, 2)),
          {
            name: `Grammar, worst ${curves.window} in a row`,
            colour: "sync",
            values: curves.window_least.map((right) =>
              isThere(right) ? (100 * right) / curves.window : null,
            ),
          },
        ],
        ...onPercent,
      }),
      overOperations(data, {
        id: "next-contexts",
        title: "How far ahead",
        lead:
          "How many operations in a row have the context that was predicted for them at one moment, " +
          "until the first that has another, or until the end of the run; at most 4,096 are predicted " +
          "at one moment.",
        what: "operations that were predicted right at one moment",
        lines: [
          { name: "On average", colour: "read", values: curves.followed_average, isSparse: true },
          { name: "At most", colour: "write", values: curves.followed_most, isSparse: true },
        ],
        show: threeDigits,
        axis: roundNumber,
      }),
      overOperations(data, {
        id: "grammar",
        title: "Grammar",
        lead: "Symbols of the largest grammar of contexts. It stops growing when a period is known.",
        what: "symbols of the largest grammar",
        lines: [{ name: "Symbols", colour: "read", values: curves.symbols }],
        show: count,
        axis: roundNumber,
      }),
      overOperations(data, {
        id: "size-error",
        title: "Sizes",
        lead: "E_size: how far predicted sizes were off, as a part of the size. Errors of 0.001 or less are at the bottom.",
        what: "errors of predicted sizes",
        lines: waysOf(curves.size_error, WAYS.slice(0, 5)),
        show: showError,
        axis: roundNumber,
        floor: 0.001,
        decades: 3,
      }),
      section(
        "hit-ratio",
        "Hit ratio",
        `The part of the next operation's bytes that was predicted, in bins of ${duration(timeline.bin_ns)}.`,
        curve({
          id: "hit-ratio",
          what: "hit ratios over the run",
          width: timeline.bin_ns,
          lines: waysOf(timeline).map((line) => ({ ...line, isSparse: true })),
          showPlace: roundDuration,
          place: "time of the run",
          ...onPercent,
        }),
      ),
      overOperations(data, {
        id: "gaps",
        title: "Times",
        lead:
          "The time from an operation to the next one of its thread, as it was and as predicted. Times " +
          "of 100 ns or less are at the bottom.",
        what: "times between operations",
        lines: [
          { name: "Observed", colour: "read", values: curves.gap_ns },
          { name: "Predicted", colour: "write", values: curves.gap_predicted_ns },
          { name: "Mean error", colour: "metadata", values: curves.gap_error_ns },
        ],
        show: duration,
        axis: roundDuration,
        floor: 100,
        decades: 2,
      }),
    ];
  }

  const numbered = (rows) => rows.map((row, at) => ({ ...row, number: at + 1 }));
  const fileColumn = () => textColumn("file", "File", "path", ({ file }) => pathNode(file));

  function listSection({ id, title, lead, rows, noun, sortedBy, columns, leftOut, note = "" }) {
    if (rows.length === 0) return section(id, title, "", empty(`The trace has no ${noun[1]}.`));
    const left =
      leftOut > 0
        ? `${counted(leftOut, `more ${noun[0]} is`, `more ${noun[1]} are`)} not on this page; ` +
          "omnio predict --json has more."
        : "";
    return section(
      id,
      title,
      lead,
      dataTable({
        ...{ id: `table-${id}`, label: title, rows, noun, sortedBy, columns, leftOut },
        note: [note, left].filter(Boolean).join(" "),
      }),
    );
  }

  function patternsSection(data) {
    const forgotten = data.accesses_without_pattern;
    return listSection({
      id: "patterns",
      title: "Access patterns",
      lead:
        "Patterns in the reads, and in the writes, of each file; the same one of several files of a " +
        "family, or of several ranks, is one line.",
      rows: numbered(data.patterns),
      noun: ["pattern", "patterns"],
      sortedBy: "bytes",
      leftOut: data.patterns_left_out,
      note:
        forgotten > 0
          ? `The patterns of ${counted(forgotten, "access", "accesses")} were forgotten, since their memory is bounded.`
          : "",
      columns: [
        numberColumn("number", "No."),
        textColumn("kind", "Pattern"),
        textColumn("parameters", "Parameters", "formula"),
        textColumn("call", "Call"),
        maybeColumn("share", "Share of bytes", (row) => (row.accesses > 0 ? row.share : null), showShare),
        numberColumn("bytes", "Bytes", bytes),
        numberColumn("accesses", "Accesses"),
        numberColumn("times", "Times"),
        numberColumn("first_offset", "From"),
        numberColumn("last_offset", "To"),
        fileColumn(),
      ],
    });
  }

  function contextsSection(data) {
    return listSection({
      id: "sizes-by-context",
      title: "Sizes by context",
      lead: "Sizes of the transfers of each context: a call, a file, and the place in the program where call stacks were recorded.",
      rows: numbered(data.contexts),
      noun: ["context", "contexts"],
      sortedBy: "count",
      leftOut: data.contexts_left_out,
      columns: [
        numberColumn("number", "No."),
        textColumn("call", "Call"),
        numberColumn("count", "Transfers"),
        numberColumn("different", "Different sizes", (n) => (n > 24 ? "more than 24" : count(n))),
        numberColumn("min", "Minimum", bytes),
        numberColumn("average", "Average", bytes),
        numberColumn("standard_deviation", "Std. dev.", bytes),
        numberColumn("max", "Maximum", bytes),
        fileColumn(),
      ],
    });
  }

  // Ranks, or files: the grammar, and "contiguous" beside it.
  function scoresSection(id, title, noun, lines, leftOut, nameColumn) {
    const rows = lines.map(({ name, whole_run: { grammar, contiguous } }) => ({
      ...{ name, file: name, operations: grammar.operations },
      contexts: share(grammar.contexts_right, grammar.operations),
      sizes: share(grammar.sizes_right, grammar.sized),
      offsets: share(grammar.offsets_right, grammar.placed),
      hit: grammar.hit_ratio[0],
      contiguous: share(contiguous.offsets_right, contiguous.placed),
      contiguous_hit: contiguous.hit_ratio[0],
    }));
    const shareColumn = (key, name) => maybeColumn(key, name, (row) => row[key], showShare);
    const hitColumn = (key, name) => maybeColumn(key, name, (row) => row[key], showPercent);
    return listSection({
      ...{ id, title, rows, noun, leftOut, sortedBy: "operations" },
      lead: "Predicted right by the grammar over the whole run, and by “contiguous” beside it.",
      columns: [
        nameColumn,
        numberColumn("operations", "Operations"),
        shareColumn("contexts", "Contexts"),
        shareColumn("sizes", "Sizes"),
        shareColumn("offsets", "Offsets"),
        hitColumn("hit", "Hit ratio"),
        shareColumn("contiguous", "Offsets, contiguous"),
        hitColumn("contiguous_hit", "Hit ratio, contiguous"),
      ],
    });
  }

  return (data) => {
    if (data.version !== 1) throw new Error(`version ${data.version}: this page reads version 1`);
    const { trace, total, ranks, files } = data;
    const { grammar, contiguous } = total.whole_run;
    const shown = (part, all) => (all > 0 ? percent(part / all) : "-");
    const offsets = ({ offsets_right: right, placed }) => shown(right, placed);
    showTop({
      title: "Prediction of the next operations",
      about: [
        ["Trace: ", trace.path],
        [counted(trace.events, "event")],
        ...(data.learnt_from ? [["Learnt before from: ", data.learnt_from.path]] : []),
        [`omnio ${data.omnio}`],
      ],
      verdict:
        `of ${counted(grammar.operations, "operation")} the grammar predicted ` +
        `${shown(grammar.contexts_right, grammar.operations)} of the contexts and ${offsets(grammar)} ` +
        `of the offsets right; “contiguous” predicted ${offsets(contiguous)} of the offsets`,
      warnings: trace.whole ? [] : trace.reasons,
      notes: data.stacks.may_help
        ? ["call stacks were not recorded, and may help (omnio trace --callstack=auto)"]
        : [],
      figures: [
        keyFigure("Contexts right", shown(grammar.contexts_right, grammar.operations)),
        keyFigure("Sizes right", shown(grammar.sizes_right, grammar.sized)),
        keyFigure("Offsets right", offsets(grammar), `contiguous: ${offsets(contiguous)}`),
        keyFigure("Hit ratio", isThere(grammar.hit_ratio[0]) ? showPercent(grammar.hit_ratio[0]) : "-"),
        keyFigure("Grammar", counted(total.model.symbols, "symbol"), `at most ${count(total.model.most_symbols)}`),
        keyFigure("Memory of the models", bytes(total.model.bytes), "of a process, at most"),
      ],
    });
    return [
      ...curvesOf(data),
      patternsSection(data),
      contextsSection(data),
      scoresSection("ranks", "Ranks", ["rank", "ranks"], ranks, data.ranks_left_out, textColumn("name", "Rank")),
      scoresSection("files", "Files", ["file", "files"], files, data.files_left_out, fileColumn()),
      commandsOf([["All of it, as a document", `omnio predict ${trace.path} --json`]]),
    ];
  };
};
