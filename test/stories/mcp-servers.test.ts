/**
 * The model uses the tools of MCP servers: offered by their names, asked about where they may change something, and without
 * them where a server is down.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { login } from '../../src/agent/mcp/login.ts'
import { createLoginStore } from '../../src/agent/mcp/login-store.ts'
import { createGuardedFetch } from '../../src/flows/mcp/guarded-fetch.ts'
import { startHttpServer } from '../agent/mcp/http-server.ts'
import { serverSettings } from '../agent/mcp/support.ts'
import { sandboxSkip } from '../agent/sandbox/victim.ts'
import type { RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { hasResult, runCommand, waitForCommandReply, waitForQuestion } from './support.ts'

const buttons = { capabilities: ['edit', 'buttons'] } as const
const skip = await sandboxSkip()
const roles = { owners: ['fake:user'] }
const program = fileURLToPath(new URL('../agent/mcp/stdio-server.mjs', import.meta.url))

function lastContent({ body }: RecordedRequest): string {
  const messages = body['messages']
  return Array.isArray(messages) ? String(messages.at(-1)?.content) : ''
}

function toolNames(request: RecordedRequest | undefined): string[] {
  const tools = request?.body['tools']
  if (!Array.isArray(tools)) return []
  return tools.map((tool) => String(tool?.function?.name)).filter((name) => name.startsWith('mcp_'))
}

/** A model that calls the tool that the user names, with the arguments that follow. */
function callNamed(request: RecordedRequest) {
  if (hasResult(request)) return { text: `It gave: ${lastContent(request)}` }
  const [, name, args = '{}'] = /^use (\w+)(?: (.*))?$/.exec(lastContent(request)) ?? []
  return name === undefined ? { text: 'ok' } : { toolCalls: [{ name, arguments: args }] }
}

test('a tool that only reads runs at once, and one that may change something after a yes that lasts', async (t) => {
  const server = await startHttpServer(t)
  const gateway = await startTestGateway(t, {
    ...buttons,
    model: callNamed,
    config: {
      roles,
      mcp_servers: { notes: { url: server.url, headers: { Authorization: 'Bearer very-secret-token-1' } } },
    },
  })
  await gateway.say('use mcp_notes_look {"what":"rain"}')
  await gateway.waitForReply(/It gave: .*seen: rain/)
  assert.deepEqual(toolNames(gateway.model.requests[0]), ['mcp_notes_count', 'mcp_notes_look', 'mcp_notes_wait'])
  await gateway.say('use mcp_notes_count')
  const question = await waitForQuestion(gateway)
  assert.match(question.text, /`mcp_notes_count`.*MCP server notes/)
  await gateway.platform.press(question, 'Always')
  await gateway.waitForReply(/It gave: .*"1"/)
  assert.match(readFileSync(gateway.home.configFile, 'utf8'), /command_allowlist[\s\S]*mcp_notes_count/)
  await gateway.say('use mcp_notes_count', { chat: 'another' })
  await gateway.waitForReply(/It gave: .*"2"/, 'another')
  assert.ok(!gateway.log.some((line) => line.includes('very-secret-token-1')))
})

test('a program gets no secret of the gateway, sees nothing of its home, and ends with it', { skip }, async (t) => {
  const gateway = await startTestGateway(t, {
    model: callNamed,
    gateway: { environment: { ...process.env, OTHER_SECRET: 'do-not-pass' } },
    config: {
      terminal: { sandbox: 'auto', cwd: '' },
      mcp_servers: {
        program: { command: process.execPath, args: [program], env: { OWN: 'given' }, approval: 'never' },
      },
    },
  })
  await gateway.say('use mcp_program_environment')
  const { text } = await gateway.waitForReply(/It gave: .*OWN/)
  assert.match(text, /given/)
  assert.doesNotMatch(text, /do-not-pass|HERMES_HOME/)
  await gateway.say(`use mcp_program_read ${JSON.stringify({ path: gateway.home.configFile })}`)
  await gateway.waitForReply(/It gave: .*error.*(?:ENOENT|EACCES)/)
  await gateway.stop()
  await gateway.waitForLog({ event: 'mcp.stopped', server: 'program', reason: 'closed' })
})

test('a server that is down takes nothing from a conversation, and the status names it', async (t) => {
  const gateway = await startTestGateway(t, {
    model: callNamed,
    config: { mcp_servers: { gone: { command: 'no-such-program-here' } } },
  })
  await gateway.say('hello')
  await gateway.waitForReply('ok')
  assert.deepEqual(toolNames(gateway.model.requests[0]), [])
  assert.match(gateway.current().status().degraded.join(), /MCP server gone.*no program no-such-program-here/)
})

test('/reload-mcp asks first, starts the servers again, and new conversations have their tools', async (t) => {
  const server = await startHttpServer(t)
  const gateway = await startTestGateway(t, {
    ...buttons,
    model: callNamed,
    config: { roles, mcp_servers: { notes: { url: server.url } } },
  })
  await gateway.say('hello')
  await gateway.waitForReply('ok')
  const starts = () => server.requests.filter((headers) => headers.get('mcp-session-id') === null).length
  assert.equal(starts(), 1)
  await gateway.say('/reload-mcp')
  await gateway.platform.press(await waitForQuestion(gateway), 'Approve once')
  await waitForCommandReply(gateway, 'notes: 3 tools')
  assert.equal(starts(), 2)
})

test('/reload-mcp is for owners, and says when there is nothing to reload', async (t) => {
  const gateway = await startTestGateway(t, { config: { roles, approvals: { mcp_reload_confirm: false } } })
  assert.match(await runCommand(gateway, '/reload-mcp'), /no MCP servers/)
  assert.match(await runCommand(gateway, '/reload-mcp', { chat: 'b', user: 'bob' }), /for owners/)
})

test('a conversation keeps its tools, and later ones have what a server added', async (t) => {
  const server = await startHttpServer(t)
  const gateway = await startTestGateway(t, { model: callNamed })
  await gateway.say('hello')
  await gateway.waitForReply('ok')
  gateway.configure({ mcp_servers: { notes: { url: server.url } } })
  await gateway.waitForLog({ event: 'mcp.started', server: 'notes' })
  await gateway.say('hello again')
  await gateway.modelRequest(1)
  await gateway.say('hello', { chat: 'later' })
  await gateway.waitForReply('ok', 'later')
  assert.deepEqual(
    gateway.model.requests.map((request) => toolNames(request).length),
    [0, 0, 3],
  )
})

test('what the SDK warns about is in the log', async (t) => {
  const server = await startHttpServer(t, { oauth: true })
  const settings = { url: server.url, auth: 'oauth' } as const
  const gateway = await startTestGateway(t, {
    config: { roles, mcp_servers: { notes: settings } },
    async prepare(home) {
      await login({
        server: 'notes',
        url: server.url,
        settings: serverSettings({ command: undefined, ...settings }),
        store: createLoginStore(home.mcpTokens, 'notes'),
        fetch: createGuardedFetch(server.url).fetch,
        showAddress: (address) => void fetch(address),
        signal: new AbortController().signal,
      })
      server.revokeAll()
    },
  })
  await gateway.say('hello')
  assert.match(await gateway.waitForLog({ event: 'mcp.sdk_warning' }), /invalid_grant/)
})
