"use strict";
// All text enters the page as text nodes: markup inside a document stays text. Places are code points, as Python counts.
const at = (id) => document.getElementById(id);
const KEYS = {
  "a": t`accept the code`, "e": t`accept it, and the model’s words prove it`, "r": t`reject it`,
  "j ↓ / k ↑": t`next, previous code`, "m": t`mark the words that prove it: ← → ↑ ↓ move, Shift extends, Enter keeps, Delete takes away, Esc ends`,
  "/": t`search any code by number or name; for one that the desk does not know it asks again`, "u": t`undo; at the start of a document: back to the one before`,
  "n": t`finish this document, and the next`, "g": t`figures of the team (leads)`, "d": t`list of documents (leads)`, "p": t`the principal code`, "o": t`order of the accepted codes`, "w": t`why the code was not suggested`, "q": t`unsure of the code, for the lead to see`, "c": t`comment on the document, for the lead`, "?": t`these keys`,
};
let me = null, doc = null, codes = [], words = [], current = 0, marking = null, armed = false;
const UNDOING = t`Wait until what you took back is shown.`, UNKNOWN = t`a code that this desk does not know`;
const ROLES = { coder: t`coder`, lead: t`lead` };
let undoing = 0; // what is taken back and not shown yet: until then nothing is decided

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
function say(text, wrong = false) {
  at("said").textContent = text;
  at("said").classList.toggle("wrong", wrong);
}

// What is asked of the server. Changes go one after the other, each with a key of its own, and again until they are
// answered: a server that was killed in between finds the key, and counts the change once.
let line = Promise.resolve(), waiting = 0, arrived = null, unheard = false; // the server did not answer
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const key = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

async function ask(path, body) {
  const headers = { "content-type": "application/json", "x-csrf": me ? me.csrf : "" };
  const options = body === undefined ? {} : { method: "POST", headers, body: JSON.stringify(body) };
  return fetch(`/desk/${path}`, { ...options, cache: "no-store", redirect: "error" });
}
async function insist(path, body) {
  for (;;) {
    let answer = null;
    try { answer = await ask(path, body); } catch { answer = null; }
    if (answer && answer.ok) return answer.json();
    if (answer && answer.status === 401) {
      showSignIn(t`You were signed out. Nothing is lost: sign in to go on.`);
      await new Promise((done) => { arrived = done; });
    } else if (answer && answer.status < 500 && answer.status !== 408) {
      const { detail } = await answer.json().catch(() => ({}));
      throw new Error(detail && answer.status !== 422 ? serverSaid(detail) : t`refused (${answer.status})`);
    } else {
      unheard = true;
      say(t`The server does not answer; what you did is kept here and sent again.`, true);
      await pause(500);
    }
  }
}
function change(path, body, then = () => {}) { // a body that is a function is asked when its turn has come
  waiting += 1;
  line = line.then(() => insist(path, typeof body === "function" ? body() : body)).then((answer) => {
    waiting -= 1;
    if (!waiting && unheard) { unheard = false; say(t`Everything is saved.`); }
    return then(answer);
  }, (error) => {
    waiting -= 1;
    if (path !== "next") next((answer) => { show(answer); say(error.message, true); }); // how it stands
    else say(error.message, true);
  });
  return line;
}
addEventListener("beforeunload", (event) => { if (waiting) event.preventDefault(); });

// Signing in and out.
function showSignIn(text) {
  at("sign-in").hidden = false;
  at("work").hidden = true;
  at("token").focus();
  say(text);
}
function welcome(found) {
  if (me && me.coder !== found.coder) return location.reload(); // what waits is another coder's
  const first = !me;
  me = found;
  at("who").textContent = `${me.coder} (${ROLES[me.role]})`;
  for (const id of ["figures-button", "documents-button"]) at(id).hidden = me.role !== "lead";
  at("token").blur();
  at("sign-in").hidden = true;
  at("work").hidden = false;
  if (arrived) { arrived(); arrived = null; }
  if (first) next();
}
at("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  const answer = await ask("sign-in", { token: at("token").value.trim() }).catch(() => null);
  at("token").value = "";
  if (answer && answer.ok) welcome(await answer.json());
  else say(!answer ? t`The server does not answer.` : answer.status === 429 ? serverSaid((await answer.json()).detail) : t`No coder has this token.`, true);
});

