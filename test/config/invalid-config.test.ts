/**
 * With any content of config.yaml a start succeeds with defaults and reports the exact issues.
 */
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { ConfigIssue } from '../../src/config/issue.ts'
import { createTestHome, formatAll } from './support.ts'

const asRoot = process.getuid?.() === 0

/** The file, line and path of each issue. */
const locationsOf = (issues: readonly ConfigIssue[]) => issues.map(({ file, line, path }) => [file, line, path])

/** The file, and for each issue its location, its path and the value that was found. */
const table: readonly [string, string | Uint8Array, readonly string[]][] = [
  ['a tab as indentation', 'http:\n\tport: 1\n', ['config.yaml:2:1']],
  ['tabs on several lines', 'a:\n\tb: 1\n\tc: 2\n', ['config.yaml:2:1', 'config.yaml:3:1']],
  ['two keys in one line', 'model: a: b\n', ['config.yaml:1:8']],
  ['a quote that is not closed', 'model: "gpt\nhttp: {}\n', ['config.yaml:1:8']],
  ['a bracket that is not closed', 'http: {port: 1\n', ['config.yaml:1:7']],
  ['a key that is there twice', 'model: a\nmodel: b\n', ['config.yaml:2:1']],
  ['a nested key that is there twice', 'http:\n  port: 1\n  port: 2\n', ['config.yaml:3:3']],
  ['a tag', 'model: !env MODEL\n', ['config.yaml:1:8']],
  ['an unknown alias', 'model: *gpt\n', ['config.yaml:1:8']],
  ['an alias inside itself', 'agent: &a\n  timeout: *a\n', ['config.yaml:2:12']],
  ['a billion laughs', bomb(), ['config.yaml:2:8']],
  ['brackets without end', '['.repeat(500_000), ['config.yaml:1:67']],
  ['a deep staircase', Array.from({ length: 200 }, (_, n) => `${' '.repeat(n)}a:`).join('\n'), ['config.yaml:66:67']],
  ['more than a megabyte', `model: ${'x'.repeat(1_100_000)}`, ['config.yaml']],
  ['a program', new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 0x02, 0x01, 0x01, 0x00]), ['config.yaml:1:1']],
  ['bytes that are not UTF-8', new Uint8Array([0x6d, 0x3a, 0x20, 0xff, 0xfe]), ['config.yaml']],
  ['UTF-16', Buffer.from('\uFEFFmodel: x', 'utf16le'), ['config.yaml']],
  ['zero bytes', 'model: a\0b\n', ['config.yaml:1:9']],
  ['a list', '- model: x\n', ['config.yaml:1:1 a list']],
  ['a bare word', 'gpt-5\n', ['config.yaml:1:1 a string']],
  ['a number', '42\n', ['config.yaml:1:1 a number']],
  ['two documents', 'model: a\n---\nmodel: b\n', ['config.yaml:2:1']],
  ['JSON with a comma too many', '{"model": "x",, "http": {}}', ['config.yaml:1:15']],
  ['the prototype', '__proto__: {admin: true}\n', ['config.yaml:1:1']],
  ['a list as a key', '? [a]\n: b\n', ['config.yaml:1:3']],
  ['a word for a number', 'http:\n  port: abc\n', ['config.yaml:2:9 http.port "abc"']],
  ['a port that is too high', 'http:\n  port: 65536\n', ['config.yaml:2:9 http.port 65536']],
  ['half a port', 'http: {port: 80.5}\n', ['config.yaml:1:14 http.port 80.5']],
  ['infinity', 'agent:\n  timeout: .inf\n', ['config.yaml:2:12']],
  ['a time that is not above zero', 'agent:\n  timeout: 0\n', ['config.yaml:2:12 agent.timeout 0']],
  ['a word that is none of the allowed', 'provider: opanai\n', ['config.yaml:1:11 provider "opanai"']],
  ['yes for true', 'agent:\n  verbose: yes\n', ['config.yaml:2:12 agent.verbose "yes"']],
  ['a value where keys should be', 'http: 8642\n', ['config.yaml:1:7 http 8642']],
  ['a list where keys should be', 'http:\n  - port: 1\n', ['config.yaml:2:3 http a list']],
  ['keys where a text should be', 'model:\n  name: x\n', ['config.yaml:2:3 model keys with values']],
  [
    'a text where a list should be',
    'http:\n  allowed_hosts: a.example\n',
    ['config.yaml:2:18 http.allowed_hosts "a.example"'],
  ],
  [
    'a wrong item of a list',
    'http:\n  allowed_hosts:\n    - a\n    - 7\n',
    ['config.yaml:4:7 http.allowed_hosts[1] 7'],
  ],
  [
    'a wrong value below a name',
    'platforms:\n  chat:\n    accounts:\n      one: {token: [x]}\n',
    ['config.yaml:4:20 platforms.chat.accounts.one.token a list'],
  ],
  ['a name that does not fit', 'rooms:\n  A B: x\n', ['config.yaml:2:8 rooms["A B"] the name "A B"']],
  ['a text that does not match', 'rooms:\n  a: "#1"\n', ['config.yaml:2:6 rooms.a "#1"']],
  ['keys where a text or a list may be', 'ids: {a: 1}\n', ['config.yaml:1:6 ids keys with values']],
  ['an empty text', 'http: {host: ""}\n', ['config.yaml:1:14 http.host ""']],
  ['a variable that is not set', `model: \${NOPE}\n`, ['config.yaml:1:8 model nothing']],
  [
    'a very long wrong value',
    `provider: ${'x'.repeat(5_000)}\n`,
    ['config.yaml:1:11 provider "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…"'],
  ],
]

