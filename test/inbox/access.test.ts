import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AccessRule,
  type AccessRules,
  decideAccess,
  decideRole,
  deniesEveryone,
  type RoleRules,
} from '../../src/inbox/access.ts'
import type { SessionSource } from '../../src/message/source.ts'

const closed: AccessRules = {
  access: 'allowlist',
  allowFrom: [],
  groupAllowFrom: [],
  groupAllowedChats: [],
  allowAllUsers: false,
  allowBots: 'none',
  gatewayAllowedUsers: [],
  gatewayAllowAllUsers: false,
}

const base = { platform: 'telegram', account: 'default', userId: 'eve' }
const sources = {
  'ann alone': { ...base, userId: 'ann', chatId: 'ann', chatType: 'dm' },
  'eve alone': { ...base, chatId: 'eve', chatType: 'dm' },
  'ann in group 7': { ...base, userId: 'ann', chatId: '7', chatType: 'group' },
  'eve in group 7': { ...base, chatId: '7', chatType: 'group' },
  'eve in a thread of 7': { ...base, chatId: '70', parentChatId: '7', chatType: 'thread' },
  'unknown user in channel 7': { platform: 'slack', account: 'work', chatId: '7', chatType: 'channel' },
  'unknown user in channel 8': { platform: 'slack', account: 'work', chatId: '8', chatType: 'channel' },
  'a bot in forum 8': { ...base, userId: 'bot', isBot: true, chatId: '8', chatType: 'forum' },
  'a moderator in channel 8': { ...base, platform: 'discord', roleAuthorized: true, chatId: '8', chatType: 'channel' },
} as const satisfies Record<string, SessionSource>

/** One letter for each source above, in order: y = allowed, - = refused. */
const matrix: readonly [string, Partial<AccessRules>, string][] = [
  ['nothing is set', {}, '--------y'],
  ['the platform holds the token', { access: 'token' }, 'yyyyyyyyy'],
  ['ann is allowed', { allowFrom: ['ann'] }, 'y-y-----y'],
  ['ann is allowed in groups', { groupAllowFrom: ['ann'] }, '--y-----y'],
  ['ann is allowed on every platform', { gatewayAllowedUsers: ['ann'] }, 'y-y-----y'],
  ['everybody is on the list', { allowFrom: ['*'] }, 'yyyyy--yy'],
  ['everybody is on the list for groups', { groupAllowFrom: ['*'] }, '--yyy--yy'],
  ['everybody is on the list of the gateway', { gatewayAllowedUsers: ['*'] }, 'yyyyy--yy'],
  ['group 7 is allowed', { groupAllowedChats: ['7'] }, '--yyyy--y'],
  ['every group is allowed', { groupAllowedChats: ['*'] }, '--yyyyyyy'],
  ['bots are allowed', { allowBots: 'all' }, '-------yy'],
  ['bots that mention us are allowed', { allowBots: 'mentions' }, '-------yy'],
  ['a bot is on the list by its id', { allowFrom: ['bot'] }, '-------yy'],
  ['all users of the platform are allowed', { allowAllUsers: true }, 'yyyyy--yy'],
  ['all users of the gateway are allowed', { gatewayAllowAllUsers: true }, 'yyyyy--yy'],
  ['ann is paired', { paired: { ids: new Set(['ann']), isDamaged: false } }, 'y-y-----y'],
  ['a bot and an empty id are paired', { paired: { ids: new Set(['bot', '']), isDamaged: false } }, '--------y'],
  ['the list of paired people is damaged', { paired: { ids: new Set(), isDamaged: true } }, '--------y'],
  ['the list holds an empty entry', { allowFrom: [''], groupAllowedChats: [''] }, '--------y'],
]

for (const [situation, rules, expected] of matrix) {
  test(`access when ${situation}`, () => {
    const verdicts = Object.entries(sources).map(([who, source]) => {
      const { allowed, reason } = decideAccess(source, {}, { ...closed, ...rules })
      assert.notEqual(reason, '', who)
      return allowed ? 'y' : '-'
    })
    assert.equal(verdicts.join(''), expected, `in the order of: ${Object.keys(sources).join(', ')}`)
  })
}

test('events of the gateway itself are always allowed', () => {
  assert.equal(decideAccess(sources['unknown user in channel 8'], { internal: true }, closed).allowed, true)
  assert.equal(decideAccess(sources['unknown user in channel 8'], { internal: false }, closed).allowed, false)
})

