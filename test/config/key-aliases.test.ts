/**
 * The spellings of a configuration of Hermes Agent.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { applyKeyAliases } from '../../src/config/key-aliases.ts'
import { createTestHome } from './support.ts'

const keyAliases = [
  { from: 'model.default', to: 'model' },
  { from: 'model.provider', to: 'provider' },
  { from: 'model.api_key', to: 'api_key' },
  { from: 'gateway.platforms', to: 'platforms' },
  { from: 'chat', to: 'platforms.chat' },
]

const pathsOf = (issues: readonly { readonly path: string; readonly line?: number }[]) =>
  issues.map(({ path, line }) => `${path}:${line}`)

describe('another spelling', () => {
  it('sets the same values', (t) => {
    const { config: write, load } = createTestHome(t)
    write(
      [
        `model: {default: gpt, provider: openai, api_key: "\${KEY}"}`,
        'gateway: {platforms: {chat: {token: one}}}',
        'chat: {allow_from: ["7"]}',
      ].join('\n'),
    )
    const { config } = load({ KEY: 'k-0123' }, { keyAliases })
    const { model, provider, api_key, platforms } = config.current()
    assert.deepEqual([model, provider, api_key], ['gpt', 'openai', 'k-0123'])
    assert.deepEqual(platforms.chat, { token: 'one', allow_from: ['7'] })
    const { problems, warnings, notes, degraded } = config.state()
    assert.deepEqual([problems, warnings, notes, degraded], [[], [], [], []])
  })

  it('of one item is added to the list, and is named where the file has it', () => {
    const aliases = [...keyAliases, { from: 'legacy', to: 'hooks', isItem: true } as const]
    assert.deepEqual(applyKeyAliases({ legacy: { on: 'b' }, hooks: [{ on: 'a' }] }, aliases).tree, {
      hooks: [{ on: 'a' }, { on: 'b' }],
    })
    const aliased = applyKeyAliases({ legacy: { on: 'b' }, hooks: [{ on: 'a' }] }, aliases)
    assert.deepEqual(aliased.sourceOf(['hooks', 1, 'on']), ['legacy', 'on'])
    assert.deepEqual(aliased.sourceOf(['hooks', 0, 'on']), ['hooks', 0, 'on'])
    for (const empty of [null, {}]) assert.deepEqual(applyKeyAliases({ legacy: empty }, aliases).tree, {})
    assert.deepEqual(applyKeyAliases({ legacy: [1, 2] }, aliases).tree, { hooks: [1, 2] })
    assert.equal(applyKeyAliases({ legacy: 1, hooks: 'text' }, aliases).shadowed.length, 1)
  })

  it('of a key is read inside another spelling of its mapping', (t) => {
    const { config: write, load } = createTestHome(t)
    const aliases = [...keyAliases, { from: 'platforms.chat.secret', to: 'platforms.chat.token' }]
    for (const text of [
      'platforms: {chat: {secret: one}}\n',
      'gateway: {platforms: {chat: {secret: one}}}\n',
      'chat: {secret: one}\n',
    ]) {
      write(text)
      const { config } = load({}, { keyAliases: aliases })
      assert.deepEqual(config.current().platforms.chat, { token: 'one' }, text)
      assert.deepEqual(config.state().warnings, [], text)
    }
  })

  it('is named with its own position in issues', (t) => {
    const { config: write, load } = createTestHome(t)
    write(
      'model:\n  default: gpt\n  provider: opanai\n  temprature: 1\n  api_mode: x\n  defualt: x\nchat:\n  tokn: x\n  token: [x]\n',
    )
    const { config } = load(
      {},
      { keyAliases, unusedKeys: [{ key: 'model.api_mode', kind: 'unused', reason: 'there is one' }] },
    )
    const { problems, warnings, notes } = config.state()
    assert.equal(config.current().model, 'gpt')
    assert.deepEqual(pathsOf(problems), ['model.provider:3', 'chat.token:9'])
    assert.deepEqual(pathsOf(warnings), ['model.temprature:4', 'model.defualt:6', 'chat.tokn:8'])
    assert.deepEqual(pathsOf(notes), ['model.api_mode:5'])
    assert.match(config.unusableSettings()[0]?.reason ?? '', /\(config\.yaml:9:10\)$/)
  })

  it('beside the main one has no effect, and is reported', (t) => {
    const { config: write, load } = createTestHome(t)
    write('platforms: {chat: {token: main}}\ngateway: {platforms: {chat: {token: a}}}\nchat: {token: b, pin: "1"}\n')
    const { config } = load({}, { keyAliases })
    assert.deepEqual(config.current().platforms.chat, { token: 'main', pin: '1' })
    assert.deepEqual(pathsOf(config.state().warnings), ['gateway.platforms.chat.token:2', 'chat.token:3'])
  })

  it('is overridden by a variable, and an account with it keeps its secrets hidden', (t) => {
    const { config: write, load } = createTestHome(t)
    write('chat: {token: file-token, pin: secret-pin}\n')
    const { config } = load({ CHAT_TOKEN: 'from-outside' }, { keyAliases })
    assert.equal(config.current().platforms.chat?.token, 'from-outside')
  })
})
