"use strict";

const $ = (id) => document.getElementById(id);
const make = (tag, className, text) => {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
};

// What a page opens with where English can be translated with context: the second sentence of each
// paragraph has a pronoun whose translation depends on the first.
const EXAMPLE = `The report was published yesterday. It contains many interesting proposals.

This is my coat. It is warm.

The door is open. Please close it.
`;

let models = [];
let file = null;
let running = null; // AbortController of the translation in progress
let shown = null; // what the list shows: sources, translations, documents, model, context
let finished = null; // name and content for the download
let key = sessionStorage.getItem("abridge-key") || "";

const headers = (more) => (key ? { ...more, Authorization: `Bearer ${key}` } : more);

function complain(message) {
  $("problem").textContent = message;
  $("problem").hidden = !message;
}

async function failure(response) {
  if (response.status === 401) $("key-field").hidden = false;
  try {
    return (await response.json()).error.message;
  } catch {
    return `the server answered ${response.status}`;
  }
}

// The server.

async function loadModels() {
  try {
    const response = await fetch("/v1/models", { headers: headers({}) });
    if (!response.ok) return complain(await failure(response));
    // A model with several target languages is offered once for each.
    models = (await response.json()).models.flatMap((model) => model.targets.length > 1
      ? model.targets.map((target) => ({ ...model, target, key: `${model.name}/${target}`, to: { target } }))
      : [{ ...model, key: model.name, to: {} }]);
  } catch {
    return complain("The server cannot be reached.");
  }
  $("key-field").hidden = true;
  complain("");
  const name = (code) => {
    try {
      return new Intl.DisplayNames(["en"], { type: "language" }).of(code);
    } catch {
      return code;
    }
  };
  $("model").replaceChildren(...models.map((model) => {
    const isNamed = model.source !== "und";
    const pair = isNamed ? `${name(model.source)} to ${name(model.target)}` : model.name;
    const isAlone = models.filter((m) => m.source === model.source && m.target === model.target).length === 1;
    const option = make("option", "", isAlone || !isNamed ? pair : `${pair} (${model.name})`);
    option.value = model.key;
    return option;
  }));
  offerContext();
  offerExample();
}

function offerExample() {
  const [first] = models;
  if ($("text").value || file || first?.source !== "en" || first.context_size === 0) return;
  $("text").value = EXAMPLE;
  $("compare").checked = true;
}

function offerContext() {
  const model = models.find((model) => model.key === $("model").value);
  if (!model) return;
  const option = (count) => {
    const option = make("option", "", count === 0 ? "none" : String(count));
    option.value = count;
    return option;
  };
  const counts = Array.from({ length: model.context_size + 1 }, (_, i) => model.context_size - i);
  $("context").replaceChildren(...counts.map(option));
  $("compare").disabled = model.context_size === 0;
}

// Reads server-sent events from an answer; EventSource cannot send a body.
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    waiting += value;
    let end;
    while ((end = waiting.indexOf("\n\n")) >= 0) {
      const lines = waiting.slice(0, end).split("\n");
      waiting = waiting.slice(end + 2);
      const field = (name) => lines.filter((line) => line.startsWith(name))
        .map((line) => line.slice(name.length)).join("\n");
      const data = field("data: ");
      if (data) yield { name: field("event: "), data: JSON.parse(data) };
    }
  }
}

function ask(context, signal) {
  const { name: model, to } = models.find((model) => model.key === $("model").value) ?? {};
  const accept = { Accept: "text/event-stream" };
  if (file) {
    const query = new URLSearchParams({ name: file.name, model, context, ...to });
    const kind = { ...accept, "Content-Type": "text/plain" };
    return fetch(`/v1/files?${query}`, { method: "POST", headers: headers(kind), body: file, signal });
  }
  const kind = { ...accept, "Content-Type": "application/json" };
  const body = JSON.stringify({ text: $("text").value, model, context, ...to, stream: true });
  return fetch("/v1/translate", { method: "POST", headers: headers(kind), body, signal });
}