// A document.
function next(then = show) { change("next", { order: at("order").value }, then); }
function show(answer) {
  const same = doc && answer.document && doc.id === answer.document.id ? codes[current] : null;
  doc = answer.document;
  at("left").textContent = counted(answer.left, "{0} document waits", "{0} documents wait");
  at("title").textContent = doc ? t`Document ${doc.name}` : t`Nothing waits`;
  const decided = new Map((doc ? doc.decisions : []).map((one) => [one.label, one]));
  codes = (doc ? doc.suggested : []).map((one) => ({ ...one, decision: decided.get(one.label) || null }));
  const known = new Set(codes.map((one) => one.label));
  for (const one of decided.values()) if (!known.has(one.label)) codes.push({ ...fromSearch(one.label, one.name, one), known: one.known });
  if (doc && doc.readings) codes = withReadings(codes, doc.readings);
  current = same ? Math.max(0, codes.findIndex((one) => one.label === same.label)) : 0;
  armed = false;
  marking = null;
  showText(doc ? doc.text : "");
  drawRemarks();
  draw();
  const open = unsettled();
  if (!doc) say(t`Nothing waits for you. Thank you.`);
  else if (!open && splitOnPrincipal()) say(t`Document ${doc.name}: the principal code is to settle.`);
  else {
    const work = open ? counted(open, "{0} code to settle", "{0} codes to settle")
      : counted(codes.filter((one) => one.predicted).length, "{0} code is suggested", "{0} codes are suggested");
    say(t`Document ${doc.name}: ${work}.`);
  }
}
const fromSearch = (label, name, decision) => ({ label, name, probability: null, predicted: false, spans: [], decision, known: true });
function showText(text) {
  const pieces = [];
  let place = 0;
  at("no-known-word").hidden = !doc || doc.suggested.length > 0; // the best are suggested, where the model knows a word
  words = [];
  for (const part of text.split(/(\s+)/u)) {
    const length = Array.from(part).length;
    if (part.trim()) {
      const word = element("span", { "data-word": words.length }, part);
      words.push({ start: place, end: place + length, element: word });
      pieces.push(word);
    } else pieces.push(part);
    place += length;
  }
  at("text").replaceChildren(...pieces);
  at("text").scrollTop = 0;
}
const touches = (word, spans) => spans.some(([start, end]) => word.start < end && word.end > start);
const spansOf = (code) => code && code.decision && code.decision.kind !== "reject" ? code.decision.spans : [];

