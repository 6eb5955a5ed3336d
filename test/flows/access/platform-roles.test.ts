/**
 * Roles that people hold on their platform decide what they may cause, also while the platform does not respond.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { gatewayShapes } from '../../../src/app/config.ts'
import { createAccountDirectory } from '../../../src/flows/access/account-directory.ts'
import { silentLog } from '../../../src/lib/log.ts'
import type { SessionSource } from '../../../src/message/source.ts'
import type { PlatformAdapter } from '../../../src/platforms/adapter.ts'
import { discoverPlatforms } from '../../../src/platforms/registry.ts'
import { ownerAuthority } from '../../kit/authority.ts'
import { connectWithRoles } from '../../kit/held-roles.ts'

const directory = fileURLToPath(new URL('../../../platforms/', import.meta.url))
const catalogue = discoverPlatforms({ directories: [directory], log: silentLog })
const schema = z.object(gatewayShapes(catalogue.platforms))

const inServer: SessionSource = {
  platform: 'discord',
  account: 'default',
  chatId: 'general',
  chatType: 'group',
  scopeId: 'server',
  userId: 'ada',
}

interface GivenConfig {
  readonly roles: Readonly<Record<string, readonly string[]>>
  readonly allowFrom?: readonly string[]
}

function directoryWith(given: GivenConfig, heldRoles?: PlatformAdapter['heldRoles']) {
  const state = { now: 0, given, logged: [] as string[] }
  const log = { ...silentLog, warn: (fields: { event?: unknown }) => void state.logged.push(String(fields.event)) }
  const accounts = createAccountDirectory({
    profile: 'default',
    catalogue,
    settings: () =>
      schema.parse({
        roles: state.given.roles,
        platforms: { discord: { token: 't', allow_from: state.given.allowFrom ?? ['*'] } },
      }),
    unusableSettings: () => [],
    usesDefaultsAfterFailure: () => false,
    log,
    serves: () => true,
    clock: () => state.now,
  })
  if (heldRoles !== undefined) connectWithRoles(accounts, heldRoles)
  const reconfigure = (changed: GivenConfig) => {
    state.given = changed
    accounts.refresh()
  }
  return { accounts, state, reconfigure }
}

const moderators = { owners: ['discord:5'], members: ['discord:role:7'], guests: ['discord:role:9'] }
const roleOf = async (work: ReturnType<ReturnType<typeof directoryWith>['accounts']['lookUpAuthority']>) =>
  (await work).role

test('a role of the platform is looked up once in five minutes, for those whose role depends on it', async () => {
  let lookups = 0
  const { accounts, state } = directoryWith({ roles: moderators }, async () => {
    lookups += 1
    return ['role:7']
  })
  assert.equal(accounts.authorityOf(inServer).role, 'guest', 'not known yet')
  assert.equal(await roleOf(accounts.lookUpAuthority(inServer)), 'member')
  assert.equal(accounts.authorityOf(inServer).role, 'member')
  assert.ok(!(accounts.lookUpAuthority(inServer) instanceof Promise), 'known')
  state.now = 299_000
  assert.equal(await roleOf(accounts.lookUpAuthority(inServer)), 'member')
  assert.equal(lookups, 1)
  state.now = 301_000
  assert.equal(accounts.authorityOf(inServer).role, 'guest', 'no longer known')
  await accounts.lookUpAuthority(inServer)
  assert.equal(lookups, 2)
  await accounts.lookUpAuthority({ ...inServer, scopeId: 'another server' })
  assert.equal(lookups, 3, 'a role is held in one server')
  const { userId: _none, ...anonymous } = inServer
  for (const source of [{ ...inServer, isBot: true }, anonymous])
    assert.equal(await roleOf(accounts.lookUpAuthority(source)), 'guest')
  assert.equal(lookups, 3, 'bots and messages without a user are not looked up')
})

test('a gateway whose lists name no role of a platform looks nothing up', () => {
  const { accounts } = directoryWith({ roles: { owners: ['discord:ada'] } }, () => assert.fail('a lookup'))
  assert.equal(Object(accounts.lookUpAuthority(inServer)).role, 'owner')
})

test('the lowest role counts while the platform does not tell, with one line in the log', async () => {
  const failing = async () => {
    throw new Error('rate limited')
  }
  const { accounts, state } = directoryWith({ roles: moderators, allowFrom: ['ada'] }, failing)
  assert.equal(await roleOf(accounts.lookUpAuthority(inServer)), 'guest', 'ada may hold the role of guests')
  assert.equal(await roleOf(accounts.lookUpAuthority(inServer)), 'guest')
  assert.deepEqual(state.logged, ['roles.lookup_failed'])
  const owners = directoryWith({ roles: { owners: ['discord:role:1'] }, allowFrom: ['ada'] })
  assert.equal(await roleOf(owners.accounts.lookUpAuthority(inServer)), 'member', 'the account is not connected')
  const withoutLookups = directoryWith({ roles: { owners: ['discord:role:1'] } }, undefined)
  assert.equal(await roleOf(withoutLookups.accounts.lookUpAuthority(inServer)), 'guest')
})

test('people wait for no lookup but their own, and two messages of a person share one', async () => {
  const answers = new Map<string, PromiseWithResolvers<readonly string[]>>()
  const { accounts } = directoryWith({ roles: moderators }, ({ userId = '' }) => {
    const answer = Promise.withResolvers<readonly string[]>()
    assert.ok(!answers.has(userId), 'one lookup')
    answers.set(userId, answer)
    return answer.promise
  })
  const slow = [accounts.lookUpAuthority(inServer), accounts.lookUpAuthority(inServer)]
  const other = accounts.lookUpAuthority({ ...inServer, userId: 'bob' })
  while (answers.size < 2) await new Promise(setImmediate)
  answers.get('bob')?.resolve(['role:7'])
  assert.equal(await roleOf(other), 'member')
  answers.get('ada')?.resolve(['role:9'])
  for (const one of slow) assert.equal(await roleOf(one), 'guest')
})

test('what was stored with a waiting message is lowered when the configuration gives less, and never raised', async () => {
  const { accounts, reconfigure, state } = directoryWith(
    { roles: { owners: ['discord:role:7'] }, allowFrom: ['ada'] },
    async () => ['role:7'],
  )
  const event = { source: inServer }
  const stored = await accounts.lookUpAuthority(inServer)
  assert.equal(stored.role, 'owner')
  assert.equal(accounts.lowerAuthority(stored, event), stored)
  state.now = 1_000_000
  assert.equal(accounts.lowerAuthority(stored, event).role, 'owner', 'an expired lookup says nothing')
  reconfigure({ roles: { owners: ['discord:5'] }, allowFrom: ['ada'] })
  assert.equal(accounts.lowerAuthority(stored, event).role, 'member')
  reconfigure({ roles: { owners: ['discord:5'] }, allowFrom: ['5'] })
  assert.equal(accounts.lowerAuthority(stored, event).role, 'guest')
  const background = { source: { ...inServer, platform: 'background' }, internal: true }
  assert.equal(accounts.lowerAuthority(stored, background).role, 'guest', 'a task of the person')
  assert.equal(accounts.lowerAuthority(ownerAuthority, background).role, 'owner', 'a task of the gateway')
  reconfigure({ roles: { owners: ['discord:ada'] } })
  assert.equal(accounts.lowerAuthority({ ...stored, role: 'guest' }, event).role, 'guest')
})

test('a role of a platform that is written incompletely is refused', () => {
  const issues = (owner: string) => {
    const parsed = schema.safeParse({ roles: { owners: [owner] } })
    return parsed.error?.issues.map(({ path }) => path.join('.'))
  }
  for (const owner of ['telegram:administrators', 'discord:role', 'discord:role:', 'slack:admins:5'])
    assert.deepEqual(issues(owner), ['roles.owners.0'], owner)
  for (const owner of ['telegram:administrators:-1001', 'discord:role:5', 'slack:admins', 'slack:U5', 'telegram:5'])
    assert.equal(issues(owner), undefined, owner)
})
