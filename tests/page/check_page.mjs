// Opens a page of omnio report, compare or diff in Debian's Chromium, without a network, and checks what its readers rely on.
//
//   npm ci --ignore-scripts                     (once, in this directory)
//   node check_page.mjs PAGE.html [--screenshots DIR] [--expect JSON]
//
//   --screenshots DIR   writes pictures of the page, light and dark, at two sizes
//   --expect JSON       the sums that the tables of the page must have, or a file that has them:
//                       {"calls":n,"bytes_read":n,"bytes_written":n,"files":n}
//
// Prints a sentence for each check that fails, and last "N checks, M failed". Exits with 1 when one
// failed, with 2 when it is called wrongly. CHROMIUM names another browser than /usr/bin/chromium.
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";

const MAX_BYTES = 2 * 1024 * 1024;
const SIZES = [
  { width: 1280, height: 800 },
  { width: 1920, height: 1080 },
];
const FEWEST_SECTIONS = {
  "omnio-report": 7,
  "omnio-comparison-page": 9,
  "omnio-difference-page": 7,
  "omnio-prediction": 11,
};
const PATIENCE_MS = 240_000; // ends what hangs
const NARROW = { width: 400, height: 800 };
const axeSource = readFileSync(
  createRequire(import.meta.url).resolve("axe-core/axe.min.js"),
  "utf8",
);

let checks = 0;
let failed = 0;
function check(isGood, sentence) {
  checks += 1;
  if (isGood) return;
  failed += 1;
  console.log(`FAILED: ${sentence}`);
}

function readArguments() {
  const usage = "usage: check_page.mjs PAGE.html [--screenshots DIR] [--expect JSON]";
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { screenshots: { type: "string" }, expect: { type: "string" } },
    });
    if (positionals.length !== 1) throw new Error("one page is needed");
    const page = resolve(positionals[0]);
    if (!existsSync(page)) throw new Error(`${page} does not exist`);
    const text =
      values.expect && existsSync(values.expect)
        ? readFileSync(values.expect, "utf8")
        : values.expect;
    return { page, screenshots: values.screenshots, expect: text ? JSON.parse(text) : null };
  } catch (error) {
    console.error(`check_page.mjs: ${error.message}; ${usage}`);
    process.exit(2);
  }
}

// ------------------------------------------------------------------ single checks

function checkSize(path) {
  const { size } = statSync(path);
  check(size <= MAX_BYTES, `the page has ${size} bytes, more than ${MAX_BYTES}`);
}

async function checkSections(page) {
  const sections = await page.evaluate(() =>
    [...document.querySelectorAll("main > section")].map((section) => ({
      id: section.id,
      hasContent:
        section.querySelector("[data-chart] canvas, [data-picture] svg, .empty:not([hidden]), table, dl, .findings > li") !== null,
      title: section.querySelector("h2")?.textContent ?? "",
    })),
  );
  const format = await page.evaluate(
    () => JSON.parse(document.getElementById("data").textContent).format,
  );
  const fewest = FEWEST_SECTIONS[format] ?? Infinity;
  check(
    sections.length >= fewest,
    `the page of ${format} has ${sections.length} sections, fewer than ${fewest}`,
  );
  for (const { id, hasContent, title } of sections) {
    check(title !== "", `section ${id} has no heading`);
    check(
      hasContent,
      `section ${id} has neither a chart, a table nor a sentence about why it is empty`,
    );
  }
}

async function checkCharts(page) {
  const charts = await page.evaluate(() =>
    [...document.querySelectorAll("[data-chart]")].map((holder) => {
      const colours = new Set();
      for (const canvas of holder.querySelectorAll("canvas")) {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const pixels = new Uint32Array(data.buffer);
        for (let at = 0; at < pixels.length && colours.size < 4; at += 1) colours.add(pixels[at]);
      }
      const twin = holder.dataset.twinTable;
      return {
        name: holder.dataset.chart,
        colours: colours.size,
        label: holder.getAttribute("aria-label") ?? "",
        role: holder.getAttribute("role"),
        hasTwin: twin
          ? document.getElementById(twin) !== null
          : holder.parentElement.querySelector("details[data-twin]") !== null,
      };
    }),
  );
  for (const { name, colours, label, role, hasTwin } of charts) {
    check(colours >= 4, `chart ${name} is blank`);
    check(role === "img" && label.length > 20, `chart ${name} has no text summary`);
    check(hasTwin, `chart ${name} has no table of its numbers`);
  }
  return charts.map(({ name }) => name);
}