function draw() {
  const focused = document.activeElement.closest("#codes button");
  at("codes").replaceChildren(...codes.map(row));
  if (focused) [...at("codes").querySelectorAll("button")].find((one) => one.ariaLabel === focused.ariaLabel)?.focus();
  const code = codes[current];
  const [first, last] = marking ? range() : [1, 0];
  words.forEach((word, place) => {
    const picked = place >= first && place <= last;
    word.element.className = [
      picked ? "picked" : touches(word, spansOf(code)) ? "proof" : touches(word, code ? code.spans : []) ? "shown" : "",
      marking && place === marking.cursor ? "cursor" : ""].join(" ").trim();
  });
  at("marking").hidden = !marking;
  drawHints();
  const here = at("codes").children[current];
  if (here) here.scrollIntoView({ block: "nearest" });
  const word = marking ? words[marking.cursor] : code && words.find((one) => touches(one, [...spansOf(code), ...code.spans]));
  if (word) word.element.scrollIntoView({ block: "nearest" });
}
function row(code, place) {
  const kind = code.decision ? code.decision.kind : "";
  const marks = spansOf(code).length;
  const hints = hintsOf(code);
  const rank = rankOf(code);
  const state = { accept: t`accepted`, reject: t`rejected`, add: t`added` }[kind] || (code.predicted ? t`suggested` : t`perhaps`);
  const odds = code.probability === null ? "" : `${Math.round(100 * code.probability)} %`;
  const button = (text, shape, does, pressed) => {
    const made = element("button", { type: "button", "aria-label": text, ...(pressed === null ? {} : { "aria-pressed": pressed }) }, shape);
    made.addEventListener("click", () => { current = place; does(); });
    return made;
  };
  const head = element("p", {}, element("span", { class: "code" }, code.label), code.name || (code.known === false ? UNKNOWN : ""));
  head.addEventListener("click", () => { current = place; draw(); });
  const told = element("p", { class: "state" }, [isUnsure(code) ? t`unsure` : "", state, rank === 1 ? t`principal` : rank ? t`no. ${rank}` : "", odds].filter(Boolean).join(", "), ...promiseOf(code),
    marks ? `, ${t`${marks} marked`}` : "", hints.length ? `, ${counted(hints.length, "{0} hint", "{0} hints")}` : "");
  const tools = element("div", { class: "bar" },
    button(t`Accept ${code.label}`, t`Accept`, accept, String(kind === "accept" || kind === "add")),
    button(t`Reject ${code.label}`, t`Reject`, reject, String(kind === "reject")),
    button(t`Mark words for ${code.label}`, t`Mark`, startMarking, null), button(t`Unsure of ${code.label}`, t`Unsure`, doubt, String(isUnsure(code))));
  const side = kind === "reject" ? "no" : kind ? "yes" : "";
  return element("li", { class: side, "aria-current": String(place === current) }, head, ...readingsOf(code), told, tools);
}
function promiseOf(code) {
  if (!code.accepted) return [];
  const share = `${number(100 * code.accepted)} %`;
  const meaning = t`One of the likely codes of which ${share} are true, on documents like those that the model was validated on.`;
  return [element("span", { class: "promise", title: meaning }, `, ${t`promised ${share}`}`)];
}
// What is said beside decisions.
const mine = () => doc.remarks.find((one) => one.coder === me.coder) || { comment: "", unsure: [] };
const isUnsure = (code) => Boolean(doc) && mine().unsure.includes(code.label);
function remember(said) { doc.remarks = [...doc.remarks.filter((one) => one.coder !== me.coder), { coder: me.coder, ...mine(), ...said }]; }
function doubt() {
  const code = codes[current];
  if (!code || !doc) return;
  const unsure = !isUnsure(code), others = mine().unsure.filter((label) => label !== code.label);
  remember({ unsure: unsure ? [...others, code.label] : others });
  change("unsure", { key: key(), document: doc.id, label: code.label, unsure });
  say(unsure ? t`You are unsure of ${code.label}. The lead sees that.` : t`You are sure of ${code.label} now.`);
  draw();
}
// The order of the codes that count: cards keep their places, so it is said on them.
const myOrder = () => doc && doc.orders[me.coder] || [];
function inOrder() {
  const order = myOrder(), placeOf = (code) => order.includes(code.label) ? order.indexOf(code.label) : order.length;
  return codes.filter(counts).sort((one, other) => placeOf(one) - placeOf(other));
}
const counts = (code) => code.decision ? code.decision.kind !== "reject" : agreedOn(code);
const rankOf = (code) => myOrder().length ? inOrder().indexOf(code) + 1 : 0;
function putInOrder(labels, told) {
  if (undoing) return say(UNDOING, true);
  doc.orders[me.coder] = labels;
  change("order", { key: key(), document: doc.id, labels });
  say(told);
  drawRemarks();
  draw();
}
function makePrincipal() {
  const code = codes[current];
  if (!code || !doc) return;
  if (!counts(code)) return say(t`Accept ${code.label} first: only accepted codes have an order.`, true);
  putInOrder([code.label, ...inOrder().map((one) => one.label).filter((label) => label !== code.label)], t`${code.label} is the principal code.`);
}
function openOrder() {
  if (!doc) return;
  listOrder();
  at("order-of-codes").showModal();
}
function listOrder(focused = -1) {
  const labels = inOrder().map((one) => one.label);
  at("order-rows").replaceChildren(...inOrder().map((code, place) => {
    const earlier = element("button", { type: "button", "aria-label": t`${code.label} earlier` }, t`Earlier`);
    earlier.disabled = !place;
    earlier.addEventListener("click", () => {
      labels.splice(place - 1, 0, ...labels.splice(place, 1));
      putInOrder(labels, place === 1 ? t`${code.label} is the principal code.` : t`${code.label} is no. ${place}.`);
      listOrder(place - 1);
    });
    return element("li", {}, element("span", { class: "code" }, code.label), `${code.name || ""} `, earlier);
  }));
  at("order-told").textContent = !labels.length ? t`No code is accepted yet.` : myOrder().length ? t`The first one is the principal code.` : t`You have not put them in order yet.`;
  const buttons = at("order-rows").querySelectorAll("button");
  if (focused >= 0) (buttons[focused].disabled ? buttons[focused + 1] : buttons[focused])?.focus();
}
at("no-order-button").addEventListener("click", () => { if (myOrder().length) putInOrder([], t`The order is taken back.`); listOrder(); });
function openComment() {
  if (!doc) return;
  at("comment-text").value = mine().comment;
  at("keep-comment-button").onclick = () => {
    at("comment").close();
    const text = at("comment-text").value.trim();
    if (text === mine().comment) return;
    remember({ comment: text });
    change("comment", { key: key(), document: doc.id, text });
    say(text ? t`Your comment is kept. The lead sees it.` : t`Your comment is taken back.`);
    drawRemarks();
  };
  at("comment").showModal();
}
function drawRemarks() {
  const others = (doc ? doc.remarks : []).filter((one) => one.coder !== me.coder || one.comment);
  at("remarks").replaceChildren(...others.map((one) => element("li", {}, remarkOf(one))), ...othersOrders());
}
const remarkOf = (one) => `${one.coder}: ${[one.comment, one.unsure.length ? t`unsure of ${one.unsure.join(", ")}` : ""].filter(Boolean).join(" · ")}`;

