/**
 * Texts that cost more than their length suggests when a parser, a pattern or a renderer backtracks.
 */

/** Repeats `unit` up to `chars` characters. */
export function fill(unit: string, chars: number): string {
  return unit.repeat(Math.ceil(chars / unit.length)).slice(0, chars)
}

function nested(chars: number, line: (depth: number) => string): string {
  let text = ''
  for (let depth = 0; text.length < chars; depth++) text += `${line(depth)}\n`
  return text.slice(0, chars)
}

export interface HostileText {
  readonly name: string
  /** About so many characters. */
  build(chars: number): string
}

const repeated: Readonly<Record<string, string>> = {
  backticks: '`',
  'pairs of backticks': '`a``b```',
  'double quotes': '"',
  'single quotes': "'",
  'opening brackets': '[',
  'closing brackets': ']',
  'images that do not end': '![',
  'links that do not end': '[a](',
  'nested links': '[a](<b',
  'links in links': '[x](y)[',
  'reference links': '[a][b]',
  'reference definitions': '[a]: b\n',
  stars: '*',
  'emphasis that opens': '*a **b ',
  'mixed emphasis': '*_~`',
  'underscores in words': 'a_b_',
  'strong without an end': '**a',
  tildes: '~~',
  'opening angle brackets': '<',
  'comments that do not end': '<!--',
  'tags that do not end': '<a href="',
  'closing tags': '</a>',
  'instructions that do not end': '<?',
  'character data': '<![CDATA[',
  autolinks: '<http://a',
  addresses: 'http://a.b/(',
  'mail addresses': 'a@b.',
  'www names': 'www.a.',
  ampersands: '&',
  entities: '&amp;',
  backslashes: '\\',
  'escaped stars': '\\*',
  dollars: '$',
  formulas: '$a$ $$b',
  'formulas with brackets': '\\(\\[',
  'table cells': '|',
  'table rows': '|a|b|\n|-|-|\n',
  dashes: '-',
  'setext underlines': 'a\n=\n',
  quotes: '>',
  'quotes in quotes': '> > a\n',
  'list items': '- a\n',
  numbers: '1',
  'numbered items': '1. a\n',
  'task items': '- [ ] a\n',
  hashes: '# ',
  fences: '```\n',
  'fences in quotes': '> ```\n',
  'tilde fences': '~~~a\n',
  spaces: ' ',
  tabs: '\t',
  'line breaks': '\n',
  'carriage returns': '\r',
  'spaces at line ends': 'a  \n',
  'spaces and a letter': `${' '.repeat(999)}a`,
  'combining marks': '\u0301',
  'combining marks of two classes': '\u0301\u0323',
  'a letter with combining marks': `e${'\u0301'.repeat(5_000)}`,
  'zero-width joiners': '\u200D',
  'joined emoji': '👩\u200D',
  flags: '🇦',
  'skin tones': '👍🏽',
  'tag characters': '\u{E0041}',
  'bidirectional marks': '\u202E',
  'lone surrogates': '\uD800',
  Hangul: '각',
  'compatibility characters': 'ﷺ',
  nulls: '\0',
  'escape sequences': '\x1b[31m',
  'escape sequences without an end': '\x1b]8;;',
  'media tags': 'MEDIA:',
  'quoted media tags': 'MEDIA:"',
  'media tags of files': 'MEDIA:/a.png ',
  'image tags': '<img ',
  slashes: '/',
  paths: '/a/../',
  colons: ':',
  'equals signs': 'token=',
  'secret fields': '"token":"',
  'secret fields with escapes': '\\"token\\":\\"',
  'private keys': '-----BEGIN PRIVATE KEY-----',
  'web tokens': 'eyJaaaaaaaa.',
  'words of secrets': 'api-secret-',
  'user names in addresses': '://a:',
  'thinking tags': '<think>',
  'closed thinking tags': '</think>',
  mentions: '@a ',
  'mentions of users': '<@U1>',
  'mentions of channels': '<#C1|',
  commands: '/a ',
  injections: 'ignore all ',
  'instructions to ignore': 'ignore previous ignore ',
  braces: '{"a":',
  'square braces': '[[',
  'percent signs': '%2',
  commas: ',',
  semicolons: ';',
  'one word': 'a',
  words: 'a ',
}

const shaped: readonly HostileText[] = [
  { name: 'nested lists', build: (chars) => nested(chars, (depth) => `${' '.repeat(2 * (depth % 400))}- a`) },
  { name: 'nested numbered lists', build: (chars) => nested(chars, (depth) => `${' '.repeat(3 * (depth % 400))}1. a`) },
  { name: 'nested quotes', build: (chars) => nested(chars, (depth) => `${'>'.repeat(depth % 2_000)} a`) },
  { name: 'growing runs of backticks', build: (chars) => nested(chars, (depth) => `${'`'.repeat(depth + 1)}a`) },
  { name: 'growing fences', build: (chars) => nested(chars, (depth) => '`'.repeat(depth + 3)) },
  { name: 'a list in a quote in a list', build: (chars) => fill('- > ', chars) },
  {
    name: 'a wide table',
    build: (chars) => `${fill('|a', chars / 3)}|\n${fill('|-', chars / 3)}|\n${fill('|b', chars / 3)}|`,
  },
  { name: 'a long table', build: (chars) => `|a|b|\n|-|-|\n${fill('|c|d|\n', chars)}` },
  { name: 'closed brackets', build: (chars) => fill('[', chars / 2) + fill(']', chars / 2) },
  { name: 'closed parentheses', build: (chars) => `[a](${fill('(', chars / 2)}${fill(')', chars / 2)})` },
  { name: 'closed emphasis', build: (chars) => fill('*a ', chars / 2) + fill('b* ', chars / 2) },
  { name: 'one long heading', build: (chars) => `# ${fill('#', chars)} a` },
  { name: 'one long line of code', build: (chars) => `\`\`\`\n${fill('x', chars)}` },
  { name: 'spaces around one word', build: (chars) => `${fill(' ', chars / 2)}a${fill(' ', chars / 2)}b` },
]

export const hostileTexts: readonly HostileText[] = [
  ...Object.entries(repeated).map(([name, unit]) => ({ name, build: (chars: number) => fill(unit, chars) })),
  ...shaped,
]
