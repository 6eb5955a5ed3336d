/**
 * The built-in commands of the owner for the gateway as a whole: `/sethome`, `/reload-mcp` and `/restart`.
 */
import type { CommandDefinition } from '../command.ts'

export const sethomeCommand: CommandDefinition = {
  name: 'sethome',
  aliases: ['set-home'],
  description: 'Make this chat the one for messages that belong to no other chat',
  argsHint: '[off]',
  queue: 'control',
  minimumRole: 'owner',
  async run({ source, args }, services) {
    const word = args.trim().toLowerCase()
    if (word !== '' && word !== 'off') return 'Write `/sethome` in the chat itself, or `/sethome off`.'
    const { setHome, clearHome } = await services.gatewayAdmin()
    return word === 'off' ? clearHome(source) : setHome(source)
  },
}

export const reloadMcpCommand: CommandDefinition = {
  name: 'reload-mcp',
  aliases: ['reload_mcp'],
  description: 'Start the MCP servers again and read their tools',
  argsHint: '',
  queue: 'control',
  minimumRole: 'owner',
  destructiveEffect: 'stops the MCP servers of all conversations and starts them again.',
  confirmedBy: 'mcp_reload_confirm',
  run: async (context, services) => (await import('./mcp-actions.ts')).reloadMcp(context, services),
}

export const restartCommand: CommandDefinition = {
  name: 'restart',
  aliases: [],
  description: 'Restart the gateway; nothing is lost',
  argsHint: '',
  queue: 'control',
  minimumRole: 'owner',
  bypassesHooks: true,
  async run({ source, message }, services) {
    return (await services.gatewayAdmin()).restart(source, message?.event.timestamp)
  },
}
