/**
 * An unset variable disables only the chat account that refers to it.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createTestHome, formatAll } from './support.ts'

const unset = (name: string) =>
  `\${${name}} is not set in the environment or in .env; set it, or write \${${name}:-default}`
const two = `model: gpt
platforms:
  chat:
    token: main-token
    accounts:
      family: {token: "\${FAMILY_TOKEN}"}
      work: {token: work-token}
`

describe('an unset variable', () => {
  it('in an account changes nothing else, and is an issue with its location', (t) => {
    const { config: write, load } = createTestHome(t)
    write(two)
    const { config, messages } = load()
    const { source, problems, degraded } = config.state()
    assert.equal(source, 'file')
    const sentence = `config.yaml:6:23  platforms.chat.accounts.family.token: ${unset('FAMILY_TOKEN')}`
    assert.deepEqual(formatAll(problems), [sentence])
    assert.deepEqual(messages(), [sentence])
    assert.deepEqual(degraded, [])
    assert.equal(config.current().model, 'gpt')
    const accounts = { family: {}, work: { token: 'work-token' } }
    assert.deepEqual(config.current().platforms.chat, { token: 'main-token', accounts })
    assert.deepEqual(
      config.unusableSettings().map(({ path, reason }) => [path, reason]),
      [[['platforms', 'chat', 'accounts', 'family', 'token'], `\${FAMILY_TOKEN} is not set (config.yaml:6:23)`]],
    )
  })

  it('in one item of a list invalidates the whole list, because a partial list of users has another meaning', (t) => {
    const { config: write, load } = createTestHome(t)
    write(`platforms: {chat: {token: main, allow_from: [ann, "\${BOB}"]}}\n`)
    const { config } = load()
    assert.deepEqual(config.current().platforms.chat, { token: 'main' })
    assert.deepEqual(
      config.unusableSettings().map(({ path }) => path),
      [['platforms', 'chat', 'allow_from']],
    )
  })

  it('has no effect when an environment variable sets the value', (t) => {
    const { config: write, load } = createTestHome(t)
    write(`platforms: {chat: {token: "\${NOPE}"}}\n`)
    const { config } = load({ CHAT_TOKEN: 'from-outside' })
    assert.equal(config.current().platforms.chat?.token, 'from-outside')
    assert.deepEqual(config.unusableSettings(), [])
  })

  it('elsewhere leaves the default, and degrades the state', (t) => {
    const { config: write, load } = createTestHome(t)
    write(`platforms: {chat: {token: main}}\nmodel: "\${NOPE}"\n`)
    const { config } = load()
    assert.deepEqual([config.state().source, config.current().model], ['file', ''])
    assert.equal(config.current().platforms.chat?.token, 'main')
    assert.match(config.state().degraded[0] ?? '', /config\.yaml:2:8 .*\$\{NOPE\}/)
  })

  for (const [where, text, unusable] of [
    [
      'a whole account',
      `platforms: {chat: {token: main, accounts: {family: "\${NOPE}"}}}\n`,
      'platforms.chat.accounts.family.enabled',
    ],
    ['a whole platform', `platforms: {chat: "\${NOPE}"}\n`, 'platforms.chat.enabled'],
  ] as const) {
    it(`instead of ${where} makes only that unusable`, (t) => {
      const { config: write, load } = createTestHome(t)
      write(text)
      const { config } = load()
      assert.deepEqual([config.state().source, config.state().degraded], ['file', []])
      assert.deepEqual(
        config.unusableSettings().map(({ path }) => path.join('.')),
        [unusable],
      )
    })
  }

  it('is not reported as the reason of another issue', (t) => {
    const { config: write, load } = createTestHome(t)
    write(`${two}http: {port: abc}\n`)
    const { config } = load()
    assert.equal(config.state().problems.length, 2)
    const [reason = '', ...others] = config.state().degraded
    assert.deepEqual(others, [])
    assert.deepEqual(reason.match(/config\.yaml:\S+/g), ['config.yaml:8:14'])
    assert.ok(reason.includes('http.port'))
    assert.ok(!reason.includes('FAMILY_TOKEN'))
  })

  it('is no issue any more when .env sets it', (t) => {
    const { config: write, env, load } = createTestHome(t)
    write(two)
    const { config } = load()
    const changes: (readonly string[])[] = []
    config.onChange((_, changed) => changes.push(changed))
    env('FAMILY_TOKEN=family-token\n')
    assert.deepEqual(config.reload().problems, [])
    assert.deepEqual(config.unusableSettings(), [])
    assert.equal(config.current().platforms.chat?.accounts?.['family']?.token, 'family-token')
    assert.ok(changes[0]?.some((path) => path.startsWith('platforms.chat.accounts.family')))
  })

  it('is a change also for a value that never existed', (t) => {
    const { config: write, load } = createTestHome(t)
    write('platforms: {chat: {token: main}}\n')
    const { config } = load()
    const changes: (readonly string[])[] = []
    config.onChange((_, changed) => changes.push(changed))
    write(`platforms: {chat: {token: main, pin: "\${NOPE}"}}\n`)
    config.reload()
    assert.deepEqual(changes, [['platforms.chat.pin']])
    config.reload()
    assert.equal(changes.length, 1)
  })

  it('disables only its account at a start from the last good copy as well', (t) => {
    const { config: write, load } = createTestHome(t)
    write(two)
    load({ FAMILY_TOKEN: 'family-token' })
    write('http: [\n')
    const { config } = load()
    assert.equal(config.state().source, 'last-good')
    assert.equal(config.current().platforms.chat?.token, 'main-token')
    assert.match(config.unusableSettings()[0]?.reason ?? '', /^\$\{FAMILY_TOKEN\}.*\(config\.last-good\.yaml:6:23\)$/)
  })
})
