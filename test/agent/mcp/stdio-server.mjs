/**
 * The server of the SDK as a program, for tests of its start and its end.
 */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { McpServer } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const server = new McpServer({ name: 'program', version: '1' })
server.registerTool('environment', { description: 'List the variables' }, () => ({
  content: [{ type: 'text', text: JSON.stringify(process.env) }],
}))
server.registerTool(
  'read',
  { description: 'Read a file', inputSchema: z.object({ path: z.string() }) },
  ({ path }) => ({
    content: [{ type: 'text', text: readFileSync(path, 'utf8') }],
  }),
)
server.registerTool('spawn', { description: 'Start a program' }, () => {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' })
  return { content: [{ type: 'text', text: String(child.pid) }] }
})
process.stderr.write('ready\u{E0041}\n')
await server.connect(new StdioServerTransport())
