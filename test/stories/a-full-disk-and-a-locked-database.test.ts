import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { z } from 'zod'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { tempHome } from '../kit/temp-home.ts'
import { type Daemon, startDaemon } from './daemon.ts'

/** A small disk for one process: a tmpfs in its own mount namespace. */
const ownMounts = ['unshare', ...(process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']), '--mount']
const canMount = (() => {
  try {
    execFileSync(ownMounts[0] ?? '', [...ownMounts.slice(1), 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], {
      stdio: 'ignore',
    })
    return true
  } catch {
    return false
  }
})()
const skip = canMount ? false : 'cannot mount a file system'

interface SmallDisk {
  readonly daemon: Daemon
  /** Fills the disk completely. */
  fill(): void
  free(): void
}

/** Starts the daemon with its home on a disk of eight megabytes. */
async function startOnSmallDisk(t: TestContext, gateway: TestGateway): Promise<SmallDisk> {
  const seed = tempHome(t)
  cpSync(gateway.home.root, seed, { recursive: true })
  const script = 'mount -t tmpfs -o size=8m,mode=700 tmpfs "$1" && cp -r "$2"/. "$1" && shift 2 && exec "$@"'
  const daemon = startDaemon(t, gateway.home.root, {
    through: [...ownMounts, 'sh', '-c', script, 'sh', gateway.home.root, seed],
  })
  await daemon.ready
  const filler = join('/proc', String(daemon.pid), 'root', gateway.home.root, 'filler')
  assert.ok(existsSync(join('/proc', String(daemon.pid), 'root', gateway.home.databaseFile)))
  return {
    daemon,
    fill() {
      for (const bytes of [65_536, 4_096]) {
        try {
          for (;;) writeFileSync(filler, Buffer.alloc(bytes), { flag: 'a' })
        } catch (error) {
          assert.match(String(error), /ENOSPC/)
        }
      }
    },
    free: () => rmSync(filler),
  }
}

/** What `/readyz` tells the owner. The token is on the small disk. */
async function degradedReasons(daemon: Daemon, { home }: TestGateway): Promise<string> {
  const token = readFileSync(join('/proc', String(daemon.pid), 'root', home.tokenFile), 'utf8').trim()
  const response = await fetch(`${await daemon.ready}/readyz`, { headers: { authorization: `Bearer ${token}` } })
  const { degraded } = z.object({ degraded: z.array(z.string()) }).parse(await response.json())
  return degraded.join('\n')
}

test('on a full disk no message is acknowledged, and all are answered after space was freed', {
  skip,
}, async (t) => {
  const gateway = await startTestGateway(t, { startNow: false })
  const { daemon, fill, free } = await startOnSmallDisk(t, gateway)
  await gateway.say('before')
  await gateway.waitForReply('You said: before')
  fill()
  let acknowledged = false
  const said = gateway.say('while it is full').then(() => {
    acknowledged = true
  })
  await daemon.waitForLog('"code":"store/full"')
  assert.equal(acknowledged, false)
  assert.match(await degradedReasons(daemon, gateway), /store\/full/)
  free()
  await said
  await gateway.waitForReply('You said: while it is full')
  assert.doesNotMatch(await degradedReasons(daemon, gateway), /store\/full/)
  daemon.signal('SIGTERM')
  assert.equal(await daemon.exit(), 0)
})

test('a response that arrives while the disk is full is stored later, without another model request', {
  skip,
}, async (t) => {
  const held = Promise.withResolvers<void>()
  const gateway = await startTestGateway(t, {
    startNow: false,
    replies: [{ text: 'an expensive answer', gate: () => held.promise }],
  })
  const { daemon, fill, free } = await startOnSmallDisk(t, gateway)
  await gateway.say('hello')
  await gateway.modelRequest(0)
  fill()
  held.resolve()
  await daemon.waitForLog({ event: 'turn.store_failed' })
  assert.deepEqual(gateway.replies(), [])
  free()
  await gateway.waitForReply('an expensive answer')
  assert.equal(gateway.model.requestCount, 1)
  daemon.signal('SIGTERM')
  assert.equal(await daemon.exit(), 0)
})

test('the gateway waits for a database that another process has locked', async (t) => {
  let other: ChildProcess | undefined
  const gateway = await startTestGateway(t, {
    gateway: {
      failpoint(point) {
        if (point === 'inbox:before-commit') other?.stdin?.write('unlock\n')
      },
    },
  })
  other = await holdLock(t, gateway.home.databaseFile)
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
})

/** Starts a process that holds a write transaction. It rolls back 50 ms after a line on its standard input. */
async function holdLock(t: TestContext, path: string): Promise<ChildProcess> {
  const script = `
    const { DatabaseSync } = require('node:sqlite')
    const db = new DatabaseSync(${JSON.stringify(path)})
    db.exec('begin immediate')
    console.log('locked')
    process.stdin.once('data', () => setTimeout(() => { db.exec('rollback'); process.exit(0) }, 50))`
  const child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  await new Promise((resolve) => child.stdout.once('data', resolve))
  return child
}

test('a home whose database is missing reports it before it creates a new one', async (t) => {
  const gateway = await startTestGateway(t)
  assert.ok(
    gateway
      .current()
      .status()
      .degraded.every((reason) => !reason.includes('state.db')),
  )
  await gateway.stop()
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${gateway.home.databaseFile}${suffix}`, { force: true })
  await gateway.start()
  await gateway.waitForLog({ event: 'store.missing' })
  assert.ok(
    gateway
      .current()
      .status()
      .degraded.some((reason) => reason.includes(gateway.home.databaseFile)),
  )
})