const hintsOf = (code) => doc && code && Object.hasOwn(doc.hints, code.label) ? doc.hints[code.label] : [];
function drawHints() {
  const hints = hintsOf(codes[current]);
  at("hints").hidden = !hints.length;
  at("hints").replaceChildren(element("ul", {}, ...hints.map((one) => element("li", {}, serverSaid(one.text)))));
}

// What the rules for codes say, as far as it is decided: a help, so nobody is told where it cannot be had.
async function hint() {
  const asked = doc;
  if (waiting || !asked) return;
  const answer = await ask(`hints?document=${asked.id}`).catch(() => null);
  if (!answer || !answer.ok || waiting || doc !== asked) return;
  doc.hints = await answer.json();
  draw();
}

// Decisions.
function decide(kind, spans, saying) {
  const code = codes[current];
  if (undoing) say(UNDOING, true);
  if (!code || !doc || undoing) return false;
  armed = false;
  code.decision = { kind, spans };
  doc.last = key();
  change("decide", { key: doc.last, document: doc.id, label: code.label, kind, spans, confirmed: code.known === false }, hint);
  say(saying(code.label));
  return true;
}
const yes = () => codes[current] && codes[current].probability === null ? "add" : "accept";
function forward() {
  const open = codes.findIndex((one, place) => place > current && !one.decision);
  if (open >= 0) current = open;
  draw();
}
function accept() { if (codes[current] && decide(yes(), spansOf(codes[current]), (label) => t`${label} accepted.`)) forward(); }
function acceptWords() {
  const code = codes[current];
  if (code && decide(yes(), joined([...spansOf(code), ...code.spans]), (label) => t`${label} accepted with the model’s words.`)) forward();
}
function reject() { if (codes[current] && decide("reject", [], (label) => t`${label} rejected.`)) forward(); }
function undo() {
  undoing += 1;
  const word = key(); // what is seen as done last goes along: another tab may have done more
  change("undo", () => ({ key: word, document: doc ? doc.id : null, last: doc ? doc.last : null }), (answer) => { show(answer); say(t`Taken back.`); })
    .then(() => { undoing -= 1; });
}
function finish() {
  if (undoing) return say(UNDOING, true);
  if (!doc) return next();
  const read = doc.readings && doc.readings.length;
  const open = read ? unsettled() : codes.filter((one) => one.predicted && !one.decision).length;
  if (!open && read && splitOnPrincipal() && !armed) {
    armed = true;
    return say(t`The principal code is not settled: press p on it, or n again to leave it open.`, true);
  }
  if (open && !armed) {
    armed = true;
    return say(read ? counted(open, "{0} code is not settled. Press n again to leave it out.", "{0} codes are not settled. Press n again to leave them out.")
      : counted(open, "{0} suggested code is not decided. Press n again to leave it out.", "{0} suggested codes are not decided. Press n again to leave them out."), true);
  }
  say(t`Saving …`);
  change("finish", { key: key(), document: doc.id }, () => next());
  doc = null; // nothing is decided on it any more
}

