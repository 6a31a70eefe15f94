// What changes is put in place, part by part, when the market says that something happened.
//
// Elements with data-live="NAME" are replaced from the same page. The view never moves: a part
// in which the reader works (focus, a chart that is read) waits until they are done, and what was
// opened stays open.

import './ages.js';
import { isLost, isOut, quiet, reached, rest, shutOut, unreached } from './reach.js';
import { tellTimes } from './shell.js';

/** A page is waited for so long. */
const PATIENCE = 15_000;
/** When nothing was received for so long, the page is requested: the connection may be dead without an error. */
const SILENCE = 30_000;
/** A change after a rest is looked at after so long, or twice that. */
const SOON = 60;
/** A stream that was refused is asked for again after so long. */
const REFUSED = 10_000;

let paused = false;
let wanted = false;
let busy = false;
let took = 0;
/** When the last look at the page was over, by performance.now(). */
let ended = -Infinity;
/** When the page was asked for last. */
let looked = Date.now();
/** By part: what it was made of last. */
const was = new WeakMap();

const isBusy = (part) => part.querySelector('.chart:hover, button:hover, summary:hover, a:hover') !== null
  || (part.contains(document.activeElement) && document.activeElement !== document.body && document.activeElement.tagName !== 'SUMMARY');

/** Puts `fresh` in the place of what is in `part`. */
function put(part, fresh) {
  const open = [...part.querySelectorAll('details')].map((it) => it.open);
  const at = document.activeElement?.tagName === 'SUMMARY' && part.contains(document.activeElement)
    ? [...part.querySelectorAll('summary')].indexOf(document.activeElement) : -1;
  // What was chosen stays chosen.
  const picked = [...part.querySelectorAll('.pick input:checked')].map((it) => it.value);
  part.replaceChildren(...fresh.childNodes);
  for (const it of part.querySelectorAll('.pick input')) it.checked = picked.includes(it.value);
  part.querySelectorAll('details').forEach((it, place) => { if (open[place] !== undefined) it.open = open[place]; });
  if (at >= 0) part.querySelectorAll('summary')[at]?.focus();
  if (fresh.dataset.poll) part.dataset.poll = fresh.dataset.poll; else delete part.dataset.poll;
  tellTimes(part);
}

function putAll(page) {
  for (const part of document.querySelectorAll('[data-live]:not(body)')) {
    const fresh = page.querySelector(`[data-live="${CSS.escape(part.dataset.live)}"]`);
    if (!fresh || fresh.innerHTML === was.get(part)) continue;
    if (isBusy(part)) { wanted = true; continue; }
    was.set(part, fresh.innerHTML);
    // For measurements: from here on it is news that moves the page, and no longer its loading.
    if (!performance.getEntriesByName('news').length) performance.mark('news');
    put(part, fresh);
  }
  const [old, fresh] = [document, page].map((it) => it.querySelector('footer'));
  if (fresh) { old.replaceChildren(...fresh.childNodes); tellTimes(old); }
  const [icon, now] = [document, page].map((it) => it.querySelector('link[rel=icon]'));
  if (icon && now && icon.href !== now.href) icon.href = now.href;
}

async function refresh() {
  if (busy || paused) return;
  busy = true;
  wanted = false;
  const begun = performance.now();
  looked = Date.now();
  // What asks for its own data does so at the same time.
  document.dispatchEvent(new CustomEvent('looks'));
  try {
    const answer = await fetch(location.href, { headers: { 'X-Part': 'live' }, signal: AbortSignal.timeout(PATIENCE) });
    if (answer.redirected) shutOut(); // to the door
    else if (!answer.ok) unreached(`The market answers ${answer.status} instead of this page`);
    else {
      putAll(new DOMParser().parseFromString(await answer.text(), 'text/html'));
      reached(paused);
      document.dispatchEvent(new CustomEvent('refreshed'));
      if (!stream && Date.now() - listened > REFUSED) listen();
    }
  } catch {
    unreached('The market is not reached');
  } finally {
    ended = performance.now();
    took = ended - begun;
    busy = false;
    if (wanted) later();
  }
}

let timer = 0;
// Many changes are one; a page that takes long to make is asked for less often. The first change after a
// rest is shown soon, and not at the same moment on all open pages.
function later() {
  wanted = true;
  if (timer) return;
  const rhythm = Math.min(10_000, Math.max(700, took * 4));
  const wait = Math.max(SOON + Math.random() * SOON, ended + rhythm - performance.now());
  timer = setTimeout(() => { timer = 0; refresh(); }, wait);
}

let stream = null;
let listened = 0;
function listen() {
  listened = Date.now();
  stream = new EventSource(`/v1/events?after=${document.body.dataset.seq || 0}`);
  const kinds = ['admitted', 'arrived', 'back', 'booked', 'came_back', 'cancelling', 'down', 'dropped', 'expected', 'expelled',
    'held', 'launched', 'local', 'missing', 'moved', 'over', 'part_over', 'planned', 'policy', 'priced', 'queued', 'quote_gone',
    'quoted', 'reset', 'running', 'set_back', 'site_away', 'site_back', 'site_state', 'slipped', 'submitted', 'tariff', 'unkept', 'withheld'];
  for (const kind of kinds) stream.addEventListener(kind, later);
  stream.onmessage = later;
  stream.onopen = () => { if (isLost()) later(); else reached(paused); };
  // Whether the market, the session or the stream alone is gone, the page's answer shows.
  stream.onerror = () => { if (stream?.readyState === EventSource.CLOSED) stream = null; later(); };
}

document.getElementById('live').addEventListener('click', () => {
  if (!isLost()) paused = !paused;
  rest(paused);
  later();
});
listen();
// A page that is left must not keep its connection: browsers have six for all pages of a host.
addEventListener('pagehide', () => { stream?.close(); stream = null; });
addEventListener('pageshow', (event) => { if (event.persisted && !stream) { listen(); later(); } });
document.addEventListener('visibilitychange', () => { if (!document.hidden) later(); });
setInterval(() => {
  if (document.hidden || isOut()) return;
  if (!stream || isLost() || quiet() > SILENCE) later();
}, 5000);
// What changes without events is looked at again: data-poll says after how many seconds.
setInterval(() => {
  if (document.hidden || isOut()) return;
  const rhythms = [...document.querySelectorAll('[data-poll]')].map((it) => Number(it.dataset.poll) * 1000);
  if (Date.now() - looked >= Math.min(...rhythms)) later();
}, 1000);