// One translation: calls `heard` with each event until the end.
async function translateWith(context, signal, heard) {
  const response = await ask(context, signal);
  if (!response.ok) throw new Error(await failure(response));
  let isDone = false;
  for await (const event of events(response)) {
    if (event.name === "error") throw new Error(event.data.error.message);
    isDone ||= event.name === "done";
    heard(event);
  }
  if (!isDone) throw new Error("The connection ended before the translation did.");
}

async function translate() {
  if (running) return;
  complain("");
  if (!file && !$("text").value.trim()) {
    complain("There is nothing to translate yet: paste a text or choose a file.");
    $("text").focus();
    return;
  }
  running = new AbortController();
  finished = null;
  const context = Number($("context").value);
  shown = { sources: [], translations: [], documents: [], model: $("model").value, context, rows: [] };
  $("sentences").replaceChildren();
  $("results").hidden = false;
  $("status").textContent = "Waiting for the server";
  $("progress").value = 0;
  setBusy(true);
  try {
    await translateWith(context, running.signal, heardMain);
    if ($("compare").checked && context > 0) {
      $("status").textContent = "Translating without context";
      const without = [];
      await translateWith(0, running.signal, ({ name, data }) => {
        if (name === "sentence") {
          without[data.index] = data.translation;
          compare(data.index, data.translation);
        }
      });
      const differ = without.filter((text, i) => text !== shown.translations[i]).length;
      const verb = differ === 1 ? "differs" : "differ";
      $("status").textContent = `${counted(shown.sources.length)}; ${differ} ${verb} without context`;
    } else {
      $("status").textContent = counted(shown.sources.length);
    }
  } catch (error) {
    const isStopped = error.name === "AbortError";
    $("status").textContent = isStopped ? "Stopped" : "Not finished";
    if (!isStopped) complain(error.message);
  } finally {
    running = null;
    setBusy(false);
  }
}

const counted = (number) => number === 1 ? "1 sentence" : `${number} sentences`;

function heardMain({ name, data }) {
  if (name === "start") {
    shown.sources = data.sentences;
    shown.documents = data.documents || [data.sentences.length];
    shown.rows = data.sentences.map(addRow);
    $("sentences").replaceChildren(...shown.rows.map((row) => row.item));
  } else if (name === "sentence") {
    shown.translations[data.index] = data.translation;
    const { translation } = shown.rows[data.index];
    translation.textContent = data.translation;
    translation.classList.remove("waiting");
    const done = shown.translations.length;
    $("progress").value = done / shown.sources.length;
    $("status").textContent = `${done} of ${counted(shown.sources.length)}`;
  } else if (name === "done") {
    const model = models.find((model) => model.key === shown.model);
    const target = model && model.target !== "und" ? `.${model.target}` : "";
    finished = { name: data.name || `translation${target}.txt`, content: data.content ?? data.text };
    $("progress").value = 1;
  }
}

function setBusy(isBusy) {
  $("translate").disabled = isBusy;
  $("stop").hidden = !isBusy;
  $("copy").disabled = !finished;
  $("download").disabled = !finished;
  $("sentences").setAttribute("aria-busy", String(isBusy));
}

// The list.

function addRow(source, index) {
  const item = make("li");
  const button = make("button", "row");
  button.type = "button";
  button.setAttribute("aria-expanded", "false");
  const translation = make("span", "translation waiting", "…");
  button.append(make("span", "source", source), translation);
  button.addEventListener("click", () => inspect(index));
  item.append(button);
  return { item, button, translation, panel: null };
}

// Marks the words of a text that are not in its longest common subsequence with another.
function differing(text, other) {
  const [a, b] = [text.split(" "), other.split(" ")];
  const common = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const parts = [];
  let j = 0;
  a.forEach((word, i) => {
    while (j < b.length && a[i] !== b[j] && common[i][j + 1] >= common[i + 1][j]) j++;
    const isSame = j < b.length && word === b[j];
    if (isSame) j++;
    if (i > 0) parts.push(" ");
    parts.push(isSame ? word : make("mark", "", word));
  });
  return parts;
}

