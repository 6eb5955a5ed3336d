/**
 * An editor brings MCP servers for a session: its own tools, with the approvals of all tools, and an end with the session.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { methods } from '@agentclientprotocol/sdk'
import { startHttpServer } from '../../agent/mcp/http-server.ts'
import type { RecordedRequest } from '../../kit/servers/model-script.ts'
import { startTestGateway } from '../../kit/start-gateway.ts'
import { tempHome } from '../../kit/temp-home.ts'
import { conversation } from '../../stories/support.ts'
import { openEditor } from './editor.ts'

const program = fileURLToPath(new URL('../../agent/mcp/stdio-server.mjs', import.meta.url))

function ownTools(request: RecordedRequest | undefined): string[] {
  const tools = request?.body['tools']
  if (!Array.isArray(tools)) return []
  return tools.map((tool) => String(tool?.function?.name)).filter((name) => name.startsWith('mcp_'))
}

test('the servers of a session belong to it alone, ask before they change something, and end with it', async (t) => {
  const project = tempHome(t)
  const server = await startHttpServer(t)
  const gateway = await startTestGateway(t, {
    config: { terminal: { sandbox: 'off' } },
    replies: [
      { toolCalls: [{ name: 'mcp_my_files_environment', arguments: {} }] },
      { text: 'done' },
      { text: 'nothing here' },
      { text: 'gone' },
    ],
  })
  const editor = await openEditor(t, gateway, {
    choose: ({ options }) => options.find(({ kind }) => kind === 'allow_once')?.optionId,
  })
  const { sessionId } = await editor.agent.request(methods.agent.session.new, {
    cwd: project,
    mcpServers: [
      {
        name: 'my files',
        command: process.execPath,
        args: [program],
        env: [{ name: 'A_TOKEN', value: 'token-1234-5678' }],
      },
      {
        type: 'http',
        name: 'notes',
        url: server.url,
        headers: [{ name: 'Authorization', value: 'Bearer very-secret-token-1' }],
      },
    ],
  })
  await editor.say(sessionId, 'use it')
  const names = ownTools(gateway.model.requests[0])
  assert.ok(names.includes('mcp_my_files_environment'), String(names))
  assert.ok(names.includes('mcp_notes_look'), String(names))
  assert.equal(editor.asked.length, 1)
  const result = conversation(gateway.model.requests[1]).join('\n')
  assert.ok(result.includes(`PWD`) && result.includes(project), result)
  assert.doesNotMatch(result, /token-1234-5678/)
  const other = await editor.open(project)
  await editor.say(other, 'and here?')
  assert.deepEqual(ownTools(gateway.model.requests[2]), [])
  await editor.agent.request(methods.agent.session.close, { sessionId })
  await editor.agent.request(methods.agent.session.resume, { sessionId, cwd: project })
  await editor.say(sessionId, 'still there?')
  assert.deepEqual(ownTools(gateway.model.requests[3]), [])
})

test('two servers of one name, and a server without a name, are refused', async (t) => {
  const gateway = await startTestGateway(t)
  const editor = await openEditor(t, gateway)
  const server = (name: string) => ({ name, command: 'true', args: [], env: [] })
  for (const mcpServers of [[server('a b'), server('a-b')], [server('!')]])
    await assert.rejects(
      editor.agent.request(methods.agent.session.new, { cwd: tempHome(t), mcpServers }),
      (error: unknown) => error instanceof Error && 'code' in error && error.code === -32602,
    )
})
