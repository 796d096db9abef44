// The page of the studio: rooms come as HTML, clicks go as JSON, one stream tells what is new.
const store = window.sessionStorage;
const fragmentToken = new URLSearchParams(location.hash.slice(1)).get("token");
if (fragmentToken) {
  store.setItem("token", fragmentToken);
  history.replaceState(null, "", location.pathname + "#/" + (store.getItem("room") || "columns"));
}
const room = document.getElementById("room");
const strip = document.getElementById("job");
let revision = -1; // what the room shows
let newest = -1; // what the studio has
let asked = 0;
let acting = 0;
let pressed = false; // a button that is replaced while it is pressed never hears the click

async function call(path, body) {
  const headers = { "X-Veladura-Token": store.getItem("token") || "" };
  const options = body === undefined ? { headers } : {
    method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify(body),
  };
  const response = await fetch(path, options);
  if (response.status === 403) {
    return { error: "This tab does not know the secret of the studio.\n\nHint: open the address that the terminal shows." };
  }
  return response.json();
}

function say(text, bad) {
  const line = document.createElement("p");
  line.textContent = text;
  line.className = bad ? "bad" : "";
  const box = document.getElementById("say");
  box.replaceChildren(line);
  if (!bad) setTimeout(() => line.remove(), 6000);
}

function place() {
  const [name, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { name: name || "columns", query: query ? "?" + query : "" };
}

async function load(moved, news) {
  const { name, query } = place();
  const number = ++asked;
  store.setItem("room", name);
  room.setAttribute("aria-busy", "true");
  const answer = await call(`/room/${name}${query}`).catch(() => gone());
  if (number !== asked || !answer) return;
  if (news && (pressed || typing())) { // somebody began to type or click meanwhile: later
    room.removeAttribute("aria-busy");
    revision = -1;
    return;
  }
  show(answer, moved);
  catchUp();
}

function show(answer, moved) {
  room.removeAttribute("aria-busy");
  for (const link of document.querySelectorAll("nav a")) {
    const here = link.dataset.room === (place().name === "hierarchy" ? "protect" : place().name);
    if (here) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  if (answer.error) {
    const text = document.createElement("p");
    text.className = "banner bad hint";
    text.textContent = answer.error;
    room.replaceChildren(text);
    return;
  }
  if (answer.revision !== undefined) revision = answer.revision;
  const focused = document.activeElement && document.activeElement.id;
  const open = [...room.querySelectorAll("details[open][id]")].map((each) => each.id);
  room.innerHTML = answer.html;
  for (const id of moved ? [] : open) document.getElementById(id)?.setAttribute("open", "");
  if (moved) { room.focus(); window.scrollTo(0, 0); } else if (focused) document.getElementById(focused)?.focus();
  document.title = (room.querySelector("h1")?.textContent || "veladura") + " · veladura studio";
  room.dispatchEvent(new CustomEvent("shown", { bubbles: true }));
}

function gone() {
  say("The studio does not answer: its terminal was closed. What you did is kept.", true);
}

export function values(form) {
  const given = {};
  for (const [name, value] of new FormData(form)) {
    if (name in given) given[name] = [].concat(given[name], value); else given[name] = value;
  }
  return given;
}

// A count that follows typing leaves errors where they are: a page that moves loses the next click.
export async function act(path, body, element, counts) {
  element?.setAttribute("aria-busy", "true");
  if (!counts) clearWrong();
  acting += 1;
  const answer = await call(`/do/${path}`, body).catch(() => gone());
  acting -= 1;
  element?.removeAttribute("aria-busy");
  if (!answer) return null;
  if (answer.revision !== undefined) revision = answer.revision;
  if (answer.error) { wrong(answer, element); return answer; }
  if (answer.html && answer.target) {
    const target = document.querySelector(answer.target);
    if (target) { target.innerHTML = answer.html; target.dispatchEvent(new CustomEvent("shown", { bubbles: true })); }
  } else if (answer.go) {
    if (location.hash === `#/${answer.go}`) await load(false); else location.hash = `#/${answer.go}`;
  } else if (!answer.html) {
    await load(false);
  }
  catchUp();
  if (answer.say) say(answer.say); // once the room shows it: nothing that is typed next is lost
  return answer;
}

function clearWrong() {
  for (const old of document.querySelectorAll(".wrong")) old.remove();
  for (const old of document.querySelectorAll("[aria-invalid]")) old.removeAttribute("aria-invalid");
}

function wrong(answer, element) {
  const form = element?.closest("form");
  const field = answer.field && form && form.querySelector(`[name="${CSS.escape(answer.field)}"]`);
  const line = document.createElement("p");
  line.className = "wrong hint";
  line.setAttribute("role", "alert");
  line.textContent = answer.error;
  if (field) {
    field.setAttribute("aria-invalid", "true");
    (field.closest(".field") || field.parentElement).append(line);
    field.focus();
  } else if (form && !form.classList.contains("quiet")) {
    form.append(line);
  } else say(answer.error, true);
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.dataset.post) return;
  event.preventDefault();
  const button = event.submitter || form.querySelector("button");
  const body = { ...values(form) };
  if (event.submitter?.name) body[event.submitter.name] = event.submitter.value;
  act(event.submitter?.dataset.path || form.dataset.post, body, button);
});