function compare(index, without) {
  const { button, translation } = shown.rows[index];
  const withContext = shown.translations[index];
  if (without === withContext) return;
  translation.replaceChildren(...differing(withContext, without));
  const line = make("span", "without", "without context: ");
  line.append(...differing(without, withContext));
  button.append(line);
}

// Attention.

function before(index) {
  let first = 0;
  for (const length of shown.documents) {
    if (index < first + length) break;
    first += length;
  }
  return shown.sources.slice(Math.max(first, index - shown.context), index);
}

async function inspect(index) {
  const row = shown.rows[index];
  if (shown.translations[index] === undefined) return;
  if (row.panel) {
    row.panel.remove();
    row.panel = null;
    row.button.setAttribute("aria-expanded", "false");
    return;
  }
  row.panel = make("div", "inspect");
  row.panel.setAttribute("aria-live", "polite");
  row.panel.append(make("p", "", "Loading…"));
  row.item.append(row.panel);
  row.button.setAttribute("aria-expanded", "true");
  const panel = row.panel;
  const { name: model, to } = models.find((model) => model.key === shown.model) ?? {};
  try {
    const response = await fetch("/v1/translate", {
      method: "POST",
      headers: headers({ "Content-Type": "application/json" }),
      body: JSON.stringify({
        model,
        ...to,
        context: shown.context,
        before: before(index),
        sentences: [shown.sources[index]],
        options: { attention: true },
      }),
    });
    if (!response.ok) throw new Error(await failure(response));
    const looked = (await response.json()).attention[0];
    panel.replaceChildren(...(looked ? view(looked) : [make("p", "", "There is nothing to show.")]));
  } catch (error) {
    panel.replaceChildren(make("p", "problem", error.message));
  }
}

const away = (distance) => distance === 0 ? "this sentence" : distance === 1 ? "the sentence before" : `${distance} sentences before`;
const percent = (weight) => `${(weight * 100).toFixed(weight < 0.0995 ? 1 : 0)} %`;
const sum = (weights) => weights.reduce((total, weight) => total + weight, 0);

// The mean over all words of the translation, or the weights of one.
function weightsOf(rows, chosen) {
  if (chosen !== null) return rows[chosen];
  return (rows[0] || []).map((_, column) => rows.reduce((sum, row) => sum + row[column], 0) / rows.length);
}

function view(looked) {
  const context = looked.context.filter((sentence) => sentence.distance > 0);
  if (context.length === 0) {
    return [make("p", "", "This translation looked at no earlier sentence.")];
  }
  const result = make("div");
  const words = make("div", "words");
  words.setAttribute("role", "group");
  words.setAttribute("aria-label", "Words of the translation");
  const show = (chosen, button) => {
    words.querySelectorAll("button").forEach((b) => b.setAttribute("aria-pressed", String(b === button)));
    result.replaceChildren(...weighed(looked, context, chosen));
  };
  const choices = looked.target.map((word, i) => [i, word]).filter(([, word]) => word !== "⏎");
  for (const [place, word] of [[null, "all words"], ...choices]) {
    const button = make("button", "", word);
    button.type = "button";
    button.addEventListener("click", () => show(place, button));
    words.append(button);
  }
  show(null, words.firstChild);
  return [make("h3", "", "Which word of the translation?"), words, make("h3", "", "It looked at"), result];
}

