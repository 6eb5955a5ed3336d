/**
 * The tools of a sub-agent: within its toolsets, and the MCP servers of its parent.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentTools } from '../../../src/agent/loop/agent-tools.ts'
import { type SubagentToolRules, toolNamesFor } from '../../../src/agent/loop/subagent-tools.ts'

const toolsets: Readonly<Record<string, string>> = {
  terminal: 'terminal',
  todo: 'todo',
  mcp_notes_look: 'mcp-notes',
  mcp_mail_send: 'mcp-mail',
}

const tools: AgentTools = {
  schemas: () => Object.keys(toolsets).map((name) => ({ name, description: '', parameters: {} })),
  factsOf(name) {
    const toolset = toolsets[name]
    return toolset === undefined ? undefined : { name, toolset }
  },
  prepare: () => assert.fail('unexpected call'),
  canRunInParallel: () => false,
  sanitizeForModel: (result) => result,
}

function namesOf(rules: Partial<SubagentToolRules>): string[] {
  const all = { asked: undefined, defaults: ['terminal'], custom: {}, inheritsMcp: true, mayDelegate: false }
  return [...toolNamesFor(tools, { ...all, ...rules }).names]
}

test('a sub-agent has the MCP servers of its parent beside its toolsets', () => {
  assert.deepEqual(namesOf({}), ['terminal', 'mcp_notes_look', 'mcp_mail_send'])
  assert.deepEqual(namesOf({ asked: ['todo'] }), ['todo', 'mcp_notes_look', 'mcp_mail_send'])
})

test('a sub-agent has no MCP server that it is denied, and none where it inherits none', () => {
  assert.deepEqual(namesOf({ asked: ['todo', '-mail'] }), ['todo', 'mcp_notes_look'])
  assert.deepEqual(namesOf({ asked: ['todo', '-mcp-mail'] }), ['todo', 'mcp_notes_look'])
  assert.deepEqual(namesOf({ inheritsMcp: false }), ['terminal'])
  assert.deepEqual(namesOf({ inheritsMcp: false, asked: ['notes'] }), ['mcp_notes_look'])
})

test('a list with no_mcp has no MCP server', () => {
  assert.deepEqual(namesOf({ defaults: ['*', 'no_mcp'] }), ['terminal', 'todo'])
})
