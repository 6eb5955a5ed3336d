/** `/version`. */
import type { CommandDefinition } from '../command.ts'

export const versionCommand: CommandDefinition = {
  name: 'version',
  aliases: ['v'],
  description: 'Show the version',
  argsHint: '',
  queue: 'control',
  async run(_context, services) {
    return `hermes-gateway ${services.version}`
  },
}
