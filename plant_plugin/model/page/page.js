
"use strict";
// All text enters the page as text nodes: markup inside a note stays text.
const data = JSON.parse(document.getElementById("data").textContent);
const MEANING = {
  contribution: "Contribution: how much the word adds to the label's score, in logits; with the rows under the text it sums to the score.",
  attention: "Attention: the share of its attention that the label gives to the word; it does not tell for or against.",
  relevance: "Relevance: mutual information of word and label in the training documents, the label's best word being 1.",
};
const COLUMN = { contribution: 2, attention: 1, relevance: 3 }; // of a word in the data
const SHOWN = { contribution: (value) => signed(value), attention: (value) => percent(value), relevance: (value) => value.toFixed(2) };
const CROWD = 0.02; // words below this share of the strongest are not highlighted
let chosen = null;
let measure = "contribution";

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
const counted = (count, one, more = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : more}`;
const percent = (value) => value >= 0.0995 ? `${Math.round(100 * value)} %` : `${(100 * value).toFixed(1)} %`;
const size = (value) => Math.abs(value).toFixed(2);
const signed = (value) => `${value < 0 && Number(size(value)) ? "−" : "+"}${size(value)}`; // 0 is +0.00
// Characters count as Python counts them: by code points.
const characters = Array.from(data.text);
const slice = (start, end) => characters.slice(start, end).join("");

// The label list: every label that any model explains, in the order of its highest probability.
const labels = new Map();
for (const [place, model] of data.models.entries())
  for (const found of model.labels) {
    if (!labels.has(found.label)) labels.set(found.label, { name: found.name, by: [], best: 0 });
    const entry = labels.get(found.label);
    entry.by[place] = found;
    entry.best = Math.max(entry.best, found.probability);
  }
const buttons = new Map();
for (const [label, entry] of [...labels].sort((one, other) => other[1].best - one[1].best)) {
  const button = element("button", { type: "button", "aria-pressed": "false" },
    element("span", { class: "code" }, label), entry.name || "");
  data.models.forEach((model, place) => {
    const found = entry.by[place];
    const where = data.models.length > 1 ? `${model.model}: ` : "";
    const what = !found ? "not a label of this model" : `${percent(found.probability)}${found.predicted ? "" : ", below the threshold"}`;
    button.append(element("span", { class: found && found.predicted ? "odds" : "odds below" }, where + what));
  });
  const hints = Math.max(...entry.by.map((found) => (found && found.hints || []).length));
  if (hints) button.append(element("span", { class: "hinted" }, counted(hints, "hint")));
  button.addEventListener("click", () => choose(label));
  buttons.set(label, button);
  document.getElementById("labels").append(element("li", {}, button));
}

// One pane for each model: the document, cut into words once, and the evidence below it.
const panes = data.models.map((model) => {
  const text = element("div", { class: "text", tabindex: "0", role: "region", "aria-label": `Document as read by ${model.model}` });
  const words = [];
  let end = 0;
  for (const [start, stop] of model.words) {
    if (start > end) text.append(slice(end, start));
    const word = element("span", {}, slice(start, stop));
    text.append(word);
    words.push(word);
    end = stop;
  }
  if (model.cut) text.append(element("span", { class: "unread" }, slice(end)));
  else text.append(slice(end));
  const title = element("h2", {});
  const evidence = element("div", {});
  const notes = [];
  if (model.unknown) notes.push(model.unknown);
  if (model.cut) notes.push(`The network read only the first ${counted(model.tokens, "token")}, not what is struck out.`);
  const article = element("article", {}, title, ...notes.map((note) => element("p", { class: "note" }, note)), text, evidence);
  document.getElementById("document").append(article);
  return { model, title, text, words, evidence };
});

function row(cells, numbers) {
  return element("tr", {}, ...cells.map((cell, place) =>
    element("td", numbers.includes(place) ? { class: "number" } : {}, cell)));
}
function table(caption, heads, rows, numbers) {
  const head = element("tr", {}, ...heads.map((text, place) =>
    element("th", numbers.includes(place) ? { class: "number", scope: "col" } : { scope: "col" }, text)));
  return [element("h3", {}, caption), element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows))];
}

function highlight(pane, found) {
  const values = new Map();
  const column = COLUMN[measure];
  for (const entry of found ? found.words : []) if (entry[column]) values.set(entry[0], entry[column]);
  const largest = Math.max(0, ...[...values.values()].map(Math.abs));
  pane.words.forEach((word, place) => {
    const share = largest ? Math.abs(values.get(place) || 0) / largest : 0;
    const shown = share >= CROWD;
    if (shown !== (word.tagName === "MARK")) {
      const other = element(shown ? "mark" : "span", {}, ...word.childNodes);
      word.replaceWith(other);
      word = pane.words[place] = other;
    }
    if (!shown) return;
    word.className = `${values.get(place) > 0 ? "plus" : "minus"} ${share >= 0.5 ? "strong" : ""}`;
    word.style.setProperty("--strength", (0.12 + 0.5 * share).toFixed(2));
    word.title = `${measure} ${measure === "attention" ? percent(values.get(place)) : signed(values.get(place))}`;
  });
}

function go(pane, first, last) {
  const here = pane.words.slice(first, last + 1);
  pane.text.querySelectorAll(".here").forEach((word) => word.classList.remove("here"));
  here.forEach((word) => word.classList.add("here"));
  const box = pane.text.getBoundingClientRect(), at = here[0].getBoundingClientRect();
  pane.text.scrollTop += at.top - box.top - box.height / 3;
  document.getElementById("said").textContent = "Shown in the document.";
}

// A hint about a word is a button that shows it.
function hintText(pane, hint) {
  const place = "start" in hint ? pane.model.words.findIndex(([, stop]) => stop > hint.start) : -1;
  if (place < 0) return hint.text;
  const button = element("button", { type: "button", title: "show in the document" }, hint.text);
  button.addEventListener("click", () => go(pane, place, place));
  return button;
}

function explain(pane, label, found) {
  const several = data.models.length > 1 ? `${pane.model.model}: ` : "";
  const name = labels.get(label).name;
  pane.evidence.replaceChildren();
  if (!found) { pane.title.textContent = `${several}${label}: not a label of this model`; return; }
  pane.title.textContent = `${several}${label}${name ? ` ${name}` : ""}, ${percent(found.probability)}`
    + (found.predicted ? "" : " (below the threshold)");
  if (found.accepted)
    pane.evidence.append(element("p", { class: "promise" },
      `One of the likely labels of which ${percent(found.accepted)} are true, on documents like those that the model was validated on.`));
  if (found.hints)
    pane.evidence.append(element("h3", {}, "Coding rules"), element("ul", { class: "hints" },
      ...found.hints.map((hint) => element("li", {}, hintText(pane, hint)))));
  const unit = found.exact ? "adds (logits)" : "attention";
  const passages = found.passages.map((passage) => {
    const button = element("button", { type: "button", title: "show in the document" },
      element("span", { class: "soft" }, "…" + slice(passage.from, passage.start)),
      element("strong", {}, slice(passage.start, passage.end)),
      element("span", { class: "soft" }, slice(passage.end, passage.to) + "…"));
    button.addEventListener("click", () => go(pane, passage.first, passage.last));
    return row([button, found.exact ? signed(passage.score) : percent(passage.score)], [1]);
  });
  pane.evidence.append(...(passages.length ? table("Passages that speak for it", ["passage", unit], passages, [1])
    : [element("p", { class: "note" }, "No word of the document speaks for this label.")]));
  if (found.exact) {
    const sum = found.words_sum;
    const parts = [["all words of the document", sum]];
    if (found.planted) parts.push(["planted scores (linear model)", found.planted]);
    if (Math.abs(found.elsewhere) >= 0.005) parts.push(["special tokens", found.elsewhere]);
    parts.push(["the label itself, in any document", found.bias], ["score (logit)", found.logit]);
    pane.evidence.append(...table(`Where ${percent(found.probability)} comes from`, ["part", "adds (logits)"],
      parts.map(([part, value]) => row([part, signed(value)], [1])), [1]));
    if (found.planted_terms.length)
      pane.evidence.append(...table("Terms of the planted scores", ["term", "adds (logits)"],
        found.planted_terms.map(({ term, contribution }) => row([term, signed(contribution)], [1])), [1]));
  }
  const shown = found.words.filter((word) => !found.exact || Math.abs(word[2]) >= 0.005);  // else +0.00
  const strongest = shown.sort((one, other) =>
    Math.abs(other[found.exact ? 2 : 1]) - Math.abs(one[found.exact ? 2 : 1])).slice(0, 15);
  const measures = Object.keys(COLUMN).filter((name) => found.words.some((word) => word[COLUMN[name]]));
  const heads = measures.map((name) => name === "relevance" ? "relevance (MIG)" : name);
  pane.evidence.append(...table("Strongest words", ["word", ...heads],
    strongest.map((word) => {
      const button = element("button", { type: "button", title: "show in the document" }, slice(...pane.model.words[word[0]]));
      button.addEventListener("click", () => go(pane, word[0], word[0]));
      return row([button, ...measures.map((name) => SHOWN[name](word[COLUMN[name]]))], [1, 2, 3]);
    }), [1, 2, 3]));
  if (found.faithfulness)
    pane.evidence.append(...table("If the strongest words go, or only they stay",
      ["words ordered by", "probability lost without them", "probability lost with them alone"],
      Object.entries(found.faithfulness).map(([order, pair]) => row([order, ...pair.map((value) => value.toFixed(2))], [1, 2])), [1, 2]));
}

function choose(label) {
  chosen = label;
  for (const [other, button] of buttons) button.setAttribute("aria-pressed", String(other === label));
  panes.forEach((pane, place) => {
    const found = labels.get(label).by[place];
    explain(pane, label, found);
    highlight(pane, found);
  });
  document.getElementById("said").textContent = `Evidence for ${label}.`;
}
function showBy(value) {
  measure = value;
  document.getElementById("meaning").textContent = MEANING[value];
  document.getElementById("against").hidden = value !== "contribution";
  if (chosen !== null) panes.forEach((pane, place) => highlight(pane, labels.get(chosen).by[place]));
}
for (const radio of document.querySelectorAll("input[name=measure]")) {
  radio.addEventListener("change", () => showBy(radio.value));
}
// What no model knows of any word cannot be chosen.
const radios = [...document.querySelectorAll("input[name=measure]")];
for (const radio of radios)
  radio.disabled = !data.models.some((model) => model.labels.some((found) => found.words.some((word) => word[COLUMN[radio.value]])));
const first = radios.find((radio) => !radio.disabled) || radios[0];
first.checked = true;
showBy(first.value);
if (buttons.size) choose([...buttons.keys()][0]);