// Each choice of a chart draws something else, or says that it has no data.
async function checkChoices(page) {
  for (const group of await page.locator("fieldset.choices").all()) {
    const figure = group
      .locator("xpath=ancestor::figure | ancestor::div[contains(@class,'part')]")
      .last();
    const seen = new Map();
    const radios = await group.locator("input[type=radio]").all();
    for (const radio of radios) {
      await radio.check();
      const value = await radio.inputValue();
      const picture = await figure.evaluate((node) => {
        const empty = node.querySelector(".empty:not([hidden])");
        return empty
          ? empty.textContent
          : [...node.querySelectorAll("canvas")].map((canvas) => canvas.toDataURL()).join();
      });
      const same = [...seen].find(
        ([, other]) => other === picture && !picture.startsWith("The trace has no"),
      );
      // Kinds that a trace has none of look alike: an empty heat map is a right one.
      if (same) {
        const label = await figure.locator("[data-chart]").getAttribute("aria-label");
        check(/ 0\s%| 0 /.test(label), `the choice ${value} shows the same picture as ${same[0]}`);
      } else {
        check(picture.length > 0, `the choice ${value} shows nothing`);
      }
      seen.set(value, picture);
    }
    await radios[0].check();
  }
}

async function checkTwins(page) {
  for (const details of await page.locator("details[data-twin]").all()) {
    if (!(await details.isVisible())) continue;
    const before = await details.locator("table").count();
    await details.locator("summary").click();
    await details
      .locator("table")
      .waitFor()
      .catch(() => {});
    const rows = await details.locator("tbody tr").count();
    const name = await details.evaluate(
      ({ parentElement: figure }) =>
        figure.querySelector("[data-chart]")?.dataset.chart ??
        figure.querySelector("[data-picture]").dataset.picture,
    );
    check(before === 0, `the table of chart ${name} is made before it is opened`);
    check(
      rows > 0 && rows <= 200,
      `the table of chart ${name} has ${rows} rows in place of 1 to 200`,
    );
    await details.locator("summary").click();
  }
}

// A candidate whose figure is of memory has a mark beside its name, and no other one has it.
async function checkMarks(page) {
  const { names, wanted } = await page.evaluate(() => {
    const { ranking = [] } = JSON.parse(document.getElementById("data").textContent);
    const rows = [...document.querySelectorAll("#table-ranking tbody th")];
    return {
      names: rows.filter((row) => row.querySelector(".badge")).map(({ dataset }) => dataset.value),
      wanted: ranking
        .filter(({ evidence_of_all: all }) => all?.measured === "memory")
        .map(({ name }) => name),
    };
  });
  check(
    names.join() === wanted.join(),
    `marked as of memory: ${names.join() || "none"} in place of ${wanted.join() || "none"}`,
  );
}

function readTable(page, id) {
  return page.evaluate(
    (table) =>
      [...document.querySelectorAll(`#${table} tbody tr`)].map((row) =>
        Object.fromEntries(
          [...row.cells].map((cell) => [
            cell.dataset.column,
            { value: cell.dataset.value, isNumber: cell.classList.contains("number") },
          ]),
        ),
      ),
    id,
  );
}

