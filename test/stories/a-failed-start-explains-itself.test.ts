import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { ErrorCode } from '../../src/lib/error-catalogue.ts'
import { isHermesError } from '../../src/lib/errors.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { type DaemonOptions, startDaemon } from './daemon.ts'

/** Checks that the start fails with a message without a stack and with an exit code that service managers understand. */
async function assertStartFails(
  t: Parameters<typeof startDaemon>[0],
  gateway: TestGateway,
  expected: ErrorCode,
  { data, ...options }: DaemonOptions & { readonly data?: RegExp } = {},
): Promise<void> {
  const daemon = startDaemon(t, gateway.home.root, options)
  assert.equal(await daemon.exit(), 78)
  const output = daemon
    .errors()
    .split('\n')
    .filter((line) => !line.startsWith('{'))
    .join('\n')
  assert.ok(output.includes(`(${expected})`), output)
  if (data !== undefined) assert.match(output, data)
  assert.doesNotMatch(output, /\n {4}at /)
}

test('a second daemon on the same home fails, and the first one is not affected', async (t) => {
  const gateway = await startTestGateway(t)
  await assertStartFails(t, gateway, 'home/locked')
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
})

test('a port in use is reported with the key to change', async (t) => {
  const gateway = await startTestGateway(t, { startNow: false })
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  t.after(() => other.close())
  const address = other.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const environment = { HERMES_HTTP_PORT: String(port) }
  await assertStartFails(t, gateway, 'http/port-in-use', {
    environment,
    data: new RegExp(`127.0.0.1:${port}.*http.port`, 's'),
  })
})

test('a damaged database is reported and not changed', async (t) => {
  const gateway = await startTestGateway(t, { startNow: false })
  writeFileSync(gateway.home.databaseFile, 'this is not a database'.repeat(100))
  const before = readFileSync(gateway.home.databaseFile)
  await assertStartFails(t, gateway, 'store/corrupt')
  assert.deepEqual(readFileSync(gateway.home.databaseFile), before)
})

test('a database of a newer version is not changed', async (t) => {
  const gateway = await startTestGateway(t, { startNow: false })
  const db = new DatabaseSync(gateway.home.databaseFile)
  db.exec('create table future (x); pragma user_version = 999')
  db.close()
  await assertStartFails(t, gateway, 'store/newer-schema')
})

test('with --strict an invalid configuration ends the start with all issues', async (t) => {
  const gateway = await startTestGateway(t, { startNow: false, configText: 'max_iterations: many\nmodel: 7\n' })
  await assertStartFails(t, gateway, 'config/invalid', {
    args: ['gateway', 'run', '--strict'],
    data: /config\.yaml:1:.*max_iterations/s,
  })
})

test('a home directory that cannot be written is reported', async (t) => {
  const gateway = await startTestGateway(t, { startNow: false })
  await assertStartFails(t, gateway, 'home/unusable', {
    environment: { HERMES_HOME: `${gateway.home.configFile}/home` },
  })
})

test('a failed start releases the home directory and closes the database', async (t) => {
  const gateway = await startTestGateway(t, { startNow: false })
  writeFileSync(gateway.home.tokenFile, 'short\n')
  await assert.rejects(gateway.start(), (error) => isHermesError(error, 'http/token-unusable'))
  // SQLite takes its write-ahead log away with the last connection.
  assert.equal(existsSync(`${gateway.home.databaseFile}-wal`), false)
  writeFileSync(gateway.home.tokenFile, 'long enough to be a token\n'.replaceAll(' ', '-'))
  await gateway.start()
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
})
