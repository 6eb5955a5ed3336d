/**
 * The tools that a session is offered do not change during the session, and their results hide nothing from the model.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { agentConfig } from '../../../src/agent/config.ts'
import type { AgentTools } from '../../../src/agent/loop/agent-tools.ts'
import { createToolRegistry } from '../../../src/agent/tools/registry.ts'
import { defineTool } from '../../../src/agent/tools/tool.ts'
import {
  createAgentTools,
  createSessionToolSnapshots,
  createToolSelection,
} from '../../../src/flows/tools/turn-tools.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { rolesSchema } from '../../../src/platforms/config.ts'
import { createWorkbench } from '../../agent/tools/workbench.ts'

function toolsNamed(...names: readonly string[]): AgentTools {
  const schemas = names.map((name) => ({ name, description: '', parameters: {} }))
  return {
    schemas: () => schemas,
    factsOf: () => undefined,
    canRunInParallel: () => false,
    sanitizeForModel: (text) => text,
    prepare: ({ name }) => ({ kind: 'invalid', error: names.includes(name) ? 'there' : 'not there' }),
  }
}

const namesOf = (tools: AgentTools) => tools.schemas().map(({ name }) => name)

test('a session keeps the tool list with which it began, and a call uses the current tools', async () => {
  const frozen = createSessionToolSnapshots()
  const tools = toolsNamed('a')
  const old = { sessionId: 'old', toolNames: undefined, select: async () => tools.schemas() }
  const before = await frozen(old, tools)
  assert.equal(await frozen(old, tools), tools, 'nothing is copied while the tools stay the same')
  const after = await frozen(old, toolsNamed('b'))
  assert.equal(after.schemas(), before.schemas())
  assert.deepEqual(after.prepare({ name: 'a', arguments: '{}' }), { kind: 'invalid', error: 'not there' })
  const others = toolsNamed('b')
  const session = { sessionId: 'new', toolNames: undefined, select: async () => others.schemas() }
  assert.deepEqual(namesOf(await frozen(session, others)), ['b'])
})

test('after a restart a session is offered the tools with which it began, whatever the configuration says now', async () => {
  const frozen = createSessionToolSnapshots()
  const session = { sessionId: 's', toolNames: ['a', 'c'], select: () => assert.fail('the list is stored') }
  assert.deepEqual(namesOf(await frozen(session, toolsNamed('a', 'b'))), ['a'], 'a plugin is not loaded yet')
  const tools = await frozen(session, toolsNamed('a', 'b', 'c'))
  assert.deepEqual(namesOf(tools), ['a', 'c'])
  const refused = tools.prepare({ name: 'b', arguments: '{}' })
  assert.ok(refused.kind === 'invalid' && refused.error.includes('a, c'), 'what is not offered does not run')
})

test('a new session is offered what the toolsets of its platform select', async () => {
  const frozen = createSessionToolSnapshots()
  const session = { sessionId: 's', toolNames: undefined, select: async () => toolsNamed('b').schemas() }
  assert.deepEqual(namesOf(await frozen(session, toolsNamed('a', 'b'))), ['b'])
})

test('a platform that declares a toolset has it, unless the configuration or the message names another', async () => {
  const tools = toolsNamed('terminal', 'web_search', 'send_message')
  const open = { tools, resolve: () => undefined }
  const selectTools = createToolSelection()
  const select = async (platform: string, config: object = {}, toolsets?: readonly string[]) => {
    const event = toolsets === undefined ? undefined : { toolsets }
    const asked = { authority: { platform }, event, declared: new Map([['pager', 'search']]) }
    return (await selectTools(z.object(agentConfig).parse(config), open, asked)).map(({ name }) => name)
  }
  assert.deepEqual(await select('pager'), ['web_search'])
  assert.deepEqual(await select('other'), namesOf(tools))
  assert.deepEqual(await select('pager', { platform_toolsets: { pager: ['messaging'] } }), ['send_message'])
  assert.deepEqual(await select('pager', {}, ['terminal']), ['terminal'])
})

test('the result of a tool shows hidden characters and stays JSON, except for what a file contains', async () => {
  await using bench = await createWorkbench()
  const content = 'a\u202eb\u{e0041}'
  const definitions = ['file', 'extra'].map((toolset) =>
    defineTool({
      name: `from_${toolset}`,
      toolset,
      description: '',
      parameters: z.object({}),
      mode: 'pure',
      run: async () => JSON.stringify({ content }),
    }),
  )
  const registry = createToolRegistry({ definitions, log: silentLog })
  const settings = {
    agent: agentConfig.agent.parse({}),
    terminal: agentConfig.terminal.parse({}),
    roles: rolesSchema.parse({}),
  }
  const sandbox = async () => undefined
  const tools = createAgentTools(
    await registry.load(),
    { redact: (text) => text, settings: () => settings },
    { sandbox },
  )
  const resultOf = async (name: string) => {
    const call = tools.prepare({ name, arguments: '{}' })
    assert.ok(call.kind === 'ready')
    return await call.run(bench.context)
  }
  assert.equal(await resultOf('from_file'), JSON.stringify({ content }))
  const shown = await resultOf('from_extra')
  assert.equal(shown, '{"content":"a\\u202eb\\udb40\\udc41"}')
  assert.deepEqual(JSON.parse(shown), { content })
})
