"use strict";
// What the page says, in the reader's language: English stands in the code, with other languages in a catalogue. A key is
// an English sentence with {0}, {1} … where it has values: t`Document ${name}` is "Document {0}". What has no entry stays English.
const LANGUAGE = document.documentElement.lang, TEXTS = JSON.parse(document.getElementById("texts").textContent);
const filled = (sentence, values) => sentence.replace(/\{(\d)\}/g, (_, place) => values[place]);
const translated = (sentence, ...values) => filled(TEXTS.page[sentence] ?? sentence, values);
const t = (parts, ...values) => translated(parts.reduce((before, part, place) => `${before}{${place - 1}}${part}`), ...values);
const number = (value) => value === null ? "–" : value.toLocaleString(LANGUAGE, { maximumFractionDigits: 2 });
const counted = (many, one, more, ...values) => translated(many === 1 ? one : more, number(many), ...values);

// What the server says has its values in it already: the longest key that fits is the sentence, and so for its values.
const PATTERNS = Object.entries(TEXTS.server).sort(([one], [other]) => other.length - one.length).map(([english, own]) => {
  const plain = english.replace(/[.*+?^$()|[\]{}\\]/g, "\\$&");
  return [new RegExp(`^${plain.replace(/\\\{\d\\\}/g, "(.+?)")}$`), own]; // a value is of one line
});
function serverSaid(text) {
  for (const [pattern, own] of PATTERNS) {
    const found = pattern.exec(text);
    if (found) return filled(own, found.slice(1).map(serverSaid));
  }
  return text;
}

const chooser = document.getElementById("language");
chooser.value = LANGUAGE;
chooser.addEventListener("change", () => { location.search = new URLSearchParams({ language: chooser.value }); });