async function checkSorting(page, id) {
  const before = await readTable(page, id);
  if (before.length < 2) return;
  const columns = Object.keys(before[0]);
  const first = columns[0];
  const number = columns
    .slice(1)
    .find(
      (name) => before[0][name].isNumber && new Set(before.map((row) => row[name].value)).size > 1,
    );
  if (number) {
    const button = page.locator(`#${id} thead th[data-column="${number}"] button`);
    const orders = [];
    for (const _ of [1, 2]) {
      await button.focus();
      await page.keyboard.press("Enter");
      const rows = await readTable(page, id);
      const values = rows.map((row) => Number(row[number].value));
      const direction = await page
        .locator(`#${id} thead th[data-column="${number}"]`)
        .getAttribute("aria-sort");
      const wanted = [...values].sort((a, b) => (direction === "ascending" ? a - b : b - a));
      check(
        values.every((value, at) => value === wanted[at]),
        `table ${id} is not in ${direction} order of ${number}`,
      );
      check(rows.length === before.length, `table ${id} loses rows when it is sorted by ${number}`);
      orders.push({ direction, names: rows.map((row) => row[first].value).join("\n") });
    }
    check(
      orders[0].direction !== orders[1].direction && orders[0].names !== orders[1].names,
      `table ${id} has the same order after each click on ${number}`,
    );
  }
  await page.locator(`#${id} thead th[data-column="${first}"] button`).click();
  const marked = await page.locator(`#${id} thead th[aria-sort]:not([aria-sort="none"])`).count();
  check(marked === 1, `table ${id} marks ${marked} columns as sorted in place of 1`);
}

async function checkSearch(page, id) {
  const rows = await readTable(page, id);
  const texts = rows.map((row) =>
    Object.values(row)
      .filter(({ isNumber }) => !isNumber)
      .map(({ value }) => value.toLowerCase()),
  );
  const input = page.locator(`#${id}-search`);
  const counter = page.locator(`[data-table="${id}"] [data-count]`);
  const shown = () => page.locator(`#${id} tbody tr`).count();
  const group = (number) => number.toLocaleString("en-US");
  const middle = texts[Math.floor(texts.length / 2)].find((text) => text !== "") ?? "";
  for (const word of [middle.trim(), "no such text \u2603", ""]) {
    await input.fill(word);
    const wanted = texts.filter((list) => list.some((text) => text.includes(word))).length;
    check(
      (await shown()) === wanted,
      `table ${id} shows ${await shown()} rows for the search "${word}" in place of ${wanted}`,
    );
    const text = await counter.textContent();
    check(
      text.startsWith(`${group(wanted)} of ${group(rows.length)} `),
      `table ${id} says "${text}" for ${wanted} of ${rows.length} rows`,
    );
  }
}

async function checkTables(page) {
  const ids = await page.evaluate(() =>
    [...document.querySelectorAll("[data-table]")].map((node) => node.dataset.table),
  );
  for (const id of ids) {
    await checkSearch(page, id);
    await checkSorting(page, id);
  }
  return ids;
}

function pictures(page, selector) {
  return page.evaluate(
    (wanted) =>
      [...document.querySelectorAll(wanted)].map((holder) =>
        [...holder.querySelectorAll("canvas")].map((canvas) => canvas.toDataURL()).join(),
      ),
    selector,
  );
}

async function checkZoom(page) {
  const toolbars = await page.locator(".zoom").count();
  if (toolbars === 0) return;
  const overTime = 
    "[data-chart=bandwidth], [data-chart=activity], [data-chart=offsets], [data-chart=phases-over-time]";
  const texts = () => page.locator(".zoom .range").allTextContents();
  const press = async (name) => {
    await page.locator(`.zoom [data-zoom=${name}]`).first().focus();
    await page.keyboard.press("Enter");
  };
  const whole = await texts();
  const drawn = await pictures(page, overTime);
  let last = whole[0];
  for (const name of ["in", "in", "later", "earlier", "out"]) {
    await press(name);
    const now = await texts();
    check(now[0] !== last, `the button ${name} changes nothing: the time shown stays "${last}"`);
    check(
      now.every((text) => text === now[0]),
      `after ${name} the charts show different times: ${now.join("; ")}`,
    );
    last = now[0];
    if (name === "in") {
      const zoomed = await pictures(page, overTime);
      zoomed.forEach((picture, at) =>
        check(
          picture !== drawn[at],
          `chart ${at + 1} over time does not follow the button ${name}`,
        ),
      );
    }
  }
  await press("reset");
  check(
    (await texts())[0] === whole[0],
    `the button reset shows "${(await texts())[0]}" in place of "${whole[0]}"`,
  );
  const again = await pictures(page, overTime);
  check(
    again.every((picture, at) => picture === drawn[at]),
    "the charts look different after zooming in and out",
  );
}

