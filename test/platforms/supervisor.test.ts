import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { HermesError } from '../../src/lib/errors.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { PlatformAccount } from '../../src/platforms/accounts.ts'
import type { PlatformAdapter, PlatformModule } from '../../src/platforms/adapter.ts'
import type { AdapterLifecycle, ConnectionDeps } from '../../src/platforms/connection.ts'
import { parseManifest } from '../../src/platforms/manifest.ts'
import { discoverPlatforms, type InstalledPlatform, loadPlatform } from '../../src/platforms/registry.ts'
import { createSupervisor } from '../../src/platforms/supervisor.ts'
import { recordingLog } from '../http/support.ts'
import { createRecordingContext } from '../kit/recording-context.ts'
import { createVirtualTime } from './virtual-time.ts'

/** What an adapter of a test does; by default it connects at once. */
interface AdapterScript {
  connect?(signal: AbortSignal, attempt: number): Promise<void>
  disconnect?(): Promise<void>
}

function accountOf(name: string, change: Partial<PlatformAccount> = {}): PlatformAccount {
  return { platform: installed(name), account: 'default', options: {}, access, roles, policy, ...change }
}

const roles = {
  owners: [],
  members: [],
  guests: [],
  adminFrom: [],
  groupAdminFrom: [],
  userAllowedCommands: [],
  groupUserAllowedCommands: [],
  hasOwners: false,
}

const policy = { edits: 'amend', replyTo: 'first', typing: true, fileHosts: [], unauthorizedDm: 'pair' } as const

const access = {
  access: 'allowlist' as const,
  allowFrom: [],
  groupAllowFrom: [],
  groupAllowedChats: [],
  allowAllUsers: false,
  allowBots: 'none' as const,
  gatewayAllowedUsers: [],
  gatewayAllowAllUsers: false,
}

function installed(name: string): InstalledPlatform {
  const check = parseManifest(`name: ${name}\nkind: platform\n`, 'plugin.yaml')
  assert.ok(check.kind === 'platform')
  return { ...check.manifest, directory: `/platforms/${name}`, adapterFile: `/platforms/${name}/adapter.ts` }
}

/** A supervisor over scripted adapters; everything that happens is written down in `events`. */
function supervise(
  t: TestContext,
  accounts: readonly PlatformAccount[],
  scripts: Record<string, AdapterScript>,
  { load, ...deps }: Partial<ConnectionDeps> & { readonly load?: Parameters<typeof createSupervisor>[1] } = {},
) {
  const time = createVirtualTime()
  const events: string[] = []
  const lives: AdapterLifecycle[] = []
  const adapters = new Map<string, PlatformAdapter | undefined>()
  const attempts = new Map<string, number>()
  const { log, lines } = recordingLog()
  const nameOf = ({ platform, account }: PlatformAccount) =>
    account === 'default' ? platform.name : `${platform.name}/${account}`
  const loadScripted = async ({ name }: InstalledPlatform) => {
    events.push(`import ${name}`)
    return moduleOf(name)
  }
  const supervisor = createSupervisor(accounts, load ?? loadScripted, {
    createContext: (account, life) => {
      lives.push(life)
      events.push(`options of ${nameOf(account)}: ${JSON.stringify(account.options)}`)
      const { context } = createRecordingContext({ platform: account.platform.name, account: account.account })
      return context
    },
    clock: time.clock,
    sleep: time.sleep,
    random: () => 1,
    log,
    setAdapter: (account, adapter) => void adapters.set(nameOf(account), adapter),
    onConnected: (account) => void events.push(`connected ${nameOf(account)}`),
    onHealth: (account, { state, reason }) => void events.push(`${nameOf(account)}: ${state} ${reason ?? ''}`.trim()),
    ...deps,
  })
  t.after(async () => {
    const stopped = supervisor.stop()
    await time.advance(10_000)
    await stopped
  })
  return { supervisor, time, events, lives, attempts, adapters, lines }

  function moduleOf(name: string): PlatformModule {
    return {
      createAdapter({ account }) {
        const key = account === 'default' ? name : `${name}/${account}`
        const script = scripts[key] ?? scripts[name] ?? {}
        const attempt = (attempts.get(key) ?? 0) + 1
        attempts.set(key, attempt)
        const adapter: PlatformAdapter = {
          async connect(signal) {
            events.push(`connect ${key}`)
            await script.connect?.(signal, attempt)
          },
          async disconnect() {
            events.push(`disconnect ${key}`)
            await script.disconnect?.()
          },
          send: async () => ({ success: true }),
        }
        return adapter
      },
    }
  }
}

