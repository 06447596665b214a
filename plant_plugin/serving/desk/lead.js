"use strict";
// What only leads see: the list of documents, and what each coder said of one. The server refuses others.
const STATES = { open: t`open`, begun: t`begun`, split: t`split`, done: t`done` };
const SAID = { accept: t`accepted it`, add: t`added it`, reject: t`rejected it`, "": t`left it out` };
const READING = { finished: t`finished`, "has it": t`has it`, "was given it": t`was given it`, "began it": t`began it` };
let listedLast = 0; // id of the last document of the list

// A document with the readings of its coders: codes on which they are split come first, with all words that they marked.
function withReadings(codes, readings) {
  const at = new Map(codes.map((one) => [one.label, one]));
  for (const one of readings) {
    if (!at.has(one.label)) at.set(one.label, { ...fromSearch(one.label, one.name, null), known: one.known });
    const code = at.get(one.label), marked = joined(one.by.filter((each) => each.kind !== "reject").flatMap((each) => each.spans));
    code.readings = one.by;
    code.split = one.split;
    if (marked.length) code.spans = marked;
  }
  return [...at.values()].sort((one, other) => Boolean(other.split) - Boolean(one.split));
}
function readingsOf(code) {
  if (!code.readings) return [];
  const said = code.readings.map((one) => `${one.coder} ${SAID[one.kind]}`).join(" · ");
  return [element("p", { class: code.split ? "readings split" : "readings" }, code.split ? t`Split: ${said}` : said)];
}
const unsettled = () => codes.filter((one) => one.split && !one.decision).length;

// A code that no lead decided on counts where more than half of the coders gave it.
const agreedOn = (code) => Boolean(code.readings) && 2 * code.readings.filter((one) => !["", "reject"].includes(one.kind)).length > code.readings.length;
const others = () => Object.entries(doc.orders).filter(([coder]) => coder !== me.coder);
function splitOnPrincipal() { // no code is the principal one of more than half, and the lead has not said which
  const first = others().map(([, labels]) => labels[0]);
  return first.length > 0 && !myOrder().length && !first.some((label) => 2 * first.filter((one) => one === label).length > first.length);
}
function othersOrders() {
  if (!doc) return [];
  const told = others().map(([coder, [first, ...rest]]) => element("li", {},
    rest.length ? t`${coder}: principal code ${first}, then ${rest.join(", ")}` : t`${coder}: principal code ${first}`));
  return splitOnPrincipal() ? [...told, element("li", {}, t`Split on the principal code.`)] : told;
}

// The list.
async function openDocuments() {
  if (!me || me.role !== "lead") return;
  at("documents").showModal();
  await listDocuments();
}
async function listDocuments(further = false) {
  const asked = new URLSearchParams({ state: at("documents-state").value, name: at("documents-name").value.trim(), after: further ? listedLast : 0 });
  const answer = await ask(`documents?${asked}`).catch(() => null);
  if (!answer || !answer.ok) return say(t`The list cannot be had now.`, true);
  const found = await answer.json();
  at("documents-counts").textContent = Object.keys(STATES).map((state) => t`${number(found.counts[state])} ${STATES[state]}`).join(" · ");
  const rows = found.documents.map((one) => documentRow(one, found.coders, found.remarks[one.id] || []));
  if (further) at("documents-rows").append(...rows);
  else at("documents-rows").replaceChildren(...rows);
  listedLast = found.documents.length ? found.documents[found.documents.length - 1].id : listedLast;
  at("documents-more").hidden = !found.more;
}
function documentRow(one, coders, remarks) {
  const does = (text, label, path, coder) => {
    const made = element("button", { type: "button", "aria-label": label }, text);
    made.addEventListener("click", () => change(path, { key: key(), document: one.id, ...coder() }, () => listDocuments()));
    return made;
  };
  const readers = one.readers.map((reader) => element("p", {}, `${reader.coder} ${READING[reader.state]} `,
    ...(reader.state === "finished" ? [does(t`Open again`, t`Open again for ${reader.coder}: ${one.name}`, "reopen", () => ({ coder: reader.coder }))] : [])));
  const whom = element("select", { "aria-label": t`Coder for ${one.name}` }, ...coders.map((name) => element("option", { value: name }, name)));
  const read = element("button", { type: "button", "aria-label": t`Read ${one.name}` }, t`Read`);
  read.addEventListener("click", () => { at("documents").close(); change("take", { key: key(), document: one.id }, show); });
  const wants = one.state === "done" ? "" : t`${one.readers.filter((reader) => reader.state === "finished").length} of ${one.wanted} finished`;
  return element("tr", {}, element("th", { scope: "row" }, one.name), element("td", {}, STATES[one.state], element("p", {}, wants)),
    element("td", {}, ...readers, ...remarks.map((remark) => element("p", { class: "remark" }, remarkOf(remark)))), element("td", {}, element("div", { class: "bar" }, whom, does(t`Give`, t`Give ${one.name}`, "give", () => ({ coder: whom.value })), read)));
}
at("documents-state").addEventListener("change", () => listDocuments());
at("documents-name").addEventListener("input", () => listDocuments());
at("documents-more").addEventListener("click", () => listDocuments(true));
at("documents-button").addEventListener("click", openDocuments);

// Documents and accounts, with the checks of the commands: what they refuse is said with where it is and how to mend it.
async function asLead(path, headers, body) {
  const answer = await fetch(`/desk/${path}`, { method: "POST", headers: { "x-csrf": me.csrf, ...headers }, body, cache: "no-store", redirect: "error" }).catch(() => null);
  if (answer && answer.ok) return answer.json();
  if (answer && answer.status === 413) throw new Error(t`It is larger than this server takes: plant serve --max-bytes. Or use plant desk add-documents.`);
  if (answer && answer.status === 422) throw new Error(t`The name is longer than 60 characters, or has one that it cannot have.`);
  const refusal = answer && answer.status < 500 ? await answer.json().catch(() => ({})) : {};
  throw new Error(refusal.detail ? serverSaid(refusal.detail) : t`This cannot be done now. Try it again.`);
}
async function tell(does) {
  at("team-told").textContent = t`Working …`;
  try { at("team-told").textContent = await does(); } catch (error) { at("team-told").textContent = error.message; }
}
at("upload").addEventListener("submit", (event) => {
  event.preventDefault();
  tell(async () => {
    let added = 0, there = 0;
    const notes = [];
    for (const file of at("upload-files").files) {
      const asked = new URLSearchParams({ name: file.name, coders: at("upload-coders").value });
      const found = await asLead(`upload?${asked}`, { "content-type": "application/octet-stream" }, file);
      added += found.added;
      there += found.there;
      if (found.note) notes.push(serverSaid(found.note));
    }
    await listDocuments();
    const news = counted(added, "{0} document added", "{0} documents added");
    return [t`${news}, ${number(there)} there before.`, ...notes].join("\n");
  });
});
at("account").addEventListener("submit", (event) => {
  event.preventDefault();
  tell(async () => {
    const name = at("account-name").value.trim();
    const found = await asLead("accounts", { "content-type": "application/json" }, JSON.stringify({ name, role: at("account-role").value }));
    await listDocuments();
    return t`Token of ${name}, shown only this once: ${found.token}`;
  });
});
