/**
 * Targets as people and models write them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parseTarget } from '../../../src/flows/delivery/parse-target.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { type PlatformAccount, platformAccounts } from '../../../src/platforms/accounts.ts'
import { discoverPlatforms } from '../../../src/platforms/registry.ts'

const directory = fileURLToPath(new URL('../../../platforms/', import.meta.url))
const { platforms } = discoverPlatforms({ directories: [directory], log: silentLog })
const accounts = platformAccounts(platforms, {
  platforms: {
    telegram: { token: 't' },
    discord: { token: 'a', accounts: { work: { token: 'b' } } },
    slack: { enabled: false },
  },
  gateway: {},
})

/** `chat telegram/default -100 7`, or the problem. */
function parsed(text: string): string {
  const found = parseTarget(text, accounts)
  if ('problem' in found) return `problem: ${found.problem}`
  switch (found.kind) {
    case 'home':
      return `home ${found.accounts.map(({ platform }) => platform.name).join(',')}`
    case 'chat':
      return [`chat ${nameOf(found.account)}`, found.chatId, found.threadId].join(' ').trim()
    case 'name':
      return [`name ${nameOf(found.account)}`, found.name, found.threadId].join(' ').trim()
    default:
      return found.kind
  }
}

const nameOf = ({ platform, account }: PlatformAccount) => `${platform.name}/${account}`

test('platforms have any case, ids keep theirs', () => {
  assert.equal(parsed(' Telegram:AbC:De '), 'chat telegram/default AbC De')
  assert.equal(parsed('TELEGRAM'), 'home telegram')
  assert.equal(parsed('telegram:'), 'home telegram')
  assert.equal(parsed('ORIGIN'), 'origin')
  assert.equal(parsed('Local'), 'local')
})

test('a name begins with # or @, and a thread may follow it', () => {
  assert.equal(parsed('discord:#general'), 'name discord/default #general')
  assert.equal(parsed('discord:#General Talk:42'), 'name discord/default #General Talk 42')
  assert.equal(parsed('telegram:@town_news'), 'name telegram/default @town_news')
})

test('another account of a platform is named after a slash', () => {
  assert.equal(parsed('discord/Work:123'), 'chat discord/work 123')
  assert.equal(parsed('discord/work'), 'home discord')
  assert.match(parsed('discord/play:123'), /problem: .*default, work/)
})

test('a platform that is off or unknown, an empty chat and an endless text are problems that say why', () => {
  assert.match(parsed('slack:C1'), /problem: slack is off/)
  assert.match(parsed('telegrm:1'), /problem: .*did you mean telegram/)
  assert.match(parsed('telegram::7'), /problem: expected telegram:<chat_id>/)
  assert.match(parsed(''), /problem: no platform/)
  assert.match(parsed(`telegram:${'\u202e'.repeat(10_000)}`), /problem: a target has at most 500/)
  assert.match(parsed('constructor:1'), /problem: no platform/)
})