// The mouse chooses a part of the run on a chart, and moves it with the slider below the activity.
async function checkMouse(page) {
  const chart = page.locator("[data-chart=activity]");
  if ((await chart.count()) === 0) return;
  await chart.scrollIntoViewIfNeeded();
  const { x, y, width, height } = await chart.boundingBox();
  const text = () => page.locator(".zoom .range").first().textContent();
  const drag = async (from, to, down) => {
    await page.mouse.move(x + width * from, y + down);
    await page.mouse.down();
    await page.mouse.move(x + (width * (from + to)) / 2, y + down);
    await page.mouse.move(x + width * to, y + down);
    await page.mouse.up();
  };
  const whole = await text();
  await page.mouse.move(x + width * 0.5, y + 30);
  const tip = await chart
    .locator(".tip:not([hidden])")
    .textContent()
    .catch(() => "");
  check(tip.length > 10, "no tip appears where the mouse is over the activity");
  await drag(0.4, 0.7, 30);
  const part = await text();
  check(part !== whole, "dragging over the activity chooses no part of the run");
  await drag(0.58, 0.66, height - 13);
  check((await text()) !== part, "the slider moves nothing");
  await page.mouse.dblclick(x + width * 0.5, y + 30);
  check((await text()) === whole, "a double click does not show the whole run");
  await page.mouse.move(0, 0);
}

async function checkScripts(page) {
  const found = await page.evaluate(() => ({
    ran: window.__pwned !== undefined,
    scripts: document.querySelectorAll("script").length,
    elements: document.querySelectorAll(
      "main img, main iframe, main script, main object, main [onerror], main [onload], header script",
    ).length,
  }));
  check(!found.ran, "a script from the data ran");
  check(found.scripts === 3, `the page has ${found.scripts} scripts in place of 3`);
  check(found.elements === 0, `${found.elements} elements came out of the data`);
}

async function checkAccessibility(page, mode) {
  const result = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(
        ({ id, help, nodes }) =>
          `${id} (${help}) at ${nodes
            .slice(0, 3)
            .map(({ target }) => target.join(" "))
            .join(", ")}`,
      );
  });
  check(result.length === 0, `axe in ${mode} mode: ${result.join("; ")}`);
}

