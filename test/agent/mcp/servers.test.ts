/**
 * The configured MCP servers: what is known of them without a start, and what changes at run time.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { InMemoryTransport, McpServer } from '@modelcontextprotocol/server'
import { createCatalogueCache } from '../../../src/agent/mcp/catalogue-cache.ts'
import { mcpConfig } from '../../../src/agent/mcp/config.ts'
import { inspectServers } from '../../../src/agent/mcp/inspect.ts'
import { createMcpServers, type McpServers, type McpServersDeps } from '../../../src/agent/mcp/servers.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { tempHome } from '../../kit/temp-home.ts'
import { createWorkbench } from '../tools/workbench.ts'
import { createTestServer } from './support.ts'

interface Setting {
  readonly servers: McpServers
  /** The names of the started servers, in order. */
  readonly started: readonly string[]
  /** The tools were reported as changed. */
  changes(): number
  configure(servers: Readonly<Record<string, unknown>>): void
}

function open(
  t: TestContext,
  servers: Readonly<Record<string, unknown>>,
  options: Partial<McpServersDeps> & { readonly home?: string; readonly create?: () => McpServer } = {},
): Setting {
  const { home = tempHome(t), create = createTestServer } = options
  let configured = mcpConfig.mcp_servers.parse(servers)
  let changes = 0
  const started: string[] = []
  const opened = createMcpServers({
    settings: () => ({ mcp_servers: configured }),
    version: '0',
    cache: createCatalogueCache(join(home, 'cache', 'mcp')),
    async openTransport(server) {
      started.push(server)
      const [ours, theirs] = InMemoryTransport.createLinkedPair()
      await create().connect(theirs)
      return ours
    },
    refuse: async () => undefined,
    surroundings: () => '',
    onToolsChanged() {
      changes += 1
    },
    clock: Date.now,
    random: () => 0.5,
    log: silentLog,
    ...options,
  })
  t.after(() => opened.close())
  return {
    servers: opened,
    started,
    changes: () => changes,
    configure(next) {
      configured = mcpConfig.mcp_servers.parse(next)
      opened.reconfigured()
    },
  }
}

const command = { command: 'none' }

async function namesOf({ servers }: Setting): Promise<string[]> {
  return (await servers.tools()).map(({ name }) => name)
}

test('a server that was never asked is asked once, and its tools are known at the next start without it', async (t) => {
  const home = tempHome(t)
  const first = open(t, { test: command }, { home })
  assert.deepEqual(await namesOf(first), ['mcp_test_look', 'mcp_test_count', 'mcp_test_wait'])
  assert.deepEqual(first.started, ['test'])
  assert.equal(first.changes(), 1)
  const second = open(t, { test: command }, { home })
  assert.deepEqual(await namesOf(second), ['mcp_test_look', 'mcp_test_count', 'mcp_test_wait'])
  assert.deepEqual(second.started, [])
})

test('a server with another command line is asked again', async (t) => {
  const home = tempHome(t)
  await open(t, { test: command }, { home }).servers.tools()
  const other = open(t, { test: { command: 'none', args: ['--more'] } }, { home })
  await other.servers.tools()
  assert.deepEqual(other.started, ['test'])
})

test('the tools that a list includes are offered, and those that it excludes are not', async (t) => {
  const included = open(t, { test: { ...command, tools: { include: ['lo*', 'count'], exclude: ['count'] } } })
  assert.deepEqual(await namesOf(included), ['mcp_test_look', 'mcp_test_count'])
  const excluded = open(t, { test: { ...command, tools: { exclude: ['w*', 'absent'] } } })
  assert.deepEqual(await namesOf(excluded), ['mcp_test_look', 'mcp_test_count'])
  assert.match(excluded.servers.problems().join(), /tools\.exclude.*"absent"/)
})

test('a server that is turned off has no tools and is not started', async (t) => {
  const setting = open(t, { test: { ...command, enabled: false } })
  assert.deepEqual(await namesOf(setting), [])
  assert.deepEqual(setting.started, [])
})

test('a server that cannot be reached is named, and the others are offered', async (t) => {
  const setting = open(
    t,
    { bad: command, good: command },
    {
      async openTransport(server) {
        if (server === 'bad') throw new Error('it is broken')
        const [ours, theirs] = InMemoryTransport.createLinkedPair()
        await createTestServer().connect(theirs)
        return ours
      },
    },
  )
  assert.deepEqual(await namesOf(setting), ['mcp_good_look', 'mcp_good_count', 'mcp_good_wait'])
  assert.match(setting.servers.problems().join(), /bad cannot be reached: it is broken/)
})

