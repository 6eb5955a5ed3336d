/**
 * The connection to one MCP server, with the server of the SDK in this process.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { InMemoryTransport, McpServer } from '@modelcontextprotocol/server'
import type { ServerCatalogue } from '../../../src/agent/mcp/catalogue.ts'
import { createServerConnection } from '../../../src/agent/mcp/connection.ts'
import { lazyConnection } from '../../../src/agent/mcp/lazy-connection.ts'
import { contentText } from '../../../src/agent/mcp/result-text.ts'
import { asRecord } from '../../../src/lib/json.ts'
import { connectInProcess, createTestServer, serverSettings } from './support.ts'

const { signal } = new AbortController()

function call(name: string, args: Readonly<Record<string, unknown>> = {}) {
  return { method: 'tools/call', params: { name, arguments: args } } as const
}

function textOf(result: unknown): string {
  return contentText(asRecord(result)['content'])
}

test('a server starts with the first call and is not started again for the second', async (t) => {
  const { connection, starts } = connectInProcess(createTestServer)
  t.after(() => connection.close())
  assert.equal(starts(), 0)
  assert.equal(textOf(await connection.request(call('look', { what: 'rain' }), signal)), 'seen: rain')
  assert.equal(textOf(await connection.request(call('count'), signal)), '1')
  assert.equal(textOf(await connection.request(call('count'), signal)), '2')
  assert.equal(starts(), 1)
})

test('two calls at once start one server', async (t) => {
  const { connection, starts } = connectInProcess(createTestServer)
  t.after(() => connection.close())
  await Promise.all([connection.request(call('count'), signal), connection.request(call('count'), signal)])
  assert.equal(starts(), 1)
})

test('a call during which the server ends has an unknown outcome, and the next call starts the server again', async (t) => {
  const { connection, starts, latest } = connectInProcess(createTestServer)
  t.after(() => connection.close())
  await connection.catalogue(signal)
  const waiting = connection.request(call('wait'), signal)
  await latest().close()
  await assert.rejects(waiting, { code: 'closed', message: /unknown/ })
  assert.equal(textOf(await connection.request(call('count'), signal)), '1')
  assert.equal(starts(), 2)
})

test('a server that cannot be started is tried again only after a pause that grows', async (t) => {
  let now = 0
  const { connection, starts } = connectInProcess(createTestServer, {
    clock: () => now,
    async open() {
      attempts += 1
      throw new Error('it is broken')
    },
  })
  let attempts = 0
  t.after(() => connection.close())
  const fails = () => assert.rejects(connection.request(call('count'), signal), { code: 'unreachable' })
  await fails()
  await fails()
  await fails()
  assert.equal(attempts, 2)
  assert.match(connection.problem(), /it is broken/)
  now += 10_000
  await fails()
  now += 1_000
  await fails()
  assert.equal(attempts, 3)
  assert.equal(starts(), 0)
})

test('/stop ends a call, and the server is told', async (t) => {
  const cancelled = Promise.withResolvers<void>()
  const { connection } = connectInProcess(() => {
    const server = createTestServer()
    server.registerTool('hold', { description: 'Hold' }, async ({ mcpReq }) => {
      stop.abort(new Error('stopped'))
      await new Promise<void>((resolve) => mcpReq.signal.addEventListener('abort', () => resolve()))
      cancelled.resolve()
      return { content: [] }
    })
    return server
  })
  const stop = new AbortController()
  t.after(() => connection.close())
  await assert.rejects(connection.request(call('hold'), stop.signal), /stopped/)
  await cancelled.promise
})

test('a call that takes too long fails with a timeout', async (t) => {
  const { connection } = connectInProcess(createTestServer, { settings: serverSettings({ timeout: 0.02 }) })
  t.after(() => connection.close())
  await assert.rejects(connection.request(call('wait'), signal), { code: 'timeout' })
})

test('an unused server is stopped and started again by the next call', async (t) => {
  const settings = serverSettings({ idle_timeout_seconds: 0.01 })
  const { connection, starts } = connectInProcess(createTestServer, { settings })
  t.after(() => connection.close())
  await connection.request(call('count'), signal)
  while (connection.isRunning()) await wait(5)
  assert.equal(textOf(await connection.request(call('count'), signal)), '1')
  assert.equal(starts(), 2)
  assert.equal(connection.problem(), '')
})

test('a server that is older than max_lifetime_seconds is started again before a call', async (t) => {
  let now = 0
  const settings = serverSettings({ max_lifetime_seconds: 60 })
  const { connection, starts } = connectInProcess(createTestServer, { settings, clock: () => now })
  t.after(() => connection.close())
  await connection.request(call('count'), signal)
  now = 61_000
  assert.equal(textOf(await connection.request(call('count'), signal)), '1')
  assert.equal(starts(), 2)
})

test('a server that changes its tools is read again', async (t) => {
  const changed = Promise.withResolvers<ServerCatalogue>()
  const seen: ServerCatalogue[] = []
  let server: McpServer | undefined
  const { connection } = connectInProcess(
    () => {
      server = createTestServer()
      return server
    },
    {
      onCatalogue(catalogue) {
        seen.push(catalogue)
        if (seen.length > 1) changed.resolve(catalogue)
      },
    },
  )
  t.after(() => connection.close())
  await connection.catalogue(signal)
  server?.registerTool('more', { description: 'More' }, () => ({ content: [] }))
  const { tools } = await changed.promise
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['look', 'count', 'wait', 'more'],
  )
})

test('a tool that the server refuses is an error for the model, and the server stays', async (t) => {
  const { connection, starts } = connectInProcess(createTestServer)
  t.after(() => connection.close())
  await assert.rejects(connection.request(call('nothing'), signal), { code: 'refused' })
  await connection.request(call('count'), signal)
  assert.equal(starts(), 1)
})

test('a server without tools, resources and prompts offers nothing', async (t) => {
  const { connection } = connectInProcess(() => new McpServer({ name: 'empty', version: '1' }, { capabilities: {} }))
  t.after(() => connection.close())
  assert.deepEqual(await connection.catalogue(signal), { tools: [], problems: [], resources: false, prompts: false })
})

test('a server that sends messages without end is stopped', async (t) => {
  const { connection, latest } = connectInProcess(createTestServer)
  t.after(() => connection.close())
  await connection.catalogue(signal)
  const server = latest()
  for (let index = 0; index < 6_000 && connection.isRunning(); index += 1)
    await server
      .send({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } })
      .catch(() => undefined)
  assert.equal(connection.isRunning(), false)
  assert.equal(textOf(await connection.request(call('count'), signal)), '1')
})

test('a server that answers twice does no harm', async (t) => {
  const { connection, latest, starts } = connectInProcess(createTestServer)
  t.after(() => connection.close())
  await connection.catalogue(signal)
  for (const id of [0, 1, 2, 99]) await latest().send({ jsonrpc: '2.0', id, result: { content: [] } })
  assert.equal(textOf(await connection.request(call('count'), signal)), '1')
  assert.equal(starts(), 1)
})

test('a closed connection starts no server', async () => {
  const { connection, starts } = connectInProcess(createTestServer)
  await connection.close()
  await assert.rejects(connection.request(call('count'), signal), { code: 'unreachable' })
  assert.equal(starts(), 0)
})

test('a stop does not wait for a server that is not reachable yet', { timeout: 30_000 }, async () => {
  const { promise: opening, resolve: open } = Promise.withResolvers<InMemoryTransport>()
  const { connection } = connectInProcess(createTestServer, {
    settings: serverSettings({ connect_timeout: 3_600 }),
    open: () => opening,
  })
  const waiting = assert.rejects(connection.catalogue(signal), { code: 'unreachable' })
  await connection.close()
  await waiting
  assert.equal(connection.problem(), '')
  const late = new InMemoryTransport()
  const closed = new Promise<void>((resolve) => {
    late.onclose = resolve
  })
  open(late)
  await closed
})

test('a server whose code could not be loaded once is used later, and does not disturb a stop', async () => {
  const { deps } = connectInProcess(createTestServer)
  let attempts = 0
  const connection = lazyConnection(deps, async () => {
    attempts += 1
    if (attempts < 3) throw new Error('too many open files')
    return { createServerConnection }
  })
  await assert.rejects(connection.catalogue(signal), /too many open files/)
  await assert.rejects(connection.catalogue(signal), /too many open files/)
  const broken = lazyConnection(deps, async () => await Promise.reject(new Error('no memory')))
  const failing = assert.rejects(broken.catalogue(signal), /no memory/)
  await broken.close()
  await failing
  assert.equal((await connection.catalogue(signal)).tools.length, 3)
  await connection.close()
})