// Text that is wider than its box, leaves the window, or lies on other text. What scrolls by itself
// may be wider inside.
// Pictures that are SVG: their words are within them, and in colours that can be read on the page.
async function checkPictures(page, mode) {
  const found = await page.evaluate(() => {
    const light = (colour) => {
      const [red, green, blue] = colour
        .match(/\d+(\.\d+)?/g)
        .map((part) => part / 255)
        .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const behind = light(getComputedStyle(document.body).backgroundColor);
    const contrast = (colour) => {
      const [low, high] = [behind, light(colour)].sort((a, b) => a - b);
      return (high + 0.05) / (low + 0.05);
    };
    return [...document.querySelectorAll("[data-picture]")].map((holder) => {
      const svg = holder.querySelector("svg");
      const box = svg.getBoundingClientRect();
      const texts = [...svg.querySelectorAll("text")];
      const isOut = (text) => {
        const { left, right, top, bottom } = text.getBoundingClientRect();
        return left < box.left || right > box.right || top < box.top || bottom > box.bottom;
      };
      const paths = [...svg.querySelectorAll("g[data-kind] path")];
      const coloursOf = (path) => ["fill", "stroke"].map((name) => getComputedStyle(path)[name]);
      return {
        name: holder.dataset.picture,
        title: svg.querySelector("title")?.textContent ?? "",
        hasTwin: holder.parentElement.querySelector("details[data-twin]") !== null,
        texts: texts.length,
        out: texts.filter(isOut).map((text) => text.textContent),
        faint: texts
          .filter((text) => contrast(getComputedStyle(text).fill) < 4.5)
          .map((text) => text.textContent),
        faintMarks: paths
          .flatMap(coloursOf)
          .filter((colour) => colour !== "none" && contrast(colour) < 2).length,
      };
    });
  });
  for (const { name, title, hasTwin, texts, out, faint, faintMarks } of found) {
    check(title !== "" && texts > 0, `picture ${name} has no title or no text`);
    check(hasTwin, `picture ${name} has no table of its numbers`);
    check(out.length === 0, `picture ${name}, ${mode}: ${out.join(", ")} leaves it`);
    check(faint.length === 0, `picture ${name}, ${mode}: ${faint.join(", ")} cannot be read`);
    check(faintMarks === 0, `picture ${name}, ${mode}: ${faintMarks} marks cannot be seen`);
  }
}

async function checkLayout(page, { width }) {
  const found = await page.evaluate(() => {
    const problems = [];
    const name = (node) =>
      `${node.tagName.toLowerCase()}${node.className ? `.${node.className}` : ""} "${node.textContent.trim().slice(0, 40)}"`;
    const isOut = (node) =>
      node.closest(".hidden, .skip, noscript, script, style, [hidden]") !== null;
    const boxes = [];
    for (const node of document.body.querySelectorAll("*")) {
      if (isOut(node) || !node.checkVisibility()) continue;
      const isScroller = /auto|scroll/.test(getComputedStyle(node).overflowX);
      if (
        !isScroller &&
        getComputedStyle(node).display !== "inline" &&
        node.clientWidth > 0 &&
        !node.closest(".chart, svg") &&
        node.scrollWidth > node.clientWidth + 1 &&
        !node.querySelector(".scale") &&
        !node.closest(".scale")
      ) {
        problems.push(`${name(node)} is wider than its box`);
      }
      if (node.closest(".scroll, .chart")) continue;
      for (const child of node.childNodes) {
        if (child.nodeType !== Node.TEXT_NODE || child.textContent.trim() === "") continue;
        const range = document.createRange();
        range.selectNodeContents(child);
        for (const box of range.getClientRects()) {
          if (box.right > document.documentElement.clientWidth + 1 || box.left < -1)
            problems.push(`${name(node)} leaves the window`);
          boxes.push({ node, box });
        }
      }
    }
    boxes.sort((a, b) => a.box.top - b.box.top);
    boxes.forEach(({ node, box }, at) => {
      for (
        let next = at + 1;
        next < boxes.length && boxes[next].box.top < box.bottom - 6;
        next += 1
      ) {
        const other = boxes[next];
        if (
          other.node !== node &&
          other.box.left < box.right - 2 &&
          other.box.right > box.left + 2
        ) {
          problems.push(`${name(node)} lies on ${name(other.node)}`);
        }
      }
    });
    return {
      problems: [...new Set(problems)],
      scrolls: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    };
  });
  check(found.scrolls <= 0, `at ${width} px the page is ${found.scrolls} px wider than the window`);
  check(found.problems.length === 0, `at ${width} px: ${found.problems.slice(0, 5).join("; ")}`);
}

async function checkSums(page, expect, ids) {
  const total = (rows, column) => rows.reduce((sum, row) => sum + Number(row[column].value), 0);
  const rowsOf = async (id) => (ids.includes(id) ? readTable(page, id) : []);
  const [calls, ranks, files] = [
    await rowsOf("table-calls"),
    await rowsOf("table-ranks"),
    await rowsOf("table-files"),
  ];
  const leftOut = ids.includes("table-files")
    ? Number(await page.locator("[data-table=table-files]").getAttribute("data-left-out"))
    : 0;
  const sums = {
    calls: [
      ["the table of calls", total(calls, "count")],
      ["the table of ranks", total(ranks, "calls")],
    ],
    bytes_read: [["the table of ranks", total(ranks, "bytes_read")]],
    bytes_written: [["the table of ranks", total(ranks, "bytes_written")]],
    files: [["the table of files", files.length + leftOut]],
  };
  if (leftOut === 0) {
    const isWithin = (column) => total(files, column) <= expect[column];
    for (const column of ["bytes_read", "bytes_written"].filter((name) => name in expect)) {
      check(
        isWithin(column),
        `the table of files has ${total(files, column)} for ${column}, more than ${expect[column]}`,
      );
    }
  }
  for (const [name, wanted] of Object.entries(expect)) {
    if (!(name in sums)) {
      check(false, `--expect has the unknown member ${name}`);
      continue;
    }
    for (const [where, number] of sums[name])
      check(number === wanted, `${where} has ${number} for ${name} in place of ${wanted}`);
    const figure = Number(await page.locator(`[data-figure=${name}]`).getAttribute("data-value"));
    check(figure === wanted, `the key figures have ${figure} for ${name} in place of ${wanted}`);
  }
}

// ------------------------------------------------------------------ the run

async function open(browser, path, colorScheme, viewport) {
  const context = await browser.newContext({
    colorScheme,
    viewport,
    offline: true,
    reducedMotion: "reduce",
  });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const url = pathToFileURL(path).href;
  page.on("console", (message) => {
    if (message.type() === "error") check(false, `the console has an error: ${message.text()}`);
  });
  page.on("pageerror", (error) => check(false, `the page has an error: ${error.message}`));
  page.on("request", (request) => {
    const asked = request.url();
    if (asked !== url && !/^(data|blob):/.test(asked)) check(false, `the page asks for ${asked}`);
  });
  await page.goto(url, { waitUntil: "load" });
  await page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  );
  return page;
}

