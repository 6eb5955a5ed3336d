/**
 * A task that a hook starts has the rights of the person whose event the hook handles.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { gatewayShapes } from '../../src/app/config.ts'
import { createAccountDirectory } from '../../src/flows/access/account-directory.ts'
import { createHookServices } from '../../src/flows/plugins/hook-host-api.ts'
import type { BackgroundTasks } from '../../src/flows/tasks/background-tasks.ts'
import type { StartAgentOptions } from '../../src/hooks/services.ts'
import { createHomeLayout } from '../../src/lib/home.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { Authority } from '../../src/message/authority.ts'
import { discoverPlatforms } from '../../src/platforms/registry.ts'
import { connectWithRoles } from '../kit/held-roles.ts'
import { openStore } from '../kit/open-store.ts'

const directory = fileURLToPath(new URL('../../platforms/', import.meta.url))
const catalogue = discoverPlatforms({ directories: [directory], log: silentLog })
const settings = z.object(gatewayShapes(catalogue.platforms)).parse({
  roles: { owners: ['telegram:1', 'discord:role:7'] },
  platforms: {
    telegram: { token: 't', allow_from: ['1', '2'], group_allowed_chats: ['-100'] },
    discord: { token: 't', allow_all_users: true },
  },
})

test('a hook that passes on the text of a person gives this person no more rights', async (t) => {
  const started: Authority[] = []
  const gateway = {
    accountDirectory: connectWithRoles(
      createAccountDirectory({
        profile: 'default',
        catalogue,
        settings: () => settings,
        unusableSettings: () => [],
        usesDefaultsAfterFailure: () => false,
        log: silentLog,
        serves: () => true,
        clock: Date.now,
      }),
      async ({ userId }) => (userId === '7' ? ['role:7'] : []),
    ),
    platforms: { adapter: () => undefined },
    settings: () => assert.fail('the configuration limits people, and no hook'),
    home: createHomeLayout('/nowhere'),
    stopping: new AbortController().signal,
    store: openStore(t).store,
    clock: Date.now,
    log: silentLog,
  }
  const tasks: Pick<BackgroundTasks, 'start' | 'open'> = {
    async start({ authority }) {
      started.push(authority)
      return 'bg'
    },
    open: () => [],
  }
  const services = createHookServices(gateway, { prepare: () => assert.fail('nothing is sent') }, () => tasks)
  const authorityFor = async (payload: Readonly<Record<string, unknown>>, options: StartAgentOptions = {}) => {
    await services.startAgent('echo', 'do this', options, payload)
    return started.at(-1)
  }
  const roleFor = async (...given: Parameters<typeof authorityFor>) => (await authorityFor(...given))?.role
  const telegram = { platform: 'telegram', chat_id: '-100', chat_type: 'group' }
  assert.equal(await roleFor({ platforms: ['telegram'] }), 'owner', 'gateway:startup')
  assert.equal(await roleFor({ ...telegram, user_id: '1' }), 'owner')
  assert.equal(await roleFor({ ...telegram, user_id: '2' }), 'member')
  assert.equal(await roleFor({ ...telegram, user_id: '3' }), 'guest')
  assert.equal(await roleFor({ ...telegram, chat_id: '3', chat_type: 'dm', user_id: '3' }), 'guest', 'refused')
  assert.equal(await roleFor({ ...telegram, user_id: '' }), 'guest', 'no user')
  assert.equal(await roleFor({ platform: 'unknown', user_id: '1' }), 'guest')
  assert.equal(await roleFor({ platform: 'web', user_id: '' }), 'owner')
  assert.equal(await roleFor({ platform: 'discord', user_id: '7', channel_id: '5', team_id: '6' }), 'owner')
  assert.equal(await roleFor({ platform: 'discord', user_id: '8', channel_id: '5', team_id: '6' }), 'guest')
  assert.equal(await roleFor({ ...telegram, user_id: '3' }, { role: 'owner' }), 'owner', 'the hook decides')
  assert.equal(await roleFor({ ...telegram, user_id: '1' }, { role: 'guest' }), 'guest')
  const { userId, platform, chatId } = (await authorityFor({ ...telegram, user_id: '2' })) ?? {}
  assert.deepEqual({ userId, platform, chatId }, { userId: '2', platform: 'telegram', chatId: '-100' })
})