// Marking words: by keyboard from word to word, by tapping the first and the last word, or by selecting with a mouse.
function range() {
  const anchor = marking.anchor === null ? marking.cursor : marking.anchor;
  return [Math.min(anchor, marking.cursor), Math.max(anchor, marking.cursor)];
}
function joined(spans) {
  const made = [];
  for (const [start, end] of [...spans].sort((one, other) => one[0] - other[0])) {
    const last = made[made.length - 1];
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else made.push([start, end]);
  }
  return made;
}
function startMarking() {
  const code = codes[current];
  if (!code || !words.length) return;
  const from = words.findIndex((word) => touches(word, spansOf(code).length ? spansOf(code) : code.spans));
  marking = { cursor: Math.max(0, from), anchor: null };
  draw();
  at("text").focus({ preventScroll: true });
  say(t`Mark the words that prove ${code.label}.`);
}
function endMarking() { marking = null; draw(); say(t`Marking ended.`); }
function move(to, extend) {
  if (extend && marking.anchor === null) marking.anchor = marking.cursor;
  if (!extend) marking.anchor = null;
  marking.cursor = Math.min(words.length - 1, Math.max(0, to));
  draw();
  const [first, last] = range();
  say(words.slice(first, last + 1).map((word) => word.element.textContent).join(" "));
}
function lineAway(step) {
  const box = words[marking.cursor].element.getBoundingClientRect();
  let best = marking.cursor, least = Infinity, row = null;
  for (let place = marking.cursor + step; place >= 0 && place < words.length; place += step) {
    const other = words[place].element.getBoundingClientRect();
    if (Math.abs(other.top - box.top) < 3) continue;
    if (row === null) row = other.top;
    if (Math.abs(other.top - row) > 3) break;
    if (Math.abs(other.left - box.left) < least) { least = Math.abs(other.left - box.left); best = place; }
  }
  return best;
}
function keep(first, last) {
  const spans = joined([...spansOf(codes[current]), [words[first].start, words[last].end]]);
  const passages = counted(spans.length, "{0} marked passage", "{0} marked passages");
  decide(yes(), spans, (label) => t`${label} has ${passages}.`);
  if (marking) marking = { cursor: marking.cursor, anchor: null };
  draw();
}
function drop() {
  const [first, last] = range();
  const spans = spansOf(codes[current]).filter(([start, end]) => end <= words[first].start || start >= words[last].end);
  decide(yes(), spans, (label) => t`${label} lost these words.`);
  draw();
}
const wordAt = (node) => {
  const found = node && (node.nodeType === Node.TEXT_NODE ? node.parentElement : node).closest("[data-word]");
  return found ? Number(found.dataset.word) : null;
};
function heldBy(range) { // words of which a character is selected: either end may lie in the space between two
  const own = document.createRange(), held = [];
  words.forEach((word, place) => {
    own.selectNodeContents(word.element.firstChild);
    const over = range.compareBoundaryPoints(Range.END_TO_START, own) >= 0; // it begins behind the word
    if (!over && range.compareBoundaryPoints(Range.START_TO_END, own) > 0) held.push(place);
  });
  return held;
}
at("text").addEventListener("pointerup", (event) => {
  const selection = getSelection();
  const held = selection.isCollapsed ? [] : heldBy(selection.getRangeAt(0));
  if (held.length && codes[current]) {
    keep(held[0], held[held.length - 1]);
    selection.removeAllRanges();
  } else if (marking && wordAt(event.target) !== null) {
    marking.tapped = !marking.tapped; // the first word, then the last
    move(wordAt(event.target), !marking.tapped);
  }
});