test('the first matching rule decides, in the order of the contract', () => {
  const open: AccessRules = {
    access: 'allowlist',
    allowFrom: ['eve'],
    groupAllowFrom: ['eve'],
    groupAllowedChats: ['7'],
    allowAllUsers: true,
    allowBots: 'all',
    gatewayAllowedUsers: ['eve'],
    gatewayAllowAllUsers: true,
  }
  const source: SessionSource = { ...sources['eve in group 7'], isBot: true, roleAuthorized: true }
  const steps: [Partial<AccessRules>, Partial<SessionSource>, AccessRule][] = [
    [{}, {}, 'group-allowed-chats'],
    [{ groupAllowedChats: [] }, {}, 'allow-bots'],
    [{ allowBots: 'none' }, {}, 'allow-all-users'],
    [{ allowAllUsers: false }, {}, 'role'],
    [{}, { roleAuthorized: false }, 'allow-from'],
    [{ allowFrom: [] }, {}, 'group-allow-from'],
    [{ groupAllowFrom: [] }, {}, 'gateway-allowed-users'],
    [{ gatewayAllowedUsers: [] }, {}, 'gateway-allow-all-users'],
    [{ gatewayAllowAllUsers: false }, {}, 'no-allow-list'],
  ]
  let rules = open
  let sender = source
  for (const [ruleChange, sourceChange, rule] of steps) {
    rules = { ...rules, ...ruleChange }
    sender = { ...sender, ...sourceChange }
    assert.equal(decideAccess(sender, {}, rules).rule, rule)
  }
})

test('a second, more stable id of a user counts like the first', () => {
  const source: SessionSource = { ...sources['eve alone'], userIdAlt: 'uuid-of-eve' }
  assert.equal(decideAccess(source, {}, { ...closed, allowFrom: ['uuid-of-eve'] }).allowed, true)
})

test('a name is not an id: a user cannot choose the name of an allowed user', () => {
  const source: SessionSource = { ...sources['eve alone'], userName: 'ann', chatName: 'ann' }
  assert.equal(decideAccess(source, {}, { ...closed, allowFrom: ['ann'] }).allowed, false)
})

test('rules that allow no user are detected, so that a warning can be shown', () => {
  assert.equal(deniesEveryone(closed), true)
  const openings: Partial<AccessRules>[] = [
    { access: 'token' },
    { allowFrom: ['ann'] },
    { groupAllowFrom: ['ann'] },
    { groupAllowedChats: ['7'] },
    { allowAllUsers: true },
    { allowBots: 'all' },
    { gatewayAllowedUsers: ['ann'] },
    { gatewayAllowAllUsers: true },
  ]
  for (const opening of openings)
    assert.equal(deniesEveryone({ ...closed, ...opening }), false, JSON.stringify(opening))
})

test('a name in the allow list allows no user, and the decision names this mistake', () => {
  const ann = { ...sources['ann alone'], userName: 'Ann' }
  for (const entry of ['Ann', '@ann_of_telegram']) {
    const verdict = decideAccess(ann, {}, { ...closed, allowFrom: [entry] })
    assert.equal(verdict.allowed, false)
    assert.equal(verdict.rule, 'names-listed')
  }
  assert.equal(decideAccess(ann, {}, { ...closed, allowFrom: ['bob'] }).rule, 'not-listed')
})

const noRoles: RoleRules = {
  owners: [],
  members: [],
  guests: [],
  adminFrom: [],
  groupAdminFrom: [],
  userAllowedCommands: [],
  groupUserAllowedCommands: [],
  hasOwners: false,
}
const paired = { ids: new Set(['ann']), isDamaged: false }

/** The role of ann alone. */
function roleOf(access: Partial<AccessRules>, roles: Partial<RoleRules> = {}) {
  return decideRole(sources['ann alone'], { ...closed, ...access }, { ...noRoles, ...roles }).lowest
}

test('the pairing of a person decides before the allow lists, and after the rules for everybody', () => {
  const ruleOf = (rules: Partial<AccessRules>): AccessRule =>
    decideAccess(sources['ann alone'], {}, { ...closed, paired, ...rules }).rule
  assert.equal(ruleOf({ allowFrom: ['ann'], gatewayAllowedUsers: ['ann'] }), 'paired')
  assert.equal(ruleOf({ allowAllUsers: true }), 'allow-all-users')
})

test('a person who was approved is a member, also if the allow list makes others owners', () => {
  assert.equal(roleOf({ allowFrom: ['ann'] }), 'owner')
  assert.equal(roleOf({ paired }), 'member')
  assert.equal(roleOf({ paired, allowFrom: ['ann'] }), 'member')
  assert.equal(roleOf({ paired: { ids: new Set(), isDamaged: true }, allowFrom: ['ann'] }), 'member')
  assert.equal(roleOf({ paired }, { owners: ['ann'], hasOwners: true }), 'owner')
  assert.equal(roleOf({ paired }, { adminFrom: ['ann'], hasOwners: true }), 'owner')
  assert.equal(roleOf({ paired }, { guests: ['ann'] }), 'guest')
})
