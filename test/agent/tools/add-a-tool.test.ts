/**
 * A tool with a service of the gateway is added in three files: its own, the list of the built-in tools and the composition.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const src = fileURLToPath(new URL('../../../src', import.meta.url))

/** The files that carry a call from the agent to a service. */
const wiring = ['agent', 'flows/tools', 'flows/turn', 'app', 'gateway.ts', 'turn.ts'].flatMap((entry) =>
  entry.endsWith('.ts') ? [entry] : typescriptIn(entry),
)

function typescriptIn(folder: string): string[] {
  const names = readdirSync(join(src, folder), { recursive: true, encoding: 'utf8' })
  return names.filter((name) => name.endsWith('.ts')).map((name) => `${folder}/${name}`)
}

/** Tools that only one service serves, with the name of the member that gives it to them. */
const served = [
  { tool: 'session_search', port: 'recallOf', file: 'agent/tools/session-search.ts' },
  { tool: 'send_message', port: 'chatMessagesOf', file: 'agent/tools/send-message.ts' },
]

for (const { tool, port, file } of served)
  test(`${tool} and its service are wired in three files`, () => {
    const mention = new RegExp(`\\b${port}\\b|'${tool}'`)
    const naming = wiring.filter((path) => mention.test(readFileSync(join(src, path), 'utf8')))
    assert.deepEqual(naming.sort(), ['agent/tools/built-in-tools.ts', file, 'app/compose-agent-services.ts'])
  })

test('the context of a call holds what every tool needs, and no service of a single one', () => {
  const text = readFileSync(join(src, 'agent/tools/tool.ts'), 'utf8')
  const [, body = ''] = /export interface ToolContext \{\n([\s\S]*?)\n\}/.exec(text) ?? []
  const members = body.match(/^ {2}(?:readonly )?\w+\??[:(]/gm) ?? []
  assert.ok(members.length > 0 && members.length <= 12, members.join())
})