// Any code by number or name.
let results = [], chosen = 0, answered = ""; // what was asked when the results came
function openSearch() {
  if (!doc) return;
  at("asked").value = answered = "";
  list([]);
  at("search").showModal();
}
async function search() {
  const asked = at("asked").value.trim();
  const answer = await ask(`codes?q=${encodeURIComponent(asked)}`).catch(() => null);
  if (!answer || !answer.ok || asked !== at("asked").value.trim()) return;
  const found = await answer.json();
  const exact = found.some((one) => one.label.toLowerCase() === asked.toLowerCase());
  if (asked && !exact && !/\s/u.test(asked)) found.push({ label: asked, name: UNKNOWN, known: false });
  answered = asked;
  list(found);
}
function list(found) {
  results = found;
  chosen = 0;
  at("found").replaceChildren(...found.map((one, place) => {
    const option = element("li", { role: "option", id: `found-${place}` }, element("span", { class: "code" }, one.label), one.name || "");
    option.addEventListener("click", () => take(place));
    return option;
  }));
  choose(0);
}
function choose(place) {
  chosen = Math.min(results.length - 1, Math.max(0, place));
  [...at("found").children].forEach((option, other) => option.setAttribute("aria-selected", String(other === chosen)));
  if (results.length) at("asked").setAttribute("aria-activedescendant", `found-${chosen}`);
  else at("asked").removeAttribute("aria-activedescendant");
}
function take(place) {
  const found = results[place];
  at("search").close();
  if (found.known !== false) return add(found);
  at("unknown-title").textContent = t`${found.label} is no code that this desk knows. Take it all the same?`;
  say(t`${found.label} was not taken.`);
  at("take-button").onclick = () => { at("unknown").close(); add(found); }; // now: the next key comes before a close event
  at("unknown").showModal();
}
function add(found) {
  document.activeElement.blur(); // else the closed dialog's input may keep the keys
  let there = codes.findIndex((one) => one.label === found.label);
  if (there < 0) there = codes.push({ ...fromSearch(found.label, found.known === false ? "" : found.name, null), known: found.known !== false }) - 1;
  current = there;
  decide(yes(), spansOf(codes[current]), (label) => t`${label} added.`);
  draw();
}
at("asked").addEventListener("input", search);
at("asked").addEventListener("keydown", async (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) { event.preventDefault(); choose(chosen + step); }
  if (event.key !== "Enter") return;
  event.preventDefault();
  if (at("asked").value.trim() !== answered) await search(); // whoever types fast must not get what was found before
  if (results.length && at("search").open && at("asked").value.trim() === answered) take(chosen);
});

// How the model sees a code, also one that it did not suggest.
async function openWhy(code) {
  if (!doc || !code || !code.label) return;
  at("why-title").textContent = `${code.label} ${code.name || ""}`;
  at("why-told").textContent = t`Looking …`;
  at("why").showModal();
  const answer = await ask(`why?document=${doc.id}&label=${encodeURIComponent(code.label)}`).catch(() => null);
  const sentences = answer && answer.ok ? whyOf(await answer.json()) : [t`This cannot be had now. Try it again.`];
  at("why-told").replaceChildren(...sentences.map((text) => element("p", {}, text)));
}
const percent = (share) => `${(100 * share).toLocaleString(LANGUAGE, { maximumSignificantDigits: 2 })} %`;
function whyOf(found) {
  if (!found) return [t`The model does not know this code, so it never suggests it. Its training documents did not have it.`];
  const text = Array.from(doc.text), words = found.spans.map(([start, end]) => `“${text.slice(start, end).join("")}”`).join(", ");
  return [t`Its probability is ${percent(found.probability)}. Codes above ${percent(found.threshold)} are suggested, and some of the next.`,
    counted(found.labels, "It is the only code that the model knows.", "That is place {1} of the {0} codes that the model knows.", number(found.place)),
    words ? t`Words that speak for it: ${words}.` : t`No word of the document speaks for it.`];
}
at("why-button").addEventListener("click", () => openWhy(results[chosen] || { label: at("asked").value.trim() }));

