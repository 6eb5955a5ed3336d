import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type PlatformManifest, parseManifest } from '../../src/platforms/manifest.ts'
import { toJsonValue } from '../kit/to-json-value.ts'

function issuesOf(text: string): readonly string[] {
  const check = parseManifest(text, 'plugin.yaml')
  assert.equal(check.kind, 'invalid')
  return check.kind === 'invalid' ? check.issues : []
}

/** Where each issue is: `plugin.yaml:line:column: key`. */
function locationsOf(text: string): readonly string[] {
  return issuesOf(text).map((issue) => issue.split(': expected')[0] ?? '')
}

function manifestOf(text: string): PlatformManifest {
  const check = parseManifest(text, 'plugin.yaml')
  assert.ok(check.kind === 'platform', JSON.stringify(check))
  return check.manifest
}

test('a manifest with name and kind only gets safe defaults', () => {
  assert.deepEqual(toJsonValue(manifestOf('name: irc\nkind: platform\n')), {
    name: 'irc',
    label: 'irc',
    description: '',
    version: '0.0.0',
    access: 'allowlist',
    commandPrefix: '/',
    gatewayEvents: true,
    sessionScope: 'none',
    takesMessages: true,
    limits: { maxChars: 4_000, unit: 'utf16' },
    environment: [],
    options: [],
    defaultEnabled: false,
    accounts: false,
    required: [],
    setup: { fields: [], steps: [] },
  })
})

test('every field of a manifest is read', () => {
  const manifest = manifestOf(`
name: slack
kind: platform
label: Slack
version: 1.2
command_prefix: '!'
session_scope: scope_id
toolset: hermes-slack
limits: {max_chars: 40000, unit: codepoints}
environment:
  SLACK_BOT_TOKEN: {key: bot_token}
  SLACK_CHANNELS: {key: channels, kind: list}
config_schema:
  bot_token: {type: string, required: true, secret: true, description: The token of the bot.}
  mode: {type: string, default: socket, enum: [socket, http]}
  channels: {type: list, default: []}
  limits: {type: map}
default_enabled: true
accounts: true
required: [channels]
something_newer: {of: a later version}
`)
  assert.equal(manifest.version, '1.2')
  assert.equal(manifest.commandPrefix, '!')
  assert.equal(manifest.sessionScope, 'scope_id')
  assert.equal(manifest.toolset, 'hermes-slack')
  assert.deepEqual(manifest.limits, { maxChars: 40_000, unit: 'codepoints' })
  assert.deepEqual(manifest.environment, [
    { variable: 'SLACK_BOT_TOKEN', key: 'bot_token', kind: 'string' },
    { variable: 'SLACK_CHANNELS', key: 'channels', kind: 'list' },
  ])
  assert.deepEqual(manifest.required, ['bot_token', 'channels'])
  assert.deepEqual(manifest.options[1], {
    key: 'mode',
    type: 'string',
    description: '',
    secret: false,
    default: 'socket',
    enum: ['socket', 'http'],
  })
})

test('the default of the option `enabled` equals default_enabled', () => {
  const text = 'name: web\nkind: platform\nconfig_schema:\n  enabled: {type: boolean, default: true}\n'
  const manifest = manifestOf(text)
  assert.equal(manifest.defaultEnabled, true)
  assert.deepEqual(manifest.options, [])
})

test('all issues are reported at once, each with its location', () => {
  const locations = locationsOf(`name: Big Name
kind: platform
access: everybody
limits: {max_chars: many}
gateway_events: 1
environment:
  lower_case: {key: token}
config_schema:
  token: {type: text}
`)
  assert.deepEqual(locations, [
    'plugin.yaml:1:7: name',
    'plugin.yaml:3:9: access',
    'plugin.yaml:4:21: limits.max_chars',
    'plugin.yaml:5:17: gateway_events',
    'plugin.yaml:7:15: environment.lower_case',
    'plugin.yaml:9:17: config_schema.token.type',
  ])
})

test('a platform cannot use the name that is reserved for background tasks', () => {
  assert.deepEqual(locationsOf('name: background\nkind: platform\n'), ['plugin.yaml:1:7: name'])
})

test('contradictions between fields are reported with their location', () => {
  const locations = locationsOf(`name: irc
kind: platform
config_schema:
  port: {type: number, default: high}
  mode: {type: string, enum: [a, b], default: c}
  allow_from: {type: list}
required: [tokn]
environment:
  IRC_TOKEN: {key: token}
`)
  assert.deepEqual(locations, [
    'plugin.yaml:4:33: config_schema.port.default',
    'plugin.yaml:5:47: config_schema.mode.default',
    'plugin.yaml:6:15: config_schema.allow_from',
    'plugin.yaml:7:12: required.0',
    'plugin.yaml:9:20: environment.IRC_TOKEN.key',
  ])
})

test('a file that is not YAML, is empty or has another type is rejected with a location', () => {
  assert.match(issuesOf('name: "irc\nkind: platform')[0] ?? '', /^plugin\.yaml:\d+:\d+: /)
  for (const text of ['', '- a\n- b']) assert.match(issuesOf(text)[0] ?? '', /^plugin\.yaml:1:1: /)
  assert.deepEqual(locationsOf('name: irc'), ['plugin.yaml:1:1: kind'])
})

test('a plugin of another kind is ignored', () => {
  assert.deepEqual(parseManifest('name: memory\nkind: exclusive', 'plugin.yaml'), { kind: 'other' })
})
