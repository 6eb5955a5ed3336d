/**
 * The built-in memory of the agent: its part of the system prompt, and what the tool `memory` changes in a turn. Loaded with the
 * first new session.
 */
import type { MemoryAccess, MemoryChange } from '../../agent/memory/contract.ts'
import { createMemoryAccess } from '../../agent/memory/memory-access.ts'
import { createMemoryStore } from '../../agent/memory/memory-store.ts'
import { type MemoryPromptDeps, memoryPrompt } from '../../agent/memory/prompt.ts'
import type { MessageEvent } from '../../message/event.ts'
import type { SessionSource } from '../../message/source.ts'
import { withFileLock } from '../../store/sqlite/file-lock.ts'
import type { ToolTurn } from '../tools/tool-access.ts'
import type { PromptFacts } from './session-prompt.ts'

export interface OwnMemoryDeps extends MemoryPromptDeps {
  /** Whether the text contains a secret of the gateway, or what looks like one. */
  holdsSecret(text: string): boolean
  readonly clock: () => number
  /** Several people write in the session of this source. */
  isShared(source: SessionSource): boolean
  /** Called after each change that is on disk. Must not throw. */
  onWritten(change: MemoryChange, turn: ToolTurn): void
  /** Named points for crash tests; does nothing in production. */
  failpoint(point: string): void
}

export interface OwnMemory {
  /** The blocks for a new session; '' for none. Never rejects. */
  prompt(facts: PromptFacts): Promise<string>
  accessOf(turn: ToolTurn): MemoryAccess
}

export function createOwnMemory(deps: OwnMemoryDeps): OwnMemory {
  const { directory, settings, holdsSecret, clock, log, failpoint, isShared, onWritten } = deps
  const store = createMemoryStore({ directory, settings, lock: withFileLock, holdsSecret, clock, log, failpoint })
  const isSharedEvent = (event: MessageEvent | undefined) => event !== undefined && isShared(event.source)
  return {
    prompt: (facts) => memoryPrompt(deps, facts),
    accessOf: (turn) =>
      createMemoryAccess({
        store,
        settings,
        reader: {
          authority: turn.authority,
          isShared: isSharedEvent(turn.event),
          isBackground: turn.event?.task !== undefined,
        },
        onWritten: (change) => onWritten(change, turn),
      }),
  }
}
