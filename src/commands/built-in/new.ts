/** `/new`: ends the session and begins another one under the same key. */
import type { CommandDefinition } from '../command.ts'

const maxTitleChars = 200

export const newCommand: CommandDefinition = {
  name: 'new',
  aliases: ['reset'],
  description: 'Start a fresh conversation',
  argsHint: '[name]',
  queue: 'control',
  destructiveEffect: 'ends this conversation: I will not remember it in the next one.',
  async run({ sessionKey, source, args }, services) {
    const title = args.slice(0, maxTitleChars).toWellFormed()
    await services.resetSession(sessionKey, source, title)
    return title === '' ? '✨ New conversation. What can I do for you?' : `✨ New conversation: ${title}`
  },
}
