/** `/compress`: replaces the older part of the conversation by a summary, when its turn comes. */
import type { CommandDefinition } from '../command.ts'

const maxFocusChars = 500

export const compressCommand: CommandDefinition = {
  name: 'compress',
  aliases: ['compact'],
  description: 'Sum up what was said earlier, to save room',
  argsHint: '[what to keep]',
  queue: 'control',
  async run({ sessionKey, source, args }, services) {
    const { messages, running } = await services.sessionStatus(sessionKey)
    if (messages === 0) return 'There is nothing to compress: we have not said anything yet.'
    const focus = args.slice(0, maxFocusChars).toWellFormed()
    const says = running ? 'I will compress this conversation as soon as I am done.' : ''
    return services.compressSession(sessionKey, source, { focus, says })
  },
}