// Figures.
function table(caption, heads, rows) {
  const head = element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)));
  const body = rows.map((cells) => element("tr", {}, ...cells.map((cell) =>
    element("td", typeof cell === "string" ? {} : { class: "number" }, typeof cell === "string" ? cell : cell instanceof Node ? cell : number(cell)))));
  return element("table", {}, element("caption", {}, caption), element("thead", {}, head), element("tbody", {}, ...body));
}
async function openFigures() {
  if (!me || me.role !== "lead") return;
  at("figures-content").replaceChildren(element("p", { role: "status" }, t`Counting …`));
  at("figures").showModal();
  const found = await insist("figures");
  const share = (one) => {
    const value = one.suggested ? one.accepted / one.suggested : 0;
    return element("span", {}, element("meter", { min: 0, max: 1, value, "aria-label": t`accepted share of ${one.label}` }), ` ${Math.round(100 * value)} %`);
  };
  at("figures-content").replaceChildren(
    element("p", {}, counted(found.documents, "Finished: {1} of {0} document.", "Finished: {1} of {0} documents.", number(found.finished))),
    table(t`Coders`, [t`coder`, t`role`, t`documents`, t`seconds a document`], found.coders.map((one) => [one.coder, ROLES[one.role], one.documents, one.seconds])),
    table(t`Agreement`, [t`first`, t`second`, t`documents`, t`agreed`, t`codes given`, "F1", "κ"], found.pairs.map((pair) => [
      pair.first, pair.second === "model" ? t`model` : pair.second, pair.documents, pair.percent === null ? "–" : t`${number(pair.percent)} % (${number(pair.agreed)} of ${number(pair.decisions)})`,
      t`${number(pair.first_gave)} and ${number(pair.second_gave)}, both ${number(pair.both_gave)}`, pair.f1 === null ? "–" : `${number(pair.f1)} %`, pair.kappa])),
    table(t`Principal code`, [t`first`, t`second`, t`documents`, t`the same`], found.principals.map((pair) => [pair.first, pair.second, pair.documents, pair.agreed])),
    table(t`Codes`, [t`code`, t`suggested`, t`accepted`, t`rejected`, t`added`, t`share`],
      found.codes.slice(0, 200).map((one) => [one.label, one.suggested, one.accepted, one.rejected, one.added, share(one)])));
}

// Keys and buttons.
const PLAIN = {
  a: accept, e: acceptWords, r: reject, n: finish, u: undo, m: startMarking, g: openFigures, d: () => openDocuments(), q: doubt, c: openComment, p: makePrincipal, o: openOrder, w: () => openWhy(codes[current]), "/": openSearch,
  "?": () => at("help").showModal(), j: () => step(1), k: () => step(-1), ArrowDown: () => step(1), ArrowUp: () => step(-1),
};
const MARKING = {
  ArrowRight: (extend) => move(marking.cursor + 1, extend), ArrowLeft: (extend) => move(marking.cursor - 1, extend),
  ArrowDown: (extend) => move(lineAway(1), extend), ArrowUp: (extend) => move(lineAway(-1), extend),
  Home: (extend) => move(0, extend), End: (extend) => move(words.length - 1, extend),
  Enter: () => keep(...range()), Delete: drop, Backspace: drop, Escape: endMarking, u: undo, "?": PLAIN["?"],
};
function step(by) {
  current = Math.min(codes.length - 1, Math.max(0, current + by));
  draw();
  if (codes[current]) say(`${codes[current].label} ${codes[current].name || ""}`);
}
for (const dialog of document.querySelectorAll("dialog")) dialog.addEventListener("close", () => {
  if (!document.querySelector("dialog[open]")) document.activeElement.blur(); // one may have opened the next
});
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || at("work").hidden || document.querySelector("dialog[open]")) return;
  if (event.target.matches("input, select, textarea") && !event.target.closest("dialog")) return; // a dialog that is closed keeps the focus for a moment
  if (event.key === "Enter" && event.target.matches("button")) return;
  const does = (marking ? MARKING : PLAIN)[event.key];
  if (!does) return;
  event.preventDefault();
  does(event.shiftKey);
});
for (const [id, does] of Object.entries({
  "search-button": openSearch, "comment-button": openComment, "order-button": openOrder, "undo-button": undo, "next-button": finish, "help-button": PLAIN["?"],
  "figures-button": openFigures, "keep-button": () => keep(...range()), "drop-button": drop, "end-button": endMarking,
  "out-button": () => change("sign-out", {}, () => { me = null; location.reload(); }),
})) at(id).addEventListener("click", () => does());
at("order").addEventListener("change", () => at("order").blur());
at("keys").append(...Object.entries(KEYS).map(([name, text]) => element("tr", {}, element("th", { scope: "row" }, element("kbd", {}, name)), element("td", {}, text))));

ask("me").then(async (answer) => answer.ok ? welcome(await answer.json()) : showSignIn(t`Sign in to begin.`), () => showSignIn(t`The server does not answer.`));
