/** `/new`: ends the session and begins another one under the same key. */
import type { CommandDefinition } from '../command.ts'

export const newCommand: CommandDefinition = {
  name: 'new',
  aliases: ['reset'],
  description: 'Start a fresh conversation',
  argsHint: '[name]',
  lane: 'control',
  async run({ sessionKey, source, args }, services) {
    await services.resetSession(sessionKey, source, args)
    return args === '' ? '✨ New conversation. What can I do for you?' : `✨ New conversation: ${args}`
  },
}
