import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { type AccountsConfig, platformAccounts } from '../../src/platforms/accounts.ts'
import { platformConfig, platformVariables } from '../../src/platforms/config.ts'
import { parseManifest } from '../../src/platforms/manifest.ts'
import type { InstalledPlatform } from '../../src/platforms/registry.ts'
import { toJsonValue } from '../kit/to-json-value.ts'

const telegram = installed(`
name: telegram
kind: platform
description: Chats of Telegram.
accounts: true
environment:
  TELEGRAM_BOT_TOKEN: {key: token}
config_schema:
  token: {type: string, required: true, secret: true, description: The token of the bot.}
  mode: {type: string, enum: [polling, webhook], default: polling}
  channels: {type: list, default: [1, 2]}
  retries: {type: number}
`)
const web = installed('name: web\nkind: platform\naccess: token\ndefault_enabled: true\n')
const irc = installed('name: my-irc\nkind: platform\n')

function installed(text: string): InstalledPlatform {
  const check = parseManifest(text, 'plugin.yaml')
  assert.ok(check.kind === 'platform', JSON.stringify(check))
  return { ...check.manifest, directory: '/platforms', adapterFile: '/platforms/adapter.ts' }
}

/** Validates the configuration and derives the accounts, as the gateway does. */
function accounts(
  config: unknown,
  platforms: readonly InstalledPlatform[] = [telegram],
  unusable: NonNullable<AccountsConfig['unusable']> = [],
) {
  const { platforms: sections, gateway } = z.object(platformConfig(platforms)).parse(config)
  return platformAccounts(platforms, { platforms: sections, gateway, unusable })
}

function only(config: unknown, platform: InstalledPlatform = telegram) {
  const all = accounts(config, [platform])
  assert.equal(all.length, 1)
  const [account] = all
  assert.ok(account)
  return account
}

test('a platform is enabled by its credentials or by default', () => {
  assert.deepEqual(only({}).blocked, { kind: 'off', reason: 'not configured' })
  assert.equal(only({ platforms: { telegram: { token: 'a' } } }).blocked, undefined)
  assert.equal(only({}, web).blocked, undefined)
  assert.deepEqual(only({}, irc).blocked, { kind: 'off', reason: 'not configured' })
  assert.equal(only({ platforms: { 'my-irc': { enabled: true } } }, irc).blocked, undefined)
})

test('file_hosts are origins, for the adapter and for downloads of this account', () => {
  const file_hosts = ['http://10.0.0.5:9000/files/', 'https://Files.example.org']
  const { options, policy } = only({ platforms: { telegram: { token: 'a', file_hosts } } })
  assert.deepEqual(policy.fileHosts, ['http://10.0.0.5:9000', 'https://files.example.org'])
  assert.deepEqual(options['file_hosts'], policy.fileHosts)
  for (const host of ['10.0.0.5', 'ftp://files.example.org', '']) {
    assert.throws(() => only({ platforms: { telegram: { token: 'a', file_hosts: [host] } } }), z.ZodError, host)
  }
})

test('a partially configured platform stays disabled and names the missing setting', () => {
  const reason = 'off, not set: platforms.telegram.token (or TELEGRAM_BOT_TOKEN)'
  const { blocked } = only({ platforms: { telegram: { allow_from: [42] } } })
  assert.deepEqual(blocked, { kind: 'off', reason, begun: true })
  assert.equal(only({ platforms: { telegram: { mode: 'polling' } } }).blocked?.begun, undefined)
})

test('enabled: false takes precedence over credentials and defaults', () => {
  const off = 'off'
  assert.equal(only({ platforms: { telegram: { enabled: false, token: 'a' } } }).blocked?.kind, off)
  assert.equal(only({ platforms: { web: { enabled: false } } }, web).blocked?.kind, off)
  const named = { platforms: { telegram: { enabled: false, accounts: { work: { enabled: true, token: 'a' } } } } }
  assert.equal(only(named).blocked?.kind, off)
})

test('an enabled platform without credentials is unusable and names the setting and its variable', () => {
  const reason = 'not set: platforms.telegram.token (or TELEGRAM_BOT_TOKEN)'
  for (const telegramSection of [{ enabled: true }, { enabled: true, token: '' }, { accounts: { work: {} } }]) {
    assert.deepEqual(only({ platforms: { telegram: telegramSection } }).blocked, { kind: 'unusable', reason })
  }
})

