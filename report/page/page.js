// Builds the report page from the data in the element #data (format omnio-report, version 1).
//
// Text of the trace (names of files, commands, reasons) only ever goes into text nodes, attributes
// and canvas, so that a file named `<script>` is shown and never run.
//
// To add a section:
//  1. Write a function that returns section(...), with empty(...) where there may be no data.
//  2. Name it in SECTIONS, at the end of this file.
//  3. Give each chart a sentence for those who cannot see it, and a table of the same numbers.
"use strict";

(() => {
  const MAX_TWIN_ROWS = 200; // of a table below a chart
  const MAX_BARS = 20; // of a chart of calls or files
  const MAX_LANES = 40; // of the chart of phases
  const PRINTED_ROWS = 40; // of a long table; page.css has the same number
  const SHOWN_REASONS = 4; // the others can be opened, so that the title stays in sight
  const MIN_BINS_SHOWN = 4; // zooming in ends there: the data has nothing finer
  const FONT_SIZE = 12; // of text in charts
  const KINDS = ["read", "write", "metadata", "sync", "waiting"];
  const IO_KINDS = ["read", "write", "metadata", "sync"]; // waiting is beside I/O time
  const KIND_NAMES = {
    read: "Read",
    write: "Write",
    metadata: "Metadata",
    sync: "Sync",
    waiting: "Waiting",
    data: "Reads and writes",
    other: "Other",
  };

  // ---------------------------------------------------------------- numbers as text

  const NO_BREAK = "\u00a0"; // keeps a number and its unit on one line
  const grouped = new Intl.NumberFormat("en-US");

  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
  // Math.max(...list) fails on long lists.
  const largest = (numbers) => numbers.reduce((most, number) => (number > most ? number : most), 0);
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  function count(number) {
    return grouped.format(number);
  }

  function counted(number, one, more = `${one}s`) {
    return `${count(number)} ${number === 1 ? one : more}`;
  }

  function threeDigits(number) {
    if (number >= 1000) return grouped.format(Math.round(number));
    return number.toFixed(number >= 100 ? 0 : number >= 10 ? 1 : 2);
  }

  function scaled(value, units, smallest) {
    const unit = units.find(([size]) => value >= size);
    if (unit) return threeDigits(value / unit[0]) + NO_BREAK + unit[1];
    return `${grouped.format(Math.round(value))}${NO_BREAK}${smallest}`;
  }

  const BYTE_UNITS = [
    [2 ** 50, "PiB"],
    [2 ** 40, "TiB"],
    [2 ** 30, "GiB"],
    [2 ** 20, "MiB"],
    [2 ** 10, "KiB"],
  ];
  const TIME_UNITS = [
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "us"],
  ];

  function duration(ns) {
    return scaled(ns, TIME_UNITS, "ns");
  }
  // Sizes of requests are often whole: 4 KiB says that it is exact, 4.00 KiB that it is rounded.
  function bytes(value) {
    const unit = BYTE_UNITS.find(([size]) => value >= size);
    return unit && Number.isInteger(value / unit[0])
      ? count(value / unit[0]) + NO_BREAK + unit[1]
      : scaled(value, BYTE_UNITS, "B");
  }
  // For axes, whose numbers are round: 2 s in place of 2.00 s.
  function roundDuration(ns) {
    if (ns === 0) return "0";
    const [size, name] = TIME_UNITS.find(([unit]) => ns >= unit) ?? [1, "ns"];
    const number = ns / size;
    const digits = number >= 100 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 3 };
    return number.toLocaleString("en-US", digits) + NO_BREAK + name;
  }
  function exactBytes(value) {
    return value < 1024 ? bytes(value) : `${bytes(value)} (${count(value)} B)`;
  }

  function percent(part) {
    const value = part * 100;
    if (value === 0) return `0${NO_BREAK}%`;
    if (value < 0.1) return `<${NO_BREAK}0.1${NO_BREAK}%`;
    return `${value >= 9.95 ? value.toFixed(0) : value.toFixed(1)}${NO_BREAK}%`;
  }

  // A time on an axis or in a sentence about it: as exact as the part of the run that is shown.
  // Aligned times, in the columns of a table, keep zeros at the end.
  function timeOnAxis(ns, span, isAligned = false) {
    const [size, name] = TIME_UNITS.find(([unit]) => timeView.end >= unit) ?? [1, "ns"];
    const digits = clamp(Math.ceil(-Math.log10(span / size / 20)), 0, 6);
    const number = (ns / size).toLocaleString("en-US", {
      maximumFractionDigits: digits,
      minimumFractionDigits: isAligned ? digits : 0,
    });
    return `${number}${NO_BREAK}${name}`;
  }

  // ---------------------------------------------------------------- elements

  // element("p", { class: "lead" }, "text", child, ...): strings become text nodes.
  function element(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== undefined && value !== null && value !== false) node.setAttribute(name, value);
    }
    node.append(
      ...children.filter((child) => child !== undefined && child !== null && child !== ""),
    );
    return node;
  }

  function empty(sentence) {
    return element("p", { class: "empty" }, sentence);
  }

  function swatch(kind) {
    const node = element("span", { class: "swatch", "aria-hidden": "true" });
    node.style.background = `var(--${kind})`;
    return node;
  }

  function legend(kinds) {
    return element(
      "ul",
      { class: "legend" },
      ...kinds.map(([kind, name]) => element("li", {}, swatch(kind), name)),
    );
  }

  function section(id, title, lead, ...children) {
    const heading = element("h2", { id: `${id}-title` }, title);
    return element(
      "section",
      { id, "aria-labelledby": `${id}-title` },
      heading,
      lead ? element("p", { class: "lead" }, ...[lead].flat()) : "",
      ...children,
    );
  }

  let choiceGroups = 0;
  function choices(title, options, chosen, onChange) {
    choiceGroups += 1;
    const labels = options.map(([value, name]) => {
      const input = element("input", { type: "radio", name: `choice-${choiceGroups}`, value });
      input.checked = value === chosen;
      input.addEventListener("change", () => onChange(value));
      return element("label", {}, input, name);
    });
    return element("fieldset", { class: "choices" }, element("legend", {}, title), ...labels);
  }

  // ---------------------------------------------------------------- text that has to fit

  const ruler = document.createElement("canvas").getContext("2d");
  ruler.font = `${FONT_SIZE}px system-ui, sans-serif`;
  const widthOf = (text) => ruler.measureText(text).width;

  // Leaves out the middle: the names of files differ at their ends.
  function shortened(text, width) {
    if (widthOf(text) <= width) return text;
    let low = 0;
    let high = text.length;
    const cut = (kept) => {
      const head = Math.floor(kept * 0.35);
      return `${text.slice(0, head)}\u2026${text.slice(text.length - (kept - head))}`;
    };
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (widthOf(cut(middle)) <= width) low = middle;
      else high = middle - 1;
    }
    return cut(low);
  }

  function fileName(path) {
    return path.slice(path.lastIndexOf("/") + 1) || path;
  }

  // Lines of a path end after a slash where they can.
  function pathNode(path) {
    const name = fileName(path);
    if (name === path) return path;
    const directories = path
      .slice(0, path.length - name.length)
      .split("/")
      .slice(0, -1);
    return element(
      "span",
      {},
      element(
        "span",
        { class: "quiet" },
        ...directories.flatMap((directory) => [`${directory}/`, element("wbr")]),
      ),
      name,
    );
  }

  // ---------------------------------------------------------------- theme

  const theme = {};
  function readTheme() {
    const style = getComputedStyle(document.documentElement);
    for (const name of [
      "page",
      "surface",
      "text",
      "quiet",
      "line",
      "grid",
      "accent",
      ...KINDS,
      "data",
      "other",
    ]) {
      theme[name] = style.getPropertyValue(`--${name}`).trim();
    }
    theme.dark =
      matchMedia("(prefers-color-scheme: dark)").matches &&
      !document.documentElement.classList.contains("printing");
  }

  // Viridis, from little to much. On a light page it is turned round, so that much is always what
  // differs most from the page. The end that is like the page is left out: little is not nothing.
  const VIRIDIS = [
    "#440154",
    "#482878",
    "#3e4989",
    "#31688e",
    "#26828e",
    "#1f9e89",
    "#35b779",
    "#6ece58",
    "#b5de2b",
    "#fde725",
  ];
  function rampColours() {
    return theme.dark ? VIRIDIS.slice(2) : VIRIDIS.slice(0, -1).reverse();
  }

  function rgb(hex) {
    return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  }
  function mixed(from, to, part) {
    return from.map((value, at) => value + (to[at] - value) * part);
  }
  function pixel([red, green, blue]) {
    // as ImageData has it, on machines that are little-endian
    return (
      ((255 << 24) | (Math.round(blue) << 16) | (Math.round(green) << 8) | Math.round(red)) >>> 0
    );
  }

  // Colours of the values 1 to 255; 0 is the page.
  function heatTable() {
    const stops = rampColours().map(rgb);
    return Uint32Array.from({ length: 256 }, (_, value) => {
      if (value === 0) return 0;
      const at = ((value - 1) / 254) * (stops.length - 1);
      const low = Math.min(Math.floor(at), stops.length - 2);
      return pixel(mixed(stops[low], stops[low + 1], at - low));
    });
  }

  // A third of the colour is there however small the value: its kind must be recognised.
  function kindTable(kind) {
    const page = rgb(theme.page);
    const full = rgb(theme[kind]);
    return Uint32Array.from({ length: 256 }, (_, value) =>
      value === 0 ? 0 : pixel(mixed(page, full, 0.34 + (0.66 * value) / 255)),
    );
  }

  // ---------------------------------------------------------------- the time that is shown

  // All charts over time show the same part of the run. Listeners are called when it changes.
  const timeView = {
    end: 1,
    from: 0,
    to: 1,
    binNs: 1,
    listeners: [],

    begin(time, runNs) {
      this.binNs = Math.max(time.bin_ns, 1);
      this.end = runNs > 0 ? runNs : Math.max(time.bins * this.binNs, 1);
      this.to = this.end;
    },
    get span() {
      return this.to - this.from;
    },
    get minSpan() {
      return Math.min(this.end, MIN_BINS_SHOWN * this.binNs);
    },
    get isWhole() {
      return this.from === 0 && this.to === this.end;
    },

    set(from, to) {
      const span = clamp(to - from, this.minSpan, this.end);
      const start = clamp(from, 0, this.end - span);
      // Charts give percents back; a difference by rounding alone does not count.
      const same = (a, b) => Math.abs(a - b) < this.end * 1e-9;
      if (same(start, this.from) && same(start + span, this.to)) return;
      this.from = same(start, 0) ? 0 : start;
      this.to = same(start + span, this.end) ? this.end : start + span;
      for (const listener of this.listeners) listener();
    },
    scale(factor) {
      const middle = (this.from + this.to) / 2;
      const span = clamp(this.span * factor, this.minSpan, this.end);
      this.set(middle - span / 2, middle + span / 2);
    },
    move(part) {
      this.set(this.from + part * this.span, this.to + part * this.span);
    },
    text() {
      const whole = timeOnAxis(this.end, this.span);
      return this.isWhole
        ? `Whole run: 0 to ${whole}`
        : `${timeOnAxis(this.from, this.span)} to ${timeOnAxis(this.to, this.span)} of ${whole}`;
    },
  };

  function zoomButtons(isFirst) {
    // One of several toolbars is read out when the time changes, not each.
    const range = element("span", { class: "range", role: isFirst ? "status" : false });
    const buttons = [
      ["in", "Zoom in", () => timeView.scale(0.5), () => timeView.span > timeView.minSpan],
      ["out", "Zoom out", () => timeView.scale(2), () => !timeView.isWhole],
      ["earlier", "Earlier", () => timeView.move(-0.5), () => timeView.from > 0],
      ["later", "Later", () => timeView.move(0.5), () => timeView.to < timeView.end],
      ["reset", "Whole run", () => timeView.set(0, timeView.end), () => !timeView.isWhole],
    ].map(([name, title, act, canAct]) => {
      const button = element("button", { type: "button", "data-zoom": name }, title);
      button.addEventListener("click", act);
      return { button, canAct };
    });
    const update = () => {
      range.textContent = timeView.text();
      // A button that is switched off by `disabled` loses the keyboard's focus.
      for (const { button, canAct } of buttons)
        button.setAttribute("aria-disabled", String(!canAct()));
    };
    update();
    timeView.listeners.push(update);
    return element(
      "div",
      { class: "zoom", role: "group", "aria-label": "Time shown" },
      range,
      ...buttons.map(({ button }) => button),
    );
  }

  // ---------------------------------------------------------------- charts

  const charts = [];

  // A chart is { holder, option, isOverTime, height, label }: option() makes all of it from the
  // state, so that a new size, theme or choice is one call of draw().
  function chartHolder(chart) {
    chart.holder = element("div", {
      class: "chart",
      role: "img",
      "data-chart": chart.name,
      "data-twin-table": chart.twin,
    });
    charts.push(chart);
    return chart.holder;
  }

  function startChart(chart) {
    chart.holder.style.height = `${chart.height()}px`;
    chart.instance = echarts.init(chart.holder, null, { renderer: "canvas" });
    draw(chart);
    chart.width = chart.holder.clientWidth;
    if (chart.isOverTime) followTime(chart);
    new ResizeObserver(() => {
      if (chart.holder.clientWidth !== chart.width) fit(chart);
    }).observe(chart.holder);
  }

  function draw(chart) {
    if (!chart.instance) return;
    chart.holder.setAttribute("aria-label", chart.label());
    chart.instance.setOption({ ...baseOption(), ...chart.option() }, { notMerge: true });
  }

  function fit(chart) {
    chart.width = chart.holder.clientWidth;
    chart.holder.style.height = `${chart.height()}px`;
    chart.instance.resize();
    draw(chart);
  }

  function baseOption() {
    return {
      animation: false,
      textStyle: { fontFamily: "system-ui, sans-serif", fontSize: FONT_SIZE, color: theme.text },
      tooltip: {
        confine: true,
        transitionDuration: 0,
        backgroundColor: theme.page,
        borderColor: theme.line,
        borderWidth: 1,
        padding: [6, 10],
        extraCssText: "box-shadow:none",
        textStyle: { color: theme.text, fontSize: 13, fontFamily: "system-ui, sans-serif" },
      },
    };
  }

  function valueAxis(formatter, more = {}) {
    return {
      type: "value",
      axisLine: { show: false },
      axisTick: { show: false },
      splitLine: { show: true, lineStyle: { color: theme.grid } },
      axisLabel: { color: theme.quiet, fontSize: FONT_SIZE, formatter, hideOverlap: true },
      ...more,
    };
  }

  function categoryAxis(names, label = {}, more = {}) {
    return {
      type: "category",
      data: names,
      axisTick: { show: false },
      axisLine: { lineStyle: { color: theme.line } },
      splitLine: { show: false },
      axisLabel: { color: theme.text, fontSize: FONT_SIZE, ...label },
      ...more,
    };
  }

  function grid(more) {
    return { outerBoundsMode: "none", ...more };
  }

  // Two times at the ends of the axis, which are seldom round, have no label.
  function timeAxis() {
    return valueAxis(
      (ns) => {
        const isEdge = (ns === timeView.from && ns !== 0) || ns === timeView.to;
        return isEdge ? "" : timeOnAxis(ns, timeView.span);
      },
      {
        min: 0,
        max: timeView.end,
        axisLine: { show: true, onZero: false, lineStyle: { color: theme.line } },
      },
    );
  }

  function zoomOption(more = { type: "inside", disabled: true }) {
    return [
      {
        xAxisIndex: 0,
        filterMode: "none",
        minSpan: (100 * timeView.minSpan) / timeView.end,
        start: (100 * timeView.from) / timeView.end,
        end: (100 * timeView.to) / timeView.end,
        ...more,
      },
    ];
  }

  function sliderOption() {
    return zoomOption({
      type: "slider",
      height: 18,
      bottom: 4,
      showDataShadow: false,
      showDetail: false,
      brushSelect: false,
      borderColor: theme.line,
      backgroundColor: "transparent",
      fillerColor: `${theme.accent}33`,
      handleStyle: { color: theme.page, borderColor: theme.accent },
      moveHandleSize: 0,
      emphasis: { handleStyle: { color: theme.accent, borderColor: theme.accent } },
    });
  }

  // A line below each other at the same time, a tip, and a part of the run chosen by the mouse.
  function followTime(chart) {
    const { holder, instance } = chart;
    chart.cursor = element("div", { class: "cursor", hidden: "" });
    const selection = element("div", { class: "selection", hidden: "" });
    const tip = element("div", { class: "tip own", hidden: "" });
    holder.append(chart.cursor, selection, tip);

    timeView.listeners.push(() => {
      instance.dispatchAction({
        type: "dataZoom",
        dataZoomIndex: 0,
        start: (100 * timeView.from) / timeView.end,
        end: (100 * timeView.to) / timeView.end,
      });
      holder.setAttribute("aria-label", chart.label());
    });
    instance.on("datazoom", () => {
      const { start, end } = instance.getOption().dataZoom[0];
      timeView.set((start / 100) * timeView.end, (end / 100) * timeView.end);
    });

    const inGrid = (x, y) => instance.containPixel({ gridIndex: 0 }, [x, y]);
    const timeAt = (x) =>
      clamp(instance.convertFromPixel({ xAxisIndex: 0 }, x), timeView.from, timeView.to);
    let dragFrom = null;

    const hide = () => {
      tip.hidden = true;
      for (const other of charts) if (other.cursor) other.cursor.hidden = true;
    };
    const zr = instance.getZr();
    zr.on("mousemove", ({ offsetX: x, offsetY: y }) => {
      if (!inGrid(x, y) || dragFrom !== null) {
        hide();
        return;
      }
      for (const other of charts) if (other.cursor) showCursor(other, x);
      const content = chart.tip?.(timeAt(x), y);
      if (!content) {
        tip.hidden = true;
        return;
      }
      tip.replaceChildren(content);
      tip.hidden = false;
      const room = holder.clientWidth - tip.offsetWidth;
      tip.style.left = `${clamp(x + 16 <= room ? x + 16 : x - 16 - tip.offsetWidth, 0, room)}px`;
      const lowest = Math.max(0, holder.clientHeight - tip.offsetHeight);
      tip.style.top = `${clamp(y - tip.offsetHeight - 12, 0, lowest)}px`;
    });
    zr.on("globalout", hide);
    zr.on("mousedown", ({ offsetX: x, offsetY: y, event }) => {
      if (!inGrid(x, y) || event.button > 0) return;
      dragFrom = x;
      const left = holder.getBoundingClientRect().left;
      const { x: gridLeft, width } = gridRect(chart);
      const at = (move) => clamp(move.clientX - left, gridLeft, gridLeft + width);
      const drag = (move) => showSelection(chart, selection, dragFrom, at(move));
      const drop = (end) => {
        removeEventListener("mousemove", drag);
        selection.hidden = true;
        const to = at(end);
        const [first, last] = [timeAt(Math.min(dragFrom, to)), timeAt(Math.max(dragFrom, to))];
        const isDrag = Math.abs(to - dragFrom) > 4; // less is a click of an unsteady hand
        dragFrom = null;
        if (isDrag) timeView.set(first, last);
      };
      addEventListener("mousemove", drag);
      addEventListener("mouseup", drop, { once: true });
    });
    zr.on("dblclick", () => timeView.set(0, timeView.end));
  }

  function gridRect(chart) {
    const { left, right, top, bottom } = chart.option().grid;
    return {
      x: left,
      y: top,
      width: chart.holder.clientWidth - left - right,
      height: chart.holder.clientHeight - top - bottom,
    };
  }

  function showCursor(chart, x) {
    const { y, height } = gridRect(chart);
    chart.cursor.hidden = false;
    chart.cursor.style.left = `${x}px`;
    chart.cursor.style.top = `${y}px`;
    chart.cursor.style.height = `${height}px`;
  }

  function showSelection(chart, node, from, to) {
    const { y, height } = gridRect(chart);
    node.hidden = false;
    node.style.left = `${Math.min(from, to)}px`;
    node.style.width = `${Math.abs(to - from)}px`;
    node.style.top = `${y}px`;
    node.style.height = `${height}px`;
  }

  // Lines are [name, value] or [name, value, kind].
  function tipNode(title, lines) {
    return element(
      "div",
      {},
      element("div", { class: "tip-title" }, title),
      ...lines.map(([name, value, kind]) =>
        element(
          "div",
          { class: "tip-line" },
          kind ? swatch(kind) : "",
          name,
          element("b", {}, value),
        ),
      ),
    );
  }

  // ECharts puts a string that a formatter returns into the page as HTML; a node stays a node.
  function nodeTip(makeNode, more = {}) {
    return {
      ...baseOption().tooltip,
      ...more,
      formatter: (parameters) => makeNode([parameters].flat()[0]),
    };
  }

  // A tip for the bar, or the bars of one row, under the pointer.
  function barTip(makeNode) {
    return nodeTip(makeNode, {
      trigger: "axis",
      axisPointer: { type: "shadow", shadowStyle: { color: theme.text, opacity: 0.06 } },
    });
  }

  // The names of horizontal bars, the first on top, as far as they fit into `left` pixels.
  function nameAxis(names, left) {
    return categoryAxis(
      names,
      { formatter: (name) => shortened(name, left - 12), interval: 0 },
      { inverse: true },
    );
  }

  function figure(chart, twin, ...before) {
    return element(
      "figure",
      {},
      ...before,
      chartHolder(chart),
      twin ? twinOf(twin, chart.isOverTime) : "",
    );
  }

  // The table of a chart's numbers is made when it is opened, and again when it is open while the
  // time that is shown changes.
  function twinOf(makeTable, isOverTime) {
    const details = element(
      "details",
      { "data-twin": "" },
      element("summary", {}, "Show as table"),
    );
    const update = () => {
      if (!details.open) return;
      details.replaceChildren(details.firstChild, ...makeTable());
    };
    details.addEventListener("toggle", update);
    if (isOverTime) timeView.listeners.push(update);
    details.refresh = update;
    return details;
  }

  // ---------------------------------------------------------------- tables

  // A column is { key, title, kind: "number", "word", "path" or "formula", value, show }: value(row)
  // is what is sorted by, show(row) the text or node shown.
  function numberColumn(key, title, show = count) {
    return { key, title, kind: "number", value: (row) => row[key], show: (row) => show(row[key]) };
  }
  function textColumn(key, title, kind = "word", show = (row) => row[key]) {
    return { key, title, kind, value: (row) => row[key], show };
  }

  function tableRow(columns, row) {
    return element(
      "tr",
      {},
      ...columns.map((column, at) => {
        const value = column.value(row);
        return element(
          at === 0 ? "th" : "td",
          {
            scope: at === 0 ? "row" : false,
            class: column.kind,
            "data-column": column.key,
            "data-value": String(value),
          },
          column.show(row),
        );
      }),
    );
  }

  function scrollBox(label, table) {
    return element(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
      table,
    );
  }

  function plainTable(label, columns, rows) {
    const head = element(
      "tr",
      {},
      ...columns.map((column) => element("th", { scope: "col", class: column.kind }, column.title)),
    );
    return scrollBox(
      label,
      element(
        "table",
        {},
        element("caption", { class: "hidden" }, label),
        element("thead", {}, head),
        element("tbody", {}, ...rows.map((row) => tableRow(columns, row))),
      ),
    );
  }

  // The first rows of a twin, and a sentence about the others.
  function twinTable(label, columns, rows, note) {
    const left = rows.length - MAX_TWIN_ROWS;
    const notes = [
      note,
      left > 0 ? `${counted(left, "row is", "rows are")} left out here.` : "",
    ].filter(Boolean);
    return [
      plainTable(label, columns, rows.slice(0, MAX_TWIN_ROWS)),
      notes.length ? element("p", { class: "table-foot" }, notes.join(" ")) : "",
    ].filter(Boolean);
  }

  const collator = new Intl.Collator("en", { numeric: true });
  function comparison(column, direction) {
    const compare =
      column.kind === "number"
        ? (a, b) => column.value(a.row) - column.value(b.row)
        : (a, b) => collator.compare(column.value(a.row), column.value(b.row));
    return (a, b) => direction * compare(a, b) || a.index - b.index;
  }

  // A table that sorts and is searched. `noun` is [one, more]; `note` is shown below.
  function dataTable({ id, label, columns, rows, noun, note, sortedBy, leftOut = 0 }) {
    const searched = columns.filter((column) => column.kind !== "number");
    // Nodes of rows are made once; sorting and searching only arrange them.
    const entries = rows.map((row, index) => ({
      row,
      index,
      node: tableRow(columns, row),
      text: searched
        .map((column) => column.value(row))
        .join("\n")
        .toLowerCase(),
    }));
    const body = element("tbody");
    const shownCount = element("span", { role: "status", "data-count": "" });
    const input = element("input", {
      type: "search",
      id: `${id}-search`,
      autocomplete: "off",
      spellcheck: "false",
    });
    const state = { order: [...entries], column: sortedBy, direction: -1 };

    const arrange = () => {
      const wanted = input.value.trim().toLowerCase();
      const shown = state.order.filter(({ text }) => text.includes(wanted));
      body.replaceChildren(...shown.map(({ node }) => node));
      shownCount.textContent = `${count(shown.length)} of ${counted(rows.length, ...noun)}`;
    };
    const headers = columns.map((column) => {
      const button = element("button", { type: "button" }, column.title);
      const header = element(
        "th",
        {
          scope: "col",
          class: column.kind,
          "data-column": column.key,
          "aria-sort": column.key === sortedBy ? "descending" : "none",
        },
        button,
      );
      button.addEventListener("click", () => {
        // The first click on numbers shows the largest, on names the first of the alphabet.
        const first = column.kind === "number" ? -1 : 1;
        state.direction = state.column === column.key ? -state.direction : first;
        state.column = column.key;
        state.order.sort(comparison(column, state.direction));
        for (const other of headers) {
          other.setAttribute(
            "aria-sort",
            other !== header ? "none" : state.direction > 0 ? "ascending" : "descending",
          );
        }
        arrange();
      });
      return header;
    });
    input.addEventListener("input", arrange);
    arrange();

    const table = element(
      "table",
      { id },
      element("caption", { class: "hidden" }, label),
      element("thead", {}, element("tr", {}, ...headers)),
      body,
    );
    const box = scrollBox(`Table: ${label.toLowerCase()}`, table);
    box.classList.add("long");
    return element(
      "div",
      { "data-table": id, "data-left-out": String(leftOut) },
      element(
        "div",
        { class: "controls" },
        element(
          "div",
          { class: "search" },
          element("label", { for: `${id}-search` }, "Search"),
          input,
        ),
        element("span", { class: "quiet" }, shownCount),
      ),
      box,
      note ? element("p", { class: "table-foot" }, ...[note].flat()) : "",
      rows.length > PRINTED_ROWS
        ? element(
            "p",
            { class: "table-foot print-only" },
            `On paper: the first ${PRINTED_ROWS} rows.`,
          )
        : "",
    );
  }

  // ---------------------------------------------------------------- banner, title, key figures

  function showBanner({ summary }) {
    const place = document.getElementById("banner");
    if (!summary.whole) {
      const reasons = summary.reasons.map((reason) => element("li", {}, reason));
      const more = reasons.splice(SHOWN_REASONS);
      place.append(
        element(
          "div",
          { class: "banner", role: "region", "aria-label": "Missing events" },
          element("strong", {}, "This trace is not whole. "),
          summary.missing,
          reasons.length ? element("ul", {}, ...reasons) : "",
          more.length
            ? element(
                "details",
                {},
                element("summary", {}, counted(more.length, "more reason")),
                element("ul", {}, ...more),
              )
            : "",
        ),
      );
    }
    if (summary.notes.length) {
      place.append(
        element(
          "div",
          { class: "notes", role: "region", "aria-label": "Notes" },
          element("ul", {}, ...summary.notes.map((note) => element("li", {}, note))),
        ),
      );
    }
  }

  function dateText(iso) {
    const date = new Date(iso);
    return Number.isNaN(date.getTime())
      ? iso
      : `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
  }

  const ioNs = (parts) => parts.data_ns + parts.metadata_ns + parts.sync_ns;

  function processName(summary, rank) {
    return summary.ranks > 0 && rank !== null && rank >= 0 ? `Rank ${count(rank)}` : "The process";
  }

  function verdict(summary) {
    if (summary.calls === 0) return "The trace has no calls: there is nothing to report.";
    const slowest = summary.slowest;
    if (!slowest || ioNs(slowest) === 0) return "No rank spent time in I/O.";
    const io = ioNs(slowest);
    const run = slowest.run_ns || summary.run_ns;
    const share = run > 0 ? ` (${percent(io / run)})` : "";
    const name = processName(summary, slowest.rank);
    const comparison = summary.ranks > 1 ? ", the most of all ranks" : "";
    return (
      `${name} spent ${duration(io)}${share} of its run in I/O${comparison}: ` +
      `${percent(slowest.data_ns / io)} moving data, ${percent(slowest.metadata_ns / io)} metadata, ` +
      `${percent(slowest.sync_ns / io)} sync.` +
      (slowest.waiting_ns > 0
        ? ` Beside this it waited ${duration(slowest.waiting_ns)} for other ranks.`
        : "")
    );
  }

  function keyFigure(name, value, more, data) {
    return element(
      "div",
      {},
      element("dt", {}, name),
      element("dd", { class: "value", "data-figure": data?.[0], "data-value": data?.[1] }, value),
      ...[more]
        .flat()
        .filter(Boolean)
        .map((line) => element("dd", { class: "more" }, line)),
    );
  }

  function slowestFigure(summary) {
    const slowest = summary.slowest;
    const title =
      summary.ranks > 1 && slowest
        ? `I/O time of the slowest rank (${count(slowest.rank)})`
        : "I/O time";
    if (!slowest) return keyFigure(title, "none", "");
    const io = ioNs(slowest);
    const run = slowest.run_ns || summary.run_ns;
    const parts = [
      ["data", slowest.data_ns],
      ["metadata", slowest.metadata_ns],
      ["sync", slowest.sync_ns],
      ["waiting", slowest.waiting_ns],
    ];
    const bar = element(
      "span",
      { class: "parts", "aria-hidden": "true" },
      ...parts
        .filter(([, ns]) => ns > 0)
        .map(([kind, ns]) => {
          const part = element("span");
          part.style.background = `var(--${kind})`;
          part.style.flexGrow = ns / Math.max(1, io + slowest.waiting_ns);
          return part;
        }),
    );
    const texts = parts
      .filter(([kind, ns]) => kind !== "waiting" || ns > 0)
      .map(([kind, ns]) => [
        kind,
        `${kind === "data" ? "Data" : KIND_NAMES[kind]} ${duration(ns)}`,
      ]);
    const average =
      summary.ranks > 1 ? `${duration(summary.average_io_ns)} on average over the ranks` : "";
    const share =
      run > 0 ? element("span", { class: "aside" }, ` ${percent(io / run)} of its run`) : "";
    return keyFigure(title, element("span", {}, duration(io), share), [
      bar,
      legend(texts),
      average,
    ]);
  }

  function hostsText(summary) {
    const hosts = summary.hosts.length + summary.hosts_left_out;
    if (hosts === 0) return "";
    if (hosts === 1) return `on ${summary.hosts[0].name}`;
    const named = summary.hosts.slice(0, 3).map(({ name, ranks }) => `${name} (${count(ranks)})`);
    const more = hosts - named.length;
    const others = more > 0 ? ` and ${count(more)} more` : "";
    return `on ${counted(hosts, "host")}: ${named.join(", ")}${others}`;
  }

  // A long number does not fit its column: it is rounded, and the line below has all its digits.
  function shortCount(number) {
    const unit = [
      [1e12, "trillion"],
      [1e9, "billion"],
      [1e7, "million", 1e6],
    ].find(([size]) => number >= size);
    return unit
      ? [`${threeDigits(number / (unit[2] ?? unit[0]))}${NO_BREAK}${unit[1]}`, count(number)]
      : [count(number), ""];
  }

  function keyFigures(report) {
    const { summary } = report;
    const below =
      summary.calls_below > 0 ? `${count(summary.calls_below)} more by libraries below them` : "";
    const [calls, allCalls] = shortCount(summary.calls);
    const [files, allFiles] = shortCount(summary.files);
    const isMpi = summary.ranks > 0;
    return element(
      "dl",
      { class: "figures" },
      slowestFigure(summary),
      keyFigure("Read", bytes(summary.bytes_read), "", ["bytes_read", summary.bytes_read]),
      keyFigure("Written", bytes(summary.bytes_written), "", [
        "bytes_written",
        summary.bytes_written,
      ]),
      keyFigure("Calls", calls, [allCalls, below], ["calls", summary.calls]),
      keyFigure("Files", files, allFiles, ["files", summary.files]),
      keyFigure(isMpi ? "Ranks" : "Processes", count(isMpi ? summary.ranks : summary.processes), [
        hostsText(summary),
        isMpi && summary.processes !== summary.ranks
          ? counted(summary.processes, "process", "processes")
          : "",
        counted(summary.threads, "thread"),
      ]),
      keyFigure(
        "Run time",
        duration(summary.run_ns),
        summary.recording_ns > 0
          ? `recording added ${duration(summary.recording_ns)} over all threads`
          : "",
      ),
    );
  }

  function showTitle(report) {
    const { summary } = report;
    document.title = `${report.trace}: omnio report`;
    const about = [
      summary.command ? ["Command: ", element("code", {}, summary.command)] : null,
      summary.directory ? ["Directory: ", summary.directory] : null,
      summary.began ? ["Began: ", dateText(summary.began)] : null,
      [`omnio ${report.omnio}`],
    ].filter(Boolean);
    document
      .getElementById("top")
      .append(
        element("h1", {}, report.trace),
        element("div", { class: "about" }, ...about.map((parts) => element("span", {}, ...parts))),
        element("p", { class: "verdict" }, verdict(summary)),
        keyFigures(report),
      );
  }

  // ---------------------------------------------------------------- bandwidth

  // Charts over time begin at the same x, so that they can be compared.
  let longestLabel = 0;
  function timeGutter(width) {
    return Math.round(clamp(longestLabel + 14, 76, clamp(width * 0.3, 76, 160)));
  }
  function timeGrid(chart, more) {
    return grid({
      left: timeGutter(chart.holder.clientWidth),
      right: 16,
      top: 12,
      bottom: 28,
      ...more,
    });
  }

  // Sums `factor` neighbours, so that a long list becomes one of at most `most`.
  function coarser(list, from, to, factor) {
    const result = [];
    for (let at = from; at < to; at += factor)
      result.push(sum(list.slice(at, Math.min(at + factor, to))));
    return result;
  }

  function shownBins(bins) {
    const first = clamp(Math.floor(timeView.from / timeView.binNs), 0, bins);
    return [first, clamp(Math.ceil(timeView.to / timeView.binNs), first, bins)];
  }

  // The last bin may reach past the end of the run.
  function binEnd(bin) {
    return Math.min((bin + 1) * timeView.binNs, timeView.end);
  }

  function bandwidthLabel({ read_bytes: read, written_bytes: written }) {
    const rate = (amount) => `${bytes(amount / (timeView.binNs / 1e9))}/s`;
    const one = (name, list) => {
      const total = sum(list);
      if (total === 0) return `${name}: none.`;
      const peak = largest(list);
      return (
        `${name}: ${bytes(total)} in all, at most ${rate(peak)} near ` +
        `${timeOnAxis(list.indexOf(peak) * timeView.binNs, timeView.end)}.`
      );
    };
    return `Line chart of bandwidth over the run. ${one("Read", read)} ${one("Written", written)}`;
  }

  function bandwidthSection(report) {
    const { read_bytes: read, written_bytes: written } = report.bandwidth;
    const id = "bandwidth";
    const title = "Bandwidth";
    if (largest(read) + largest(written) === 0) {
      return section(id, title, "", empty("The trace has no calls that moved data."));
    }
    const seconds = timeView.binNs / 1e9;
    const peak = Math.max(largest(read), largest(written)) / seconds;
    const [unit, unitName] = BYTE_UNITS.find(([size]) => peak >= size) ?? [1, "B"];
    const line = (kind, list) => ({
      type: "line",
      name: kind,
      step: "end",
      symbol: "none",
      silent: true,
      lineStyle: { width: 1.5, color: theme[kind] },
      itemStyle: { color: theme[kind] },
      areaStyle: { color: theme[kind], opacity: 0.18 },
      // The bandwidth of a bin holds until the next one; the last point ends the last bin.
      data: [...list, list[list.length - 1]].map((amount, bin) => [
        Math.min(bin * timeView.binNs, timeView.end),
        amount / seconds / unit,
      ]),
    });
    const chart = {
      name: id,
      isOverTime: true,
      height: () => 220,
      label: () => bandwidthLabel(report.bandwidth),
      tip: (ns) => {
        const bin = clamp(Math.floor(ns / timeView.binNs), 0, read.length - 1);
        const rate = (list) => `${bytes(list[bin] / seconds)}/s`;
        return tipNode(timeRange(bin), [
          ["Read", rate(read), "read"],
          ["Written", rate(written), "write"],
        ]);
      },
      option: () => ({
        tooltip: { show: false },
        grid: timeGrid(chart),
        xAxis: timeAxis(),
        dataZoom: zoomOption(),
        yAxis: valueAxis(
          (value) =>
            value === 0 ? "0" : `${value.toLocaleString("en-US")}${NO_BREAK}${unitName}/s`,
          { splitNumber: 4 },
        ),
        series: [line("read", read), line("write", written)],
      }),
    };
    const twin = () => {
      const [first, last] = shownBins(read.length);
      const factor = Math.ceil((last - first) / MAX_TWIN_ROWS) || 1;
      const reads = coarser(read, first, last, factor);
      const writes = coarser(written, first, last, factor);
      const rows = reads.map((amount, at) => {
        const from = (first + at * factor) * timeView.binNs;
        const to = binEnd(Math.min(first + (at + 1) * factor, last) - 1);
        const rate = (value) => value / (factor * seconds);
        return {
          from,
          to,
          read: amount,
          written: writes[at],
          read_rate: rate(amount),
          written_rate: rate(writes[at]),
        };
      });
      const time = (ns) => timeOnAxis(ns, timeView.span / 10, true);
      return twinTable(
        "Bandwidth over time",
        [
          numberColumn("from", "From", time),
          numberColumn("to", "To", time),
          numberColumn("read", "Read", bytes),
          numberColumn("read_rate", "Read bandwidth", (value) => `${bytes(value)}/s`),
          numberColumn("written", "Written", bytes),
          numberColumn("written_rate", "Write bandwidth", (value) => `${bytes(value)}/s`),
        ],
        rows,
        factor > 1 ? `Each row sums ${factor} bins of ${duration(timeView.binNs)}.` : "",
      );
    };
    return section(
      id,
      title,
      `Bytes that all ranks moved, in bins of ${duration(timeView.binNs)}. ` +
        "Drag over a chart to choose a part of the run; double-click to show all of it.",
      figure(
        chart,
        twin,
        element(
          "div",
          { class: "controls" },
          legend([
            ["read", "Read"],
            ["write", "Written"],
          ]),
          zoomButtons(true),
        ),
      ),
    );
  }

  function timeRange(bin) {
    const span = timeView.binNs * 2;
    return `${timeOnAxis(bin * timeView.binNs, span, true)} to ${timeOnAxis(binEnd(bin), span, true)}`;
  }

  // ---------------------------------------------------------------- activity

  function decoded(base64, length) {
    const text = atob(base64);
    const result = new Uint8Array(length);
    for (let at = 0; at < Math.min(length, text.length); at += 1) result[at] = text.charCodeAt(at);
    return result;
  }

  // A value v means the part (v/255)^2 of the time.
  const partOf = (value) => (value / 255) ** 2;
  const valueOf = (part) =>
    part <= 0 ? 0 : Math.max(1, Math.round(255 * Math.sqrt(Math.min(1, part))));

  function allOf(cells) {
    return cells.read.map((_, at) => valueOf(sum(IO_KINDS.map((kind) => partOf(cells[kind][at])))));
  }

  // For each cell the kind that took the most time, as its index in KINDS.
  function mainKinds(cells) {
    const kinds = new Uint8Array(cells.read.length);
    const values = new Uint8Array(cells.read.length);
    KINDS.forEach((kind, number) => {
      const list = cells[kind];
      for (let at = 0; at < list.length; at += 1) {
        if (list[at] > values[at]) {
          values[at] = list[at];
          kinds[at] = number;
        }
      }
    });
    return { kinds, values };
  }

  // [first, last) of the cells that a pixel shows: never none, and each cell in exactly one pixel
  // where there are fewer pixels than cells.
  function cellsOfPixels(pixels, startCell, cellsPerPixel, cells) {
    return Array.from({ length: pixels }, (_, at) => {
      const first = Math.floor(startCell + at * cellsPerPixel + 1e-9);
      const last = Math.floor(startCell + (at + 1) * cellsPerPixel + 1e-9);
      return [clamp(first, 0, cells), clamp(Math.max(last, first + 1), 0, cells)];
    });
  }

  // Paints the cells, pixel by pixel. Where a pixel shows several cells it has the largest, so that
  // short activity is never lost.
  function paintCells({ values, colour, bins, rows }, width, height, startBin, binsPerPixel) {
    const canvas = element("canvas", { width, height });
    const context = canvas.getContext("2d");
    const image = context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const columns = cellsOfPixels(width, startBin, binsPerPixel, bins);
    const lines = cellsOfPixels(height, 0, rows / height, rows);
    const gap = height / rows >= 8 ? Math.round(height / rows / 12) : 0;
    lines.forEach(([firstRow, lastRow], y) => {
      const next = lines[y + Math.max(gap, 1)];
      if (gap && (!next || next[0] !== firstRow)) return; // a line of the page between two rows
      for (let x = 0; x < width; x += 1) {
        const [firstBin, lastBin] = columns[x];
        let most = -1;
        let most_at = -1;
        for (let row = firstRow; row < lastRow; row += 1) {
          for (let at = row * bins + firstBin; at < row * bins + lastBin; at += 1) {
            if (values[at] > most) {
              most = values[at];
              most_at = at;
            }
          }
        }
        if (most > 0) pixels[y * width + x] = colour(most_at);
      }
    });
    context.putImageData(image, 0, 0);
    return canvas;
  }

  function activityLayer(view, cells) {
    if (view === "timeline") {
      const { kinds, values } = cells.main ?? (cells.main = mainKinds(cells));
      const tables = KINDS.map(kindTable);
      return { values, colour: (at) => tables[kinds[at]][values[at]] };
    }
    const values = view === "all" ? (cells.all ?? (cells.all = allOf(cells))) : cells[view];
    const table = heatTable();
    return { values, colour: (at) => table[values[at]] };
  }

  function rampLegend() {
    const ramp = element("div", { "aria-hidden": "true" });
    const update = () => {
      ramp.style.background = `linear-gradient(to right, ${rampColours().join(", ")})`;
    };
    update();
    const ticks = [0.01, 0.1, 0.25, 0.5, 1].map((part) => {
      const tick = element("span", {}, percent(part).replace(".0", ""));
      tick.style.left = `${Math.sqrt(part) * 100}%`;
      return tick;
    });
    const node = element(
      "div",
      { class: "scale" },
      "Part of the time",
      element("div", { class: "ramp" }, ramp, ...ticks),
    );
    return { node, update };
  }

  function shares(cells, row, bins, first, last) {
    const result = {};
    for (const kind of KINDS) {
      let total = 0;
      for (let bin = first; bin < last; bin += 1) total += partOf(cells[kind][row * bins + bin]);
      result[kind] = total / Math.max(1, last - first);
    }
    result.all = sum(IO_KINDS.map((kind) => result[kind]));
    return result;
  }

  function activitySection(report) {
    const id = "activity";
    const title = "Activity";
    const names = report.rows.map(({ name }) => name);
    const { bins } = report.time;
    const rows = names.length;
    const cells = {};
    for (const kind of KINDS) cells[kind] = decoded(report.activity[kind], rows * bins);
    if (KINDS.every((kind) => largest(cells[kind]) === 0)) {
      return section(id, title, "", empty("The trace has no time in I/O calls."));
    }
    const state = { view: "timeline" };
    const rowHeight = Math.max(2, Math.min(40, Math.floor(512 / rows)));
    const chart = {
      name: id,
      isOverTime: true,
      height: () => rows * rowHeight + 12 + 56,
      label: () => activityLabel(names, cells, bins, state.view),
      tip: (ns, y) => {
        const bin = clamp(Math.floor(ns / timeView.binNs), 0, bins - 1);
        const row = clamp(Math.floor((y - 12) / rowHeight), 0, rows - 1);
        const lines = KINDS.filter((kind) => cells[kind][row * bins + bin] > 0).map((kind) => [
          KIND_NAMES[kind],
          percent(partOf(cells[kind][row * bins + bin])),
          kind,
        ]);
        return tipNode(
          `${names[row]}, ${timeRange(bin)}`,
          lines.length ? lines : [["no calls", ""]],
        );
      },
      option: () => ({
        tooltip: { show: false },
        grid: timeGrid(chart, { bottom: 56 }),
        xAxis: timeAxis(),
        dataZoom: sliderOption(),
        yAxis: categoryAxis(
          names,
          {
            formatter: (name) => shortened(name, timeGutter(chart.holder.clientWidth) - 12),
            interval: rowHeight >= 14 ? 0 : Math.ceil(24 / rowHeight) - 1,
          },
          { inverse: true },
        ),
        series: [
          {
            type: "custom",
            clip: true,
            silent: true,
            data: [[0, 0]],
            encode: { x: 0, y: 1 },
            renderItem: ({ coordSys: area }, api) =>
              activityImage(area, api, { ...activityLayer(state.view, cells), bins, rows }),
          },
        ],
      }),
    };
    const ramp = rampLegend();
    chart.onTheme = ramp.update;
    const kindLegend = legend(KINDS.map((kind) => [kind, KIND_NAMES[kind]]));
    const legendPlace = element("div", {}, kindLegend);
    const show = (view) => {
      state.view = view;
      legendPlace.replaceChildren(view === "timeline" ? kindLegend : ramp.node);
      draw(chart);
    };
    const twin = () => {
      const [first, last] = shownBins(bins);
      const list = names.map((name, row) => ({ name, ...shares(cells, row, bins, first, last) }));
      return twinTable(
        "Activity by row",
        [
          textColumn("name", "Row"),
          numberColumn("all", "All I/O", percent),
          ...KINDS.map((kind) => numberColumn(kind, KIND_NAMES[kind], percent)),
        ],
        list,
        `Parts of the time from ${timeOnAxis(timeView.from, timeView.span)} to ${timeOnAxis(timeView.to, timeView.span)}.`,
      );
    };
    const threads =
      report.row_threads > 1 ? `A row sums up to ${count(report.row_threads)} threads. ` : "";
    return section(
      id,
      title,
      `${threads}The timeline has the colour of the kind that took the most time in a cell, ` +
        "the stronger the more time. The heat maps show the part of the time in calls of one " +
        "kind. All I/O is without waiting for other ranks.",
      figure(
        chart,
        twin,
        element(
          "div",
          { class: "controls" },
          choices(
            "Show",
            [
              ["timeline", "Timeline"],
              ["all", "All I/O"],
              ...KINDS.map((kind) => [kind, KIND_NAMES[kind]]),
            ],
            state.view,
            show,
          ),
        ),
        element("div", { class: "controls" }, legendPlace, zoomButtons(false)),
      ),
    );
  }

  // The image has the pixels of the screen, so that nothing is smoothed.
  function activityImage(area, api, layer) {
    const ratio = devicePixelRatio || 1;
    const width = Math.max(1, Math.round(area.width * ratio));
    const height = Math.max(1, Math.round(area.height * ratio));
    // The zoom of the chart decides, not timeView, which follows the slider a moment later.
    const origin = api.coord([0, 0])[0];
    const pixelsPerBin =
      ((api.coord([timeView.end, 0])[0] - origin) / timeView.end) * timeView.binNs;
    const image = paintCells(
      layer,
      width,
      height,
      (area.x - origin) / pixelsPerBin,
      1 / (pixelsPerBin * ratio),
    );
    return {
      type: "image",
      style: { image, x: area.x, y: area.y, width: area.width, height: area.height },
    };
  }

  function activityLabel(names, cells, bins, view) {
    const [first, last] = shownBins(bins);
    const list = names.map((name, row) => ({ name, ...shares(cells, row, bins, first, last) }));
    const key = view === "timeline" ? "all" : view;
    const busiest = list.reduce((most, row) => (row[key] > most[key] ? row : most), list[0]);
    const what = view === "timeline" || view === "all" ? "I/O" : KIND_NAMES[view].toLowerCase();
    return (
      `${view === "timeline" ? "Timeline" : "Heat map"} of ${what}: ${counted(names.length, "row")} over ` +
      `${timeOnAxis(timeView.from, timeView.span)} to ${timeOnAxis(timeView.to, timeView.span)}. ` +
      `The busiest row is ${busiest.name}, with ${percent(busiest[key])} of the time in ${what}.`
    );
  }

  // ---------------------------------------------------------------- offsets

  // Users of cells, as report/offset_plane.hpp has them.
  const SEVERAL_USERS = 1;
  const UNRANKED_USER = 2;
  const FIRST_USER = 3;
  const PHASE_LABEL_GAP = 6;

  // The cells of a file in one direction (docs/formats/report_page.md): units of bytes, and users.
  function planeOf({ rows, bins }, base64) {
    const units = new Uint32Array(rows * bins);
    const users = new Uint32Array(rows * bins);
    const text = atob(base64);
    let at = 0;
    const varint = () => {
      let value = 0;
      for (let factor = 1; ; factor *= 128) {
        const byte = text.charCodeAt(at);
        at += 1;
        value += (byte & 127) * factor;
        if (byte < 128) return value;
      }
    };
    let cell = 0;
    let user = 0;
    while (at < text.length) {
      cell += varint();
      for (let left = varint(); left > 0; left -= 1) {
        units[cell] = varint();
        const step = varint();
        user += step % 2 === 0 ? step / 2 : -(step + 1) / 2;
        users[cell] = user;
        cell += 1;
      }
    }
    return { units, users };
  }

  function userName(user, kind) {
    if (user === SEVERAL_USERS) return kind === "rank" ? "several ranks" : "several processes";
    if (user === UNRANKED_USER) return "a process without a rank";
    return kind === "rank"
      ? `rank ${count(user - FIRST_USER)}`
      : `process ${count(user - FIRST_USER + 1)}`;
  }

  // The users of all cells of a file, in order.
  function usersOf(plane) {
    const users = new Set([...plane.read.users, ...plane.write.users]);
    users.delete(0);
    return [...users].sort((a, b) => a - b);
  }

  function offsetColours(state, plane) {
    const background = rgb(theme.page);
    const most = Math.max(largest(plane.values), 1); // reads and writes together
    const { read, write } = plane;
    const strength = (units) => 0.4 + 0.6 * Math.sqrt(units / most);
    if (state.colour === "direction") {
      const full = [rgb(theme.read), rgb(theme.write), rgb(theme.data)];
      return (at) => {
        const kind = read.units[at] === 0 ? 1 : write.units[at] === 0 ? 0 : 2;
        return pixel(mixed(background, full[kind], strength(read.units[at] + write.units[at])));
      };
    }
    const stops = rampColours().map(rgb);
    const [first, last] = [state.firstUser, state.lastUser];
    return (at) => {
      const user = read.users[at] || write.users[at];
      if (user === SEVERAL_USERS) return pixel(rgb(theme.waiting));
      if (user === UNRANKED_USER) return pixel(rgb(theme.other));
      const position = last > first ? ((user - first) / (last - first)) * (stops.length - 1) : 0;
      const low = clamp(Math.floor(position), 0, stops.length - 2);
      return pixel(mixed(stops[low], stops[low + 1], clamp(position - low, 0, 1)));
    };
  }

  function offsetImage(area, api, { rows, bins, bin_ns: binNs }, plane, colour) {
    const ratio = devicePixelRatio || 1;
    const width = Math.max(1, Math.round(area.width * ratio));
    const height = Math.max(1, Math.round(area.height * ratio));
    const origin = api.coord([0, 0])[0];
    const pixelsPerBin = ((api.coord([timeView.end, 0])[0] - origin) / timeView.end) * binNs;
    const image = paintCells(
      { values: plane.values, colour, bins, rows },
      width,
      height,
      (area.x - origin) / pixelsPerBin,
      1 / (pixelsPerBin * ratio),
    );
    // Cells are painted from the top; offsets grow to the top.
    return {
      type: "image",
      scaleY: -1,
      originY: area.y + area.height / 2,
      style: { image, x: area.x, y: area.y, width: area.width, height: area.height },
    };
  }

  function phaseShades(phases) {
    let labelled = 0;
    return {
      type: "custom",
      clip: true,
      silent: true,
      data: phases.map(({ start_ns: start, end_ns: end }) => [start, end, 0]),
      encode: { x: [0, 1], y: 2 },
      renderItem: ({ dataIndex, coordSys: area }, api) => {
        if (dataIndex === 0) labelled = -Infinity;
        const left = Math.max(api.coord([api.value(0), 0])[0], area.x);
        const right = Math.min(api.coord([api.value(1), 0])[0], area.x + area.width);
        if (right < area.x || left > area.x + area.width) return null;
        const width = Math.max(1, right - left);
        const text = String(phases[dataIndex].id);
        const middle = left + width / 2;
        const half = widthOf(text) / 2;
        const fits = middle - half > labelled + PHASE_LABEL_GAP && middle + half < area.x + area.width;
        if (fits) labelled = middle + half;
        return {
          type: "group",
          children: [
            {
              type: "rect",
              shape: { x: left, y: area.y, width, height: area.height },
              style: { fill: theme.text, opacity: dataIndex % 2 === 0 ? 0.12 : 0.06 },
            },
            ...(fits
              ? [
                  {
                    type: "text",
                    style: {
                      text,
                      x: middle,
                      y: area.y - 4,
                      align: "center",
                      verticalAlign: "bottom",
                      fill: theme.quiet,
                      fontSize: FONT_SIZE,
                    },
                  },
                ]
              : []),
          ],
        };
      },
    };
  }

  // The calls on a file in the part of the run that is shown, in at most `most` rows of time.
  function offsetRows(file, plane, users, most) {
    const first = clamp(Math.floor(timeView.from / file.bin_ns), 0, file.bins);
    const last = clamp(Math.ceil(timeView.to / file.bin_ns), first, file.bins);
    const factor = Math.ceil((last - first) / most) || 1;
    const result = [];
    for (let begin = first; begin < last; begin += factor) {
      const end = Math.min(begin + factor, last);
      const row = { low: Infinity, high: 0, read: 0, written: 0, users: new Set() };
      for (let line = 0; line < file.rows; line += 1) {
        for (let at = line * file.bins + begin; at < line * file.bins + end; at += 1) {
          if (plane.values[at] === 0) continue;
          row.low = Math.min(row.low, line * file.row_bytes);
          row.high = (line + 1) * file.row_bytes;
          row.read += plane.read.units[at] * file.unit_bytes;
          row.written += plane.write.units[at] * file.unit_bytes;
          row.users.add(plane.read.users[at] || plane.write.users[at]);
        }
      }
      if (row.high === 0) continue;
      const user = row.users.size === 1 ? [...row.users][0] : SEVERAL_USERS;
      result.push({
        ...row,
        from: begin * file.bin_ns,
        to: Math.min(end * file.bin_ns, timeView.end),
        user: userName(user, users),
      });
    }
    return result;
  }

  function offsetSection(report) {
    const id = "offsets";
    const title = "Offsets";
    const files = report.offsets.filter(({ rows }) => rows > 0);
    const withoutOffsets = report.offsets.filter(({ rows }) => rows === 0);
    if (files.length === 0) {
      const why =
        withoutOffsets.length > 0
          ? "The trace has no offset of the bytes that were read and written."
          : "The trace has no file that bytes were read from or written to.";
      return section(id, title, "", empty(why));
    }
    const planes = new Map();
    const planeOfFile = (file) => {
      if (!planes.has(file)) {
        const plane = { read: planeOf(file, file.read), write: planeOf(file, file.write) };
        plane.values = plane.read.units.map((units, at) => units + plane.write.units[at]);
        planes.set(file, plane);
      }
      return planes.get(file);
    };
    const state = { file: files[0], colour: "direction", firstUser: FIRST_USER, lastUser: FIRST_USER };
    const phasesOf = (file) => {
      const ids = new Set(file.phases);
      return report.phases.filter((phase) => ids.has(phase.id));
    };
    const unplacedText = (file) => {
      const parts = [
        [file.unplaced_reads, "read", file.unplaced_bytes_read],
        [file.unplaced_writes, "write", file.unplaced_bytes_written],
      ].filter(([calls]) => calls > 0);
      return parts.length === 0
        ? ""
        : `Without an offset in the trace, and so not in the chart: ${parts
            .map(([calls, name, amount]) => `${counted(calls, name)} of ${bytes(amount)}`)
            .join(", ")}.`;
    };
    const totals = (file) =>
      `${bytes(file.bytes_read)} read, ${bytes(file.bytes_written)} written`;
    const height = 300;
    const chart = {
      name: id,
      isOverTime: true,
      height: () => height,
      label: () => {
        const { file } = state;
        const phases = phasesOf(file);
        return (
          `Chart of offsets in ${file.name} over time: ${totals(file)}. ` +
          `Offsets go up to ${bytes(file.rows * file.row_bytes)}. ` +
          (phases.length ? `${counted(phases.length, "phase")} shaded. ` : "") +
          unplacedText(file)
        );
      },
      tip: (ns, y) => {
        const { file } = state;
        const area = gridRect(chart);
        if (file.rows === 0) return null;
        const bin = clamp(Math.floor(ns / file.bin_ns), 0, file.bins - 1);
        const line = clamp(
          Math.floor(((area.y + area.height - y) / area.height) * file.rows),
          0,
          file.rows - 1,
        );
        const at = line * file.bins + bin;
        const plane = planeOfFile(file);
        const phase = phasesOf(file).find(({ start_ns: from, end_ns: to }) => from <= ns && ns <= to);
        const lines = [
          ["Read", plane.read.units[at], "read"],
          ["Written", plane.write.units[at], "write"],
        ]
          .filter(([, units]) => units > 0)
          .map(([name, units, kind]) => [name, bytes(units * file.unit_bytes), kind]);
        const user = plane.read.users[at] || plane.write.users[at];
        if (user) lines.push(["By", userName(user, report.users)]);
        if (phase) lines.push(["Phase", String(phase.id)]);
        const until = Math.min((bin + 1) * file.bin_ns, timeView.end);
        const time = (value) => timeOnAxis(value, file.bin_ns * 2, true);
        return tipNode(
          `Offset ${bytes(line * file.row_bytes)} to ${bytes((line + 1) * file.row_bytes)}, ` +
            `${time(bin * file.bin_ns)} to ${time(until)}`,
          lines.length ? lines : [["no calls", ""]],
        );
      },
      option: () => {
        const { file } = state;
        const top = Math.max(file.rows, 1) * file.row_bytes;
        // Ticks of offsets are at powers of two, as sizes of files and requests mostly are.
        const interval = 2 ** Math.ceil(Math.log2(top / 5));
        const plane = planeOfFile(file);
        const colour = offsetColours(state, plane);
        return {
          tooltip: { show: false },
          grid: timeGrid(chart, { top: 24 }),
          xAxis: timeAxis(),
          dataZoom: zoomOption(),
          yAxis: valueAxis(
            (value) => (value === 0 ? "0" : value % interval === 0 ? bytes(value) : ""),
            { min: 0, max: top, interval },
          ),
          series: [
            { ...phaseShades(phasesOf(file)), z: 1, clip: false },
            {
              type: "custom",
              clip: true,
              silent: true,
              z: 2,
              data: [[0, 0]],
              encode: { x: 0, y: 1 },
              renderItem: ({ coordSys: area }, api) =>
                file.rows > 0 ? offsetImage(area, api, file, plane, colour) : null,
            },
          ],
        };
      },
    };
    const twin = () => {
      const { file } = state;
      const time = (ns) => timeOnAxis(ns, timeView.span / 10, true);
      return twinTable(
        `Offsets in ${file.name} over time`,
        [
          numberColumn("from", "From", time),
          numberColumn("to", "To", time),
          numberColumn("low", "Lowest offset", (value) => (value === 0 ? "0" : bytes(value))),
          numberColumn("high", "Below offset", bytes),
          numberColumn("read", "Read", bytes),
          numberColumn("written", "Written", bytes),
          textColumn("user", "By"),
        ],
        offsetRows(file, planeOfFile(file), report.users, MAX_TWIN_ROWS),
        [
          `Offsets are rounded to ${bytes(file.row_bytes)}`,
          file.unit_bytes > 1 ? `, bytes to ${bytes(file.unit_bytes)}` : "",
          ". ",
          unplacedText(file),
        ].join(""),
      );
    };

    const legendPlace = element("div", {});
    const ramp = element("div", { "aria-hidden": "true" });
    const updateLegend = () => {
      const plane = planeOfFile(state.file);
      const used = usersOf(plane);
      const single = used.filter((user) => user >= FIRST_USER);
      [state.firstUser, state.lastUser] = single.length
        ? [single[0], single[single.length - 1]]
        : [FIRST_USER, FIRST_USER];
      if (state.colour === "direction") {
        const both = plane.values.some((_, at) => plane.read.units[at] && plane.write.units[at]);
        legendPlace.replaceChildren(
          legend([
            ["read", "Read"],
            ["write", "Written"],
            ...(both ? [["data", "Both"]] : []),
          ]),
        );
        return;
      }
      ramp.style.background = `linear-gradient(to right, ${rampColours().join(", ")})`;
      const tick = (user, left) => {
        const node = element("span", {}, userName(user, report.users));
        node.style.left = left;
        return node;
      };
      const ticks =
        state.lastUser > state.firstUser
          ? [tick(state.firstUser, "12%"), tick(state.lastUser, "88%")]
          : [tick(state.firstUser, "50%")];
      const others = [
        [SEVERAL_USERS, "waiting"],
        [UNRANKED_USER, "other"],
      ].filter(([user]) => used.includes(user));
      legendPlace.replaceChildren(
        ...(single.length > 0
          ? [element("div", { class: "scale" }, element("div", { class: "ramp" }, ramp, ...ticks))]
          : []),
        ...(others.length > 0
          ? [legend(others.map(([user, kind]) => [kind, userName(user, report.users)]))]
          : []),
      );
    };
    chart.onTheme = updateLegend;
    const note = element("p", { class: "table-foot" });
    const show = () => {
      updateLegend();
      // On paper the choice of files is hidden.
      note.textContent = [`${state.file.name}: ${totals(state.file)}.`, unplacedText(state.file)]
        .join(" ")
        .trim();
      draw(chart);
    };
    const select = element(
      "select",
      { id: "offsets-file" },
      ...files.map((file, at) => element("option", { value: at }, file.name)),
    );
    const figureNode = figure(
      chart,
      twin,
      element(
        "div",
        { class: "controls" },
        element(
          "div",
          { class: "search" },
          element("label", { for: "offsets-file" }, "File"),
          select,
        ),
        choices(
          "Colour",
          [
            ["direction", "Read or written"],
            ["user", report.users === "rank" ? "Rank" : "Process"],
          ],
          state.colour,
          (value) => {
            state.colour = value;
            show();
          },
        ),
      ),
      element("div", { class: "controls" }, legendPlace, zoomButtons(false)),
    );
    select.addEventListener("change", () => {
      state.file = files[Number(select.value)];
      show();
      figureNode.querySelector("details").refresh();
    });
    show();
    const left = report.offsets_left_out;
    return section(
      id,
      title,
      "Where in a file bytes were read and written, over time. Grey bands are the phases on this " +
        "file, with their numbers." +
        (left > 0
          ? ` The page has the ${counted(files.length, "file")} that moved most bytes; ${counted(left, "other moved", "others moved")} fewer.`
          : ""),
      figureNode,
      note,
      ...withoutOffsets.map((file) =>
        element("p", { class: "table-foot" }, `${file.name}: ${totals(file)}. ${unplacedText(file)}`),
      ),
    );
  }

  // ---------------------------------------------------------------- histograms

  // Buckets are powers of two, and those without calls may be left out of the data.
  function withoutGaps(buckets) {
    const result = [];
    for (const [from, to, number] of buckets) {
      while (result.length) {
        const next = result[result.length - 1][1] + 1;
        if (next >= from) break;
        result.push([next, Math.min(next * 2 - 1, from - 1), 0]);
      }
      result.push([from, to, number]);
    }
    return result;
  }

  function histogramPart({ id, title, groups, kinds, unit, what, none }) {
    const state = { kind: kinds.find((kind) => groups[kind]?.length) };
    const heading = element("h3", {}, title);
    if (!state.kind) return element("div", { class: "part" }, heading, empty(none));
    const buckets = () => withoutGaps(groups[state.kind] ?? []);
    // A bucket ends one below a power of two, which reads worse than the power itself.
    const label = ([from, to]) =>
      from === to ? unit(from) : `${unit(from)} to below ${unit(to + 1)}`;
    const total = () => sum(buckets().map((bucket) => bucket[2]));
    const chart = {
      name: id,
      height: () => 230,
      label: () => {
        const most = buckets().reduce(
          (best, bucket) => (bucket[2] > best[2] ? bucket : best),
          [0, 0, 0],
        );
        return (
          `Bar chart of ${what} of ${counted(total(), `${state.kind} call`)}.` +
          (most[2] ? ` The most frequent: ${label(most)}, ${counted(most[2], "call")}.` : "")
        );
      },
      option: () => {
        const list = buckets();
        return {
          grid: grid({ left: 76, right: 16, top: 12, bottom: 28 }),
          tooltip: barTip(
            ({ dataIndex }) =>
              tipNode(label(list[dataIndex]), [
                ["Calls", count(list[dataIndex][2]), state.kind],
                ["Share", percent(list[dataIndex][2] / Math.max(1, total()))],
              ]),
          ),
          xAxis: categoryAxis(
            list.map(([from]) => unit(from)),
            { color: theme.quiet, hideOverlap: true },
          ),
          yAxis: valueAxis((value) => count(value), { minInterval: 1, splitNumber: 4 }),
          series: [
            {
              type: "bar",
              barCategoryGap: "12%",
              barMaxWidth: 60,
              itemStyle: { color: theme[state.kind] },
              data: list.map((bucket) => bucket[2]),
            },
          ],
        };
      },
    };
    const twin = () => {
      const calls = Math.max(1, total());
      const rows = buckets().map(([from, to, number]) => ({
        from,
        to,
        number,
        share: number / calls,
      }));
      return twinTable(
        `${title}: ${KIND_NAMES[state.kind]}`,
        [
          numberColumn("from", "From", unit),
          numberColumn("to", "Below", (to) => unit(to + 1)),
          numberColumn("number", "Calls"),
          numberColumn("share", "Share", percent),
        ],
        rows,
      );
    };
    const figureNode = figure(chart, twin);
    const pick = choices(
      "Calls",
      kinds.map((kind) => [kind, KIND_NAMES[kind]]),
      state.kind,
      (kind) => {
        state.kind = kind;
        const has = (groups[kind] ?? []).length > 0;
        figureNode.hidden = !has;
        nothing.hidden = has;
        nothing.textContent = `The trace has no ${kind} calls.`;
        if (has) {
          fit(chart);
          figureNode.querySelector("details").refresh();
        }
      },
    );
    const nothing = element("p", { class: "empty", hidden: "" });
    return element(
      "div",
      { class: "part" },
      heading,
      element("div", { class: "controls" }, pick),
      figureNode,
      nothing,
    );
  }

  function histogramSection(report) {
    return section(
      "histograms",
      "Sizes and times of calls",
      "How many calls had which size and took how long, by powers of two.",
      element(
        "div",
        { class: "pair" },
        histogramPart({
          id: "sizes",
          title: "Sizes",
          groups: report.sizes,
          kinds: ["read", "write"],
          unit: bytes,
          what: "sizes",
          none: "The trace has no reads and no writes.",
        }),
        histogramPart({
          id: "times",
          title: "Times",
          groups: report.times,
          kinds: IO_KINDS,
          unit: roundDuration,
          what: "times",
          none: "The trace has no I/O calls.",
        }),
      ),
    );
  }

  // ---------------------------------------------------------------- calls, files, ranks

  // Horizontal bars of the first rows. `bars` are [kind, name, value(row)] and are stacked;
  // kindOf(row) colours a single bar by its row.
  function barChart({ id, rows, what, bars, kindOf, lines }) {
    const shown = rows.slice(0, MAX_BARS);
    const names = shown.map(({ name }) => name);
    const total = (row) => sum(bars.map(([, , value]) => value(row)));
    const gutter = (width) =>
      Math.round(clamp(largest(names.map(widthOf)) + 14, 60, Math.min(260, width * 0.38)));
    const chart = {
      name: id,
      height: () => shown.length * 22 + 12 + 28,
      label: () =>
        `Bar chart of ${what}: the ${counted(shown.length, "entry", "entries")} with the most time. ` +
        `The first is ${names[0]} with ${duration(total(shown[0]))}.`,
      option: () => {
        const left = gutter(chart.holder.clientWidth);
        return {
          grid: grid({ left, right: 76, top: 12, bottom: 28 }),
          tooltip: barTip(({ dataIndex }) => tipNode(names[dataIndex], lines(shown[dataIndex]))),
          xAxis: valueAxis(roundDuration, { splitNumber: 4 }),
          yAxis: nameAxis(names, left),
          series: bars.map(([kind, , value], at) => ({
            type: "bar",
            stack: "time",
            barCategoryGap: "28%",
            data: shown.map((row) => ({
              value: value(row),
              itemStyle: { color: theme[kindOf ? kindOf(row) : kind] },
            })),
            label:
              at < bars.length - 1
                ? { show: false }
                : {
                    show: true,
                    position: "right",
                    color: theme.quiet,
                    fontSize: FONT_SIZE,
                    formatter: ({ dataIndex }) => duration(total(shown[dataIndex])),
                  },
          })),
        };
      },
    };
    return chart;
  }

  function kindOfCall({ class: name }) {
    if (name === "read" || name === "write" || name === "sync") return name;
    if (name === "mpi_sync" || name === "thread_sync") return "waiting";
    return name === "async" || name === "mapping" ? "other" : "metadata";
  }

  const TIME_ADDS = "Times are added over all threads, so that they can be longer than the run.";

  function callsSection(report) {
    const { calls } = report;
    if (calls.length === 0) return section("calls", "Calls", "", empty("The trace has no calls."));
    const kinds = [...KINDS, "other"].filter((kind) =>
      calls.slice(0, MAX_BARS).some((row) => kindOfCall(row) === kind),
    );
    const chart = barChart({
      id: "time-by-call",
      rows: calls,
      what: "time by call",
      kindOf: kindOfCall,
      bars: [["read", "Time", (row) => row.time_ns]],
      lines: (row) => [
        ["Time", duration(row.time_ns), kindOfCall(row)],
        ["Calls", count(row.count)],
        ["Failed", count(row.failed)],
        ["Bytes", exactBytes(row.bytes)],
        ["Longest", duration(row.max_ns)],
      ],
    });
    chart.twin = "table-calls";
    // Calls that moved nothing have no sizes, and those without a bandwidth of their own none; they
    // come last where the largest come first.
    const maybe = (key, title, show) => ({
      ...numberColumn(key, title, (value) => (value === null ? "-" : show(value))),
      value: (row) => row[key] ?? -1,
    });
    const rate = (mib) => `${bytes(mib * 2 ** 20)}/s`;
    return section(
      "calls",
      "Calls",
      TIME_ADDS,
      figure(
        chart,
        null,
        element(
          "div",
          { class: "controls" },
          legend(kinds.map((kind) => [kind, KIND_NAMES[kind]])),
        ),
      ),
      dataTable({
        id: "table-calls",
        label: "Calls",
        rows: calls,
        noun: ["call", "calls"],
        sortedBy: "time_ns",
        note:
          "50 % and 99 %: the time that this part of the calls did not exceed. " +
          "Size and std. dev.: the average size of transfers, and its standard deviation. " +
          "Bandwidth: bytes by the time spent in the calls; lowest and highest: of single calls that moved bytes.",
        columns: [
          textColumn("name", "Call"),
          textColumn("class", "Class"),
          numberColumn("count", "Count"),
          numberColumn("failed", "Failed"),
          numberColumn("bytes", "Bytes", bytes),
          numberColumn("time_ns", "Time", duration),
          numberColumn("min_ns", "Shortest", duration),
          numberColumn("average_ns", "Average", duration),
          numberColumn("p50_ns", "50\u00a0%", duration),
          numberColumn("p99_ns", "99\u00a0%", duration),
          numberColumn("max_ns", "Longest", duration),
          maybe("average_bytes", "Size", bytes),
          maybe("deviation_bytes", "Std. dev.", bytes),
          maybe("average_mib_s", "Bandwidth", rate),
          maybe("min_mib_s", "Lowest", rate),
          maybe("max_mib_s", "Highest", rate),
        ],
      }),
    );
  }

  function commandFor(report, option) {
    return (
      report.commands.find(({ command }) => command.includes(option))?.command ??
      `omnio stats ${report.trace} ${option}`
    );
  }

  function filesSection(report) {
    const { files } = report;
    if (files.length === 0)
      return section("files", "Files", "", empty("The trace has no calls on files."));
    const chart = barChart({
      id: "time-by-file",
      rows: files,
      what: "time by file",
      bars: [
        ["data", "Data and sync", (row) => Math.max(0, row.time_ns - row.metadata_ns)],
        ["metadata", "Metadata", (row) => Math.min(row.metadata_ns, row.time_ns)],
      ],
      lines: (row) => [
        ["Time", duration(row.time_ns)],
        ["Metadata", duration(row.metadata_ns), "metadata"],
        ["Read", `${bytes(row.bytes_read)} in ${counted(row.reads, "call")}`],
        ["Written", `${bytes(row.bytes_written)} in ${counted(row.writes, "call")}`],
      ],
    });
    chart.twin = "table-files";
    const left = report.files_left_out;
    const note =
      left > 0
        ? [
            `${counted(left, "more file has", "more files have")} less time and ` +
              `${left === 1 ? "is" : "are"} not on this page. All files: `,
            element("code", {}, commandFor(report, "--by file")),
          ]
        : "";
    return section(
      "files",
      "Files",
      TIME_ADDS,
      figure(
        chart,
        null,
        element(
          "div",
          { class: "controls" },
          legend([
            ["data", "Data and sync"],
            ["metadata", "Metadata"],
          ]),
        ),
      ),
      dataTable({
        id: "table-files",
        label: "Files",
        rows: files,
        noun: ["file", "files"],
        sortedBy: "time_ns",
        note,
        leftOut: left,
        columns: [
          textColumn("name", "File", "path", (row) => pathNode(row.name)),
          numberColumn("reads", "Reads"),
          numberColumn("writes", "Writes"),
          numberColumn("metadata", "Metadata calls"),
          numberColumn("bytes_read", "Read", bytes),
          numberColumn("bytes_written", "Written", bytes),
          numberColumn("time_ns", "Time", duration),
          numberColumn("metadata_ns", "Metadata", duration),
          numberColumn("failed", "Failed"),
        ],
      }),
    );
  }

  function shareColumn(key, title) {
    return {
      ...numberColumn(key, title),
      value: (row) => row[key] ?? -1,
      show: (row) => (row[key] === null ? "-" : percent(row[key])),
    };
  }

  function patternsSection(report) {
    const rows = report.files.filter(({ requests }) => requests > 0);
    if (rows.length === 0)
      return section("patterns", "Access patterns", "", empty("The trace has no reads or writes."));
    return section(
      "patterns",
      "Access patterns",
      "How the requests of a rank follow each other in a file, as the storage sees them: POSIX " +
        "and stream calls, those of MPI-IO too. A consecutive request begins where the one before " +
        "ended, a sequential one there or further on. Switches are changes between reading and " +
        "writing.",
      dataTable({
        id: "table-patterns",
        label: "Access patterns",
        rows,
        noun: ["file", "files"],
        sortedBy: "requests",
        leftOut: report.files_left_out,
        note:
          report.files_left_out > 0
            ? ["All files: ", element("code", {}, commandFor(report, "--by file --patterns"))]
            : "",
        columns: [
          textColumn("name", "File", "path", (row) => pathNode(row.name)),
          numberColumn("ranks", "Ranks"),
          numberColumn("requests", "Requests"),
          shareColumn("consecutive", "Consecutive"),
          shareColumn("sequential", "Sequential"),
          shareColumn("misaligned", "Misaligned"),
          numberColumn("switches", "Switches"),
          numberColumn("read_back", "Read back"),
          numberColumn("read_again_bytes", "Read again", bytes),
        ],
      }),
    );
  }

  function ranksSection(report) {
    const { ranks, summary } = report;
    const title = summary.ranks > 0 ? "Ranks" : "Processes";
    const one = summary.ranks > 0 ? ["rank", "ranks"] : ["process", "processes"];
    if (ranks.length === 0)
      return section("ranks", title, "", empty(`The trace has no ${one[1]}.`));
    const isGrouped = ranks.length < summary.ranks;
    const parts = [
      ["data", "data_ns"],
      ["metadata", "metadata_ns"],
      ["sync", "sync_ns"],
      ["waiting", "waiting_ns"],
    ];
    const rows = ranks.map((row) => ({ ...row, io_ns: ioNs(row) }));
    const chart = {
      name: "time-by-rank",
      height: () => 230,
      twin: "table-ranks",
      label: () => {
        const most = rows.reduce((best, row) => (row.io_ns > best.io_ns ? row : best), rows[0]);
        return (
          `Bar chart of I/O time by rank: ${counted(rows.length, "bar")}. ` +
          `The most: ${most.name} with ${duration(most.io_ns)}.`
        );
      },
      option: () => ({
        grid: grid({ left: 76, right: 16, top: 12, bottom: 28 }),
        tooltip: barTip(
          ({ dataIndex }) =>
            tipNode(rows[dataIndex].name, [
              ["I/O time", duration(rows[dataIndex].io_ns)],
              ...parts.map(([kind, key]) => [
                KIND_NAMES[kind],
                duration(rows[dataIndex][key]),
                kind,
              ]),
            ]),
        ),
        xAxis: categoryAxis(
          rows.map(({ name }) => name),
          { color: theme.quiet, hideOverlap: true },
        ),
        yAxis: valueAxis(roundDuration, { splitNumber: 4 }),
        series: parts.map(([kind, key]) => ({
          type: "bar",
          stack: "time",
          barCategoryGap: rows.length > 64 ? "0%" : "25%",
          barMaxWidth: 60,
          itemStyle: { color: theme[kind] },
          data: rows.map((row) => row[key]),
        })),
      }),
    };
    return section(
      "ranks",
      title,
      (isGrouped ? "A row has several ranks: its times are those of the slowest of them. " : "") +
        "I/O time is data, metadata and sync. Waiting is the time in collective calls until the " +
        "other ranks came.",
      report.lateness.length > 0
        ? element(
            "ol",
            { class: "lateness" },
            ...report.lateness.map((sentence) => element("li", {}, sentence)),
          )
        : "",
      // A single bar has nothing to be compared with.
      rows.length > 1
        ? figure(
            chart,
            null,
            element(
              "div",
              { class: "controls" },
              legend(parts.map(([kind]) => [kind, KIND_NAMES[kind]])),
            ),
          )
        : "",
      dataTable({
        id: "table-ranks",
        label: title,
        rows,
        noun: isGrouped ? ["group", "groups"] : one,
        sortedBy: null,
        columns: [
          textColumn("name", summary.ranks > 0 ? "Rank" : "Process"),
          textColumn("host", "Host"),
          numberColumn("calls", "Calls"),
          numberColumn("bytes_read", "Read", bytes),
          numberColumn("bytes_written", "Written", bytes),
          numberColumn("io_ns", "I/O time", duration),
          {
            key: "share",
            title: "Of its run",
            kind: "number",
            value: (row) => (row.run_ns > 0 ? row.io_ns / row.run_ns : 0),
            show: (row) => (row.run_ns > 0 ? percent(row.io_ns / row.run_ns) : "-"),
          },
          numberColumn("data_ns", "Data", duration),
          numberColumn("metadata_ns", "Metadata", duration),
          numberColumn("sync_ns", "Sync", duration),
          numberColumn("waiting_ns", "Waiting", duration),
          numberColumn("run_ns", "Run time", duration),
        ],
      }),
    );
  }

  // ---------------------------------------------------------------- phases

  function kindOfPhase({ operation }) {
    const reads = /read/i.test(operation);
    const writes = /write/i.test(operation);
    return reads && writes ? "data" : reads ? "read" : writes ? "write" : "metadata";
  }

  // A lane for each file, in the order of its first phase; files with little I/O time share one.
  function lanesOf(phases) {
    const lanes = new Map();
    for (const phase of phases) {
      const lane = lanes.get(phase.file) ?? {
        file: phase.file,
        name: fileName(phase.file) || `phase ${phase.id}`,
        io: 0,
      };
      lane.io += phase.io_ns;
      lanes.set(phase.file, lane);
    }
    const all = [...lanes.values()];
    if (all.length <= MAX_LANES) return all;
    const kept = new Set([...all].sort((a, b) => b.io - a.io).slice(0, MAX_LANES - 1));
    return [
      ...all.filter((lane) => kept.has(lane)),
      { file: null, name: `${all.length - kept.size} other files` },
    ];
  }

  // A metadata phase has calls, and neither requests nor offsets.
  const isMetadata = (phase) => phase.weight_operations !== undefined;
  const weightText = (phase) =>
    isMetadata(phase) ? counted(phase.weight_operations, "call") : bytes(phase.weight_bytes);
  function requestColumn(key, title, show = count) {
    return {
      ...numberColumn(key, title, show),
      value: (row) => row[key] ?? -1,
      show: (row) => (isMetadata(row) ? "-" : show(row[key])),
    };
  }
  const PHASE_COLUMNS = [
    numberColumn("id", "Phase"),
    textColumn("operation", "Operation"),
    textColumn("file", "File", "path", (row) => pathNode(row.file)),
    numberColumn("ranks", "Ranks"),
    requestColumn("repetitions", "Rep."),
    requestColumn("request_bytes", "Request", bytes),
    { ...requestColumn("weight_bytes", "Weight", bytes), show: weightText },
    numberColumn("io_ns", "I/O time", duration),
    numberColumn("start_ns", "Start", (ns) => timeOnAxis(ns, timeView.end / 100, true)),
    numberColumn("end_ns", "End", (ns) => timeOnAxis(ns, timeView.end / 100, true)),
    {
      ...textColumn("pattern", "Pattern", "word"),
      value: (row) => row.pattern ?? "",
      show: (row) => row.pattern ?? "-",
    },
    {
      ...textColumn("offset", "Offset, or calls", "formula"),
      value: (row) => row.offset ?? row.calls,
      show: (row) => row.offset ?? row.calls,
    },
  ];

  function phasesSection(report) {
    const { phases } = report;
    const id = "phases";
    const title = "Phases";
    if (phases.length === 0) {
      return section(
        id,
        title,
        "",
        empty(report.phases_missing || "The trace has no phases: it has no calls on files."),
      );
    }
    const left = report.phases_left_out;
    const note =
      left > 0
        ? [
            `${counted(left, "more phase is", "more phases are")} not on this page. All phases: `,
            element(
              "code",
              {},
              report.commands.find(({ command }) => command.startsWith("omnio phases"))?.command ??
                `omnio phases ${report.trace}`,
            ),
          ]
        : "";
    return section(
      id,
      title,
      "A phase is a run of requests of one kind that ranks make together. Weight is ranks times " +
        "repetitions times request size. The offset is that of a rank's request, by rank and " +
        "repetition. A phase of metadata has calls that move no data; its weight is their number. " +
        "I/O time is that of the rank with the most.",
      figure(
        phaseChart(phases),
        null,
        element(
          "div",
          { class: "controls" },
          legend([...new Set(phases.map(kindOfPhase))].map((kind) => [kind, KIND_NAMES[kind]])),
          zoomButtons(false),
        ),
      ),
      dataTable({
        id: "table-phases",
        label: title,
        rows: phases,
        noun: ["phase", "phases"],
        sortedBy: null,
        note,
        leftOut: left,
        columns: PHASE_COLUMNS,
      }),
    );
  }

  // The SVG has the colours of paper; page.css has those of the page for them.
  function globalPatternSection(report) {
    const { svg, missing, patterns, patterns_left_out: left } = report.global_pattern;
    const id = "global-pattern";
    const title = "Global access pattern";
    if (missing) return section(id, title, "", empty(missing));
    const picture = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
    picture.removeAttribute("width");
    picture.removeAttribute("height");
    const columns = patterns[0].map((name, at) => ({
      key: String(at),
      title: name,
      kind: "word",
      value: (row) => row[at],
      show: (row) => row[at],
    }));
    const label = "Local access patterns";
    const note = left > 0 ? `${counted(left, "more pattern is", "more patterns are")} not on this page.` : "";
    return section(
      id,
      title,
      "Where in the files which process read and wrote, by tick: a count of the process's MPI events, " +
        "which does not depend on storage. Grey bands are phases, which have two colours by turns. " +
        "The table has the patterns of the processes that are equal but for where they begin: request size in " +
        "bytes; disp and offsetInit in etypes of the view, or in bytes of the file.",
      element(
        "figure",
        {},
        element(
          "div",
          {
            class: "scroll picture",
            "data-picture": id,
            tabindex: "0",
            role: "region",
            "aria-label": title,
          },
          document.importNode(picture, true),
        ),
        twinOf(() => twinTable(label, columns, patterns.slice(1), note), false),
      ),
    );
  }

  function phaseChart(phases) {
    const lanes = lanesOf(phases);
    const laneOf = new Map(lanes.map((lane, at) => [lane.file, at]));
    const bars = phases.map((phase) => [
      phase.start_ns,
      phase.end_ns,
      laneOf.get(phase.file) ?? lanes.length - 1,
    ]);
    const chart = {
      name: "phases-over-time",
      isOverTime: true,
      twin: "table-phases",
      height: () => lanes.length * 20 + 12 + 28,
      label: () => {
        const most = phases.reduce(
          (best, phase) => (phase.io_ns > best.io_ns ? phase : best),
          phases[0],
        );
        return (
          `Chart of ${counted(phases.length, "phase")} over time, in ${counted(lanes.length, "lane")} by file. ` +
          `The most I/O time: phase ${most.id}, ${most.operation} of ${most.file}, ${duration(most.io_ns)}.`
        );
      },
      option: () => ({
        grid: timeGrid(chart),
        xAxis: timeAxis(),
        dataZoom: zoomOption(),
        tooltip: nodeTip(({ dataIndex }) => phaseTip(phases[dataIndex]), { trigger: "item" }),
        yAxis: categoryAxis(
          lanes.map(({ name }) => name),
          {
            formatter: (name) => shortened(name, timeGutter(chart.holder.clientWidth) - 12),
            interval: 0,
          },
          { inverse: true, splitLine: { show: true, lineStyle: { color: theme.grid } } },
        ),
        series: [
          {
            type: "custom",
            clip: true,
            data: bars,
            encode: { x: [0, 1], y: 2 },
            renderItem: ({ dataIndex }, api) =>
              phaseBar(api, theme[kindOfPhase(phases[dataIndex])]),
          },
        ],
      }),
    };
    return chart;
  }

  function phaseBar(api, fill) {
    const [x, y] = api.coord([api.value(0), api.value(2)]);
    const [end] = api.coord([api.value(1), api.value(2)]);
    const height = Math.round(api.size([0, 1])[1] * 0.6);
    // A phase of a few calls is shorter than a pixel and is shown all the same.
    return {
      type: "rect",
      shape: { x, y: Math.round(y - height / 2), width: Math.max(2, end - x), height },
      style: { fill, opacity: 0.85 },
    };
  }

  function phaseTip(phase) {
    return tipNode(`Phase ${phase.id}: ${phase.operation}`, [
      ["File", shortened(phase.file, 300)],
      [
        "Time",
        `${timeOnAxis(phase.start_ns, timeView.span / 10)} to ${timeOnAxis(phase.end_ns, timeView.span / 10)}`,
      ],
      ["Ranks", count(phase.ranks)],
      ...(isMetadata(phase)
        ? [
            ["Weight", counted(phase.weight_operations, "call")],
            ["Calls", phase.calls],
            ["Directories", count(phase.directories)],
            ["I/O time", duration(phase.io_ns)],
          ]
        : [
            ["Repetitions", count(phase.repetitions)],
            ["Request", exactBytes(phase.request_bytes)],
            ["Weight", exactBytes(phase.weight_bytes)],
            ["I/O time", duration(phase.io_ns)],
            ["Pattern", phase.pattern],
          ]),
    ]);
  }

  // ---------------------------------------------------------------- commands and end

  function commandsSection(report) {
    if (report.commands.length === 0)
      return section("commands", "Commands", "", empty("omnio help lists the commands."));
    return section(
      "commands",
      "Commands",
      "These commands say more about this trace.",
      element(
        "dl",
        { class: "commands" },
        ...report.commands.flatMap(({ what, command }) => [
          element("dt", {}, what),
          element("dd", {}, element("code", {}, command)),
        ]),
      ),
    );
  }

  function findingNode(finding) {
    const share =
      finding.run_share > 0 ? `concerns ${percent(finding.run_share)} of the run at most` : "";
    return element(
      "li",
      { class: `finding ${finding.grade}` },
      element(
        "h3",
        {},
        element("span", { class: "grade" }, finding.grade),
        ` ${finding.title}`,
      ),
      element("p", { class: "evidence" }, finding.evidence.join(" ")),
      element("p", {}, `${finding.why} ${finding.remedy}`),
      element("p", { class: "code" }, [finding.code, share].filter(Boolean).join(", ")),
    );
  }

  function adviceSection(report) {
    const title = "Advice";
    if (report.advice_missing) return section("advice", title, "", empty(report.advice_missing));
    if (report.advice.length === 0) {
      return section("advice", title, "", empty("Nothing in the I/O of this run stands out."));
    }
    return section(
      "advice",
      title,
      "What may be done in another way, the gravest first.",
      element("ul", { class: "findings" }, ...report.advice.map(findingNode)),
    );
  }

  // ---------------------------------------------------------------- paths of accesses

  // Each line is the part of the accesses of a class that had begun by then: what came together is a
  // step, what came evenly is a straight line.
  function pathsChart(paths, classes) {
    const step = ((paths.to_s - paths.from_s) * 1e9) / classes[0].when.length;
    const begin = (at) => paths.from_s * 1e9 + at * step;
    const rows = classes[0].when.map((_, at) => ({
      from: begin(at),
      to: begin(at + 1),
      ...Object.fromEntries(classes.map(({ name, when }) => [name, when[at]])),
    }));
    const chart = {
      name: "paths",
      isOverTime: true,
      height: () => 220,
      label: () =>
        "Line chart of the part of the accesses of each class that had begun over the run. " +
        classes
          .map(({ name, when }) => {
            const most = largest(when);
            return `${name}: most, ${percent(most)}, near ${timeOnAxis(begin(when.indexOf(most)), timeView.end)}.`;
          })
          .join(" "),
      tip: (ns) => {
        const row = rows.find(({ from, to }) => ns >= from && ns < to);
        return (
          row &&
          tipNode(
            `${timeOnAxis(row.from, step, true)} to ${timeOnAxis(row.to, step, true)}`,
            classes.map(({ name, kind }) => [name, percent(row[name]), kind]),
          )
        );
      },
      option: () => ({
        tooltip: { show: false },
        grid: timeGrid(chart),
        xAxis: timeAxis(),
        dataZoom: zoomOption(),
        yAxis: valueAxis(percent, { min: 0, max: 1, interval: 0.25 }),
        series: classes.map(({ name, kind, when }, at) => ({
          type: "line",
          name,
          symbol: "none",
          silent: true,
          lineStyle: { width: 1.5, color: theme[kind], type: ["solid", "dashed", "dotted"][at % 3] },
          itemStyle: { color: theme[kind] },
          data: [0, ...when].map((_, bin) => [begin(bin), sum(when.slice(0, bin))]),
        })),
      }),
    };
    const twin = () =>
      twinTable(
        "Accesses of each class over time",
        [
          numberColumn("from", "From", (ns) => timeOnAxis(ns, timeView.span / 10, true)),
          numberColumn("to", "To", (ns) => timeOnAxis(ns, timeView.span / 10, true)),
          ...classes.map(({ name }) => numberColumn(name, name, percent)),
        ],
        rows,
      );
    return figure(
      chart,
      twin,
      element(
        "div",
        { class: "controls" },
        legend(classes.map(({ name, kind }) => [kind, name])),
        zoomButtons(false),
      ),
    );
  }

  function pathsSection(report) {
    const { paths } = report;
    const id = "paths";
    const title = "Paths of accesses";
    if (!paths.classes.length) return section(id, title, "", empty("No access can be compared."));
    const classes = paths.classes.map((one, at) => ({
      ...one,
      name: `Class ${at + 1}`,
      kind: KINDS[at % KINDS.length],
    }));
    const times = (factor) => `${Number(factor.toPrecision(3))}`;
    const parts = (list, show = (name) => name) =>
      list.flatMap(({ name, share }, at) => [
        at > 0 ? ", " : "",
        show(name),
        `${NO_BREAK}(${percent(share)})`,
      ]);
    const about = ({ name, operations, files, ranks }) =>
      element(
        "li",
        {},
        `${name}: `,
        ...parts(operations),
        "; files ",
        ...parts(files, pathNode),
        `; ${report.summary.ranks > 0 ? "ranks" : "processes"} `,
        ...parts(ranks),
      );
    return section(
      id,
      title,
      `Each access beside the model of its kind, learnt from ${paths.calibration} (${paths.target}). ` +
        "Accesses whose times differ from the model by about the same factor are one class: they went " +
        `the same way through the storage. ${paths.note} ` +
        `${counted(paths.accesses, "access", "accesses")} with ` +
        `${percent(paths.compared_s / paths.io_s)} of the I/O time of all ranks are compared; ` +
        `${percent(paths.inside_s / paths.compared_s)} of that is within the calibrated range.`,
      plainTable(
        title,
        [
          textColumn("name", "Class"),
          numberColumn("accesses", "Accesses"),
          numberColumn("share", "Share", percent),
          numberColumn("time_s", "Time", (seconds) => duration(seconds * 1e9)),
          numberColumn("io_share", "Of the I/O time", percent),
          numberColumn("median_factor", "Measured / predicted", times),
          numberColumn("median_bytes", "Typical size", (size) => (size > 0 ? bytes(size) : "-")),
        ],
        classes.map((one) => ({
          ...one,
          share: one.accesses / paths.accesses,
          io_share: one.time_s / paths.io_s,
        })),
      ),
      element("ul", {}, ...classes.map(about)),
      element(
        "div",
        { class: "part" },
        element("h3", {}, "When they began"),
        element("p", { class: "lead" }, "The part of each class that had begun by then."),
        pathsChart(paths, classes),
      ),
    );
  }

  function showEnd(report) {
    document
      .getElementById("end")
      .append(
        element(
          "p",
          {},
          `Made by omnio ${report.omnio}${report.made ? ` on ${dateText(report.made)}` : ""}. ` +
            "The page loads nothing from elsewhere. " +
            `Charts: Apache ECharts ${echarts.version}, Apache License 2.0.`,
        ),
      );
  }

  // ---------------------------------------------------------------- start

  const SECTIONS = [
    adviceSection,
    pathsSection,
    bandwidthSection,
    activitySection,
    offsetSection,
    histogramSection,
    callsSection,
    filesSection,
    patternsSection,
    ranksSection,
    phasesSection,
    globalPatternSection,
    commandsSection,
  ];

  function showContents(sections) {
    document
      .getElementById("contents")
      .append(
        element(
          "ul",
          {},
          ...sections.map((node) =>
            element(
              "li",
              {},
              element("a", { href: `#${node.id}` }, node.querySelector("h2").textContent),
            ),
          ),
        ),
      );
  }

  function drawAll() {
    readTheme();
    for (const chart of charts) {
      chart.onTheme?.();
      fit(chart);
    }
  }

  // Browsers lay out a page for paper right after this event, and wait for no observer.
  function watchPrinting() {
    addEventListener("beforeprint", () => {
      document.documentElement.classList.add("printing");
      drawAll();
    });
    addEventListener("afterprint", () => {
      document.documentElement.classList.remove("printing");
      drawAll();
    });
  }

  // comparison.js and prediction.js make their pages with these.
  const MEANS = {
    ...{ FONT_SIZE, MAX_BARS, NO_BREAK },
    ...{ bytes, categoryAxis, choices, clamp, count, counted, dataTable, dateText },
    ...{ duration, element, empty, figure, fit, grid, keyFigure, largest, legend },
    ...{ barTip, nameAxis, numberColumn, pathNode, percent, roundDuration, section, sum },
    ...{ textColumn, theme, threeDigits, tipNode, twinTable, valueAxis, widthOf },
  };

  function reportSections(report) {
    if (report.format !== "omnio-report" || report.version !== 1) {
      throw new Error(
        `format ${report.format}, version ${report.version}: this page reads omnio-report, version 1`,
      );
    }
    timeView.begin(report.time, report.summary.run_ns);
    longestLabel = largest(
      [...report.rows, ...lanesOf(report.phases)].map(({ name }) => widthOf(name)),
    );
    showBanner(report);
    showTitle(report);
    return SECTIONS.filter((make) => make !== pathsSection || report.paths).map((make) =>
      make(report),
    );
  }

  function start(report) {
    readTheme();
    const otherSections = globalThis.omnioPages?.(MEANS)[report.format];
    const sections = (otherSections ?? reportSections)(report);
    showContents(sections);
    document.getElementById("report").append(...sections);
    showEnd(report);
    charts.forEach(startChart);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
    watchPrinting();
  }

  try {
    start(JSON.parse(document.getElementById("data").textContent));
  } catch (error) {
    document
      .getElementById("report")
      .prepend(empty(`The report cannot be shown: ${error.message}`));
    throw error;
  }
})();
