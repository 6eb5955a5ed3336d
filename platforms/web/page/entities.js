/**
 * Decodes character references in Markdown (`&amp;`, `&#8212;`). Unknown ones stay unchanged.
 */

/** @type {Record<string, string>} */
const named = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  copy: '©',
  reg: '®',
  trade: '™',
  hellip: '…',
  ndash: '–',
  mdash: '—',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  laquo: '«',
  raquo: '»',
  bull: '•',
  middot: '·',
  times: '×',
  divide: '÷',
  plusmn: '±',
  deg: '°',
  micro: 'µ',
  euro: '€',
  pound: '£',
  yen: '¥',
  sect: '§',
  para: '¶',
  larr: '←',
  rarr: '→',
  uarr: '↑',
  darr: '↓',
  harr: '↔',
  ne: '≠',
  le: '≤',
  ge: '≥',
  infin: '∞',
  check: '✓',
}

/** @param {string} text */
export function decodeEntities(text) {
  if (!text.includes('&')) return text
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z]{2,8}));/g, (whole, decimal, hex, name) => {
    if (name !== undefined) return named[name] ?? whole
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number.parseInt(decimal, 10)
    const bad = code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)
    return bad ? '\ufffd' : String.fromCodePoint(code)
  })
}