test('an adapter receives only its own options, with defaults', () => {
  const { options, homeChannel } = only({
    platforms: {
      telegram: { token: 'a', allow_from: [1], allow_bots: 'mentions', extra: { new: 1 }, home_channel: 42 },
    },
  })
  assert.deepEqual(options, {
    allow_bots: 'mentions',
    extra: { new: 1 },
    token: 'a',
    mode: 'polling',
    channels: ['1', '2'],
  })
  assert.deepEqual(toJsonValue(homeChannel), { chatId: '42' })
})

test('the access rules come from the account, its platform and the gateway', () => {
  const { access } = only({
    platforms: {
      telegram: { token: 'a', allow_from: [7, 'ann'], group_allowed_chats: '-100, -200', allow_all_users: true },
    },
    gateway: { allowed_users: ['root'], allow_all_users: true },
  })
  assert.deepEqual(access, {
    access: 'allowlist',
    allowFrom: ['7', 'ann'],
    groupAllowFrom: [],
    groupAllowedChats: ['-100', '-200'],
    allowAllUsers: true,
    allowBots: 'none',
    gatewayAllowedUsers: ['root'],
    gatewayAllowAllUsers: true,
  })
  assert.equal(only({}, web).access.access, 'token')
})

test('further accounts inherit settings but not credentials', () => {
  const all = accounts({
    platforms: {
      telegram: {
        token: 'base',
        allow_from: ['ann'],
        mode: 'webhook',
        accounts: { work: { token: 'work', allow_from: ['bob'] }, empty: {}, off: { enabled: false } },
      },
    },
  })
  assert.deepEqual(
    all.map(({ account, options, access, blocked }) => [
      account,
      options['token'],
      options['mode'],
      access.allowFrom,
      blocked?.kind,
    ]),
    [
      ['default', 'base', 'webhook', ['ann'], undefined],
      ['work', 'work', 'webhook', ['bob'], undefined],
      ['empty', undefined, 'webhook', ['ann'], 'unusable'],
      ['off', undefined, 'webhook', ['ann'], 'off'],
    ],
  )
})

test('without its own credentials a platform has no default account beside named ones', () => {
  const all = accounts({ platforms: { telegram: { accounts: { work: { token: 'w' } } } } })
  assert.deepEqual(
    all.map(({ account }) => account),
    ['work'],
  )
})

test('the schema rejects values of the wrong type', () => {
  const shape = z.object(platformConfig([telegram]))
  const wrong: unknown[] = [
    { token: 7 },
    { mode: 'pigeon' },
    { retries: 'many' },
    { allow_from: { ann: true } },
    { allow_bots: 'some' },
    { accounts: { 'No Name': {} } },
    { accounts: { work: { mode: 'pigeon' } } },
    { home_channel: [] },
  ]
  for (const section of wrong) {
    assert.equal(shape.safeParse({ platforms: { telegram: section } }).success, false, JSON.stringify(section))
  }
})

test('the JSON Schema describes the options and marks secrets', () => {
  const schema = JSON.stringify(z.toJSONSchema(z.object(platformConfig([telegram, web])), { io: 'input' }))
  assert.match(schema, /"token":\{[^}]*"writeOnly":true/)
  assert.match(schema, /The token of the bot/)
  assert.match(schema, /Chats of Telegram/)
})

test('environment variables derive from the platform name and the manifest', () => {
  const at = (key: string) => ['platforms', 'telegram', key]
  assert.deepEqual(platformVariables([telegram]), [
    { variable: 'TELEGRAM_BOT_TOKEN', path: at('token'), kind: 'string' },
    { variable: 'TELEGRAM_ALLOWED_USERS', path: at('allow_from'), kind: 'list' },
    { variable: 'TELEGRAM_ALLOW_ALL_USERS', path: at('allow_all_users'), kind: 'boolean' },
    { variable: 'TELEGRAM_ALLOW_BOTS', path: at('allow_bots'), kind: 'string' },
    { variable: 'TELEGRAM_GROUP_ALLOWED_USERS', path: at('group_allow_from'), kind: 'list' },
    { variable: 'TELEGRAM_GROUP_ALLOWED_CHATS', path: at('group_allowed_chats'), kind: 'list' },
    { variable: 'TELEGRAM_HOME_CHANNEL', path: at('home_channel'), kind: 'string' },
    { variable: 'TELEGRAM_HOME_CHANNEL_NAME', path: at('home_channel_name'), kind: 'string' },
    { variable: 'GATEWAY_ALLOWED_USERS', path: ['gateway', 'allowed_users'], kind: 'list' },
    { variable: 'GATEWAY_ALLOW_ALL_USERS', path: ['gateway', 'allow_all_users'], kind: 'boolean' },
  ])
  assert.ok(platformVariables([irc]).some(({ variable }) => variable === 'MY_IRC_ALLOWED_USERS'))
  assert.deepEqual(
    platformVariables([web]).filter(({ variable }) => variable.includes('ALLOW') && variable.startsWith('WEB')),
    [],
  )
})

