/**
 * The built-in commands for conversations: `/title`, `/sessions`, `/resume`, `/retry`, `/undo`, `/branch`, `/usage`,
 * `/insights`, `/model`, `/reasoning` and `/personality`. Their code is loaded with the first of them.
 */
import { reasoningEfforts } from '../../message/conversation-choices.ts'
import type { CommandContext, CommandDefinition, CommandReply, CommandServices } from '../command.ts'

type Action = (context: CommandContext, services: CommandServices) => Promise<string | CommandReply>
type ActionName = keyof typeof import('./conversation-actions.ts')

function lazily(name: ActionName): Action {
  return async (context, services) => (await import('./conversation-actions.ts'))[name](context, services)
}

function lazyChoice(name: keyof typeof import('./choice-actions.ts')): Action {
  return async (context, services) => (await import('./choice-actions.ts'))[name](context, services)
}

export const titleCommand: CommandDefinition = {
  name: 'title',
  aliases: [],
  description: 'Name this conversation, or show its name',
  argsHint: '[name]',
  queue: 'control',
  changesForAll: true,
  run: lazily('title'),
}

export const sessionsCommand: CommandDefinition = {
  name: 'sessions',
  aliases: [],
  description: 'List earlier conversations',
  argsHint: '',
  queue: 'control',
  run: lazily('sessions'),
}

export const resumeCommand: CommandDefinition = {
  name: 'resume',
  aliases: [],
  description: 'Continue an earlier conversation',
  argsHint: '[number|name|id]',
  queue: 'control',
  changesForAll: true,
  run: lazily('resume'),
}

export const retryCommand: CommandDefinition = {
  name: 'retry',
  aliases: [],
  description: 'Answer my last message again',
  argsHint: '',
  queue: 'control',
  run: lazily('retry'),
}

export const undoCommand: CommandDefinition = {
  name: 'undo',
  aliases: [],
  description: 'Take back the last message and its answer',
  argsHint: '[number]',
  queue: 'control',
  destructiveEffect: 'takes back what was last said: I will not remember it.',
  run: lazily('undo'),
}

export const rollbackCommand: CommandDefinition = {
  name: 'rollback',
  aliases: [],
  description: 'List what I have changed in files, or restore them',
  argsHint: '[number] [diff | file]',
  queue: 'control',
  changesForAll: true,
  run: async (context, services) => (await import('./rollback-actions.ts')).rollback(context, services),
}

export const branchCommand: CommandDefinition = {
  name: 'branch',
  aliases: ['fork'],
  description: 'Continue in a copy of this conversation',
  argsHint: '[name]',
  queue: 'control',
  changesForAll: true,
  run: lazily('branch'),
}

export const usageCommand: CommandDefinition = {
  name: 'usage',
  aliases: [],
  description: 'Show the tokens and the cost of this conversation',
  argsHint: '',
  queue: 'control',
  run: lazily('usage'),
}

export const insightsCommand: CommandDefinition = {
  name: 'insights',
  aliases: [],
  description: 'Show how much you use me',
  argsHint: '[days]',
  queue: 'control',
  run: lazily('insights'),
}

export const modelCommand: CommandDefinition = {
  name: 'model',
  aliases: ['provider'],
  description: 'Show or change the model of this conversation',
  argsHint: '[model|provider:model|list|reset]',
  queue: 'control',
  changesForAll: true,
  run: async (context, services) => (await import('./model-actions.ts')).model(context, services),
}

const reasoningChoices = [...reasoningEfforts, 'reset', 'show', 'hide']

export const reasoningCommand: CommandDefinition = {
  name: 'reasoning',
  aliases: [],
  description: 'Choose how much the model reasons here, and whether you see it',
  argsHint: `[${reasoningChoices.join('|')}]`,
  choices: reasoningChoices,
  queue: 'control',
  changesForAll: true,
  run: lazyChoice('reasoning'),
}

export const personalityCommand: CommandDefinition = {
  name: 'personality',
  aliases: [],
  description: 'Choose who I am in the next conversation',
  argsHint: '[name]',
  queue: 'control',
  changesForAll: true,
  run: lazyChoice('personality'),
}
