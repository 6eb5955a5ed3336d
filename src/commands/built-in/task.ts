/**
 * The built-in commands for background tasks: `/background` and `/agents`. Their code is loaded with the first of them.
 */
import type { CommandDefinition } from '../command.ts'

export const backgroundCommand: CommandDefinition = {
  name: 'background',
  aliases: ['bg', 'btw'],
  description: 'Do something on the side, and report here',
  argsHint: '<prompt>',
  queue: 'control',
  run: async (context, services) => (await import('./task-actions.ts')).background(context, services),
}

export const agentsCommand: CommandDefinition = {
  name: 'agents',
  aliases: ['tasks'],
  description: 'List my tasks and sub-agents',
  argsHint: '',
  queue: 'control',
  run: async (context, services) => (await import('./task-actions.ts')).agents(context, services),
}