test('a token connects one account, and a second account with it names the first', () => {
  const statesOf = (section: unknown, platform = telegram) =>
    accounts({ platforms: { [platform.name]: section } }, [platform]).map(({ account, blocked }) => [
      account,
      blocked?.kind,
      blocked?.reason,
    ])
  const twin = 'the same token as account default; each account needs its own'
  assert.deepEqual(
    statesOf({ token: 'a', accounts: { work: { token: 'a' }, home: { token: 'b' }, third: { token: 'b' } } }),
    [
      ['default', undefined, undefined],
      ['work', 'unusable', twin],
      ['home', undefined, undefined],
      ['third', 'unusable', twin.replace('default', 'home')],
    ],
  )
  assert.deepEqual(
    statesOf({ accounts: { old: { token: 'a', enabled: false }, now: { token: 'a' } } }).at(-1),
    ['now', undefined, undefined],
    'an account that is off holds no token',
  )
})

test('a shared secret is a conflict, unless another required option differs', () => {
  const slack = installed(`
name: slack
kind: platform
accounts: true
config_schema:
  bot: {type: string, required: true, secret: true}
  app: {type: string, required: true, secret: true}
`)
  const half = accounts(
    { platforms: { slack: { accounts: { one: { bot: 'a', app: 'x' }, two: { bot: 'b', app: 'x' } } } } },
    [slack],
  )
  assert.match(half[1]?.blocked?.reason ?? '', /\bapp\b.*\bone\b/)
  const sms = installed(`
name: sms
kind: platform
accounts: true
config_schema:
  number: {type: string, required: true}
  password: {type: string, required: true, secret: true}
`)
  const numbers = accounts(
    { platforms: { sms: { accounts: { one: { number: '1', password: 'x' }, two: { number: '2', password: 'x' } } } } },
    [sms],
  )
  assert.deepEqual(
    numbers.map(({ blocked }) => blocked),
    [undefined, undefined],
  )
})

test('an unset variable makes the account that needs it unusable, and the reason names the variable and its line', () => {
  const reason = `\${X} is not set (config.yaml:4:12)`
  const unusable = (...path: string[]) => ({ path: ['platforms', 'telegram', ...path], reason })
  const statesOf = (section: unknown, ...path: string[]) =>
    accounts({ platforms: { telegram: section } }, [telegram], [unusable(...path)]).map(({ account, blocked }) => [
      account,
      blocked?.kind,
      blocked?.reason,
    ])
  const on = (account: string) => [account, undefined, undefined]
  const blocked = (account: string) => [account, 'unusable', reason]

  assert.deepEqual(statesOf({}, 'token'), [blocked('default')])
  assert.deepEqual(statesOf({ token: 'a' }, 'allow_from'), [blocked('default')], 'the allow list is not optional here')
  const named = { token: 'a', accounts: { family: {}, work: { token: 'b' } } }
  const family = statesOf(named, 'accounts', 'family', 'token')
  assert.deepEqual(family, [on('default'), blocked('family'), on('work')])
  const { token: _, ...rest } = { ...named, accounts: { work: { token: 'b' } } }
  assert.deepEqual(statesOf(rest, 'token'), [blocked('default'), on('work')], 'credentials are not inherited')
  const inherits = { token: 'a', accounts: { heir: { token: 'b' }, own: { token: 'c', allow_from: ['ann'] } } }
  assert.deepEqual(statesOf(inherits, 'allow_from'), [blocked('default'), blocked('heir'), on('own')])
  const off = { enabled: false, token: 'a' }
  assert.deepEqual(statesOf(off, 'allow_from')[0]?.[1], 'off')
})
