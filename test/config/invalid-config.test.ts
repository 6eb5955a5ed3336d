/**
 * Whatever is in config.yaml, a start succeeds, says exactly what is wrong, and runs on defaults.
 */
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { createTestHome, formatAll } from './support.ts'

const asRoot = process.getuid?.() === 0

/** What is written, and the problems in the words that people see. */
const table: readonly [string, string | Uint8Array, readonly (string | RegExp)[]][] = [
  ['a tab as indentation', 'http:\n\tport: 1\n', ['config.yaml:2:1  a tab cannot indent; use spaces']],
  ['tabs on several lines', 'a:\n\tb: 1\n\tc: 2\n', [/^config\.yaml:2:1 {2}a tab/, /^config\.yaml:3:1 {2}a tab/]],
  ['two keys in one line', 'model: a: b\n', [/^config\.yaml:1:8 {2}two keys in one line/]],
  ['a quote that is not closed', 'model: "gpt\nhttp: {}\n', [/^config\.yaml:3:1 {2}missing closing/]],
  ['a bracket that is not closed', 'http: {port: 1\n', [/^config\.yaml:2:1 /]],
  ['a key that is there twice', 'model: a\nmodel: b\n', ['config.yaml:2:1  the key "model" is there twice']],
  [
    'a nested key that is there twice',
    'http:\n  port: 1\n  port: 2\n',
    ['config.yaml:3:3  the key "port" is there twice'],
  ],
  ['a tag', 'model: !env MODEL\n', [/^config\.yaml:1:13 {2}tags/]],
  ['an unknown alias', 'model: *gpt\n', [/^config\.yaml:1:8 {2}an alias that names nothing/]],
  ['an alias inside itself', 'agent: &a\n  timeout: *a\n', [/^config\.yaml:2:12 {2}an alias that contains itself/]],
  ['a billion laughs', bomb(), [/^config\.yaml:\d+:\d+ {2}aliases unfold into too many values/]],
  ['brackets without end', '['.repeat(500_000), [/^config\.yaml:1:67 {2}nested deeper than 64 levels/]],
  [
    'a deep staircase',
    Array.from({ length: 200 }, (_, n) => `${' '.repeat(n)}a:`).join('\n'),
    [/nested deeper than 64/],
  ],
  [
    'more than a megabyte',
    `model: ${'x'.repeat(1_100_000)}`,
    [/^config\.yaml {2}the file cannot be read: it is larger than 1048576 bytes/],
  ],
  [
    'a program',
    new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 0x02, 0x01, 0x01, 0x00]),
    [/^config\.yaml:1:1 {2}a control character/],
  ],
  [
    'bytes that are not UTF-8',
    new Uint8Array([0x6d, 0x3a, 0x20, 0xff, 0xfe]),
    ['config.yaml  the file cannot be read: it is not UTF-8 text'],
  ],
  ['UTF-16', Buffer.from('\uFEFFmodel: x', 'utf16le'), [/not UTF-8 text/]],
  ['zero bytes', 'model: a\0b\n', [/^config\.yaml:1:9 {2}a control character/]],
  ['a list', '- model: x\n', [/^config\.yaml:1:1 {2}expected keys with values .*, found a list/]],
  ['a bare word', 'gpt-5\n', [/expected keys with values .*, found a string/]],
  ['a number', '42\n', [/expected keys with values .*, found a number/]],
  ['two documents', 'model: a\n---\nmodel: b\n', [/^config\.yaml:2:1 {2}a second document/]],
  ['JSON with a comma too many', '{"model": "x",, "http": {}}', [/^config\.yaml:1:15 /]],
  ['the prototype', '__proto__: {admin: true}\n', [/^config\.yaml:1:1 {2}the key "__proto__" is not allowed/]],
  ['a list as a key', '? [a]\n: b\n', [/^config\.yaml:1:3 {2}a key must be a plain word/]],
  [
    'a word for a number',
    'http:\n  port: abc\n',
    ['config.yaml:2:9  http.port: expected a whole number from 0 to 65535, found "abc"'],
  ],
  [
    'a port that is too high',
    'http:\n  port: 65536\n',
    ['config.yaml:2:9  http.port: expected a whole number from 0 to 65535, found 65536'],
  ],
  [
    'half a port',
    'http: {port: 80.5}\n',
    ['config.yaml:1:14  http.port: expected a whole number from 0 to 65535, found 80.5'],
  ],
  ['infinity', 'agent:\n  timeout: .inf\n', [/^config\.yaml:2:12 {2}not a plain value/]],
  [
    'a time that is not above zero',
    'agent:\n  timeout: 0\n',
    ['config.yaml:2:12  agent.timeout: expected a number above 0, found 0'],
  ],
  [
    'a word that is none of the allowed',
    'provider: opanai\n',
    ['config.yaml:1:11  provider: expected openai, anthropic or demo, found "opanai"'],
  ],
  [
    'yes for true',
    'agent:\n  verbose: yes\n',
    ['config.yaml:2:12  agent.verbose: expected true or false, found "yes"'],
  ],
  ['a value where keys should be', 'http: 8642\n', ['config.yaml:1:7  http: expected keys with values, found 8642']],
  [
    'a list where keys should be',
    'http:\n  - port: 1\n',
    ['config.yaml:2:3  http: expected keys with values, found a list'],
  ],
  [
    'keys where a text should be',
    'model:\n  name: x\n',
    ['config.yaml:2:3  model: expected a text, found keys with values'],
  ],
  [
    'a text where a list should be',
    'http:\n  allowed_hosts: a.example\n',
    ['config.yaml:2:18  http.allowed_hosts: expected a list, found "a.example"'],
  ],
  [
    'a wrong item of a list',
    'http:\n  allowed_hosts:\n    - a\n    - 7\n',
    ['config.yaml:4:7  http.allowed_hosts[1]: expected a text that is not empty, found 7'],
  ],
  [
    'a wrong value below a name',
    'platforms:\n  chat:\n    accounts:\n      one: {token: [x]}\n',
    ['config.yaml:4:20  platforms.chat.accounts.one.token: expected a text, found a list'],
  ],
  [
    'a name that does not fit',
    'rooms:\n  A B: x\n',
    ['config.yaml:2:8  rooms["A B"]: expected a small letter, found the name "A B"'],
  ],
  ['a text that does not match', 'rooms:\n  a: "#1"\n', [/^config\.yaml:2:6 {2}rooms\.a: expected a text \(.*pattern/]],
  [
    'keys where a text or a list may be',
    'ids: {a: 1}\n',
    ['config.yaml:1:6  ids: expected a list or a text, found keys with values'],
  ],
  ['an empty text', 'http: {host: ""}\n', ['config.yaml:1:14  http.host: expected a text that is not empty, found ""']],
  ['a variable that is not set', `model: \${NOPE}\n`, [/^config\.yaml:1:8 {2}model: \$\{NOPE\} is not set/]],
  ['a very long wrong value', `provider: ${'x'.repeat(5_000)}\n`, [/found "x{40}…"$/]],
]

