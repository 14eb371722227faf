// The pages of `omnio compare` and `omnio diff`, drawn with the means of page.js, which comes after
// this file in the page. Each page is a function that shows its title and returns its sections; the
// format of the data chooses it, at the end of this file.
"use strict";

globalThis.omnioPages = (means) => {
  const { FONT_SIZE, MAX_BARS, NO_BREAK } = means;
  const { categoryAxis, choices, clamp, count, counted, dataTable, dateText, duration } = means;
  const { barTip, bytes, element, empty, figure, fit, grid, keyFigure, largest, legend } = means;
  const { nameAxis, numberColumn, pathNode, percent, roundDuration, section, textColumn, theme } = means;
  const { threeDigits, tipNode, twinTable, valueAxis, widthOf } = means;

  // ---------------------------------------------------------------- what both pages have

  const NS = 1e9;
  // Colours of candidates, in the order of the ranking; with more candidates they come again.
  const COLOURS = ["read", "write", "metadata", "sync", "data", "other"];
  const colourOf = (at) => COLOURS[at % COLOURS.length];
  const APPLICATION_COLOUR = "waiting";

  // A tip with the parts of a row; `parts` are [kind, key, name].
  const partsTip = (names, rows, parts, show) =>
    barTip(({ dataIndex }) =>
      tipNode(
        names[dataIndex],
        parts.map(([kind, key, name]) => [name, show(rows[dataIndex][key]), kind]),
      ),
    );

  const seconds = (value) => duration(value * NS);
  // An interval beyond a factor of a thousand says nothing, and its digits break the page.
  const interval = (range, show) => {
    if (!range) return "1 run";
    return range[0] > 0 && range[1] > 1000 * range[0] ? "open" : `${show(range[0])} to ${show(range[1])}`;
  };
  const times = (value) => `${threeDigits(value)}${NO_BREAK}x`;
  const rate = (mib) => `${bytes(mib * 2 ** 20)}/s`;
  // The name of a candidate begins a sentence as it is.
  const sentence = (text, names) =>
    names.some((name) => text.startsWith(`${name} `))
      ? `${text}.`
      : `${text[0].toUpperCase()}${text.slice(1)}.`;

  // A number that may be missing; what is missing comes last where the largest come first.
  function maybeColumn(key, title, valueOf, show) {
    const value = (row) => {
      const number = valueOf(row);
      return typeof number === "number" ? number : null;
    };
    return {
      key,
      title,
      kind: "number",
      value: (row) => value(row) ?? -1,
      show: (row) => {
        const number = value(row);
        return number === null ? "-" : show(number);
      },
    };
  }

  // Sorted by the lower end.
  function intervalColumn(key, rangeOf, show, percentage = 95) {
    return {
      key,
      title: `${percentage}${NO_BREAK}%`,
      kind: "number",
      value: (row) => rangeOf(row)?.[0] ?? -1,
      show: (row) => (rangeOf(row) ? interval(rangeOf(row), show) : "-"),
    };
  }

  function showTop({ title, about, verdict, figures, warnings, notes, names = [] }) {
    document.title = `${title}: omnio`;
    const list = (sentences) =>
      element("ul", {}, ...sentences.map((text) => element("li", {}, sentence(text, names))));
    const banner = document.getElementById("banner");
    if (warnings.length) {
      banner.append(
        element(
          "div",
          { class: "banner", role: "region", "aria-label": "Warnings" },
          list(warnings),
        ),
      );
    }
    document
      .getElementById("top")
      .append(
        element("h1", {}, title),
        element("div", { class: "about" }, ...about.map((parts) => element("span", {}, ...parts))),
        element("p", { class: "verdict" }, sentence(verdict, names)),
        notes.length
          ? element("div", { class: "notes", role: "region", "aria-label": "Notes" }, list(notes))
          : "",
        element("dl", { class: "figures" }, ...figures),
      );
  }

  // Room for the names on the left of horizontal bars.
  function gutterOf(names, width) {
    return Math.round(clamp(largest(names.map(widthOf)) + 14, 60, Math.min(260, width * 0.38)));
  }

  // Intervals of few runs can be many times as wide as their bars: the axis leaves them out.
  function axisEnd(measures) {
    const middle = largest(measures.map((measure) => measure.middle));
    return Math.min(
      Math.max(middle, largest(measures.map(({ interval_95: range }) => range?.[1] ?? 0))),
      middle * 1.6,
    );
  }
  const cutNote = (measures) =>
    measures.some(({ interval_95: range }) => range && range[1] > axisEnd(measures))
      ? " An interval that reaches beyond the chart is cut off."
      : "";

  // A line with a tick at each end, along the bars.
  function whisker(from, to, across, half, isHorizontal) {
    const style = { stroke: theme.text, lineWidth: 1.5 };
    const at = (along, off) => (isHorizontal ? [along, across + off] : [across + off, along]);
    const line = ([x1, y1], [x2, y2]) => ({
      type: "line",
      shape: { x1, y1, x2, y2 },
      style,
      silent: true,
    });
    return [
      line(at(from, 0), at(to, 0)),
      ...[from, to].map((end) => line(at(end, -half), at(end, half))),
    ];
  }

  // Horizontal bars with intervals: rows are { name, measure, colour }.
  function intervalBars({ id, twin, rows, what, lines }) {
    const names = rows.map(({ name }) => name);
    const chart = {
      name: id,
      twin,
      height: () => rows.length * 34 + 12 + 28,
      label: () =>
        `Bar chart of ${what}: ${rows
          .slice(0, MAX_BARS)
          .map(
            ({ name, measure }) =>
              `${name} ${seconds(measure.middle)} (${interval(measure.interval_95, seconds)})`,
          )
          .join(", ")}.`,
      option: () => {
        const left = gutterOf(names, chart.holder.clientWidth);
        const end = axisEnd(rows.map(({ measure }) => measure)) * NS;
        return {
          grid: grid({ left, right: 86, top: 12, bottom: 28 }),
          tooltip: barTip(({ dataIndex }) => tipNode(names[dataIndex], lines(rows[dataIndex]))),
          xAxis: valueAxis((ns) => (ns > end * 0.999 ? "" : roundDuration(ns)), {
            splitNumber: 5,
            max: end * 1.02,
          }),
          yAxis: nameAxis(names, left),
          series: [
            {
              type: "bar",
              barCategoryGap: "40%",
              barMaxWidth: 24,
              data: rows.map(({ measure, colour }) => ({
                value: measure.middle * NS,
                itemStyle: { color: theme[colour] },
              })),
            },
            {
              type: "custom",
              clip: true,
              silent: true,
              z: 3,
              encode: { x: [0, 1], y: 2 },
              data: rows.flatMap(({ measure: { interval_95: range } }, at) =>
                range ? [[range[0] * NS, range[1] * NS, at]] : [],
              ),
              renderItem: (_, api) => {
                const [from, across] = api.coord([api.value(0), api.value(2)]);
                const [to] = api.coord([api.value(1), api.value(2)]);
                return { type: "group", children: whisker(from, to, across, 5, true) };
              },
            },
            // Beside the chart's right end, where no interval hides them.
            {
              type: "custom",
              silent: true,
              encode: { y: 1 },
              data: rows.map(({ measure }, at) => [measure.middle, at]),
              renderItem: ({ coordSys }, api) => ({
                type: "text",
                style: {
                  text: seconds(api.value(0)),
                  x: coordSys.x + coordSys.width + 8,
                  y: api.coord([0, api.value(1)])[1],
                  verticalAlign: "middle",
                  fill: theme.quiet,
                  font: `${FONT_SIZE}px system-ui, sans-serif`,
                },
              }),
            },
          ],
        };
      },
    };
    return chart;
  }

  function commandsOf(list) {
    return section(
      "commands",
      "Commands",
      "",
      element(
        "dl",
        { class: "commands" },
        ...list.flatMap(([what, command]) => [
          element("dt", {}, what),
          element("dd", {}, element("code", {}, command)),
        ]),
      ),
    );
  }

  // ---------------------------------------------------------------- omnio compare

  const ORIGIN_NAMES = {
    application: "application",
    replay: "replay",
    "phase run": "phase run",
    ior: "IOR",
  };
  const originsText = ({ origins }) => origins.map((origin) => ORIGIN_NAMES[origin]).join(", ");
  const applicationRow = (time) => ({
    name: "application, as recorded",
    measure: { middle: time, runs: 1, interval_95: null },
    colour: APPLICATION_COLOUR,
  });

  // A candidate whose times are of the memory of the nodes has a mark beside its name.
  const isOfMemory = (each) => each?.evidence_of_all?.measured === "memory";
  const markedName = (each) => (isOfMemory(each) ? `${each.name} (memory)` : each.name);
  const nameColumn = () => ({
    ...textColumn("name", "Candidate"),
    value: ({ name, each }) => each?.name ?? name,
    show: ({ name, each }) =>
      isOfMemory(each)
        ? element("span", {}, each.name, " ", element("span", { class: "badge" }, "memory"))
        : (each?.name ?? name),
  });
  // What the times are, and the level of the intervals of their ratios.
  const timeName = ({ by }) => (by === "run times" ? "Run time" : "I/O time");
  const TIMES = {
    "run times": "From the begin of a run to the end of writing back what it left in memory",
    "the sum over the phases": "The sum over the phases",
    "runs of all phases together": "The I/O time of the slowest process",
  };
  const ratioPercentOf = ({ ratio_percent: percentage }) => percentage;

  function rankingSection(data) {
    const rows = data.ranking.map((each, at) => ({
      name: markedName(each),
      measure: each.io_s,
      colour: colourOf(at),
      each,
    }));
    if (data.application_s !== null) rows.push(applicationRow(data.application_s));
    const measures = rows.map(({ measure }) => measure);
    const chart = intervalBars({
      id: "io-time",
      twin: "table-ranking",
      rows,
      what: `${timeName(data)}s`,
      lines: ({ measure, each }) => [
        [timeName(data), seconds(measure.middle)],
        ["95 %", interval(measure.interval_95, seconds)],
        ["Runs", count(measure.runs)],
        ...(each ? [["Times of", originsText(each) || "-"]] : []),
      ],
    });
    const ratio = (each) => each.times_the_best;
    return section(
      "ranking",
      timeName(data),
      `${TIMES[data.by]}: the geometric mean of the runs, with its 95\u00a0% interval. A candidate is ` +
        `slower than the best where the whole ${ratioPercentOf(data)}\u00a0% interval of the ratio is above 1.` +
        cutNote(measures),
      figure(chart, null),
      dataTable({
        id: "table-ranking",
        label: "Ranking",
        rows,
        noun: ["row", "rows"],
        sortedBy: null,
        columns: [
          nameColumn(),
          {
            ...textColumn("origin", "Times of"),
            value: ({ each }) => (each ? originsText(each) : "application"),
            show: ({ each }) => (each ? originsText(each) : "application"),
          },
          {
            ...textColumn("target", "Target", "path"),
            value: ({ each }) => each?.target ?? "",
            show: ({ each }) => each?.target || "-",
          },
          maybeColumn("runs", "Runs", ({ measure }) => measure.runs, count),
          maybeColumn("io_s", timeName(data), ({ measure }) => measure.middle, seconds),
          intervalColumn("interval", ({ measure }) => measure.interval_95, seconds),
          maybeColumn(
            "mib_s",
            "MiB/s",
            ({ each }) => (data.weight_bytes > 0 ? each?.bandwidth_mib_s : null),
            threeDigits,
          ),
          maybeColumn("ratio", "Times the best", ({ each }) => each && ratio(each).middle, times),
          intervalColumn(
            "ratio_interval",
            ({ each }) =>
              each && each !== data.ranking[0] ? ratio(each)[`interval_${ratioPercentOf(data)}`] : null,
            times,
            ratioPercentOf(data),
          ),
        ],
      }),
    );
  }

  const PARTS = [
    ["data", "data_s", "Data"],
    ["metadata", "metadata_s", "Metadata"],
    ["sync", "sync_s", "Sync"],
  ];

  // Bars side by side, one of stacked parts for each row.
  function stackedBars({ id, twin, rows, parts, what, show, axis }) {
    const names = rows.map(({ name }) => name);
    const chart = {
      name: id,
      twin,
      height: () => rows.length * 34 + 12 + 28,
      label: () =>
        `Bar chart of ${what}: ${rows
          .map(
            (row) =>
              `${row.name} ${parts.map(([, key, name]) => `${name} ${show(row[key])}`).join(", ")}`,
          )
          .join("; ")}.`,
      option: () => {
        const left = gutterOf(names, chart.holder.clientWidth);
        return {
          grid: grid({ left, right: 24, top: 12, bottom: 28 }),
          tooltip: partsTip(names, rows, parts, show),
          xAxis: valueAxis(axis, { splitNumber: 5 }),
          yAxis: nameAxis(names, left),
          series: parts.map(([kind, key]) => ({
            type: "bar",
            stack: "parts",
            barCategoryGap: "40%",
            barMaxWidth: 24,
            itemStyle: { color: theme[kind] },
            data: rows.map((row) => row[key]),
          })),
        };
      },
    };
    return chart;
  }

  function partsSection(data) {
    const rows = data.ranking
      .filter(({ parts }) => parts)
      .map((each) => ({
        name: markedName(each),
        each,
        ...Object.fromEntries(
          Object.entries(each.parts).map(([key, value]) => [key, value === null ? null : value * NS]),
        ),
      }));
    const title = "Parts of the I/O time";
    if (rows.length === 0) {
      return section(
        "parts",
        title,
        "",
        empty("The parts are not known: the times are sums over the phases."),
      );
    }
    return section(
      "parts",
      title,
      "Medians of the runs. Waiting for other processes lies beside the I/O time. Sum adds up the " +
        "phases, and chain is the longest path through the I/O of all processes.",
      figure(
        stackedBars({
          id: "io-parts",
          twin: "table-parts",
          rows,
          parts: PARTS,
          what: "the parts of the I/O time",
          show: duration,
          axis: roundDuration,
        }),
        null,
        element("div", { class: "controls" }, legend(PARTS.map(([kind, , name]) => [kind, name]))),
      ),
      dataTable({
        id: "table-parts",
        label: "Parts of the I/O time",
        rows,
        noun: ["candidate", "candidates"],
        sortedBy: null,
        columns: [
          nameColumn(),
          ...PARTS.map(([, key, name]) => numberColumn(key, name, duration)),
          numberColumn("waiting_s", "Waiting", duration),
          numberColumn("sum_s", "Sum", duration),
          maybeColumn("chain_s", "Chain", (row) => row.chain_s, duration),
        ],
      }),
    );
  }

  const PHASE_KINDS = [
    ["time_s", "All"],
    ["write_s", "Writes"],
    ["read_s", "Reads"],
  ];

  const operationsText = ({ operations }) => operations.join(", ");
  const PHASE_COLUMNS = [
    numberColumn("phase", "Phase", String),
    { ...textColumn("operations", "Operation"), value: operationsText, show: operationsText },
    textColumn("file", "File", "path", ({ file }) => pathNode(file)),
  ];

  // Bars of all candidates side by side, for each phase.
  function phasesChart(data, state) {
    const { phases, ranking } = data;
    const hasApplication = () =>
      state.kind === "time_s" && phases.some(({ application_s: time }) => time !== null);
    const series = () => [
      ...ranking
        .map((each, at) => ({
          name: markedName(each),
          colour: colourOf(at),
          of: (phase) => phase.candidates[at][state.kind],
        }))
        .filter(({ of }) => phases.some(of)),
      ...(hasApplication()
        ? [
            {
              name: "application, as recorded",
              colour: APPLICATION_COLOUR,
              of: ({ application_s: time }) =>
                time === null ? undefined : applicationRow(time).measure,
            },
          ]
        : []),
    ];
    const all = () =>
      series().flatMap(({ of }) => phases.map((phase) => of(phase)).filter(Boolean));
    const chart = {
      name: "phase-times",
      twin: "table-phases-of-candidates",
      height: () => 300,
      label: () => {
        const most = phases.reduce(
          (best, phase) =>
            largest(series().map(({ of }) => of(phase)?.middle ?? 0)) > best.time
              ? { phase, time: largest(series().map(({ of }) => of(phase)?.middle ?? 0)) }
              : best,
          { phase: phases[0], time: 0 },
        );
        return (
          `Bar chart of the times of ${counted(phases.length, "phase")} with ` +
          `${counted(series().length, "series", "series")}. The longest: phase ${most.phase.phase} with ` +
          `${seconds(most.time)}.`
        );
      },
      option: () => {
        const list = series();
        const end = axisEnd(all()) * NS;
        return {
          grid: grid({ left: 76, right: 16, top: 12, bottom: 28 }),
          tooltip: barTip(
            ({ dataIndex }) =>
              tipNode(
                `Phase ${phases[dataIndex].phase}: ${operationsText(phases[dataIndex])}`,
                list.map(({ name, colour, of }) => {
                  const time = of(phases[dataIndex]);
                  const range = time?.interval_95;
                  return [
                    name,
                    time
                      ? `${seconds(time.middle)}${range ? ` (${interval(range, seconds)})` : ""}`
                      : "-",
                    colour,
                  ];
                }),
              ),
          ),
          xAxis: categoryAxis(
            phases.map(({ phase }) => String(phase)),
            { color: theme.quiet, hideOverlap: true },
          ),
          yAxis: valueAxis((ns) => (ns > end ? "" : roundDuration(ns)), {
            splitNumber: 4,
            max: end * 1.05,
          }),
          series: list.map(({ colour, of }, at) => ({
            type: "custom",
            clip: true,
            encode: { x: 0, y: 1 },
            data: phases.map((phase, index) => {
              const time = of(phase);
              const range = time?.interval_95;
              return [index, (time?.middle ?? 0) * NS, (range?.[0] ?? -1) * NS, (range?.[1] ?? 0) * NS];
            }),
            renderItem: (_, api) => {
              const index = api.value(0);
              const [centre, top] = api.coord([index, api.value(1)]);
              const [, bottom] = api.coord([index, 0]);
              const band = Math.min(api.size([1, 0])[0] * 0.76, list.length * 44);
              const width = Math.max(1, band / list.length);
              const x = centre - band / 2 + at * width;
              const bar = {
                type: "rect",
                shape: { x, y: top, width: Math.max(1, width - (width > 6 ? 2 : 0)), height: bottom - top },
                style: { fill: theme[colour] },
              };
              const hasWhisker = api.value(2) >= 0 && width >= 6;
              return {
                type: "group",
                children: [
                  bar,
                  ...(hasWhisker
                    ? whisker(
                        api.coord([index, api.value(2)])[1],
                        api.coord([index, api.value(3)])[1],
                        x + (width - 2) / 2,
                        Math.min(5, width / 3),
                        false,
                      )
                    : []),
                ],
              };
            },
          })),
        };
      },
    };
    return { chart, series };
  }

  function phasesOfCandidates(data) {
    const { phases, ranking } = data;
    const title = "Phases";
    const id = "phases";
    if (!phases.some((phase) => phase.candidates.some(({ time_s: time }) => time))) {
      return section(
        id,
        title,
        "",
        empty(
          phases.length === 0
            ? "The model has no phases."
            : "No candidate has times of single phases: the phases of its traces are not those of the model.",
        ),
      );
    }
    const has = (key) => phases.some((phase) => phase.candidates.some((each) => each[key]));
    // Where each phase has writes or reads alone, their times are those of the phase.
    const hasBoth = (at) =>
      phases.some(({ candidates }) => candidates[at].write_s && candidates[at].read_s);
    const state = { kind: "time_s" };
    const { chart, series } = phasesChart(data, state);
    const legendPlace = element("div");
    const showLegend = () =>
      legendPlace.replaceChildren(legend(series().map(({ colour, name }) => [colour, name])));
    showLegend();
    const pick = choices(
      "Time of",
      PHASE_KINDS.filter(([key]) => has(key)),
      state.kind,
      (kind) => {
        state.kind = kind;
        showLegend();
        fit(chart);
      },
    );
    const hasKinds = has("write_s") && has("read_s");
    const left = data.phases_left_out;
    const note =
      left > 0
        ? [
            `${counted(left, "more phase takes", "more phases take")} less time and ` +
              `${left === 1 ? "is" : "are"} not on this page. All phases: `,
            element("code", {}, data.all_command),
          ]
        : "";
    return section(
      id,
      title,
      "Times of each phase, geometric means with 95\u00a0% intervals. A candidate whose times are " +
        "of a trace has separate times of writes and reads only where a phase has one of the two.",
      element(
        "div",
        { class: "part" },
        element("div", { class: "controls" }, hasKinds ? pick : "", legendPlace),
        figure(chart, null),
      ),
      dataTable({
        id: "table-phases-of-candidates",
        label: title,
        rows: phases,
        noun: ["phase", "phases"],
        sortedBy: null,
        note,
        leftOut: left,
        columns: [
          ...PHASE_COLUMNS,
          {
            ...numberColumn("weight_bytes", "Weight", bytes),
            show: ({ weight_bytes: moved, weight_operations: calls }) =>
              calls === undefined ? bytes(moved) : counted(calls, "call"),
          },
          maybeColumn("application", "Application", (phase) => phase.application_s, seconds),
          ...ranking.flatMap((each, at) =>
            (hasBoth(at) ? PHASE_KINDS : PHASE_KINDS.slice(0, 1)).map(([key, kind]) =>
              maybeColumn(
                `${key}-${at}`,
                key === "time_s" ? markedName(each) : `${markedName(each)}: ${kind.toLowerCase()}`,
                (phase) => phase.candidates[at][key]?.middle,
                seconds,
              ),
            ),
          ),
        ],
      }),
    );
  }

  function peakSection(data) {
    const title = "Share of the peak";
    const id = "peak";
    const withPeak = data.ranking
      .map((each, at) => ({ each, at }))
      .filter(({ each }) => each.peak);
    if (withPeak.length === 0) {
      return section(
        id,
        title,
        "",
        empty("No peak was given: --peak NAME=FILE takes what omnio ior --peak found."),
      );
    }
    const rows = withPeak.map(({ each }) => ({
      name: markedName(each),
      write: each.peak_share.write,
      read: each.peak_share.read,
      each,
    }));
    const parts = [
      ["write", "write", "Writes"],
      ["read", "read", "Reads"],
    ];
    const chart = sideBySideBars({
      id: "peak-shares",
      twin: "table-peaks",
      rows,
      parts,
      what: "the share of the peak that was used",
      show: (part) => (part === null ? "-" : percent(part)),
      axis: percent,
    });
    const share = (kind) => (row) => row.each.peak_share[kind];
    const phases = data.phases.filter(({ candidates }) =>
      candidates.some(({ peak_share: part }) => part && (part.write !== null || part.read !== null)),
    );
    return section(
      id,
      title,
      "The bandwidth of the writes over the peak for writes, and the same for reads, over all phases " +
        "whose writes and reads were measured apart. More than 100\u00a0% means that the candidate was " +
        "quicker than its peak, by a cache for example.",
      figure(
        chart,
        null,
        element("div", { class: "controls" }, legend(parts.map(([kind, , name]) => [kind, name]))),
      ),
      dataTable({
        id: "table-peaks",
        label: "Peaks",
        rows,
        noun: ["candidate", "candidates"],
        sortedBy: null,
        columns: [
          nameColumn(),
          maybeColumn("write", "Writes", share("write"), percent),
          maybeColumn("read", "Reads", share("read"), percent),
          maybeColumn("write_peak", "Peak of writes, MiB/s", ({ each }) => each.peak.write_mib_s, threeDigits),
          maybeColumn("read_peak", "Peak of reads, MiB/s", ({ each }) => each.peak.read_mib_s, threeDigits),
          {
            ...textColumn("source", "Peak from", "path"),
            value: ({ each }) => each.peak.source ?? "the command line",
            show: ({ each }) => each.peak.source ?? "the command line",
          },
        ],
      }),
      phases.length > 0
        ? element(
            "div",
            { class: "part" },
            element("h3", {}, "By phase"),
            dataTable({
              id: "table-peaks-of-phases",
              label: "Share of the peak by phase",
              rows: phases,
              noun: ["phase", "phases"],
              sortedBy: null,
              columns: [
                ...PHASE_COLUMNS,
                ...withPeak.flatMap(({ each, at }) =>
                  parts.map(([, key, kind]) =>
                    maybeColumn(
                      `${key}-${at}`,
                      `${each.name}: ${kind.toLowerCase()}`,
                      (phase) => phase.candidates[at].peak_share?.[key],
                      percent,
                    ),
                  ),
                ),
              ],
            }),
          )
        : "",
    );
  }

  // Bars of each row side by side, by part: `parts` are [kind, key, name]. `scale`: of the axis.
  function sideBySideBars({ id, twin, rows, parts, what, show, axis = show, scale }) {
    const names = rows.map(({ name }) => name);
    const chart = {
      name: id,
      twin,
      height: () => rows.length * (parts.length * 14 + 12) + 12 + 28,
      label: () =>
        `Bar chart of ${what}: ${rows
          .slice(0, MAX_BARS)
          .map(
            (row) =>
              `${row.name}: ${parts.map(([, key, name]) => `${name} ${show(row[key])}`).join(", ")}`,
          )
          .join("; ")}.`,
      option: () => {
        const left = gutterOf(names, chart.holder.clientWidth);
        return {
          grid: grid({ left, right: 76, top: 12, bottom: 28 }),
          tooltip: partsTip(names, rows, parts, show),
          xAxis: valueAxis(axis, { splitNumber: 4, ...scale }),
          yAxis: nameAxis(names, left),
          series: parts.map(([kind, key]) => ({
            type: "bar",
            barGap: "10%",
            barCategoryGap: "30%",
            barMaxWidth: 16,
            itemStyle: { color: theme[kind] },
            data: rows.map((row) => row[key] ?? 0), // with the label that says why
            label: {
              show: true,
              position: "right",
              color: theme.quiet,
              fontSize: FONT_SIZE,
              formatter: ({ dataIndex }) => show(rows[dataIndex][key]),
            },
          })),
        };
      },
    };
    return chart;
  }

  const STORAGE_PARTS = [
    [APPLICATION_COLOUR, "calls", "By the calls", "calls"],
    ["data", "storage", "By the storage, in the time", "storage"],
    ["sync", "storage_with_sync", "With the final sync", "with sync"],
  ];
  const WAYS = [
    ["written_bytes", "Written"],
    ["read_bytes", "Read"],
  ];
  const partsLegend = (parts) => legend(parts.map(([kind, , name]) => [kind, name]));
  const isCounted = (each) => each.evidence_of_all.measured !== "unknown";
  // Numbers of an axis that are round in bytes: 2 MiB, not 1.91 MiB.
  function bytesScale(most) {
    const interval = 2 ** Math.max(0, Math.floor(Math.log2(most / 3)));
    return { interval, max: Math.ceil(most / interval) * interval };
  }

  function storageSection(data) {
    const id = "storage";
    const title = "What the storage did";
    const list = data.ranking.filter((each) => each.evidence_of_all);
    if (list.length === 0) {
      return section(
        id,
        title,
        "",
        empty("No result says what the storage did: replays and runs of omnio-phase-run do."),
      );
    }
    const bytesOf = (each, part, way) =>
      part === "calls" || isCounted(each) ? each.evidence_of_all[part][way] : null;
    const show = (value) => (value === null ? "not counted" : bytes(value));
    const rows = list.flatMap((each) =>
      WAYS.map(([way, name]) => ({
        name: `${each.name}: ${name.toLowerCase()}`,
        ...Object.fromEntries(STORAGE_PARTS.map(([, part]) => [part, bytesOf(each, part, way)])),
      })).filter((row) => STORAGE_PARTS.some(([, part]) => row[part] > 0)),
    );
    const most = largest(rows.flatMap((row) => STORAGE_PARTS.map(([, part]) => row[part] ?? 0)));
    const fullColumn = (when, run) =>
      maybeColumn(
        when,
        `Full at the ${when}`,
        ({ each }) => {
          const { capacity_bytes: all, [`free_${when}_bytes`]: free } = each.evidence.at(run);
          return all > 0 ? 1 - free / all : null;
        },
        percent,
      );
    return section(
      id,
      title,
      "Bytes that the calls moved, beside those that reached the devices or servers, or came from " +
        "them: up to the last call, and with the final sync. Medians of the runs. A time is of memory " +
        "where less than half of the bytes of the calls crossed to the storage.",
      element(
        "ul",
        { class: "sentences" },
        ...list.map((each) =>
          element("li", {}, `${each.name} is ${each.evidence_of_all.sentence}.`),
        ),
      ),
      rows.length > 0
        ? figure(
            sideBySideBars({
              id: "storage-bytes",
              twin: "table-storage",
              rows,
              parts: STORAGE_PARTS,
              what: "bytes of the calls and of the storage",
              show,
              axis: bytes,
              scale: bytesScale(most),
            }),
            null,
            element("div", { class: "controls" }, partsLegend(STORAGE_PARTS)),
          )
        : empty("The calls moved no bytes."),
      dataTable({
        id: "table-storage",
        label: title,
        rows: list.map((each) => ({ name: each.name, each })),
        noun: ["candidate", "candidates"],
        sortedBy: null,
        columns: [
          nameColumn(),
          ...WAYS.flatMap(([way, name]) =>
            STORAGE_PARTS.map(([, part, , column]) => ({
              ...maybeColumn(
                `${part}_${way}`,
                `${name}: ${column}`,
                ({ each }) => bytesOf(each, part, way),
                bytes,
              ),
              show: ({ each }) => show(bytesOf(each, part, way)),
            })),
          ),
          maybeColumn(
            "busy",
            "Busiest device",
            ({ each }) => (isCounted(each) ? each.evidence_of_all.busy : null),
            percent,
          ),
          fullColumn("begin", 0),
          fullColumn("end", -1),
        ],
      }),
      coursePart(data),
    );
  }

  // The bandwidth of the storage over time, of one run of each candidate.
  function coursePart({ ranking }) {
    const lines = ranking.flatMap((each, at) => {
      if (!each.evidence_of_all || !isCounted(each)) return [];
      const { course } = each.evidence[each.evidence_of_all.course_run];
      return [{ name: markedName(each), colour: colourOf(at), ...course, partNs: course.part_s * NS }];
    });
    const ways = WAYS.filter(([way]) => lines.some((line) => largest(line[way]) > 0));
    const heading = element("h3", {}, "Bandwidth of the storage over time");
    if (ways.length === 0) {
      const why =
        lines.length === 0
          ? "No kernel counts it."
          : "Nothing reached it or came from it before the final sync.";
      return element("div", { class: "part" }, heading, empty(why));
    }
    const state = { way: ways[0][0] };
    const end = largest(lines.map((line) => line.partNs * line.written_bytes.length));
    const rateOf = (line, part, way = state.way) => line[way][part] / line.part_s;
    const rateText = (perSecond) => rate(perSecond / 2 ** 20);
    const chart = {
      name: "storage-course",
      height: () => 220,
      label: () =>
        `Line chart of the bandwidth of the storage over the run, ` +
        `${state.way === "read_bytes" ? "read" : "written"}: ${lines
          .map((line) => `${line.name} at most ${rateText(largest(line[state.way]) / line.part_s)}`)
          .join(", ")}.`,
      option: () => ({
        grid: grid({ left: 92, right: 28, top: 12, bottom: 28 }),
        tooltip: barTip(({ axisValue }) =>
          tipNode(
            roundDuration(axisValue),
            lines.map((line) => {
              const part = Math.floor(axisValue / line.partNs);
              const isOver = part >= line[state.way].length;
              return [line.name, isOver ? "ended" : rateText(rateOf(line, part)), line.colour];
            }),
          ),
        ),
        xAxis: valueAxis((ns) => (ns > end * 0.999 ? "" : roundDuration(ns)), {
          max: end,
          axisLine: { show: true, lineStyle: { color: theme.line } },
        }),
        yAxis: valueAxis(
          (value) => (value === 0 ? "0" : `${value.toLocaleString("en-US")}${NO_BREAK}MiB/s`),
          { splitNumber: 4 },
        ),
        series: lines.map((line) => ({
          type: "line",
          step: "end",
          symbol: "none",
          silent: true,
          lineStyle: { width: 2, color: theme[line.colour] },
          // The bandwidth of a part holds until the next one; the last point ends the last part.
          data: [...line[state.way], line[state.way].at(-1)].map((moved, part) => [
            part * line.partNs,
            moved / line.part_s / 2 ** 20,
          ]),
        })),
      }),
    };
    const twin = () =>
      twinTable(
        "Bandwidth of the storage over time",
        [
          textColumn("name", "Candidate"),
          numberColumn("from", "From", duration),
          numberColumn("to", "To", duration),
          ...WAYS.map(([way, name]) => numberColumn(way, name, rateText)),
        ],
        lines.flatMap((line) =>
          line.written_bytes.map((_, part) => ({
            name: line.name,
            from: part * line.partNs,
            to: (part + 1) * line.partNs,
            ...Object.fromEntries(WAYS.map(([way]) => [way, rateOf(line, part, way)])),
          })),
        ),
      );
    const pick = choices("Bytes", ways, state.way, (way) => {
      state.way = way;
      fit(chart);
    });
    return element(
      "div",
      { class: "part" },
      heading,
      element("p", { class: "lead" }, "Of each candidate the run with the median time."),
      figure(
        chart,
        twin,
        element(
          "div",
          { class: "controls" },
          ways.length > 1 ? pick : "",
          legend(lines.map(({ colour, name }) => [colour, name])),
        ),
      ),
    );
  }


  // How far the runs are from the median of their candidate, so that candidates that are far apart
  // have one scale.
  function runsSection({ ranking, rounds, spread_limit: spreadLimit }) {
    const id = "runs";
    const title = rounds ? "Runs by round" : "Runs";
    const one = rounds ? "Round" : "Run";
    const most = largest(ranking.map(({ times_s: list }) => list.length));
    if (most < 2) {
      return section(id, title, "", empty("One run of each candidate: none to set it beside."));
    }
    const rows = Array.from({ length: most }, (_, at) => ({ name: `${one} ${at + 1}`, at }));
    const far = (each, at) => each.times_s[at] / each.median_s - 1;
    const farthest = 1.1 * largest(ranking.map(({ spread }) => spread ?? 0));
    const step = [spreadLimit, 0.1, 0.2, 0.5, 1, 2, 5].find((part) => 2 * part >= farthest) ?? farthest / 2;
    const farText = (part) => `${part > 0 ? "+" : ""}${(100 * part).toFixed(1)}${NO_BREAK}%`;
    const chart = {
      name: "runs-by-round",
      twin: "table-runs",
      height: () => 220,
      label: () =>
        `Line chart of the distance of each run from the median of its candidate: ${ranking
          .map((each) => `${each.name} at most ${percent(each.spread ?? 0)}`)
          .join(", ")}.`,
      option: () => ({
        grid: grid({ left: 64, right: 28, top: 12, bottom: 28 }),
        tooltip: barTip(({ dataIndex: at }) =>
          tipNode(
            rows[at].name,
            ranking.flatMap((each, index) =>
              at < each.times_s.length
                ? [[each.name, `${seconds(each.times_s[at])} (${farText(far(each, at))})`, colourOf(index)]]
                : [],
            ),
          ),
        ),
        xAxis: categoryAxis(
          rows.map(({ name }) => name),
          { color: theme.quiet, hideOverlap: true },
          { axisLine: { onZero: false, lineStyle: { color: theme.line } } },
        ),
        yAxis: valueAxis(
          (part) => `${part > 0 ? "+" : ""}${Math.round(100 * part)}${NO_BREAK}%`,
          { min: -Math.min(2 * step, 1), max: 2 * step, interval: step },
        ),
        series: [
          ...[-spreadLimit, spreadLimit].map((limit) => ({
            type: "line",
            symbol: "none",
            silent: true,
            lineStyle: { width: 1, type: "dashed", color: theme.quiet },
            data: rows.map(() => limit),
          })),
          ...ranking.map((each, index) => ({
            type: "line",
            symbol: "circle",
            symbolSize: 7,
            lineStyle: { width: 1, color: theme[colourOf(index)] },
            itemStyle: { color: theme[colourOf(index)] },
            data: each.times_s.map((_, at) => far(each, at)),
          })),
        ],
      }),
    };
    return section(
      id,
      title,
      "How far each run is from the median of its candidate: so drift and a slow first run are seen. " +
        "Dashed: 5\u00a0% to either side, which rules of procurement allow.",
      figure(
        chart,
        null,
        element(
          "div",
          { class: "controls" },
          legend(ranking.map((each, index) => [colourOf(index), markedName(each)])),
        ),
      ),
      dataTable({
        id: "table-runs",
        label: title,
        rows,
        noun: [one.toLowerCase(), `${one.toLowerCase()}s`],
        sortedBy: null,
        columns: [
          textColumn("name", one),
          ...ranking.map((each, index) =>
            maybeColumn(`time-${index}`, markedName(each), ({ at }) => each.times_s[at], seconds),
          ),
        ],
      }),
    );
  }

  // Evaluations at other numbers of ranks (omnio evaluate --ranks).
  function projectionsSection({ projections }) {
    const percent = (100 * projections.error_band).toFixed(1);
    return section(
      "projections",
      "Other numbers of ranks",
      `Projections of ${counted(projections.recorded_ranks, "recorded rank")}: no application did these calls. ` +
        `Error band ${percent} %: by so much the recording differs from itself, scaled to its own number of ranks.`,
      dataTable({
        id: "table-projections",
        label: "Other numbers of ranks",
        rows: projections.projections,
        noun: ["number of ranks", "numbers of ranks"],
        sortedBy: null,
        columns: [
          { key: "ranks", title: "Ranks", value: ({ ranks }) => ranks, show: ({ ranks }) => count(ranks) },
          textColumn("verdict", "Projection", "path"),
          {
            key: "times",
            title: "Times",
            kind: "path",
            value: ({ times }) => times[0]?.middle_s ?? 0,
            show: ({ times }) => times.map(({ name, middle_s: time }) => `${name} ${seconds(time)}`).join(", "),
          },
        ],
      }),
    );
  }

  function formSection({ form, ranking }) {
    return section(
      "form",
      "Form",
      [
        "The fields that rules of procurement ask for. What is not known is empty. As CSV: ",
        element("code", {}, "form.csv"),
        " of an evaluation, or ",
        element("code", {}, "omnio compare --form FILE"),
        ".",
      ],
      dataTable({
        id: "table-form",
        label: "Form",
        rows: form.slice(1), // the first has the names of the candidates
        noun: ["field", "fields"],
        sortedBy: null,
        columns: [
          textColumn("field", "Field", "formula"),
          ...ranking.map((each, index) => ({
            key: `candidate-${index}`,
            title: markedName(each),
            kind: "path",
            value: ({ cells }) => cells[index],
            show: ({ cells }) => cells[index],
          })),
        ],
      }),
    );
  }

  // definitions.json, whose words are those of docs/definitions.md.
  function definitionsSection() {
    return section(
      "definitions",
      "Definitions",
      [
        "How the numbers of this page are made, and cases that people argue about. More of them: ",
        element("code", {}, "docs/definitions.md"),
        ".",
      ],
      element(
        "details",
        {},
        element("summary", {}, "Show all"),
        element(
          "dl",
          { class: "definitions" },
          ...globalThis.omnioDefinitions.flatMap(({ term, formulas, cases }) => [
            element("dt", {}, sentence(term, []).slice(0, -1)),
            ...formulas.map((formula) => element("dd", {}, element("code", {}, formula))),
            element(
              "dd",
              {},
              element(
                "ul",
                { class: "sentences" },
                ...cases.map(([question, answer]) => element("li", {}, `${question}: ${answer}`)),
              ),
            ),
          ]),
        ),
      ),
    );
  }

  function comparisonPage(data) {
    if (data.version !== 1) throw new Error(`version ${data.version}: this page reads version 1`);
    const best = data.ranking[0];
    const runs = data.ranking.map(({ io_s: time }) => time.runs);
    const fewest = Math.min(...runs);
    const most = Math.max(...runs);
    const phases = data.phases.length + data.phases_left_out;
    showTop({
      title: `I/O of ${data.ranking.length} candidates`,
      about: [
        ["Model: ", data.model],
        ["Application: ", data.source],
        data.made ? ["Made: ", dateText(data.made)] : [],
        [`omnio ${data.omnio}`],
      ],
      names: data.ranking.map(({ name }) => name),
      verdict: data.verdict,
      warnings: data.warnings,
      notes: [...data.notes_beside, ...data.notes],
      figures: [
        keyFigure(
          `${timeName(data)} of ${best.name}, the shortest`,
          seconds(best.io_s.middle),
          best.io_s.interval_95
            ? `95\u00a0%: ${interval(best.io_s.interval_95, seconds)}`
            : "1 run, so that it has no interval",
        ),
        ...(data.weight_bytes > 0
          ? [
              keyFigure("Bandwidth", rate(best.bandwidth_mib_s), data.by === "run times" ? `${best.name}, over the run time` : best.name),
              keyFigure("Weight", bytes(data.weight_bytes), "read and written"),
            ]
          : [keyFigure("Weight", counted(data.weight_operations ?? 0, "call"), "of metadata")]),
        keyFigure("Candidates", count(data.ranking.length), ""),
        keyFigure(data.rounds ? "Rounds" : "Runs of each", fewest === most ? count(fewest) : `${fewest} to ${most}`, ""),
        keyFigure("Phases", count(phases), ""),
        ...(data.application_s === null
          ? []
          : [keyFigure("Application", seconds(data.application_s), "as recorded, one run")]),
      ],
    });
    return [
      rankingSection(data),
      storageSection(data),
      runsSection(data),
      partsSection(data),
      phasesOfCandidates(data),
      peakSection(data),
      ...(data.projections ? [projectionsSection(data)] : []),
      formSection(data),
      definitionsSection(),
      commandsOf([["All phases, as text", data.all_command]]),
    ];
  }

  // ---------------------------------------------------------------- omnio diff

  const SIDES = [
    ["read", "a", "A"],
    ["write", "b", "B"],
  ];
  const sidesLegend = () =>
    element("div", { class: "controls" }, legend(SIDES.map(([kind, , name]) => [kind, name])));

  // As the text has it: "~" where runs vary as much.
  function change(a, b, judgement) {
    if (a === b) return "=";
    if (judgement && !judgement.differs) return "~";
    if (a === 0) return "new";
    if (b === 0) return "gone";
    const part = 100 * (b / a - 1);
    return `${part > 0 ? "+" : ""}${part.toFixed(1)}${NO_BREAK}%`;
  }
  const relative = (a, b) => (a === 0 ? (b === 0 ? 0 : 1e9) : b / a - 1);
  const signed = (ratio) => `${ratio > 1 ? "+" : ""}${(100 * (ratio - 1)).toFixed(1)}`;
  const MUCH = 1e4; // an interval that is wider says nothing
  function changeInterval(judgement) {
    if (!judgement?.interval_95) return judgement ? "1 run" : "-";
    const [least, most] = judgement.interval_95;
    return most > MUCH || least < 1 / MUCH
      ? "not known"
      : `${signed(least)} to ${signed(most)}${NO_BREAK}%`;
  }

  const TOTALS = {
    io_ns: ["I/O time of the slowest rank", duration],
    data_ns: ["Data", duration],
    metadata_ns: ["Metadata", duration],
    sync_ns: ["Sync", duration],
    waiting_ns: ["Waiting beside it", duration],
    run_ns: ["Run", duration],
    bytes_read: ["Bytes read", bytes],
    bytes_written: ["Bytes written", bytes],
    bandwidth_mib_s: ["Bytes over the I/O time", rate],
    calls: ["Calls", count],
    failed: ["Failed calls", count],
    ranks: ["Ranks", count],
  };

  function changeColumns(isRepeated, valuesOf, judgementOf) {
    return [
      {
        key: "change",
        title: "Change",
        kind: "number",
        value: (row) => relative(...valuesOf(row)),
        show: (row) => change(...valuesOf(row), judgementOf(row)),
      },
      ...(isRepeated
        ? [
            {
              key: "interval",
              title: "95\u00a0%",
              kind: "number",
              value: (row) => judgementOf(row)?.interval_95?.[0] ?? -1,
              show: (row) => {
                const [a, b] = valuesOf(row);
                return a === b ? "-" : changeInterval(judgementOf(row));
              },
            },
          ]
        : []),
    ];
  }

  function totalsSection(data, isRepeated) {
    const of = (key, side) => data.totals.find(({ name }) => name === key)[side];
    const rows = SIDES.map(([, side, name]) => ({
      name,
      ...Object.fromEntries(PARTS.map(([kind]) => [kind, of(`${kind}_ns`, side)])),
    }));
    const parts = PARTS.map(([kind, , name]) => [kind, kind, name]);
    const hasTime = of("io_ns", "a") + of("io_ns", "b") > 0;
    const range = (side) => (row) =>
      row.repeats
        ? row.repeats[`${side}_range`].map(TOTALS[row.name][1]).join(" to ")
        : "-";
    return section(
      "totals",
      "The whole run",
      "The I/O time is that of the slowest rank, in its parts. Waiting for other ranks lies beside it.",
      hasTime
        ? figure(
            stackedBars({
              id: "io-of-both",
              twin: "table-diff-totals",
              rows,
              parts,
              what: "the I/O time of A and B",
              show: duration,
              axis: roundDuration,
            }),
            null,
            element("div", { class: "controls" }, legend(parts.map(([kind, , name]) => [kind, name]))),
          )
        : empty("Neither side spends time in I/O."),
      dataTable({
        id: "table-diff-totals",
        label: "The whole run",
        rows: data.totals,
        noun: ["quantity", "quantities"],
        sortedBy: null,
        columns: [
          {
            ...textColumn("name", "Quantity"),
            value: ({ name }) => TOTALS[name][0],
            show: ({ name }) => TOTALS[name][0],
          },
          ...SIDES.map(([, side, name]) => ({
            key: side,
            title: name,
            kind: "number",
            value: (row) => row[side],
            show: (row) => TOTALS[row.name][1](row[side]),
          })),
          ...changeColumns(
            isRepeated,
            (row) => [row.a, row.b],
            (row) => row.repeats,
          ),
          ...(isRepeated
            ? SIDES.map(([, side, name]) => ({
                key: `${side}_range`,
                title: `Runs of ${name}`,
                kind: "number",
                value: (row) => row.repeats?.[`${side}_range`][0] ?? -1,
                show: range(side),
              }))
            : []),
        ],
      }),
    );
  }

  const TABLES = [
    ["classes", "Classes of calls", "class", ["class", "classes"], "The traces have no calls."],
    ["calls", "Calls", "call", ["call", "calls"], "The traces have no calls."],
    ["files", "Files", "file", ["file", "files"], "The traces have no calls on files."],
    ["ranks", "Ranks", "rank", ["rank", "ranks"], "The traces have no ranks."],
    ["phases", "Phases", "phase", ["phase", "phases"], ""],
  ];
  const LEADS = {
    classes: "Times are added over all threads.",
    calls: "Times are added over all threads.",
    files:
      "Times are added over all threads. A file is the same where it has one path below the working directories, or one absolute path.",
    ranks: "The I/O time of each rank.",
    phases: "The I/O time of the slowest rank of each phase.",
  };

  function linesSection(data, isRepeated, [id, title, one, noun, none]) {
    const lines = data[id];
    if (lines.length === 0) {
      const why = id === "phases" ? data.phases_missing : "";
      return section(
        id,
        title,
        "",
        empty(
          why
            ? sentence(why, [])
            : none || "The traces have no phases, or phases were left out (--phases no).",
        ),
      );
    }
    const nothing = { calls: 0, bytes_read: 0, bytes_written: 0, time_ns: 0, waiting_ns: 0 };
    const rows = lines.map((line) => ({
      ...line,
      sides: { a: line.a ?? nothing, b: line.b ?? nothing },
      note: line.a && line.b ? "" : line.a ? "only in A" : "only in B",
    }));
    const bars = rows.slice(0, MAX_BARS).map(({ name, sides }) => ({
      name: id !== "ranks" ? name : name === "none" ? "processes without a rank" : `rank ${name}`,
      a: sides.a.time_ns,
      b: sides.b.time_ns,
    }));
    const left = data[`${id}_left_out`];
    const columnsOf = (key, what, value, show) =>
      SIDES.map(([, side, name]) =>
        maybeColumn(`${key}_${side}`, `${what} ${name}`, ({ sides }) => value(sides[side]), show),
      );
    const hasWaiting = id === "ranks" || id === "phases";
    const hasPaths = id === "files" || id === "phases";
    return section(
      id,
      title,
      `${LEADS[id]} Those first whose times differ most.` +
        (rows.length > MAX_BARS ? ` The chart has the first ${MAX_BARS}.` : ""),
      figure(
        sideBySideBars({
          id: `time-by-${one}-of-both`,
          twin: `table-diff-${id}`,
          rows: bars,
          parts: SIDES,
          what: `time by ${one}, in A and in B`,
          show: duration,
          axis: roundDuration,
        }),
        null,
        sidesLegend(),
      ),
      dataTable({
        id: `table-diff-${id}`,
        label: title,
        rows,
        noun,
        sortedBy: null,
        leftOut: left,
        note:
          left > 0
            ? [
                `${counted(left, `more ${noun[0]} differs`, `more ${noun[1]} differ`)} less in time ` +
                  `and ${left === 1 ? "is" : "are"} not on this page. All of them: `,
                element("code", {}, data.all_command),
              ]
            : "",
        columns: [
          {
            ...textColumn("name", `${one[0].toUpperCase()}${one.slice(1)}`, hasPaths ? "path" : "word"),
            show: ({ name, note }) =>
              element("span", {}, id === "files" ? pathNode(name) : name, note ? element("span", { class: "quiet" }, ` (${note})`) : ""),
          },
          ...columnsOf("calls", "Calls", ({ calls }) => calls, count),
          ...columnsOf("bytes", "Bytes", (side) => side.bytes_read + side.bytes_written, bytes),
          ...columnsOf("mib_s", "MiB/s", (side) => side.bandwidth_mib_s, threeDigits),
          ...(hasWaiting ? columnsOf("waiting", "Waiting", ({ waiting_ns: ns }) => ns, duration) : []),
          ...columnsOf("time", "Time", ({ time_ns: ns }) => ns, duration),
          ...changeColumns(
            isRepeated,
            ({ sides }) => [sides.a.time_ns, sides.b.time_ns],
            ({ time }) => time,
          ),
        ],
      }),
    );
  }

  function differencePage(data) {
    if (data.version !== 1) throw new Error(`version ${data.version}: this page reads version 1`);
    const isRepeated = Boolean(data.a.repeats || data.b.repeats);
    const tracesOf = ({ trace, repeats = [] }) =>
      repeats.length
        ? `${trace} and ${counted(repeats.length, "repeat")}: ${repeats.map((each) => each.trace).join(", ")}`
        : trace;
    const total = (key) => data.totals.find(({ name }) => name === key);
    const figureOf = (key, title) => {
      const { a, b, repeats } = total(key);
      const show = TOTALS[key][1];
      return keyFigure(title, change(a, b, repeats), `${show(a)} in A, ${show(b)} in B`);
    };
    showTop({
      title: "Difference of A and B",
      about: [
        ["A: ", tracesOf(data.a)],
        ["B: ", tracesOf(data.b)],
        data.made ? ["Made: ", dateText(data.made)] : [],
        [`omnio ${data.omnio}`],
      ],
      names: [data.a, data.b].flatMap((side) => [side, ...(side.repeats ?? [])]).map(({ trace }) => trace),
      verdict: data.verdict,
      warnings: data.warnings,
      notes: data.notes,
      figures: [
        figureOf("io_ns", "I/O time of the slowest rank"),
        figureOf("run_ns", "Run"),
        figureOf("bytes_read", "Read"),
        figureOf("bytes_written", "Written"),
        figureOf("bandwidth_mib_s", "Bandwidth"),
        figureOf("calls", "Calls"),
        figureOf("waiting_ns", "Waiting"),
      ],
    });
    return [
      totalsSection(data, isRepeated),
      ...TABLES.map((table) => linesSection(data, isRepeated, table)),
      commandsOf([["All lines, as text", data.all_command]]),
    ];
  }

  return {
    "omnio-comparison-page": comparisonPage,
    "omnio-difference-page": differencePage,
    "omnio-prediction": globalThis.omnioPrediction?.(means, { commandsOf, maybeColumn, showTop }),
  };
};