const neverSettles = () => new Promise<void>(() => undefined)

test('enabled platforms connect, and disabled or unusable ones report the reason', async (t) => {
  const { supervisor, time, events, adapters } = supervise(
    t,
    [
      accountOf('web'),
      accountOf('irc', { blocked: { kind: 'off', reason: 'not configured' } }),
      accountOf('slack', { blocked: { kind: 'unusable', reason: 'not set: platforms.slack.bot_token' } }),
    ],
    {},
  )
  assert.deepEqual(supervisor.health()['web'], { state: 'connecting' })
  supervisor.start()
  await time.flush()
  await supervisor.initialConnectsDone()
  assert.deepEqual(supervisor.health(), {
    web: { state: 'connected' },
    irc: { state: 'disabled', reason: 'not configured' },
    slack: { state: 'failed', reason: 'not set: platforms.slack.bot_token' },
  })
  assert.deepEqual([...adapters.keys()], ['web'])
  assert.ok(adapters.get('web'))
  assert.ok(events.includes('connected web'))
})

test('adapters are imported one after another and connect concurrently', async (t) => {
  const gates = new Map<string, (module: PlatformModule) => void>()
  const order: string[] = []
  const { supervisor, time } = supervise(
    t,
    [accountOf('a'), accountOf('b')],
    {},
    {
      load: ({ name }) => {
        order.push(`import ${name}`)
        return new Promise((resolve) => gates.set(name, resolve))
      },
    },
  )
  const module: PlatformModule = {
    createAdapter: ({ platform }) => ({
      connect: () => {
        order.push(`connect ${platform}`)
        return neverSettles()
      },
      disconnect: async () => undefined,
      send: async () => ({ success: true }),
    }),
  }
  supervisor.start()
  await time.flush()
  assert.deepEqual(order, ['import a'])
  gates.get('a')?.(module)
  await time.flush()
  assert.deepEqual(order, ['import a', 'connect a', 'import b'])
  gates.get('b')?.(module)
  await time.flush()
  assert.deepEqual(order, ['import a', 'connect a', 'import b', 'connect b'])
})

test('an unreachable platform is retried with increasing delays of at most eight seconds', async (t) => {
  const { supervisor, time, attempts } = supervise(t, [accountOf('irc'), accountOf('web')], {
    irc: { connect: () => Promise.reject(new Error('no route to host')) },
  })
  supervisor.start()
  const pauses: number[] = []
  for (let attempt = 1; attempt <= 11; attempt += 1) {
    await time.flush()
    assert.equal(attempts.get('irc'), attempt)
    const [pauseMs] = time.pendingMs()
    assert.ok(pauseMs !== undefined)
    pauses.push(pauseMs)
    await time.advance(pauseMs)
  }
  assert.deepEqual(pauses.slice(0, 4), [1_000, 2_000, 4_000, 8_000])
  assert.deepEqual(pauses.slice(-2), [8_000, 8_000])
  assert.deepEqual(supervisor.health()['irc'], { state: 'connecting', reason: 'no route to host' })
  assert.deepEqual(supervisor.health()['web'], { state: 'connected' })
})

test('a connected account that the platform refuses stops until its configuration changes', async (t) => {
  const { supervisor, time, lives, attempts } = supervise(t, [accountOf('irc')], {})
  supervisor.start()
  await time.flush()
  lives[0]?.refused('the token was revoked')
  await time.advance(1_000_000)
  assert.equal(attempts.get('irc'), 1)
  assert.deepEqual(supervisor.health()['irc'], { state: 'failed', reason: 'the token was revoked' })
})

test('delays have jitter, so that many gateways do not reconnect at the same time', async (t) => {
  const { supervisor, time } = supervise(
    t,
    [accountOf('irc')],
    { irc: { connect: () => Promise.reject(new Error('no')) } },
    { random: () => 0.25 },
  )
  supervisor.start()
  await time.flush()
  assert.deepEqual(time.pendingMs(), [250])
})

