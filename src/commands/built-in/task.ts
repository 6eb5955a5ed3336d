/**
 * The built-in commands for work beside a conversation: `/background`, `/agents` and `/cron`. Their code is loaded with the first of
 * them.
 */
import { defineCommand } from '../command.ts'
import type { JobServices } from '../jobs.ts'
import type { TaskServices } from '../tasks.ts'

export const backgroundCommand = defineCommand({
  name: 'background',
  aliases: ['bg', 'btw'],
  description: 'Do something on the side, and report here',
  argsHint: '<prompt>',
  run: async (context, tasks: TaskServices) => (await import('./task-actions.ts')).background(context, tasks),
})

export const agentsCommand = defineCommand({
  name: 'agents',
  aliases: ['tasks'],
  description: 'List my tasks and sub-agents',
  run: async (context, tasks: TaskServices) => (await import('./task-actions.ts')).agents(context, tasks),
})

export const cronCommand = defineCommand({
  name: 'cron',
  aliases: ['jobs'],
  description: 'List and schedule jobs',
  argsHint: '[add <schedule> | <prompt>, show, edit, pause, resume, run, stop, remove <job>]',
  run: async (context, jobs: JobServices) => (await import('./cron-actions.ts')).cron(context, jobs),
})
