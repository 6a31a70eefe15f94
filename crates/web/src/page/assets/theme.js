// Before anything is drawn: light or dark, if the reader has chosen. What was chosen is in the
// browser alone.
try {
  const theme = localStorage.getItem('theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch { /* no store: as the system has it */ }