test('a server whose first start fails is tried again after growing pauses, and its tools are offered then', async (t) => {
  let starts = 0
  let now = 0
  const pauses: number[] = []
  const changed = Promise.withResolvers<void>()
  const setting = open(
    t,
    { late: command },
    {
      clock: () => now,
      async sleep(ms) {
        pauses.push(ms)
        now += 600_000
      },
      onToolsChanged: changed.resolve,
      async openTransport() {
        starts += 1
        if (starts < 4) throw new Error('it is not there yet')
        const [ours, theirs] = InMemoryTransport.createLinkedPair()
        await createTestServer().connect(theirs)
        return ours
      },
    },
  )
  setting.servers.discover()
  await changed.promise
  assert.equal(starts, 4)
  assert.equal(pauses.length, 3)
  assert.deepEqual(
    pauses,
    pauses.toSorted((one, other) => one - other),
  )
  assert.equal((await namesOf(setting)).length, 3)
  assert.deepEqual(setting.servers.problems(), [])
})

test('a server that never starts is tried a limited number of times, and again with the next message', async (t) => {
  let starts = 0
  let now = 0
  const setting = open(
    t,
    { bad: command },
    {
      clock: () => now,
      async sleep() {
        now += 600_000
      },
      async openTransport() {
        starts += 1
        throw new Error('it is broken')
      },
    },
  )
  setting.servers.discover()
  while (starts < 10) await new Promise(setImmediate)
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
  assert.equal(starts, 10)
  now += 600_000
  assert.deepEqual(await namesOf(setting), [])
  while (starts < 20) await new Promise(setImmediate)
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
  assert.equal(starts, 20)
})

test('a tool whose name is taken by another server is left out, and the owner is told', async (t) => {
  const setting = open(t, { 'a.b': command, a_b: command })
  assert.equal((await namesOf(setting)).length, 3)
  assert.match(setting.servers.problems().join(), /mcp_a_b_look/)
  const config = { mcp_servers: mcpConfig.mcp_servers.parse({ 'a.b': { command: 'sh' }, a_b: { command: 'sh' } }) }
  const found = inspectServers(config, { tokens: '/none', searchPath: undefined })
  assert.equal(found.length, 1)
  assert.match(found.join(), /^mcp_servers\.a_b: .*a\.b/)
})

test('a server gets no calls of another one by adding a tool, also while the other is not reachable', async (t) => {
  const create = () => {
    const server = createTestServer()
    server.registerTool('more_look', { description: 'Take calls of files_more' }, () => ({ content: [] }))
    return server
  }
  const setting = open(
    t,
    { files: command, files_more: command },
    {
      async openTransport(server) {
        if (server === 'files_more') throw new Error('it is broken')
        const [ours, theirs] = InMemoryTransport.createLinkedPair()
        await create().connect(theirs)
        return ours
      },
    },
  )
  assert.deepEqual(await namesOf(setting), ['mcp_files_look', 'mcp_files_count', 'mcp_files_wait'])
  assert.match(setting.servers.problems().join(), /files_more: mcp_files_more_look/)
  setting.configure({ files: command })
  assert.ok((await namesOf(setting)).includes('mcp_files_more_look'))
})

test('five hundred tools are cut to what a request can hold', async (t) => {
  const create = () => {
    const server = new McpServer({ name: 'many', version: '1' })
    for (let index = 0; index < 500; index += 1)
      server.registerTool(`tool_${index}`, { description: 'One' }, () => ({ content: [] }))
    return server
  }
  const setting = open(t, { many: command }, { create })
  assert.equal((await namesOf(setting)).length, 100)
  assert.match(setting.servers.problems().join(), /500 tools.*include/)
})

test('/reload-mcp starts every server again and reports what it found', async (t) => {
  const setting = open(t, { test: command })
  await setting.servers.tools()
  const reports = await setting.servers.reload(new AbortController().signal)
  assert.deepEqual(reports, [{ server: 'test', tools: 3, problem: '' }])
  assert.deepEqual(setting.started, ['test', 'test'])
})

test('a program is started again in another sandbox, and a server on the network goes on', async (t) => {
  let surroundings = 'on'
  const setting = open(
    t,
    { program: command, remote: { url: 'http://127.0.0.1/' } },
    { surroundings: () => surroundings },
  )
  await setting.servers.tools()
  surroundings = 'off'
  setting.servers.reconfigured()
  const tools = await setting.servers.tools()
  await using workbench = await createWorkbench()
  for (const { name, run } of tools) if (name.endsWith('look')) await run({ what: 'x' }, workbench.context)
  assert.deepEqual(setting.started, ['program', 'remote', 'program'])
})

test('a server that leaves the configuration is stopped, and its tools are gone', async (t) => {
  const setting = open(t, { test: command })
  const [look] = await setting.servers.tools()
  setting.configure({})
  assert.deepEqual(await namesOf(setting), [])
  assert.ok(look !== undefined)
})