test('after a connection of a minute the delays start again with the shortest', async (t) => {
  const { supervisor, time, lives, attempts, adapters } = supervise(t, [accountOf('irc')], {
    irc: { connect: async (_, attempt) => (attempt < 4 ? Promise.reject(new Error('no')) : undefined) },
  })
  supervisor.start()
  await time.advance(7_000)
  assert.equal(supervisor.health()['irc']?.state, 'connected')
  assert.equal(attempts.get('irc'), 4)
  lives.at(-1)?.health('degraded', 'socket closed')
  assert.deepEqual(supervisor.health()['irc'], { state: 'connected', reason: 'socket closed' })
  await time.advance(300_000)
  assert.equal(adapters.get('irc'), undefined)
  assert.deepEqual(time.pendingMs(), [1_000])
  await time.advance(1_000)
  assert.equal(supervisor.health()['irc']?.state, 'connected')
})

test('an adapter that recovers is not replaced, and its reports after its end are ignored', async (t) => {
  const { supervisor, time, lives, attempts } = supervise(t, [accountOf('irc')], {})
  supervisor.start()
  await time.flush()
  const [life] = lives
  life?.health('degraded', 'socket closed')
  await time.advance(200_000)
  life?.health('connected')
  await time.advance(1_000_000)
  assert.equal(attempts.get('irc'), 1)
  assert.deepEqual(supervisor.health()['irc'], { state: 'connected' })
  await supervisor.apply([accountOf('irc', { options: { other: true } })])
  await time.flush()
  life?.health('degraded', 'a ghost speaks')
  assert.deepEqual(supervisor.health()['irc'], { state: 'connected' })
})

test('rejected credentials are logged once and not retried until the configuration changes', async (t) => {
  const fatal = Object.assign(new Error('401: unknown bot'), { fatal: true })
  const { supervisor, time, attempts, lines } = supervise(t, [accountOf('a'), accountOf('b')], {
    a: { connect: async (_, attempt) => (attempt === 1 ? Promise.reject(fatal) : undefined) },
    b: { connect: () => Promise.reject(new HermesError('platform/unauthorised')) },
  })
  supervisor.start()
  await time.advance(3_600_000)
  assert.deepEqual([attempts.get('a'), attempts.get('b')], [1, 1])
  assert.deepEqual(supervisor.health()['a'], { state: 'failed', reason: '401: unknown bot' })
  assert.equal(supervisor.health()['b']?.state, 'failed')
  assert.equal(lines.filter(({ level }) => level === 'error').length, 2)

  await supervisor.apply([accountOf('a', { options: { token: 'new' } }), accountOf('b')])
  await time.flush()
  assert.deepEqual(supervisor.health()['a'], { state: 'connected' })
  assert.deepEqual([attempts.get('a'), attempts.get('b')], [2, 1])
})

test('a hanging connect times out after a minute and is retried without affecting other platforms', async (t) => {
  const hung = Promise.withResolvers<void>()
  const signals: AbortSignal[] = []
  const { supervisor, time, events, attempts } = supervise(t, [accountOf('irc'), accountOf('web')], {
    irc: {
      connect: (signal, attempt) => {
        signals.push(signal)
        return attempt === 1 ? hung.promise : Promise.resolve()
      },
    },
  })
  supervisor.start()
  await time.advance(59_999)
  assert.equal(supervisor.health()['web']?.state, 'connected')
  assert.equal(supervisor.health()['irc']?.state, 'connecting')
  await time.advance(1)
  assert.equal(signals[0]?.aborted, true)
  assert.ok(events.includes('disconnect irc'))
  // What comes too late neither connects nor crashes anything.
  hung.reject(new Error('too late'))
  await time.advance(1_000)
  assert.equal(attempts.get('irc'), 2)
  assert.equal(supervisor.health()['irc']?.state, 'connected')
})