describe('a start with', () => {
  for (const [what, content, expected] of table) {
    it(`${what} succeeds on defaults and names the place`, (t) => {
      const { config: write, load } = createTestHome(t)
      write(content)
      const { config, messages } = load()
      const state = config.state()
      const found = formatAll(state.problems)
      assert.equal(found.length, expected.length, found.join('\n'))
      expected.forEach((sentence, index) => {
        if (typeof sentence === 'string') assert.equal(found[index], sentence)
        else assert.match(found[index] ?? '', sentence)
      })
      assert.equal(state.source, 'defaults')
      assert.equal(config.current().http.port, 8642)
      assert.match(
        state.degraded[0] ?? '',
        /^the configuration cannot be used: .*defaults are in use and no chat platform/,
      )
      for (const sentence of found) assert.ok(messages().includes(sentence), 'the log says it too')
    })
  }

  it('a folder in place of the file succeeds', (t) => {
    const { layout, load } = createTestHome(t)
    mkdirSync(layout.configFile)
    assert.match(formatAll(load().config.state().problems)[0] ?? '', /cannot be read: it is a folder/)
  })

  it('a link that leads nowhere but to itself succeeds', (t) => {
    const { layout, load } = createTestHome(t)
    symlinkSync(layout.configFile, layout.configFile)
    assert.match(formatAll(load().config.state().problems)[0] ?? '', /cannot be read: ELOOP/)
  })

  it('a file that may not be read succeeds', { skip: asRoot && 'root may read everything' }, (t) => {
    const { layout, config, load } = createTestHome(t)
    config('model: x\n')
    chmodSync(layout.configFile, 0o000)
    assert.deepEqual(formatAll(load().config.state().problems), [
      'config.yaml  the file cannot be read: permission denied',
    ])
  })

  it('a folder in place of .env and of the last good copy succeeds', (t) => {
    const { layout, config, load } = createTestHome(t)
    config('http: 1\n')
    mkdirSync(layout.envFile)
    mkdirSync(layout.lastGoodConfigFile, { recursive: true })
    const state = load().config.state()
    assert.deepEqual(formatAll(state.problems), [
      '.env  the file cannot be read: it is a folder, not a file',
      'config.yaml:1:7  http: expected keys with values, found 1',
    ])
    assert.equal(state.source, 'defaults')
  })

  it('a cache that cannot be written succeeds and says that no copy is kept', (t) => {
    const { layout, config, load } = createTestHome(t)
    config('model: x\n')
    symlinkSync(join(layout.root, 'nowhere', 'at', 'all'), layout.cache)
    const { config: loaded, messages } = load()
    assert.equal(loaded.current().model, 'x')
    assert.deepEqual(messages(), ['no copy of the configuration could be kept for bad days'])
  })
})

function bomb(): string {
  const names = 'abcdefghi'.split('')
  const lines = names.map((name, index) => {
    const previous = names[index - 1]
    return `${name}: &${name} [${Array(9)
      .fill(previous === undefined ? 'ha' : `*${previous}`)
      .join(', ')}]`
  })
  return lines.join('\n')
}
