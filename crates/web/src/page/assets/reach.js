// Whether the market is reached, and what the page says if not: what is shown stays, with its age.
// The line that says so lies over the page and moves nothing.

import { told } from './shell.js';
import { length } from './timeline/words.js';

const NAMES = { live: 'live', paused: 'paused', stale: 'not reached', out: 'signed out' };
/** For so long it is said that the market is there again. */
const SAID = 8000;

const line = document.getElementById('reach');
const button = document.getElementById('live');
let state = '';
let heard = Date.now();
let age = null;
let clearing = 0;

/** That nothing comes, or access is refused. */
export const isLost = () => state === 'stale' || isOut();
export const isOut = () => state === 'out';
/** Milliseconds since the last message of the market. */
export const quiet = () => Date.now() - heard;

function become(next) {
  if (next === state) return false;
  state = next;
  document.body.dataset.live = next;
  button.hidden = false;
  button.dataset.state = next;
  button.lastElementChild.textContent = NAMES[next];
  return true;
}

function say(...parts) {
  clearTimeout(clearing);
  line.replaceChildren(...parts);
  // The parts are made before this is called, and what was shown before is gone.
  age = line.querySelector('[aria-hidden]');
}

/** From when what is shown is; its age is for the eye alone, for it changes every second. */
function since() {
  const text = document.createElement('span');
  text.textContent = ` What is shown is from ${told(Math.floor(heard / 1000))}`;
  const passed = document.createElement('span');
  passed.setAttribute('aria-hidden', 'true');
  text.append(passed, '.');
  return text;
}

function tick() {
  if (age) age.textContent = `, ${length(quiet() / 1000)} ago`;
}

/** What comes is put in place, or not; nothing else while the market is not reached. */
export function rest(paused) {
  if (!isLost()) become(paused ? 'paused' : 'live');
}

/** Something came; `paused`: but nothing is to be put in place. */
export function reached(paused) {
  const gone = quiet();
  const was = isLost();
  heard = Date.now();
  become(paused ? 'paused' : 'live');
  if (!was) return;
  say(`The market is reached again, after ${length(gone / 1000)}.`);
  clearing = setTimeout(say, SAID);
}

/** Nothing came, or not what was asked for: `what` says so. */
export function unreached(what) {
  if (!become('stale')) return;
  say(`▲ ${what}.`, since(), ' Retrying.');
  tick();
  document.dispatchEvent(new CustomEvent('lost'));
}

/** The market is there, but refuses access. */
export function shutOut() {
  if (!become('out')) return;
  const link = document.createElement('a');
  const door = () => { link.href = `/signin?next=${encodeURIComponent(location.pathname + location.search)}`; };
  door();
  link.addEventListener('click', door); // the address may have changed meanwhile
  link.textContent = 'Sign in again';
  say('▲ You are not signed in any more: the session is over, or the market was restarted.', since(), ' ', link, ', and this view comes back.');
  tick();
  document.dispatchEvent(new CustomEvent('lost'));
}

setInterval(tick, 1000);
