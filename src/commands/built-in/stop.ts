/** `/stop`: ends the turn that runs, now. */
import type { CommandDefinition } from '../command.ts'

export const stopCommand: CommandDefinition = {
  name: 'stop',
  aliases: [],
  description: 'Stop what I am doing',
  argsHint: '',
  queue: 'control',
  bypassesHooks: true,
  async run({ sessionKey }, services) {
    return (await services.stopTurn(sessionKey)) ? '⏹ Stopped.' : 'There is nothing to stop.'
  },
}
