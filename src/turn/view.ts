/**
 * What people see of a turn while it runs: typing, the growing draft, the tools at work. Nothing of it is stored, and
 * nothing here may delay or break the turn.
 */
import type { AgentWatcher } from '../agent/journal.ts'
import { follow } from '../lib/follow.ts'
import type { EventListener } from '../message/hook-events.ts'
import { type Target, targetOf } from '../message/source.ts'
import type { DraftAddress, Outbox } from '../outbox/outbox.ts'
import type { TurnActivity, TurnStatus } from '../platforms/adapter.ts'
import type { Turn } from './journal.ts'

export interface TurnViewDeps {
  readonly outbox: Outbox
  readonly emit: EventListener
  /** Whether the platform of this turn has its gateway events emitted. */
  watched(turn: Turn): boolean
  /** Tells a platform what the agent does; a platform without that ability ignores it. */
  activity(target: Target, activity: TurnActivity): void
}

export interface TurnView {
  readonly watcher: AgentWatcher
  /** What a person has read of the answer so far. */
  shownText(): string
  /** Ends the draft; its address is where the final answer goes. Null when there is none. */
  closeDraft(): Promise<DraftAddress | null>
  ended(status: TurnStatus): void
  /** Ends typing. May be called twice. */
  close(): void
}

export function openTurnView(deps: TurnViewDeps, turn: Turn, signal: AbortSignal): TurnView {
  const { outbox, emit } = deps
  const { source, messageId } = turn.event
  const target = targetOf(source)
  const turnId = turn.id
  const typing = follow(signal)
  const draft = outbox.openDraft({
    target,
    turnId,
    resumed: turn.resumed,
    ...(messageId === undefined ? {} : { replyTo: messageId }),
  })
  const answers = messageId === undefined ? {} : { messageId }
  let text = ''

  outbox.typing(target, typing.signal)
  deps.activity(target, { kind: 'turn-started', turnId, ...answers })

  return {
    watcher: {
      text(fullText) {
        text = fullText
        draft?.update(fullText)
      },
      toolStarted: (call, label) =>
        deps.activity(target, { kind: 'tool-started', turnId, callId: call.id, tool: call.name, label }),
      toolEnded: (call, ok, summary) =>
        deps.activity(target, { kind: 'tool-ended', turnId, callId: call.id, tool: call.name, ok, summary }),
      step(iteration, tools) {
        if (!deps.watched(turn)) return
        emit('agent:step', {
          platform: source.platform,
          user_id: source.userId ?? '',
          session_id: turn.sessionId,
          iteration,
          tool_names: tools.map((tool) => tool.name),
          tools: [...tools],
        })
      },
    },
    shownText: () => text,
    closeDraft: async () => (draft === null ? null : await draft.close()),
    ended: (status) => deps.activity(target, { kind: 'turn-ended', turnId, status, ...answers }),
    close() {
      typing.release()
      // Without a reason an error with a stack would be made for each turn.
      typing.abort('the turn has ended')
    },
  }
}