async function takePictures(page, directory, name) {
  mkdirSync(directory, { recursive: true });
  await page.screenshot({ path: join(directory, `${name}.png`) });
  await page.screenshot({ path: join(directory, `${name}-full.png`), fullPage: true });
}

async function checkUse(browser, path, expect) {
  const page = await open(browser, path, "light", SIZES[0]);
  await checkSections(page);
  await checkCharts(page);
  await checkZoom(page);
  await checkMouse(page);
  await checkChoices(page);
  await checkTwins(page);
  await checkMarks(page);
  const ids = await checkTables(page);
  if (expect) await checkSums(page, expect, ids);
  await checkScripts(page);
  await page.context().close();
}

async function checkLooks(browser, path, screenshots) {
  const name = basename(path, ".html");
  for (const mode of ["light", "dark"]) {
    for (const size of SIZES) {
      const page = await open(browser, path, mode, size);
      await checkLayout(page, size);
      await checkPictures(page, mode);
      if (screenshots)
        await takePictures(page, screenshots, `${name}-${mode}-${size.width}x${size.height}`);
      if (size === SIZES[0]) {
        // The page's policy stops scripts that are added as elements; evaluate() is not one.
        await page.evaluate(axeSource);
        await checkAccessibility(page, mode);
      }
      await page.context().close();
    }
  }
  const page = await open(browser, path, "light", NARROW);
  await checkLayout(page, NARROW);
  await checkPictures(page, "light");
  if (screenshots)
    await takePictures(page, screenshots, `${name}-light-${NARROW.width}x${NARROW.height}`);
  await page.context().close();
}

const { page: path, screenshots, expect } = readArguments();
checkSize(path);
const browser = await chromium.launch({
  timeout: PATIENCE_MS,
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});
try {
  await checkUse(browser, path, expect);
  await checkLooks(browser, path, screenshots);
} catch (error) {
  check(false, `the checks end early: ${error.message}`);
} finally {
  await browser.close();
}
console.log(`${checks} checks, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