test('an error anywhere in one adapter leaves the other platforms connected', async (t) => {
  const broken: Record<string, () => unknown> = {
    factory: () => {
      throw new Error('in the factory')
    },
    nothing: () => undefined,
    half: () => ({ connect: async () => undefined, disconnect: async () => undefined }),
    throws: () => ({
      connect: () => {
        throw new Error('at once')
      },
      disconnect: () => {
        throw new Error('again')
      },
      send: async () => ({ success: true }),
    }),
    odd: () => ({ connect: () => Promise.reject(undefined), disconnect: () => undefined, send: () => undefined }),
    sloppy: () => ({ connect: () => undefined, disconnect: () => undefined, send: () => undefined }),
    web: () => ({
      connect: async () => undefined,
      disconnect: async () => undefined,
      send: async () => ({ success: true }),
    }),
  }
  const folder = await mkdtemp(join(tmpdir(), 'supervisor-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  for (const [name, factory] of Object.entries(broken)) {
    await mkdir(join(folder, name))
    await writeFile(join(folder, name, 'plugin.yaml'), `name: ${name}\nkind: platform\n`)
    await writeFile(join(folder, name, 'adapter.mjs'), `export default { createAdapter: ${factory} }\n`)
  }
  await mkdir(join(folder, 'unreadable'))
  await writeFile(join(folder, 'unreadable', 'plugin.yaml'), 'name: unreadable\nkind: platform\n')
  await writeFile(join(folder, 'unreadable', 'adapter.mjs'), 'export default {')
  const { platforms } = discoverPlatforms({ directories: [folder], log: silentLog })

  const { supervisor, time } = supervise(
    t,
    platforms.map((platform) => accountOf(platform.name, { platform })),
    {},
    { load: loadPlatform },
  )
  supervisor.start()
  await supervisor.initialConnectsDone()
  await time.advance(5_000)
  const health = supervisor.health()
  assert.deepEqual(Object.fromEntries(Object.entries(health).map(([name, { state }]) => [name, state])), {
    factory: 'connecting',
    half: 'failed',
    nothing: 'failed',
    odd: 'connecting',
    sloppy: 'connected',
    throws: 'connecting',
    unreadable: 'failed',
    web: 'connected',
  })
  assert.equal(health['factory']?.reason, 'in the factory')
  assert.match(health['half']?.reason ?? '', /\bsend\b/)
  assert.match(health['unreadable']?.reason ?? '', /unreadable\/adapter\.mjs\b/)
})

test('a hanging import does not block the others', async (t) => {
  const { supervisor, time, events } = supervise(
    t,
    [accountOf('stuck'), accountOf('web')],
    {},
    {
      load: ({ name }) =>
        name === 'stuck'
          ? new Promise(() => undefined)
          : Promise.resolve({
              createAdapter: () => ({
                connect: async () => undefined,
                disconnect: async () => undefined,
                send: async () => ({ success: true as const }),
              }),
            }),
    },
  )
  supervisor.start()
  await time.advance(30_000)
  assert.equal(supervisor.health()['stuck']?.state, 'failed')
  assert.equal(supervisor.health()['web']?.state, 'connected')
  assert.ok(events.includes('connected web'))
})

test('the initial connects are done after ten seconds even if one platform still connects', async (t) => {
  const { supervisor, time } = supervise(t, [accountOf('irc'), accountOf('web')], { irc: { connect: neverSettles } })
  let settled = false
  void supervisor.initialConnectsDone().then(() => {
    settled = true
  })
  supervisor.start()
  await time.advance(9_999)
  assert.equal(settled, false)
  await time.advance(1)
  assert.equal(settled, true)
})

test('the initial connects are done when the first attempt has failed', async (t) => {
  const { supervisor, time } = supervise(t, [accountOf('irc')], {
    irc: { connect: () => Promise.reject(new Error('no')) },
  })
  supervisor.start()
  await supervisor.initialConnectsDone()
  assert.equal(time.clock(), 1_000_000)
})

test('a changed configuration reconnects only the changed accounts, after the old connection has ended', async (t) => {
  const work = { account: 'work', options: { token: 'w' } }
  const { supervisor, time, events } = supervise(
    t,
    [accountOf('a', { options: { token: '1' } }), accountOf('a', work), accountOf('b'), accountOf('c')],
    {},
  )
  supervisor.start()
  await time.flush()
  events.length = 0
  await supervisor.apply([
    accountOf('a', { options: { token: '2' } }),
    accountOf('a', { ...work, access: { ...access, allowFrom: ['ann'] } }),
    accountOf('b', { blocked: { kind: 'off', reason: 'disabled in the configuration' } }),
    accountOf('d'),
  ])
  await time.flush()
  assert.deepEqual(
    events.filter((event) => /^(disconnect|connect) /.test(event)),
    ['disconnect a', 'disconnect b', 'disconnect c', 'connect a', 'connect d'],
  )
  assert.deepEqual(
    Object.entries(supervisor.health()).map(([name, { state }]) => `${name} ${state}`),
    ['a connected', 'b disabled', 'd connected'],
  )
})

test('rapid configuration changes are applied one after another', async (t) => {
  const { supervisor, time, events } = supervise(t, [accountOf('a')], {})
  supervisor.start()
  await time.flush()
  const changes = [1, 2, 3].map((token) => supervisor.apply([accountOf('a', { options: { token } })]))
  await Promise.all(changes)
  await time.flush()
  assert.equal(supervisor.health()['a']?.state, 'connected')
  assert.equal(events.filter((event) => event.startsWith('options of')).at(-1), 'options of a: {"token":3}')
})

test('failAccount stops an account until its configuration changes', async (t) => {
  const { supervisor, time, events, attempts, adapters } = supervise(t, [accountOf('a')], {})
  supervisor.start()
  await time.flush()
  supervisor.failAccount('a', 'default', 'the token was revoked')
  await time.advance(3_600_000)
  assert.deepEqual(supervisor.health()['a'], { state: 'failed', reason: 'the token was revoked' })
  assert.equal(adapters.get('a'), undefined)
  assert.ok(events.includes('disconnect a'))
  assert.equal(attempts.get('a'), 1)
})

test('the health of a platform is that of its worst account', async (t) => {
  const { supervisor, time } = supervise(
    t,
    [
      accountOf('a'),
      accountOf('a', { account: 'work' }),
      accountOf('a', { account: 'old', blocked: { kind: 'off', reason: 'disabled in the configuration' } }),
    ],
    { 'a/work': { connect: () => Promise.reject(Object.assign(new Error('revoked'), { fatal: true })) } },
  )
  supervisor.start()
  await time.flush()
  assert.deepEqual(supervisor.health(), { a: { state: 'failed', reason: 'work: revoked' } })
  assert.deepEqual(
    supervisor.accounts().map(({ account, state }) => `${account} ${state}`),
    ['default connected', 'work failed', 'old disabled'],
  )
})

test('stop disconnects all accounts concurrently within five seconds and may be called twice', async (t) => {
  const { supervisor, time, events } = supervise(t, [accountOf('a'), accountOf('b'), accountOf('c')], {
    a: { disconnect: neverSettles },
    b: { disconnect: neverSettles },
    c: { disconnect: () => Promise.reject(new Error('already gone')) },
  })
  supervisor.start()
  await time.flush()
  let stopped = 0
  void supervisor.stop().then(() => {
    stopped += 1
  })
  void supervisor.stop().then(() => {
    stopped += 1
  })
  await time.advance(4_999)
  assert.equal(stopped, 0)
  assert.equal(events.filter((event) => event.startsWith('disconnect')).length, 3)
  await time.advance(1)
  assert.equal(stopped, 2)
})

test('stop cancels a running connect, a delay and the queue of imports', async (t) => {
  const { supervisor, time, events } = supervise(t, [accountOf('hangs'), accountOf('fails'), accountOf('late')], {
    hangs: { connect: neverSettles },
    fails: { connect: () => Promise.reject(new Error('no')) },
  })
  supervisor.start()
  await time.flush()
  await supervisor.stop()
  const before = events.length
  await time.advance(3_600_000)
  assert.equal(events.length, before)
  assert.deepEqual(time.pendingMs(), [])
  await supervisor.apply([accountOf('late', { options: { changed: true } })])
  await time.flush()
  assert.equal(events.length, before)
})

test('the registrations of an adapter end with it', async (t) => {
  const { supervisor, time, lives } = supervise(t, [accountOf('a')], {})
  supervisor.start()
  await time.flush()
  assert.equal(lives[0]?.signal.aborted, false)
  await supervisor.apply([])
  assert.equal(lives[0]?.signal.aborted, true)
  assert.deepEqual(supervisor.health(), {})
})

test('receiving is reported only for adapters that report data, and only while the data is recent', async (t) => {
  const { supervisor, time, lives } = supervise(t, [accountOf('a'), accountOf('b')], {})
  supervisor.start()
  await time.flush()
  assert.deepEqual(supervisor.health()['a'], { state: 'connected' })
  lives[0]?.received()
  await time.advance(90_000)
  assert.deepEqual(supervisor.health(), { a: { state: 'connected', receiving: true }, b: { state: 'connected' } })
  await time.advance(1)
  assert.deepEqual(supervisor.health()['a'], { state: 'connected', receiving: false })
  lives[0]?.received()
  assert.deepEqual(supervisor.health()['a'], { state: 'connected', receiving: true })
})

test('a platform is receiving only if all of its accounts are', async (t) => {
  const accounts = [
    accountOf('a'),
    accountOf('a', { account: 'two' }),
    accountOf('a', { account: 'off', blocked: disabledLog }),
  ]
  const { supervisor, time, lives } = supervise(t, accounts, {})
  supervisor.start()
  await time.flush()
  lives[0]?.received()
  assert.deepEqual(supervisor.health()['a'], { state: 'connected', receiving: false })
  lives[1]?.received()
  assert.deepEqual(supervisor.health()['a'], { state: 'connected', receiving: true })
})

test('a disconnected account is not receiving, even after recent data', async (t) => {
  const { supervisor, time, lives } = supervise(t, [accountOf('a')], {})
  supervisor.start()
  await time.flush()
  lives[0]?.received()
  supervisor.failAccount('a', 'default', 'token revoked')
  await time.flush()
  assert.deepEqual(supervisor.health()['a'], { state: 'failed', reason: 'token revoked', receiving: false })
  lives[0]?.received()
  assert.equal(supervisor.accounts()[0]?.receiving, false, 'an adapter that is done with says nothing any more')
})

test('a changed account policy needs no reconnect', async (t) => {
  const { supervisor, time, events } = supervise(t, [accountOf('a')], {})
  supervisor.start()
  await time.flush()
  const before = [...events]
  await supervisor.apply([
    accountOf('a', {
      policy: { edits: 'rerun', replyTo: 'off', typing: false, fileHosts: [], unauthorizedDm: 'pair' },
    }),
  ])
  await time.flush()
  assert.deepEqual(events, before)
  await supervisor.apply([accountOf('a', { options: { mode: 'other' } })])
  await time.flush()
  assert.ok(events.includes('disconnect a'), 'its own options need one')
})

const disabledLog = { kind: 'off', reason: 'disabled in the configuration' } as const

test('an account waits for its token without connecting, and releases it after the last disconnect', async (t) => {
  const log: string[] = []
  let free = false
  const { supervisor, time, events } = supervise(
    t,
    [accountOf('irc')],
    { irc: { connect: () => Promise.reject(new Error('no route to host')) } },
    {
      async lockCredentials() {
        if (!free) throw new HermesError('platform/token-in-use', 'The gateway of /other (process 7) uses the token.')
        return { release: () => void log.push('released') }
      },
    },
  )
  supervisor.start()
  await time.flush()
  await supervisor.initialConnectsDone()
  assert.equal(supervisor.health()['irc']?.state, 'failed')
  assert.match(supervisor.health()['irc']?.reason ?? '', /\/other \(process 7\)/)
  await time.advance(60_000)
  assert.ok(!events.includes('connect irc'))
  free = true
  await time.advance(60_000)
  assert.ok(events.filter((event) => event === 'connect irc').length > 2)
  assert.deepEqual(log, [])
  await supervisor.stop()
  assert.deepEqual(log, ['released'])
})

test('an account whose credentials are rejected while no adapter runs does not connect any more', async (t) => {
  let free = false
  const { supervisor, time, events } = supervise(
    t,
    [accountOf('waits'), accountOf('retries')],
    { retries: { connect: () => Promise.reject(new Error('no route to host')) } },
    {
      async lockCredentials({ platform }) {
        if (platform.name === 'waits' && !free) throw new HermesError('platform/token-in-use', 'held elsewhere')
        return { release: () => undefined }
      },
    },
  )
  supervisor.start()
  await time.flush()
  for (const platform of ['waits', 'retries']) supervisor.failAccount(platform, 'default', 'the token was revoked')
  await time.flush()
  const failed = { state: 'failed', reason: 'the token was revoked' }
  assert.deepEqual(supervisor.health(), { waits: failed, retries: failed })
  const before = [...events]
  free = true
  await time.advance(3_600_000)
  assert.deepEqual(events, before)
  assert.deepEqual(supervisor.health(), { waits: failed, retries: failed })
})
