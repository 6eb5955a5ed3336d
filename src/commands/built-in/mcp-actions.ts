/**
 * What `/reload-mcp` replies.
 */
import type { CommandContext } from '../command.ts'
import type { McpControl } from '../gateway.ts'

export async function reloadMcp({ signal }: CommandContext, mcp: McpControl): Promise<string> {
  const servers = await mcp.reload(signal)
  if (servers.length === 0) return 'There are no MCP servers: `mcp_servers` in config.yaml is empty.'
  const lines = servers.map(({ server, tools, problem }) => {
    if (problem !== '') return `- ❌ ${server}: ${mcp.redact(problem)}`
    return `- ✅ ${server}: ${tools === 1 ? '1 tool' : `${tools} tools`}`
  })
  return `**MCP servers**\n\n${lines.join('\n')}\n\nConversations keep the tools with which they began. \`/new\` starts one with these.`
}
