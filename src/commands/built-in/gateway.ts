/**
 * The built-in commands of the owner for the gateway as a whole: `/sethome`, `/reload-mcp` and `/restart`.
 */
import { defineCommand } from '../command.ts'
import type { GatewayAdmin, McpControl } from '../gateway.ts'

export const sethomeCommand = defineCommand({
  name: 'sethome',
  aliases: ['set-home'],
  description: 'Make this chat the one for messages that belong to no other chat',
  argsHint: '[off]',
  minimumRole: 'owner',
  async run({ source, args }, admin: GatewayAdmin) {
    const word = args.trim().toLowerCase()
    if (word !== '' && word !== 'off') return 'Write `/sethome` in the chat itself, or `/sethome off`.'
    return word === 'off' ? admin.clearHome(source) : admin.setHome(source)
  },
})

export const reloadMcpCommand = defineCommand({
  name: 'reload-mcp',
  aliases: ['reload_mcp'],
  description: 'Start the MCP servers again and read their tools',
  minimumRole: 'owner',
  destructiveEffect: 'stops the MCP servers of all conversations and starts them again.',
  confirmedBy: 'mcp_reload_confirm',
  run: async (context, mcp: McpControl) => (await import('./mcp-actions.ts')).reloadMcp(context, mcp),
})

export const restartCommand = defineCommand({
  name: 'restart',
  description: 'Restart the gateway; nothing is lost',
  minimumRole: 'owner',
  bypassesHooks: true,
  async run({ source, message }, admin: GatewayAdmin) {
    return admin.restart(source, message?.event.timestamp)
  },
})