function weighed(looked, context, chosen) {
  const all = [];
  let wordless = 0; // the weight of entries without a word
  const lines = context.map((sentence) => {
    const weights = weightsOf(sentence.weights, chosen);
    const line = make("p", "shaded");
    const total = sum(weightsOf(sentence.entry_weights, chosen));
    wordless += total - sum(weights);
    line.append(make("span", "distance", `${away(sentence.distance)}, ${percent(total)}`));
    sentence.words.forEach((word, i) => {
      const span = make("span", "", word);
      span.title = percent(weights[i]);
      all.push({ word, weight: weights[i], distance: sentence.distance, span });
      line.append(span, " ");
    });
    return line;
  });
  const strongest = Math.max(...all.map(({ weight }) => weight), 1e-6);
  all.forEach(({ span, weight }) => span.style.setProperty("--weight", (0.75 * weight / strongest).toFixed(3)));
  const named = all.filter(({ weight }) => weight >= 0.01).sort((a, b) => b.weight - a.weight).slice(0, 5);
  const summary = named.map(({ word, weight, distance }) => `“${word}” (${away(distance)}) ${percent(weight)}`);
  const details = make("details");
  details.append(make("summary", "", "Memory entries"));
  const table = make("table");
  const head = make("tr");
  ["Entry", "Weight", "Made of"].forEach((text) => {
    const cell = make("th", "", text);
    cell.scope = "col";
    head.append(cell);
  });
  table.append(head);
  for (const sentence of context) {
    weightsOf(sentence.entry_weights, chosen).forEach((weight, row) => {
      const parts = sentence.shares[row].map((share, i) => [share, sentence.words[i]])
        .filter(([share]) => share >= 0.05).sort((a, b) => b[0] - a[0]).slice(0, 6);
      const line = make("tr");
      const cells = [`${away(sentence.distance)}, ${row + 1}`, percent(weight),
        parts.map(([share, word]) => `${word} ${percent(share)}`).join(", ") || "no word"];
      cells.forEach((text) => line.append(make("td", "", text)));
      table.append(line);
    });
  }
  details.append(table);
  const isOwn = looked.context.some((sentence) => sentence.distance === 0);
  const most = summary.length ? `Most: ${summary.join(", ")}.` : "At no word in particular.";
  const empty = wordless >= 0.01 ? ` Entries without a word got ${percent(wordless)}.` : "";
  const rest = isOwn ? " The rest went to the memory of the sentence itself." : "";
  const text = most + empty + rest;
  return [...lines, make("p", "", text), details];
}

// Files and buttons.

function choose(chosen) {
  file = chosen;
  $("chosen").hidden = !file;
  $("chosen-name").textContent = file ? file.name : "";
  $("text").disabled = Boolean(file);
  if (!file) $("file").value = "";
}

$("file").addEventListener("change", () => choose($("file").files[0] || null));
$("remove").addEventListener("click", () => { choose(null); $("text").focus(); });
for (const name of ["dragenter", "dragover"]) {
  $("drop").addEventListener(name, (event) => { event.preventDefault(); $("drop").classList.add("over"); });
}
$("drop").addEventListener("dragleave", () => $("drop").classList.remove("over"));
$("drop").addEventListener("drop", (event) => {
  event.preventDefault();
  $("drop").classList.remove("over");
  if (event.dataTransfer.files[0]) choose(event.dataTransfer.files[0]);
});
$("model").addEventListener("change", offerContext);
// The example gives way to the first text that is typed or pasted.
$("text").addEventListener("focus", () => { if ($("text").value === EXAMPLE) $("text").select(); });
$("form").addEventListener("submit", (event) => { event.preventDefault(); translate(); });
$("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) translate();
});
$("stop").addEventListener("click", () => running?.abort());
$("use-key").addEventListener("click", () => {
  key = $("key").value.trim();
  sessionStorage.setItem("abridge-key", key);
  loadModels();
});
// Browsers offer the clipboard API only over HTTPS and on localhost; otherwise use execCommand.
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = make("textarea", "visually-hidden");
  field.value = text;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  $("copy").focus();
  if (!isCopied) throw new Error("refused");
}
$("copy").addEventListener("click", async () => {
  complain("");
  try {
    await copy(finished.content);
    $("status").textContent = "Copied";
  } catch {
    complain("The browser did not allow copying; use Download.");
  }
});
$("download").addEventListener("click", () => {
  const link = make("a");
  link.href = URL.createObjectURL(new Blob([finished.content], { type: "text/plain;charset=utf-8" }));
  link.download = finished.name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});

loadModels();
