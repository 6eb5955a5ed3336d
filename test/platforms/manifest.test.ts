import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type PlatformManifest, parseManifest } from '../../src/platforms/manifest.ts'

function issuesOf(text: string): readonly string[] {
  const check = parseManifest(text, 'plugin.yaml')
  assert.equal(check.kind, 'invalid')
  return check.kind === 'invalid' ? check.issues : []
}

function manifestOf(text: string): PlatformManifest {
  const check = parseManifest(text, 'plugin.yaml')
  assert.ok(check.kind === 'platform', JSON.stringify(check))
  return check.manifest
}

test('a manifest of two lines is a platform with careful defaults', () => {
  assert.deepEqual(manifestOf('name: irc\nkind: platform\n'), {
    name: 'irc',
    label: 'irc',
    description: '',
    version: '0.0.0',
    access: 'allowlist',
    commandPrefix: '/',
    gatewayEvents: true,
    sessionScope: 'none',
    limits: { maxChars: 4_000, unit: 'utf16' },
    environment: [],
    options: [],
    defaultEnabled: false,
    accounts: false,
    required: [],
  })
})

test('everything a platform can say about itself is read', () => {
  const manifest = manifestOf(`
name: slack
kind: platform
label: Slack
version: 1.2
command_prefix: '!'
session_scope: scope_id
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

test('a default of the option "enabled" is the same as default_enabled', () => {
  const text = 'name: web\nkind: platform\nconfig_schema:\n  enabled: {type: boolean, default: true}\n'
  const manifest = manifestOf(text)
  assert.equal(manifest.defaultEnabled, true)
  assert.deepEqual(manifest.options, [])
})

test('all problems come at once, each with its line and what was expected', () => {
  const problems = issuesOf(`name: Big Name
kind: platform
access: everybody
limits: {max_chars: many}
gateway_events: 1
environment:
  lower_case: {key: token}
config_schema:
  token: {type: text}
`)
  assert.deepEqual(problems, [
    'plugin.yaml:1:7: name: expected a name of at most 32 small letters, digits, - and _ that begins with a letter, found "Big Name"',
    'plugin.yaml:3:9: access: expected token or allowlist, found "everybody"',
    'plugin.yaml:4:21: limits.max_chars: expected a whole number, found "many"',
    'plugin.yaml:5:17: gateway_events: expected true or false, found 1',
    'plugin.yaml:7:15: environment.lower_case: expected the name of a variable in capital letters, found a mapping',
    'plugin.yaml:9:17: config_schema.token.type: expected string or number or boolean or list or map, found "text"',
  ])
})

test('a platform cannot be called as what the gateway does by itself', () => {
  assert.deepEqual(issuesOf('name: background\nkind: platform\n'), [
    'plugin.yaml:1:7: name: expected another name: the gateway itself is called so, found "background"',
  ])
})

test('fields that contradict each other are named where they stand', () => {
  const problems = issuesOf(`name: irc
kind: platform
config_schema:
  port: {type: number, default: high}
  mode: {type: string, enum: [a, b], default: c}
  allow_from: {type: list}
required: [tokn]
environment:
  IRC_TOKEN: {key: token}
`)
  assert.deepEqual(problems, [
    'plugin.yaml:4:33: config_schema.port.default: expected a value of type number, found "high"',
    'plugin.yaml:5:47: config_schema.mode.default: expected one of a, b, found "c"',
    'plugin.yaml:6:15: config_schema.allow_from: expected another name: every platform has this key already, found a mapping',
    'plugin.yaml:7:12: required.0: expected an option of config_schema (port, mode, allow_from), found "tokn"',
    'plugin.yaml:9:20: environment.IRC_TOKEN.key: expected an option of config_schema (port, mode, allow_from), found "token"',
  ])
})

test('a file that is not YAML, empty or something else is refused with a place', () => {
  assert.match(issuesOf('name: "irc\nkind: platform')[0] ?? '', /^plugin\.yaml:\d+:\d+: /)
  assert.match(
    issuesOf('')[0] ?? '',
    /^plugin\.yaml:1:1: expected a mapping of the fields of a platform, found nothing/,
  )
  assert.match(issuesOf('- a\n- b')[0] ?? '', /found a list/)
  assert.match(issuesOf('name: irc')[0] ?? '', /kind: expected kind: platform, found nothing/)
})

test('a plugin of another kind is left to others', () => {
  assert.deepEqual(parseManifest('name: memory\nkind: exclusive', 'plugin.yaml'), { kind: 'other' })
})
