/**
 * Servers that are programs: started with few variables, ended with what they started, and held to limits.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { McpServerConfig } from '../../../src/agent/mcp/config.ts'
import { createServerConnection } from '../../../src/agent/mcp/connection.ts'
import { contentText } from '../../../src/agent/mcp/result-text.ts'
import { createStdioTransport, type StdioTransportOptions } from '../../../src/agent/mcp/stdio-transport.ts'
import { messageOf } from '../../../src/lib/errors.ts'
import { asRecord } from '../../../src/lib/json.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { signalProcessGroup } from '../../../src/lib/process-group.ts'
import { serverSettings } from './support.ts'

const { signal } = new AbortController()
const program = fileURLToPath(new URL('stdio-server.mjs', import.meta.url))
const path = process.env['PATH'] ?? ''

interface ConnectOptions extends Partial<StdioTransportOptions> {
  readonly settings?: McpServerConfig
  onLine?(line: string): void
  /** What the transport reports. */
  onProblem?(text: string): void
}

function connect(
  t: TestContext,
  argv: readonly string[],
  { settings, onLine, onProblem, ...options }: ConnectOptions = {},
) {
  const lines: string[] = []
  const connection = createServerConnection({
    name: 'program',
    settings: settings ?? serverSettings({ connect_timeout: 20, timeout: 20 }),
    version: '0',
    async open(onErrorLine) {
      const keep = (line: string) => {
        lines.push(line)
        onLine?.(line)
        onErrorLine(line)
      }
      return createStdioTransport({ argv, cwd: '/', env: { PATH: path }, onErrorLine: keep, ...options })
    },
    onCatalogue: () => undefined,
    clock: Date.now,
    random: () => 0.5,
    log: {
      ...silentLog,
      debug: ({ err }) => onProblem?.(messageOf(err)),
    },
  })
  t.after(() => connection.close())
  const call = async (name: string) => {
    const result = await connection.request({ method: 'tools/call', params: { name, arguments: {} } }, signal)
    return contentText(asRecord(result)['content'])
  }
  return { connection, call, lines }
}

async function hasEnded(pid: number): Promise<void> {
  while (isRunning(pid)) await wait(10)
}

/** A process that no one collects has ended all the same. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !existsSync(`/proc/${pid}/stat`) || !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

test('a program gets the listed variables only, and its end ends what it started', async (t) => {
  const { connection, call, lines } = connect(t, [process.execPath, program], { env: { PATH: path, KEY: 'value' } })
  const { tools } = await connection.catalogue(signal)
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['environment', 'read', 'spawn'],
  )
  assert.deepEqual(Object.keys(JSON.parse(await call('environment'))).sort(), ['KEY', 'PATH'])
  const pid = Number(await call('spawn'))
  assert.ok(pid > 0)
  assert.deepEqual(lines, ['ready\u{E0041}'])
  await connection.close()
  await hasEnded(pid)
})

test('a program that ignores its end and what it started end with a killed gateway', { timeout: 30_000 }, async (t) => {
  const transport = new URL('../../../src/agent/mcp/stdio-transport.ts', import.meta.url).href
  const server = 'trap "" TERM; sleep 60 & echo $$ $! >&2; while :; do sleep 1; done'
  const gateway = `
    const { createStdioTransport } = await import('${transport}')
    const argv = ['sh', '-c', process.argv[1]]
    const env = { PATH: process.env.PATH }
    const transport = createStdioTransport({ argv, cwd: '/', env, onErrorLine: (line) => console.log(line) })
    await transport.start()`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', gateway, server], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const [line] = await once(createInterface(child.stdout), 'line')
  const pids = String(line).split(' ').map(Number)
  t.after(() => {
    for (const pid of pids) if (isRunning(pid)) process.kill(pid, 'SIGKILL')
  })
  assert.equal(pids.length, 2)
  child.kill('SIGKILL')
  for (const pid of pids) await hasEnded(pid)
})

test('a program that does not exist is an error that says so', async (t) => {
  const { connection } = connect(t, ['/nonexistent/server'])
  await assert.rejects(connection.catalogue(signal), {
    code: 'unreachable',
    message: /there is no program \/nonexistent\/server/,
  })
})

test('a program that ends at once is named with its last words', async (t) => {
  const { connection } = connect(t, ['sh', '-c', 'echo no key given >&2; exit 3'])
  await assert.rejects(connection.catalogue(signal), { code: 'unreachable', message: /no key given/ })
})

test('a program that sends lines without end is stopped', async (t) => {
  const problems: string[] = []
  const { connection } = connect(t, ['yes', '{}'], { onProblem: (text) => problems.push(text) })
  await assert.rejects(connection.catalogue(signal), { code: 'unreachable' })
  assert.match(problems.join(), /lines that are no messages/)
  assert.equal(connection.isRunning(), false)
})

test('a program that sends one endless line is stopped before memory is full', async (t) => {
  const problems: string[] = []
  const { connection } = connect(t, ['sh', '-c', 'exec head -c 400000000 /dev/zero'], {
    onProblem: (text) => problems.push(text),
  })
  await assert.rejects(connection.catalogue(signal), { code: 'unreachable' })
  assert.match(problems.join(), /more than 10485760 bytes without a line break/)
})

test('a program that never answers does not keep a start waiting', async (t) => {
  const started = Promise.withResolvers<number>()
  const { connection } = connect(t, ['sh', '-c', 'echo $$ >&2; exec sleep 60'], {
    settings: serverSettings({ connect_timeout: 1 }),
    onLine: (line) => started.resolve(Number(line)),
  })
  await assert.rejects(connection.catalogue(signal), { code: 'unreachable', message: /within 1 seconds|timed out/ })
  assert.equal(signalProcessGroup(await started.promise, 0), false)
})

test('a stop ends a program that is starting, and does not wait for its connect_timeout', {
  timeout: 30_000,
}, async (t) => {
  const started = Promise.withResolvers<number>()
  const { connection } = connect(t, ['sh', '-c', 'echo $$ >&2; exec sleep 60'], {
    settings: serverSettings({ connect_timeout: 3_600 }),
    onLine: (line) => started.resolve(Number(line)),
  })
  const waiting = assert.rejects(connection.catalogue(signal), { code: 'unreachable' })
  const pid = await started.promise
  await connection.close()
  assert.equal(signalProcessGroup(pid, 0), false)
  await waiting
})
