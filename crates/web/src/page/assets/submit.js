// A script from a file, and what the job could get as one types.

const PAUSE = 700;
const form = document.getElementById('submission');
const answer = document.getElementById('answer');
const [script, file] = [document.getElementById('script'), document.getElementById('from-file')];

document.getElementById('upload').hidden = false;
file.addEventListener('change', async () => {
  const [chosen] = file.files;
  if (!chosen) return;
  script.value = await chosen.text();
  form.elements.file.value = chosen.name;
  later();
});

let timer = 0;
let asked = 0;
/** The answer to what is filled in now; an older one that comes later is dropped. */
async function check() {
  asked += 1;
  const mine = asked;
  const body = new URLSearchParams(new FormData(form));
  body.set('act', 'check');
  body.delete('quote');
  try {
    const page = await fetch(form.action, { method: 'POST', body });
    const fresh = new DOMParser().parseFromString(await page.text(), 'text/html');
    if (mine !== asked || page.redirected || !fresh.getElementById('answer')) return;
    answer.replaceChildren(...fresh.getElementById('answer').childNodes);
    for (const field of form.querySelectorAll('input[id]')) {
      const wrong = fresh.getElementById(field.id)?.ariaInvalid;
      if (wrong) field.setAttribute('aria-invalid', wrong); else field.removeAttribute('aria-invalid');
    }
  } catch { /* the market is not reached: the page says so */ }
}

function later() {
  clearTimeout(timer);
  timer = setTimeout(check, PAUSE);
}

form.addEventListener('input', (event) => { if (event.target.type !== 'radio' && event.target !== file) later(); });
if (!answer.children.length) later();
