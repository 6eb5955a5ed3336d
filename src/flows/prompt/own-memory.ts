/**
 * The built-in memory of the agent: its part of the system prompt, and what the tool `memory` changes in a turn. Loaded with the
 * first new session.
 */
import type { MemoryAccess, MemoryChange, MemoryDeps } from '../../agent/memory/contract.ts'
import { createMemoryAccess } from '../../agent/memory/memory-access.ts'
import { createMemoryStore } from '../../agent/memory/memory-store.ts'
import { createMemoryPrompt } from '../../agent/memory/prompt.ts'
import type { MessageEvent } from '../../message/event.ts'
import type { SessionSource } from '../../message/source.ts'
import type { ToolTurn } from '../tools/agent-services.ts'
import type { PromptFacts } from './session-prompt.ts'

export interface OwnMemory {
  /** The blocks for a new session; '' for none. */
  prompt(facts: PromptFacts): string
  accessOf(turn: ToolTurn): MemoryAccess
}

/**
 * @param isShared whether several people write in the session of a source
 * @param onWritten called after each change that is on disk; must not throw
 */
export function createOwnMemory(
  deps: MemoryDeps,
  isShared: (source: SessionSource) => boolean,
  onWritten: (change: MemoryChange, turn: ToolTurn) => void,
): OwnMemory {
  const settings = () => deps.settings().memory
  const store = createMemoryStore(deps)
  const isSharedEvent = (event: MessageEvent | undefined) => event !== undefined && isShared(event.source)
  return {
    prompt: createMemoryPrompt(deps),
    accessOf(turn) {
      const { authority, event } = turn
      const reader = { authority, isShared: isSharedEvent(event), isBackground: event?.task !== undefined }
      return createMemoryAccess(store, settings, reader, (change) => onWritten(change, turn))
    },
  }
}
