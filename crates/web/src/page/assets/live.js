// What changes is put in place, part by part, when the market says that something happened.
//
// Elements with data-live="NAME" are taken anew from the same page. The view never moves: a part
// in which somebody works (focus, selection, open details) waits until they are done.

import { tellTimes } from './shell.js';

const dot = document.getElementById('live');
let paused = false;
let wanted = false;
let busy = false;
let heard = Date.now();

function say(state, text) {
  if (!dot) return;
  dot.hidden = false;
  if (dot.dataset.state !== state) { dot.dataset.state = state; dot.textContent = text; }
}

const isBusy = (part) => part.contains(document.activeElement) && document.activeElement !== document.body;

async function refresh() {
  if (busy || paused) return;
  busy = true;
  wanted = false;
  try {
    const answer = await fetch(location.href, { headers: { 'X-Part': 'live' } });
    if (!answer.ok || answer.redirected) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const part of document.querySelectorAll('[data-live]')) {
      const fresh = page.querySelector(`[data-live="${CSS.escape(part.dataset.live)}"]`);
      if (fresh && !isBusy(part) && fresh.innerHTML !== part.dataset.was) {
        part.dataset.was = fresh.innerHTML;
        part.replaceChildren(...fresh.childNodes);
        tellTimes(part);
      }
    }
    const footer = page.querySelector('footer');
    if (footer) { document.querySelector('footer').replaceChildren(...footer.childNodes); tellTimes(document.querySelector('footer')); }
    document.dispatchEvent(new CustomEvent('refreshed'));
    say('live', 'live');
  } catch {
    say('stale', `not reached since ${new Date(heard).toISOString().slice(11, 19)} UTC`);
  } finally {
    busy = false;
    if (wanted) later();
  }
}

let timer = 0;
function later() {
  wanted = true;
  if (!timer) timer = setTimeout(() => { timer = 0; refresh(); }, 700);
}

function listen() {
  const stream = new EventSource(`/v1/events?after=${document.body.dataset.seq || 0}`);
  const kinds = ['submitted', 'queued', 'held', 'planned', 'began', 'over', 'setback', 'cancelling', 'dropped', 'expected',
    'price', 'tariff', 'closed', 'reopened', 'announced', 'moved', 'policy', 'reached', 'away', 'reset', 'quoted', 'taken'];
  const on = () => { heard = Date.now(); document.dispatchEvent(new CustomEvent('market')); later(); };
  for (const kind of kinds) stream.addEventListener(kind, on);
  stream.onmessage = on;
  stream.onopen = () => { heard = Date.now(); if (!paused) say('live', 'live'); };
  stream.onerror = () => say('stale', `not reached since ${new Date(heard).toISOString().slice(11, 19)} UTC`);
}

if (dot) {
  dot.tabIndex = 0;
  dot.title = 'Click to pause and resume';
  dot.addEventListener('click', () => {
    paused = !paused;
    if (paused) say('paused', 'paused'); else { say('live', 'live'); later(); }
  });
}
listen();
