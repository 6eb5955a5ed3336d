import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { isHermesError } from '../../src/lib/errors.ts'
import { silentLog } from '../../src/lib/log.ts'
import { type CredentialLockDeps, type LockedAccount, lockCredentials } from '../../src/platforms/credential-lock.ts'
import { lockHome } from '../../src/store/sqlite/lock.ts'
import { tempHome } from '../kit/temp-home.ts'

const token = 'token-0123456789'
const account: LockedAccount = {
  account: 'default',
  options: { token },
  platform: {
    name: 'irc',
    required: ['token'],
    options: [{ key: 'token', type: 'string', secret: true, description: 'token of the bot' }],
  },
}

function depsOf(home: string, environment: CredentialLockDeps['environment'], lockFile = lockHome): CredentialLockDeps {
  return { home, environment, pid: process.pid, lockFile, log: silentLog }
}

/** The home that holds the token; undefined when it was free, and is again. */
function holderOf(deps: CredentialLockDeps): string | undefined {
  try {
    lockCredentials(account, deps).release()
    return undefined
  } catch (error) {
    if (!isHermesError(error, 'platform/token-in-use')) throw error
    return /The gateway of (.*) \(process/.exec(error.message)?.[1] ?? ''
  }
}

test('a token is found in use by profiles of one root home, and by homes of one user', (t) => {
  const root = tempHome(t)
  const user = tempHome(t)
  const lock = lockCredentials(account, depsOf(root, { HOME: user }))
  const profile = join(root, '.hermes', 'profiles', 'coder')
  assert.equal(holderOf(depsOf(root, { XDG_STATE_HOME: tempHome(t) })), root)
  assert.equal(holderOf(depsOf(root, {})), root)
  assert.equal(holderOf(depsOf(tempHome(t), { HOME: user, XDG_STATE_HOME: 'relative' })), root)
  lock.release()
  const other = lockCredentials(account, depsOf(join(root, '.hermes'), { HOME: user }))
  assert.equal(holderOf(depsOf(profile, { HERMES_GATEWAY_LOCK_DIR: tempHome(t) })), join(root, '.hermes'))
  other.release()
})

test('a lock leaves no file behind, and no file shows the token', (t) => {
  const [root, user] = [tempHome(t), tempHome(t)]
  const directories = [join(root, 'locks'), join(user, '.local/state/hermes/gateway-locks')]
  const lock = lockCredentials(account, depsOf(root, { HOME: user }))
  for (const directory of directories) {
    const names = readdirSync(directory)
    assert.deepEqual(
      names.map((name) => name.replace(/-[0-9a-f]{32}\./, '.')),
      ['irc.json', 'irc.lock', 'irc.lock-journal'],
    )
    for (const name of names) assert.ok(!`${name}${readFileSync(join(directory, name), 'utf8')}`.includes(token))
  }
  lock.release()
  for (const directory of directories) assert.deepEqual(readdirSync(directory), [])
})

test('a lock on a file that the last holder has just removed is no lock', (t) => {
  const root = tempHome(t)
  let removals = 0
  const deps = depsOf(root, {}, (path) => {
    const lock = lockHome(path)
    // The last holder removes its file and releases it between our opening and our locking.
    if (removals++ < 3) rmSync(path)
    return lock
  })
  const lock = lockCredentials(account, deps)
  assert.equal(holderOf(depsOf(root, {})), root)
  lock.release()
  assert.equal(holderOf(depsOf(root, {})), undefined)
})

test('a directory that cannot be written leaves the other one', (t) => {
  const [root, user] = [tempHome(t), tempHome(t)]
  const blocked = join(root, 'file')
  lockHome(blocked).release()
  const lock = lockCredentials(account, depsOf(root, { HERMES_GATEWAY_LOCK_DIR: blocked }))
  assert.equal(holderOf(depsOf(root, { HOME: user })), root)
  lock.release()
})

test('the token of a gateway that was killed is free at once', async (t) => {
  const [root, user] = [tempHome(t), tempHome(t)]
  const source = (path: string) => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href)
  const program = `
    import { lockCredentials } from ${source('platforms/credential-lock.ts')}
    import { lockHome } from ${source('store/sqlite/lock.ts')}
    const [account, deps] = ${JSON.stringify([account, { home: root, environment: { HOME: user } }])}
    globalThis.lock = lockCredentials(account, { ...deps, pid: process.pid, lockFile: lockHome, log: console })
    console.log('locked')
    setInterval(() => undefined, 60_000)`
  const holder = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => holder.kill('SIGKILL'))
  await once(holder.stdout, 'data')
  assert.equal(holderOf(depsOf(root, { HOME: user })), root)
  assert.equal(holderOf(depsOf(tempHome(t), { HOME: user })), root)
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  assert.equal(holderOf(depsOf(root, { HOME: user })), undefined)
  assert.deepEqual(readdirSync(join(root, 'locks')), [])
})
