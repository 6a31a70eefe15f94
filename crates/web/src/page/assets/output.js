// What a job writes: followed by place, so that each byte is asked for once; searched; copied.

/** Bytes that are asked for at once, and letters that are kept in the page. */
const PIECE = 262_144;
const MOST = 4_000_000;
/** Milliseconds between two looks: while something comes, and at most. */
const SOON = 700;
const SELDOM = 4000;
/** Matches that are marked. */
const MATCHES = 2000;

const get = (id) => document.getElementById(id);
const log = get('log');
if (log) start();

function start() {
  for (const it of document.querySelectorAll('[data-scripted]')) it.hidden = false;
  const [find, follow, said, earlier] = [get('log-find'), get('log-follow'), get('log-said'), get('log-earlier')];
  const text = document.createTextNode('');
  let [first, next, size] = [0, 0, 0]; // the bytes that are shown are [first, next) of so many
  let decoder = new TextDecoder();
  let pause = SOON;
  let matches = [];
  let at = -1;
  const isOver = () => document.querySelector('[data-live=job] [data-over]') !== null;
  const letters = (count) => count.toLocaleString('en');

  async function ask(query) {
    const answer = await fetch(`${log.dataset.path}?${new URLSearchParams({ stream: log.dataset.stream, ...query })}`, { signal: AbortSignal.timeout(15_000) });
    if (!answer.ok) throw new Error(`the market answers ${answer.status}`);
    const bytes = new Uint8Array(await answer.arrayBuffer());
    return { bytes, from: Number(answer.headers.get('tradewind-output-from')), size: Number(answer.headers.get('tradewind-output-size')) };
  }

  function say(wrong) {
    const parts = [];
    if (size === 0) parts.push('Nothing was written so far.');
    else if (first === 0) parts.push(`All of it: ${letters(size)} bytes.`);
    else parts.push(`Bytes ${letters(first)} to ${letters(next)} of ${letters(size)}.`);
    if (wrong) parts.push(`Not up to date: ${wrong.message}.`);
    else if (isOver()) parts.push('The job is over.');
    else if (follow.checked) parts.push('More is added as it is written.');
    const line = parts.join(' ');
    if (said.textContent !== line) said.textContent = line;
    earlier.hidden = first === 0 || text.length >= MOST;
  }

  /** The page shows the end, if its reader did. */
  function atEnd(change) {
    const near = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    change();
    if (near && follow.checked && at < 0) log.scrollTop = log.scrollHeight;
  }

  function show(found) {
    if (found.from !== next) { // another file, or a shorter one
      decoder = new TextDecoder();
      text.data = '';
      first = found.from;
    }
    atEnd(() => {
      text.appendData(decoder.decode(found.bytes, { stream: true }));
      const over = text.length - MOST;
      if (over > 0) { // the oldest lines go: the file has them
        const cut = text.data.indexOf('\n', over) + 1 || over;
        first += new TextEncoder().encode(text.data.slice(0, cut)).length;
        text.deleteData(0, cut);
      }
    });
    next = found.from + found.bytes.length;
    size = Math.max(found.size, next);
    log.dataset.next = next; // for tests
  }

  let timer = 0;
  let asking = false; // one question at a time: what comes twice would be shown twice
  async function look() {
    clearTimeout(timer);
    if (asking) { timer = setTimeout(look, 100); return; }
    asking = true;
    try {
      // A file that became shorter was begun again.
      const found = await ask(next ? { from: next, bytes: PIECE } : { bytes: 65_536 });
      const fresh = found.size < next ? await ask({ bytes: 65_536 }) : found;
      if (fresh.bytes.length || fresh.from !== next) { show(fresh); seek(false); }
      size = fresh.size;
      pause = fresh.bytes.length ? SOON : Math.min(pause * 1.5, SELDOM);
      say();
      const rest = next < size;
      if (follow.checked && (rest || !isOver())) timer = setTimeout(look, rest ? 50 : pause);
      else if (follow.checked) timer = setTimeout(look, SELDOM * 2);
    } catch (wrong) {
      say(wrong);
      timer = setTimeout(look, SELDOM);
    } finally { asking = false; }
  }

  async function before() {
    if (asking) { setTimeout(before, 100); return; }
    if (first === 0) return;
    asking = true;
    const from = Math.max(first - PIECE, 0);
    try {
      const found = await ask({ from, bytes: first - from });
      const tall = log.scrollHeight;
      text.insertData(0, new TextDecoder().decode(found.bytes));
      first = from;
      log.scrollTop += log.scrollHeight - tall;
      seek(false);
      say();
    } catch (wrong) { say(wrong); } finally { asking = false; }
  }

  const marks = (name, ranges) => { if (globalThis.Highlight) CSS.highlights.set(name, new Highlight(...ranges)); };
  const range = (place, length) => { const it = new Range(); it.setStart(text, place); it.setEnd(text, place + length); return it; };

  /** Marks what is searched for; `moves`: goes to the last match. */
  function seek(moves) {
    const wanted = find.value.toLowerCase();
    matches = [];
    const all = wanted ? text.data.toLowerCase() : '';
    for (let place = all.indexOf(wanted); wanted && place >= 0 && matches.length < MATCHES; place = all.indexOf(wanted, place + wanted.length)) matches.push(place);
    if (moves) at = matches.length - 1;
    else if (at >= matches.length) at = matches.length - 1;
    marks('found', matches.map((place) => range(place, wanted.length)));
    tell(moves);
  }

  function tell(moves) {
    const wanted = find.value;
    const count = matches.length;
    get('log-count').textContent = !wanted ? '' : count ? `${at + 1} of ${letters(count)}${count === MATCHES ? ' or more' : ''}` : 'no match in what is shown';
    if (!wanted) at = -1;
    marks('here', at >= 0 ? [range(matches[at], wanted.length)] : []);
    if (!moves || at < 0) return;
    const [box, around] = [range(matches[at], wanted.length).getBoundingClientRect(), log.getBoundingClientRect()];
    log.scrollTop += box.top - around.top - log.clientHeight / 2;
  }

  function step(by) {
    if (!matches.length) return;
    at = (at + by + matches.length) % matches.length;
    tell(true);
  }

  async function copy() {
    const button = get('log-copy');
    try {
      await navigator.clipboard.writeText(text.data);
      button.textContent = 'Copied';
    } catch { // without TLS there is no clipboard: what is selected can be copied by keys
      getSelection().selectAllChildren(log);
      button.textContent = document.execCommand('copy') ? 'Copied' : 'Selected: press Ctrl-C';
    }
    setTimeout(() => { button.textContent = 'Copy'; }, 3000);
  }

  log.replaceChildren(text);
  find.addEventListener('input', () => seek(true));
  find.addEventListener('keydown', (event) => { if (event.key === 'Enter') { event.preventDefault(); step(event.shiftKey ? -1 : 1); } });
  get('log-next').addEventListener('click', () => step(1));
  get('log-previous').addEventListener('click', () => step(-1));
  get('log-copy').addEventListener('click', copy);
  get('log-wrap').addEventListener('change', (event) => log.classList.toggle('wide', !event.target.checked));
  follow.addEventListener('change', () => { if (follow.checked) { log.scrollTop = log.scrollHeight; look(); } });
  earlier.addEventListener('click', before);
  document.addEventListener('refreshed', () => { if (follow.checked) { pause = SOON; look(); } });
  look().then(() => { log.scrollTop = log.scrollHeight; });
}
