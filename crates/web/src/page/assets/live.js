// What changes is put in place, part by part, when the market says that something happened.
//
// Elements with data-live="NAME" are taken anew from the same page. The view never moves: a part
// in which somebody works (focus, a chart that is read) waits until they are done, and what was
// opened stays open.

import { tellTimes, told } from './shell.js';

const dot = document.getElementById('live');
let paused = false;
let wanted = false;
let busy = false;
let took = 0;
let heard = Date.now();
/** By part: what it was made of last. */
const was = new WeakMap();

function say(state, text) {
  document.body.dataset.live = state;
  if (!dot) return;
  dot.hidden = false;
  if (dot.dataset.state !== state || dot.textContent !== text) { dot.dataset.state = state; dot.textContent = text; }
}

const stale = () => say('stale', `not reached since ${told(Math.floor(heard / 1000))}; this is what was known then`);

const isBusy = (part) => part.querySelector('.chart:hover') !== null
  || (part.contains(document.activeElement) && document.activeElement !== document.body && document.activeElement.tagName !== 'SUMMARY');

/** Puts `fresh` in the place of what is in `part`. */
function put(part, fresh) {
  const open = [...part.querySelectorAll('details')].map((it) => it.open);
  const at = document.activeElement?.tagName === 'SUMMARY' && part.contains(document.activeElement)
    ? [...part.querySelectorAll('summary')].indexOf(document.activeElement) : -1;
  part.replaceChildren(...fresh.childNodes);
  part.querySelectorAll('details').forEach((it, place) => { if (open[place] !== undefined) it.open = open[place]; });
  if (at >= 0) part.querySelectorAll('summary')[at]?.focus();
  part.toggleAttribute('data-poll', fresh.hasAttribute('data-poll'));
  tellTimes(part);
}

async function refresh() {
  if (busy || paused) return;
  busy = true;
  wanted = false;
  const begun = performance.now();
  try {
    const answer = await fetch(location.href, { headers: { 'X-Part': 'live' } });
    if (!answer.ok || answer.redirected) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const part of document.querySelectorAll('[data-live]:not(body)')) {
      const fresh = page.querySelector(`[data-live="${CSS.escape(part.dataset.live)}"]`);
      if (!fresh || fresh.innerHTML === was.get(part)) continue;
      if (isBusy(part)) { wanted = true; continue; }
      was.set(part, fresh.innerHTML);
      put(part, fresh);
    }
    const footer = page.querySelector('footer');
    if (footer) { document.querySelector('footer').replaceChildren(...footer.childNodes); tellTimes(document.querySelector('footer')); }
    document.dispatchEvent(new CustomEvent('refreshed'));
    heard = Date.now();
    say('live', 'live');
  } catch {
    stale();
  } finally {
    took = performance.now() - begun;
    busy = false;
    if (wanted) later();
  }
}

let timer = 0;
// Many changes are one; a page that takes long to make is asked for less often.
function later() {
  wanted = true;
  if (!timer) timer = setTimeout(() => { timer = 0; refresh(); }, Math.min(10_000, Math.max(700, took * 4)));
}

let stream = null;
function listen() {
  stream = new EventSource(`/v1/events?after=${document.body.dataset.seq || 0}`);
  const kinds = ['admitted', 'arrived', 'back', 'booked', 'came_back', 'cancelling', 'down', 'dropped', 'expected', 'expelled',
    'held', 'launched', 'local', 'missing', 'moved', 'over', 'part_over', 'planned', 'policy', 'priced', 'queued', 'quote_gone',
    'quoted', 'reset', 'running', 'set_back', 'site_away', 'site_back', 'slipped', 'submitted', 'tariff', 'unkept', 'withheld'];
  const on = () => { heard = Date.now(); document.dispatchEvent(new CustomEvent('market')); later(); };
  for (const kind of kinds) stream.addEventListener(kind, on);
  stream.onmessage = on;
  stream.onopen = () => { heard = Date.now(); if (!paused) say('live', 'live'); };
  stream.onerror = stale;
}

if (dot) {
  dot.tabIndex = 0;
  dot.title = 'Click to pause and resume';
  const pause = () => {
    paused = !paused;
    if (paused) say('paused', 'paused'); else { say('live', 'live'); later(); }
  };
  dot.addEventListener('click', pause);
  dot.addEventListener('keydown', (event) => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); pause(); } });
}
listen();
// A page that is left must not keep its connection: browsers have six for all pages of a host.
addEventListener('pagehide', () => { stream?.close(); stream = null; });
addEventListener('pageshow', (event) => { if (event.persisted && !stream) { listen(); later(); } });
// What grows without events, such as output or what is computed, is looked at again and again.
setInterval(() => { if (document.querySelector('[data-poll]') && !document.hidden) later(); }, 2000);