document.addEventListener("click", (event) => {
  const element = event.target.closest("[data-do]");
  if (!element) return;
  event.preventDefault();
  act(element.dataset.do, JSON.parse(element.dataset.with || "{}"), element);
});

// The address after # names a room, so the link past the rooms moves the focus itself.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  room.focus();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" && event.key !== " ") return;
  const element = event.target.closest("svg [data-do], svg [data-go]");
  if (!element) return;
  event.preventDefault();
  element.dispatchEvent(new MouseEvent("click", { bubbles: true }));
});

let later = 0;
document.addEventListener("change", (event) => {
  const form = event.target.closest("form");
  const path = event.target.dataset.change || form?.dataset.change;
  if (!path) return;
  act(path, values(form), event.target, true);
  const second = form.dataset.then;
  if (second) { clearTimeout(later); later = setTimeout(() => { if (form.isConnected) act(second, values(form), null, true); }, 250); }
});

// What somebody has typed and not sent yet is not thrown away by news from another tab.
function typing() {
  const element = document.activeElement;
  const typed = element && room.contains(element) && /^(INPUT|TEXTAREA)$/.test(element.tagName) && element.type !== "checkbox";
  return typed || room.querySelector("form[data-touched]") !== null || document.getElementById("cuts") !== null;
}

document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-post]");
  if (form && !form.dataset.change) form.dataset.touched = "yes";
});

function showJob(job) {
  if (!job || job.state !== "running") {
    strip.hidden = true;
    return;
  }
  strip.hidden = false;
  if (!strip.querySelector("progress")) {
    strip.innerHTML = '<strong></strong><progress aria-label="Progress of this stage"></progress><span></span><button type="button" data-do="plan/cancel">Cancel</button>';
  }
  strip.querySelector("strong").textContent = job.words;
  const bar = strip.querySelector("progress");
  if (job.total > 1) { bar.max = job.total; bar.value = job.at; } else bar.removeAttribute("value");
  strip.querySelector("span").textContent = job.stage + (job.total > 1 ? `, ${job.at} of ${job.total}` : "") + (job.left ? `, ${job.left} left` : "");
}

async function listen() {
  for (;;) {
    try {
      const response = await fetch("/events", { headers: { "X-Veladura-Token": store.getItem("token") || "" } });
      if (!response.ok) return;
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        rest += value;
        const parts = rest.split("\n\n");
        rest = parts.pop();
        for (const part of parts) if (part.startsWith("data: ")) news(JSON.parse(part.slice(6)));
      }
    } catch { /* the studio ended, or the machine slept */ }
    await new Promise((done) => setTimeout(done, 1000));
    revision = -1; // another studio may answer there now: its count begins anew
  }
}

function news(event) {
  if ("job" in event) showJob(event.job);
  newest = event.revision;
  catchUp();
}

// News that come while a room is on its way are older or newer than it: the room is compared once it is there.
function catchUp() {
  if (newest > revision && !acting && !pressed && !typing() && room.getAttribute("aria-busy") !== "true") {
    revision = newest;
    load(false, true);
  }
}

window.addEventListener("hashchange", () => load(true));
document.addEventListener("visibilitychange", () => { if (!document.hidden && !typing()) load(false, true); });
document.addEventListener("pointerdown", (event) => { pressed = event.button === 0; }, true);
for (const end of ["pointerup", "pointercancel"]) {
  document.addEventListener(end, () => { pressed = false; setTimeout(catchUp); }, true);
}
load(true);
listen();
import("/static/editor.js");
