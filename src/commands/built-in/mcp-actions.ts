/**
 * What `/reload-mcp` replies.
 */
import type { CommandContext, CommandServices } from '../command.ts'

export async function reloadMcp({ signal }: CommandContext, services: CommandServices): Promise<string> {
  const servers = await services.reloadMcp(signal)
  if (servers.length === 0) return 'There are no MCP servers: `mcp_servers` in config.yaml is empty.'
  const lines = servers.map(({ server, tools, problem }) => {
    if (problem !== '') return `- ❌ ${server}: ${services.redact(problem)}`
    return `- ✅ ${server}: ${tools === 1 ? '1 tool' : `${tools} tools`}`
  })
  return `**MCP servers**\n\n${lines.join('\n')}\n\nConversations keep the tools with which they began. \`/new\` starts one with these.`
}
