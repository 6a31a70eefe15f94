// Texts that count time go on between updates, on the market's clock.

import { length } from './timeline/words.js';

const stamped = () => Date.parse(document.querySelector('footer time').dateTime) - Date.now();
let ahead = stamped();

// A page is some time on its way: the freshest is the nearest, until some clock is set.
document.addEventListener('refreshed', () => {
  const fresh = stamped();
  if (fresh > ahead || fresh < ahead - 2000) ahead = fresh;
});

/** The market's moment, seconds since 1970. */
export const present = () => (Date.now() + ahead) / 1000;

/** Whole minutes, where seconds say nothing; as the server writes it. */
const coarse = (seconds) => (seconds >= 600 ? Math.floor(seconds / 60) * 60 : seconds);

const FORMS = {
  for: (seconds) => length(seconds),
  ago: (seconds) => (seconds === 0 ? 'now' : seconds > 0 ? `${length(coarse(seconds))} ago` : `in ${length(coarse(-seconds))}`),
};

/** Nothing goes on in what is not of now: the page says how old it is. */
const isOld = () => !['live', undefined].includes(document.body.dataset.live);

function count() {
  if (document.hidden || isOld()) return;
  const now = Math.floor(present());
  for (const element of document.querySelectorAll('[data-since]')) {
    const text = FORMS[element.dataset.form](now - Number(element.dataset.since));
    if (element.textContent !== text) element.textContent = text;
  }
}

setInterval(count, 1000);
