/**
 * The built-in commands for conversations: `/title`, `/sessions`, `/resume`, `/retry`, `/undo`, `/branch`, `/usage`,
 * `/insights`, `/model`, `/reasoning` and `/personality`. Their code is loaded with the first of them.
 */

import { reasoningEfforts } from '../../message/conversation-choices.ts'
import type { TransactionPart } from '../../store/query.ts'
import type { CheckpointServices } from '../checkpoint.ts'
import type { ConversationChoices } from '../choices.ts'
import { type CommandContext, defineCommand } from '../command.ts'
import type { ConversationServices } from '../conversation.ts'
import type { ModelServices } from '../model.ts'

type Action<Port> = (context: CommandContext, port: Port) => Promise<string | TransactionPart<string>>
type ActionName = keyof typeof import('./conversation-actions.ts')

function lazily(name: ActionName): Action<ConversationServices> {
  return async (context, port) => (await import('./conversation-actions.ts'))[name](context, port)
}

function lazyChoice(name: keyof typeof import('./choice-actions.ts')): Action<ConversationChoices> {
  return async (context, port) => (await import('./choice-actions.ts'))[name](context, port)
}

export const titleCommand = defineCommand({
  name: 'title',
  description: 'Name this conversation, or show its name',
  argsHint: '[name]',
  changesForAll: true,
  run: lazily('title'),
})

export const sessionsCommand = defineCommand({
  name: 'sessions',
  description: 'List earlier conversations',
  run: lazily('sessions'),
})

export const resumeCommand = defineCommand({
  name: 'resume',
  description: 'Continue an earlier conversation',
  argsHint: '[number|name|id]',
  changesForAll: true,
  run: lazily('resume'),
})

export const retryCommand = defineCommand({
  name: 'retry',
  description: 'Answer my last message again',
  run: lazily('retry'),
})

export const undoCommand = defineCommand({
  name: 'undo',
  description: 'Take back the last message and its answer',
  argsHint: '[number]',
  destructiveEffect: 'takes back what was last said: I will not remember it.',
  run: lazily('undo'),
})

export const rollbackCommand = defineCommand({
  name: 'rollback',
  description: 'List what I have changed in files, or restore them',
  argsHint: '[number] [diff | file]',
  changesForAll: true,
  run: async (context, checkpoints: CheckpointServices) =>
    (await import('./rollback-actions.ts')).rollback(context, checkpoints),
})

export const branchCommand = defineCommand({
  name: 'branch',
  aliases: ['fork'],
  description: 'Continue in a copy of this conversation',
  argsHint: '[name]',
  changesForAll: true,
  run: lazily('branch'),
})

export const usageCommand = defineCommand({
  name: 'usage',
  description: 'Show the tokens and the cost of this conversation',
  run: lazily('usage'),
})

export const insightsCommand = defineCommand({
  name: 'insights',
  description: 'Show how much you use me',
  argsHint: '[days]',
  run: lazily('insights'),
})

export const modelCommand = defineCommand({
  name: 'model',
  aliases: ['provider'],
  description: 'Show or change the model of this conversation',
  argsHint: '[model|provider:model|list|reset]',
  changesForAll: true,
  run: async (context, models: ModelServices) => (await import('./model-actions.ts')).model(context, models),
})

export const reasoningCommand = defineCommand({
  name: 'reasoning',
  description: 'Choose how much the model reasons here, and whether you see it',
  choices: [...reasoningEfforts, 'reset', 'show', 'hide'],
  changesForAll: true,
  run: lazyChoice('reasoning'),
})

export const personalityCommand = defineCommand({
  name: 'personality',
  description: 'Choose who I am in the next conversation',
  argsHint: '[name]',
  changesForAll: true,
  run: lazyChoice('personality'),
})
