import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { type ErrorCode, errorCatalogue } from '../../src/lib/error-catalogue.ts'
import { isHermesError } from '../../src/lib/errors.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { startDaemon } from './daemon.ts'

/** Checks that the start fails with a message without a stack and with an exit code that service managers understand. */
async function assertStartFails(
  t: Parameters<typeof startDaemon>[0],
  world: TestGateway,
  expected: ErrorCode | RegExp,
  options = {},
): Promise<void> {
  const daemon = startDaemon(t, world.home.root, options)
  assert.equal(await daemon.exit(), 78)
  const output = daemon
    .errors()
    .split('\n')
    .filter((line) => !line.startsWith('{'))
    .join('\n')
  if (expected instanceof RegExp) assert.match(output, expected)
  else assert.ok(output.includes(errorCatalogue[expected].meaning), output)
  // The command line gives a more specific hint for a home that is in use.
  if (!(expected instanceof RegExp) && expected !== 'home/locked')
    assert.ok(output.includes(errorCatalogue[expected].hint), output)
  assert.doesNotMatch(output, /\n {4}at /)
}

test('a second daemon on the same home fails, and the first one is not affected', async (t) => {
  const world = await startTestGateway(t)
  await assertStartFails(t, world, 'home/locked')
  await world.say('hello')
  await world.waitForReply('You said: hello')
})

test('a port in use is reported with the key to change', async (t) => {
  const world = await startTestGateway(t, { startNow: false })
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  t.after(() => other.close())
  const address = other.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const environment = { HERMES_HTTP_PORT: String(port) }
  await assertStartFails(t, world, new RegExp(`127\\.0\\.0\\.1:${port}.*http\\.port`, 's'), { environment })
})

test('a damaged database is not changed, and the message suggests a backup', async (t) => {
  const world = await startTestGateway(t, { startNow: false })
  writeFileSync(world.home.databaseFile, 'this is not a database'.repeat(100))
  const before = readFileSync(world.home.databaseFile)
  await assertStartFails(t, world, 'store/corrupt')
  assert.deepEqual(readFileSync(world.home.databaseFile), before)
})

test('a database of a newer version is not changed', async (t) => {
  const world = await startTestGateway(t, { startNow: false })
  const db = new DatabaseSync(world.home.databaseFile)
  db.exec('create table future (x); pragma user_version = 999')
  db.close()
  await assertStartFails(t, world, 'store/newer-schema')
})

test('with --strict an invalid configuration ends the start with all issues', async (t) => {
  const world = await startTestGateway(t, { startNow: false, configText: 'max_iterations: many\nmodel: 7\n' })
  await assertStartFails(t, world, /config\.yaml:1:.*max_iterations/s, { args: ['gateway', 'run', '--strict'] })
})

test('a home directory that cannot be written is reported', async (t) => {
  const world = await startTestGateway(t, { startNow: false })
  await assertStartFails(t, world, 'home/unusable', {
    environment: { HERMES_HOME: `${world.home.configFile}/home` },
  })
})

test('a failed start releases the home directory and closes the database', async (t) => {
  const world = await startTestGateway(t, { startNow: false })
  writeFileSync(world.home.tokenFile, 'short\n')
  await assert.rejects(world.start(), (error) => isHermesError(error, 'http/token-unusable'))
  // SQLite takes its write-ahead log away with the last connection.
  assert.equal(existsSync(`${world.home.databaseFile}-wal`), false)
  writeFileSync(world.home.tokenFile, 'long enough to be a token\n'.replaceAll(' ', '-'))
  await world.start()
  await world.say('hello')
  await world.waitForReply('You said: hello')
})