function summary({ file, line, column, path, found }: ConfigIssue): string {
  const location = [file, line, column].filter((part) => part !== undefined).join(':')
  return [location, path, found].filter((part) => part !== undefined && part !== '').join(' ')
}

describe('a start with', () => {
  it('one bad key keeps all other values', (t) => {
    const { config: write, load } = createTestHome(t)
    write('model: gpt\nhttp: {port: abc, host: h}\nlog: {level: warn}\nplatforms: {chat: {token: main}}\n')
    const { config } = load()
    const { source, problems, degraded } = config.state()
    assert.deepEqual([source, problems.map(({ path }) => path), degraded.length], ['file', ['http.port'], 1])
    const { model, http, log, platforms } = config.current()
    assert.deepEqual([model, http.port, http.host, log.level], ['gpt', 8642, 'h', 'warn'])
    assert.deepEqual(platforms.chat, { token: 'main' })
  })

  it('a bad value of an account disables that account, and no other one', (t) => {
    const { config: write, load } = createTestHome(t)
    write('platforms: {chat: {token: main, accounts: {one: {token: [x]}, two: {token: t}, three: 5}}}\nmodel: gpt\n')
    const { config } = load()
    assert.equal(config.current().model, 'gpt')
    assert.deepEqual(config.current().platforms.chat?.accounts, { one: {}, two: { token: 't' }, three: {} })
    assert.deepEqual(
      config.unusableSettings().map(({ path, reason }) => [path.slice(3).join('.'), /\((.*)\)$/.exec(reason)?.[1]]),
      [
        ['one.token', 'config.yaml:1:57'],
        ['three.enabled', 'config.yaml:1:87'],
      ],
    )
  })

  it('several bad items of one list keep the keys beside it', (t) => {
    const { config: write, load } = createTestHome(t)
    write(
      'http: {port: 9000, allowed_hosts: [7, 8, 9]}\nplatforms: {chat: {token: [1, 2], accounts: {two: {token: t}}}}\n',
    )
    const { config } = load()
    assert.deepEqual([config.current().http.port, config.current().http.allowed_hosts], [9000, []])
    assert.deepEqual(config.current().platforms.chat, { accounts: { two: { token: 't' } } })
    assert.deepEqual(
      config.unusableSettings().map(({ path }) => path),
      [['platforms', 'chat', 'token']],
    )
  })

  it('several variables of one list that are not set keep the keys beside it', (t) => {
    const { config: write, load } = createTestHome(t)
    write(`http: {port: 9000, allowed_hosts: ["\${ONE}", "\${TWO}"]}\n`)
    const { http } = load().config.current()
    assert.deepEqual([http.port, http.allowed_hosts], [9000, []])
  })

  it('a bad value whose default permits more uses the safe value instead', (t) => {
    const { config: write, load } = createTestHome(t)
    const safeValues = [
      { key: 'provider', value: 'demo' },
      { key: 'api_key', set: 'provider', value: 'demo' },
      { key: 'http.allowed_hosts', value: ['none.invalid'] },
    ]
    const valuesFor = (text: string, variables = {}) => {
      write(text)
      const { provider, http } = load(variables, { safeValues }).config.current()
      return [provider, http.allowed_hosts]
    }
    assert.deepEqual(valuesFor('provider: opanai\n'), ['demo', []])
    assert.deepEqual(valuesFor(`api_key: "\${NOPE}"\nprovider: openai\n`), ['demo', []])
    assert.deepEqual(valuesFor('http: {allowed_hosts: [a, 5]}\n'), [undefined, ['none.invalid']])
    assert.deepEqual(valuesFor('http: 5\n'), [undefined, ['none.invalid']])
  })

  for (const [what, content, expected] of table) {
    it(`${what} succeeds with defaults and reports the location`, (t) => {
      const { config: write, load } = createTestHome(t)
      write(content)
      const { config, messages } = load()
      const state = config.state()
      assert.deepEqual(state.problems.map(summary), expected)
      const isSyntax = state.problems.some(({ path }) => path === '')
      assert.equal(state.source, isSyntax ? 'defaults' : 'file')
      assert.equal(config.current().http.port, 8642)
      const inAccount = state.problems.filter(({ path }) => path.startsWith('platforms.'))
      assert.equal(state.degraded.length, inAccount.length === 0 ? 1 : 0)
      assert.equal(config.unusableSettings().length, inAccount.length)
      for (const problem of formatAll(state.problems))
        assert.equal(messages().filter((message) => message.includes(problem)).length, 1, 'every issue is logged once')
    })
  }

  it('a directory instead of the file succeeds', (t) => {
    const { layout, load } = createTestHome(t)
    mkdirSync(layout.configFile)
    assert.deepEqual(locationsOf(load().config.state().problems), [['config.yaml', undefined, '']])
  })

  it('a link to itself succeeds', (t) => {
    const { layout, load } = createTestHome(t)
    symlinkSync(layout.configFile, layout.configFile)
    const { problems } = load().config.state()
    assert.deepEqual(locationsOf(problems), [['config.yaml', undefined, '']])
    assert.match(problems[0]?.message ?? '', /\bELOOP\b/)
  })

  it('an unreadable file succeeds', { skip: asRoot && 'root may read everything' }, (t) => {
    const { layout, config, load } = createTestHome(t)
    config('model: x\n')
    chmodSync(layout.configFile, 0o000)
    assert.deepEqual(formatAll(load().config.state().problems), [
      'config.yaml  the file cannot be read: permission denied',
    ])
  })

  it('a directory instead of .env and of the last good copy succeeds', (t) => {
    const { layout, config, load } = createTestHome(t)
    config('http: [\n')
    mkdirSync(layout.envFile)
    mkdirSync(layout.lastGoodConfigFile, { recursive: true })
    const state = load().config.state()
    assert.deepEqual(
      state.problems.map(({ file, path }) => [file, path]),
      [
        ['.env', ''],
        ['config.yaml', ''],
      ],
    )
    assert.equal(state.source, 'defaults')
  })

  it('a cache that is not writable succeeds and reports that no copy is kept', (t) => {
    const { layout, config, load } = createTestHome(t)
    config('model: x\n')
    symlinkSync(join(layout.root, 'nowhere', 'at', 'all'), layout.cache)
    const { config: loaded, lines } = load()
    assert.equal(loaded.current().model, 'x')
    assert.deepEqual(
      lines.map(({ event }) => event),
      ['config.copy_failed'],
    )
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
