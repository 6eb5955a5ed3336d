/**
 * Decodes the character references of Markdown: `&amp;`, `&#8212;`, `&#x2014;` and the names of HTML 4. Unknown names stay
 * unchanged. The package `entities` knows all names of HTML 5, and costs each start three milliseconds: `#sdk` exports this.
 */

/** Decodes once: `&amp;lt;` becomes `&lt;`. */
export function decodeHtmlEntities(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([A-Za-z][A-Za-z\d]{1,8}));/g, decodeReference)
}

function decodeReference(whole: string, decimal?: string, hex?: string, name?: string): string {
  if (name !== undefined) return named.get(name) ?? whole
  const point = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
  const isCharacter = point > 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff)
  return isCharacter ? String.fromCodePoint(point) : '\ufffd'
}

/** The names of consecutive characters, by the first of them. */
const ranges: readonly (readonly [first: number, names: string])[] = [
  [
    0xa0,
    `nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para
    middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute
    Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml
    Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml
    eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml`,
  ],
  [0x391, 'Alpha Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa Lambda Mu Nu Xi Omicron Pi Rho'],
  [0x3a3, 'Sigma Tau Upsilon Phi Chi Psi Omega'],
  [0x3b1, 'alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigmaf'],
  [0x3c3, 'sigma tau upsilon phi chi psi omega'],
  [0x2190, 'larr uarr rarr darr harr'],
  [0x21d0, 'lArr uArr rArr dArr hArr'],
]

const characters =
  'amp& lt< gt> quot" apos\' OElig\u0152 oelig\u0153 Scaron\u0160 scaron\u0161 Yuml\u0178 fnof\u0192 circ\u02c6 tilde\u02dc ' +
  'thetasym\u03d1 upsih\u03d2 piv\u03d6 ensp\u2002 emsp\u2003 thinsp\u2009 zwnj\u200c zwj\u200d lrm\u200e rlm\u200f ' +
  'ndash\u2013 mdash\u2014 lsquo\u2018 rsquo\u2019 sbquo\u201a ldquo\u201c rdquo\u201d bdquo\u201e dagger\u2020 Dagger\u2021 ' +
  'bull\u2022 hellip\u2026 permil\u2030 prime\u2032 Prime\u2033 lsaquo\u2039 rsaquo\u203a oline\u203e frasl\u2044 euro\u20ac ' +
  'image\u2111 weierp\u2118 real\u211c trade\u2122 alefsym\u2135 crarr\u21b5 forall\u2200 part\u2202 exist\u2203 empty\u2205 ' +
  'nabla\u2207 isin\u2208 notin\u2209 ni\u220b prod\u220f sum\u2211 minus\u2212 lowast\u2217 radic\u221a prop\u221d infin\u221e ' +
  'ang\u2220 and\u2227 or\u2228 cap\u2229 cup\u222a int\u222b there4\u2234 sim\u223c cong\u2245 asymp\u2248 ne\u2260 equiv\u2261 ' +
  'le\u2264 ge\u2265 sub\u2282 sup\u2283 nsub\u2284 sube\u2286 supe\u2287 oplus\u2295 otimes\u2297 perp\u22a5 sdot\u22c5 ' +
  'lceil\u2308 rceil\u2309 lfloor\u230a rfloor\u230b lang\u2329 rang\u232a loz\u25ca spades\u2660 clubs\u2663 hearts\u2665 ' +
  'diams\u2666 check\u2713 cross\u2717'

/** \u2002 to \u2009 are blanks, so `characters` is split at ASCII blanks only. */
const named: ReadonlyMap<string, string> = new Map([
  ...ranges.flatMap(([first, names]) =>
    names.split(/\s+/).map((name, index): [string, string] => [name, String.fromCodePoint(first + index)]),
  ),
  ...characters.split(' ').map((entry): [string, string] => [entry.slice(0, -1), entry.slice(-1)]),
])
