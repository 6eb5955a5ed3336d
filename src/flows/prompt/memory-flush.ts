/**
 * Decides whether the memory is offered the messages that a summary is about to replace, and calls the model for it.
 */

import type { AgentConfig } from '../../agent/config.ts'
import { flushMemory } from '../../agent/memory/flush.ts'
import type { Auxiliary } from '../../agent/models/auxiliary.ts'
import type { TurnInfoFactory } from '../../agent/support/agent-hooks.ts'
import type { Logger } from '../../lib/log.ts'
import type { ChatMessage } from '../../message/transcript.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { AccountDirectory } from '../access/account-directory.ts'
import type { AgentServices } from '../tools/agent-services.ts'
import type { OwnMemory } from './own-memory.ts'

export interface MemoryFlushDeps {
  readonly auxiliary: Auxiliary
  readonly log: Logger
  readonly settings: () => AgentConfig
  readonly ownMemory: OwnMemory
  readonly model: AgentServices['models']['model']
  readonly tools: AgentServices['tools']['forTurn']
  readonly turnInfoOf: TurnInfoFactory
  readonly isShared: AccountDirectory['isShared']
}

/**
 * Does nothing in a group, where another person could have it saved what is then said to come from the owner, and where each
 * change needs a question, nor where the turn has no tool `memory`. Rejects with what the model call
 * rejects.
 */
export async function flushTurnMemory(
  deps: MemoryFlushDeps,
  turn: Turn,
  messages: readonly ChatMessage[],
  signal: AbortSignal,
): Promise<void> {
  const { ownMemory, log } = deps
  const { memory, context_length } = deps.settings()
  const { sessionId, authority, event } = turn
  const userMessages = messages.filter(({ role }) => role === 'user').length
  const isPrivate = authority.chatType === 'dm' && !deps.isShared(event.source) && event.task === undefined
  if (!isPrivate || authority.role === 'guest' || memory.write_approval) return
  if (!memory.memory_enabled && !memory.user_profile_enabled) return
  if (memory.flush_min_turns === 0 || userMessages < memory.flush_min_turns) return
  const tools = await deps.tools(turn)
  if (tools.schemas().every(({ name }) => name !== 'memory')) return
  const chosen = await deps.model(turn)
  await flushMemory({
    messages,
    blocks: await ownMemory.prompt({
      sessionId,
      platform: event.source.platform,
      userId: event.source.userId ?? '',
      authority,
      isShared: false,
      isBackground: false,
      toolNames: [],
      toolsets: async () => new Set(),
    }),
    access: ownMemory.accessOf(turn),
    mayRun: (call) => tools.prepare(call).kind === 'ready',
    contextLength: chosen.contextLength ?? context_length,
    async complete(input) {
      const info = deps.turnInfoOf(turn, chosen)
      return await deps.auxiliary('compression').complete({ input, main: chosen, turn: info, signal })
    },
    signal,
    log,
  })
}
