// Live updates, and nothing else: the page is the same without this file.
// Asks for the address it is on, and puts what has changed in place of what is marked as live.
"use strict";

const main = document.querySelector("main[data-seconds]");
const state = document.querySelector("#live");
let version = "";
let asking = false;

function busy() {
  const at = document.activeElement;
  const selected = document.getSelection();
  return document.hidden || (selected && !selected.isCollapsed) || Boolean(at && main.contains(at) && at !== main);
}

function swap(text) {
  const found = new DOMParser().parseFromString(text, "text/html");
  for (const old of document.querySelectorAll("[data-live]")) {
    const fresh = found.getElementById(old.id);
    if (!fresh) continue;
    const opened = [...old.querySelectorAll("details")].map((each) => each.open);
    fresh.querySelectorAll("details").forEach((each, index) => { each.open = Boolean(opened[index]); });
    old.replaceWith(document.adoptNode(fresh));
  }
}

async function refresh() {
  if (asking || busy()) return;
  asking = true;
  try {
    const headers = version ? { "If-None-Match": version } : {};
    const answer = await fetch(location.href, { headers, cache: "no-store" });
    if (answer.status !== 304) {
      version = answer.headers.get("ETag") || "";
      swap(await answer.text());
    }
    state.textContent = "live";
    state.className = "live on";
  } catch {
    state.textContent = "no answer: is Tradewind, or the port-forward, still running?";
    state.className = "live off";
  } finally {
    asking = false;
  }
}

if (main && state) {
  state.hidden = false;
  setInterval(refresh, 1000 * Number(main.dataset.seconds));
}
